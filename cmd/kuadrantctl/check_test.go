package main

import (
	"strings"
	"testing"
)

// checkedManifests are a host with members for two geos, of which one is checked at an address that is denied without a line
// in the Corefile, and what is another server's.
const checkedManifests = `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {namespace: shop, name: eu}
spec: {gatewayClassName: x, listeners: [{name: l, hostname: shop.k.example.com, port: 80, protocol: HTTP}]}
status: {addresses: [{value: 127.0.0.17}]}
---
apiVersion: kuadrant.io/v1
kind: DNSPolicy
metadata: {namespace: shop, name: eu}
spec:
  targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: eu}
  loadBalancing: {weight: 1, geo: GEO-EU, defaultGeo: true}
  healthCheck: {protocol: HTTP, port: 80, path: /healthz}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {namespace: shop, name: na}
spec: {gatewayClassName: x, listeners: [{name: l, hostname: shop.k.example.com, port: 80, protocol: HTTP}]}
status: {addresses: [{value: 192.0.2.1}]}
---
apiVersion: kuadrant.io/v1
kind: DNSPolicy
metadata: {namespace: shop, name: na}
spec:
  targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: na}
  loadBalancing: {weight: 1, geo: GEO-NA, defaultGeo: false}
---
apiVersion: kuadrant.io/v1alpha1
kind: DNSRecord
metadata: {namespace: shop, name: other}
spec:
  rootHost: shop.other.example
  providerRef: {name: aws}
  endpoints: [{dnsName: shop.other.example, recordType: A, recordTTL: 60, targets: [192.0.2.1]}]
`

// TestCheckCorefile: what a line of the Corefile mends is told where there is a Corefile without that line, once for all names.
func TestCheckCorefile(t *testing.T) {
	inRoot(t)
	manifests := writeFile(t, t.TempDir()+"/a.yaml", checkedManifests)
	const allow, located, server = "probe-allow 127.0.0.16/28", "geoip examples/geo.mmdb", "nameserver ns.example.net"
	for name, c := range map[string]struct {
		others, lines []string // of the server block, and of the directive
		flags         []string
		want          string
	}{
		"neither line": {want: `warning: nothing says where clients are, so that all of them get the default geo of a name, or where there is none any of its members; there are geo codes at shop.k.example.com. Write geoip FILE, or nets FILE, into the block kuadrant of the Corefile (NoGeoDatabase)
warning: DNSPolicy shop/eu of cluster local, shop.k.example.com: the server never checks 127.0.0.17, and counts it as up: probe-deny, or what is denied without it, forbids that, and probe-allow does not open it (NotChecked)
0 errors, 2 warnings
`},
		"both lines":         {lines: []string{allow, located}, want: "nothing is wrong\n"},
		"networks":           {lines: []string{allow, "nets examples/offices.nets"}, want: "nothing is wrong\n"},
		"databases by flag":  {lines: []string{allow}, flags: []string{"--geoip", "examples/geo.mmdb"}, want: "nothing is wrong\n"},
		"another plugin":     {others: []string{"geoip examples/geo.mmdb", "metadata"}, lines: []string{allow}, want: "nothing is wrong\n"},
		"one without values": {others: []string{"geoip x.mmdb"}, lines: []string{allow}, want: "NoGeoDatabase"},
		"nothing is checked": {lines: []string{"probes off", located}, want: "nothing is wrong\n"},
	} {
		t.Run(name, func(t *testing.T) {
			corefile := writeFile(t, t.TempDir()+"/Corefile",
				"k.example.com {\n"+strings.Join(c.others, "\n")+"\nkuadrant {\n"+strings.Join(append(c.lines, server), "\n")+"\n}\n}\n")
			got := kuadrantctl(t, "", append([]string{"check", "-f", manifests, "--corefile", corefile}, c.flags...)...)
			if clean := strings.HasPrefix(c.want, "nothing"); !strings.Contains(got.out, c.want) || clean != (got.code == 0) {
				t.Errorf("code %d:\n%s%s\nwant %s", got.code, got.out, got.errs, c.want)
			}
		})
	}
	if got := kuadrantctl(t, "", "check", "-f", manifests, "--zone", "k.example.com"); got.code != 0 || got.out != "nothing is wrong\n" {
		t.Errorf("without a Corefile: code %d:\n%s%s", got.code, got.out, got.errs)
	}
}

// TestCheckSkipped: an object that cannot be read is an error, and a kind that is not read is none.
func TestCheckSkipped(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir+"/a.yaml", strings.Repeat("apiVersion: kuadrant.io/v1\nkind: DNSPolicy\nmetadata: {name: 5}\n---\n",
		12)+"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n")
	got := kuadrantctl(t, "", "check", "-f", dir, "--zone", "k.example.com")
	for _, want := range []string{
		"error: " + dir + "/a.yaml: document at line 1: object skipped: ", "error: " + dir + "/a.yaml: and 2 more objects skipped (Unread)\n",
		"warning: " + dir + "/a.yaml: ignoring objects of kinds that are not read here: 1 \"Pod\" of \"v1\" (LeftOut)\n11 errors, 1 warning\n",
	} {
		if !strings.Contains(got.out, want) {
			t.Errorf("lacks %q:\n%s%s", want, got.out, got.errs)
		}
	}
}

// TestCheckReasonOnce: a reason that the text of a condition has is not written again.
func TestCheckReasonOnce(t *testing.T) {
	text := "apiVersion: kuadrant.io/v1\nkind: DNSPolicy\nmetadata: {namespace: shop, name: p}\nspec:\n  targetRef: {group: " +
		"gateway.networking.k8s.io, kind: Gateway, name: none}\n"
	got := kuadrantctl(t, text, "check", "-f", "-", "--zone", "k.example.com")
	const want = "error: DNSPolicy shop/p of cluster local: Accepted=False (TargetNotFound): DNSPolicy target none was not " +
		"found\n1 error, 0 warnings\n"
	if got.code != 1 || got.out != want {
		t.Errorf("code %d:\n%s%s\nwant\n%s", got.code, got.out, got.errs, want)
	}
}

// TestNothingServed: an object of which nothing is served is an error, and is listed with a reason that says so.
func TestNothingServed(t *testing.T) {
	text := strings.Replace(checkedManifests, "hostname: shop.k.example.com, ", "", 1)
	for command, want := range map[string]string{
		"check": "error: DNSPolicy shop/eu of cluster local: enforced, but no listener with a hostname (NothingServed)\n1 " +
			"error, 0 warnings\n",
		"list conflicts": "DNSPolicy shop/eu of cluster local  no      NothingServed",
	} {
		got := kuadrantctl(t, text, append(strings.Fields(command), "-f", "-", "--zone", "k.example.com")...)
		if !strings.Contains(strings.ReplaceAll(got.out, "local     ", "local  "), want) {
			t.Errorf("%s: code %d:\n%s%s\nwant %s", command, got.code, got.out, got.errs, want)
		}
	}
}
