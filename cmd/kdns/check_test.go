package main

import (
	"strings"
	"testing"
)

// checkedManifests are, in the short form, a host with members in two geos, one of them probed at an address that is
// denied by default, and an object that another controller owns.
const checkedManifests = `gateway shop/eu host=shop.k.example.com addr=127.0.0.17
policy shop/eu weight=1 geo=GEO-EU default check=HTTP:80/healthz
gateway shop/na host=shop.k.example.com addr=192.0.2.1
policy shop/na weight=1 geo=GEO-NA
dnsrecord shop/other root=shop.other.example provider=aws
    shop.other.example A 192.0.2.1 ttl=60
`

// TestCheckCorefile: a fault that a line in the Corefile can fix is reported only with a Corefile that lacks the
// line, once for all names.
func TestCheckCorefile(t *testing.T) {
	inRoot(t)
	file := writeFile(t, t.TempDir()+"/a.yaml", manifests(t, checkedManifests))
	const allow, located, server = "probe-allow 127.0.0.16/28", "geoip examples/geo.mmdb", "nameserver ns.example.net"
	for name, c := range map[string]struct {
		others, lines []string // of the server block, and of the directive
		flags         []string
		want          string
	}{
		"neither line": {want: `warning: nothing locates clients, so geo codes have no effect: all clients get the default geo of a name, or any member if there is none. Names with geo codes: shop.k.example.com. Write ` + "`geoip FILE` or `nets FILE`" + ` in the Corefile (NoGeoDatabase)
warning: DNSPolicy shop/eu in cluster local, shop.k.example.com: not checked, and so counted as up: 127.0.0.17; probe-deny or the default denies checks there: write ` + "`probe-allow ADDRESS`" + ` in the Corefile (NotChecked)
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
			got := kdns(t, "", append([]string{"check", "-f", file, "--corefile", corefile}, c.flags...)...)
			if clean := strings.HasPrefix(c.want, "nothing"); !strings.Contains(got.out, c.want) || clean != (got.code == 0) {
				t.Errorf("code %d:\n%s%s\nwant %s", got.code, got.out, got.errs, c.want)
			}
		})
	}
	if got := kdns(t, "", "check", "-f", file, "--zone", "k.example.com"); got.code != 0 || got.out != "nothing is wrong\n" {
		t.Errorf("without a Corefile: code %d:\n%s%s", got.code, got.out, got.errs)
	}
}

// TestCheckIdleLines: lines of the Corefile that stop a server from starting, cause warnings or match nothing.
func TestCheckIdleLines(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir+"/m/a.yaml", manifests(t, strings.Split(checkedManifests, "dnsrecord")[0]))
	file, words := dir+"/Corefile", writeFile(t, dir+"/words", "target 192.0.2.99 down\n")
	writeFile(t, file, strings.Join([]string{
		"k.example.com {", "kuadrant k.example.com k.exmaple.org {", "manifests " + dir + "/m local", "rname admin", "publish k.example.com *",
		"publish other.example shop", "console localhost:8090 " + dir + "/none", "state " + words + "/x", "policies tier=public",
		"namespaces shop shpo", "override " + words, "probes off", "nameserver ns.example.net", "}", "}",
	}, "\n"))
	kdns(t, "", "check", "--corefile", file).expect(t, "all", 1,
		"error: "+file+":7: console: read token: open "+dir+"/none: no such file or directory (Corefile)\n",
		"error: "+file+":8: state: stat "+words+"/x: not a directory (Corefile)\n",
		"warning: "+file+`:2: zone "k.exmaple.org." is outside this server block`,
		"warning: "+file+`:4: rname "admin" is not an e-mail address`,
		"warning: "+file+":6: publish other.example: no zone of the Corefile",
		"warning: "+file+":10: namespaces shpo: this namespace has no object; check the name (Corefile)\n",
		"warning: "+file+":9: policies tier=public: no DNSPolicy has these labels; check them (Corefile)\n",
		"warning: "+words+`:1: override "target 192.0.2.99 down" matches nothing; check the name (Corefile)`)
	const idle = "matches nothing"
	if got := kdns(t, "", "check", "--corefile", file, "-f", dir+"/m"); strings.Contains(got.out, idle) || !strings.Contains(got.out, "rname") {
		t.Errorf("manifests beside the Corefile's:\n%s%s", got.out, got.errs)
	}
}

// TestCheckSkipped: an unreadable object is an error, an object of an unsupported kind is not.
func TestCheckSkipped(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir+"/a.yaml", strings.Repeat("apiVersion: kuadrant.io/v1\nkind: DNSPolicy\nmetadata: {name: 5}\n---\n",
		12)+"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n---\napiVersion: gateway.networking.k8s.io/v1\nkind: GateWays\n"+
		"metadata: {name: g, namespace: shop}\n---\napiVersion: kubi.zone/v1\nkind: Record\nmetadata: {name: r, namespace: shop}\n"+
		"---\nkind: Record\nmetadata: {name: s, namespace: shop}\n")
	kdns(t, "", "check", "-f", dir, "--zone", "k.example.com").expect(t, dir, 1,
		"error: "+dir+"/a.yaml: document at line 1: object skipped: ", "error: "+dir+"/a.yaml: and 2 more objects skipped (Unread)\n",
		"warning: "+dir+"/a.yaml: ignoring objects of kinds that are not read: 1 \"Pod\" of \"v1\" (LeftOut)\n11 errors, 4 warnings\n",
		"warning: "+dir+"/a.yaml: document at line 52: GateWays shop/g of \"gateway.networking.k8s.io/v1\" is not read: write kind: Gateway (LeftOut)\n",
		"document at line 56: Record shop/r of \"kubi.zone/v1\" is not read: write apiVersion: kubi.zone/v1alpha1 (LeftOut)\n",
		"document at line 60: Record shop/s of \"\" is not read: write apiVersion: kubi.zone/v1alpha1 (LeftOut)\n")
}

// TestCheckReasonOnce: a reason that a condition's text includes is not repeated.
func TestCheckReasonOnce(t *testing.T) {
	got := kdns(t, manifests(t, "policy shop/p gateway=none"), "check", "-f", "-", "--zone", "k.example.com")
	const want = "error: DNSPolicy shop/p in cluster local: Accepted=False (TargetNotFound): DNSPolicy target none was not " +
		"found\n1 error, 0 warnings\n"
	if got.code != 1 || got.out != want {
		t.Errorf("code %d:\n%s%s\nwant\n%s", got.code, got.out, got.errs, want)
	}
}

// TestNothingServed: an object that serves nothing is an error, and list shows the reason.
func TestNothingServed(t *testing.T) {
	text := manifests(t, strings.Replace(checkedManifests, "host=shop.k.example.com", "host=", 1))
	kdns(t, text, "check", "-f", "-", "--zone", "k.example.com").expect(t, "check", 1,
		"error: DNSPolicy shop/eu in cluster local: enforced, but no listener with a hostname (NothingServed)\n1 error, 0 warnings\n")
	kdns(t, text, "list", "conflicts", "-f", "-", "--zone", "k.example.com").expect(t, "list", 0,
		"DNSPolicy shop/eu in cluster local  no      NothingServed")
}
