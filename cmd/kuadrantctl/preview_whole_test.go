package main

import (
	"strings"
	"testing"
)

// endpoints is a DNSEndpoint of lines "name type target [ttl]".
func endpoints(name string, lines ...string) string {
	text := "apiVersion: externaldns.k8s.io/v1alpha1\nkind: DNSEndpoint\nmetadata: {name: " + name +
		", namespace: ns, creationTimestamp: \"2026-01-01T00:00:00Z\"}\nspec:\n  endpoints:\n"
	for _, line := range lines {
		f := append(strings.Fields(line), "300")
		text += "  - {dnsName: " + f[0] + ", recordType: " + f[1] + ", targets: [" + f[2] + "], recordTTL: " + f[3] + "}\n"
	}
	return text + "---\n"
}

// TestPreviewBeneath: names below klb may be asked for by themselves, and others may lead to them: what changes there is told, also where
// their host stays as it is.
func TestPreviewBeneath(t *testing.T) {
	dir := t.TempDir()
	corefile := writeFile(t, dir+"/Corefile", "example.com {\n  kuadrant {\n    answer flatten\n  }\n}\n")
	www := endpoints("www", "www.example.com CNAME x.klb.h.example.com")
	chain := func(ttl, group string) string {
		return endpoints("h", "h.example.com CNAME klb.h.example.com", "klb.h.example.com CNAME "+group+".klb.h.example.com "+ttl,
			group+".klb.h.example.com CNAME m.klb.h.example.com", "m.klb.h.example.com A 192.0.2.1 60")
	}
	beside := endpoints("e", "h.example.com A 192.0.2.1", "x.klb.h.example.com A 192.0.2.7") + www
	for _, c := range []struct {
		name, before, after string
		wants               []string
	}{
		{
			"another address", beside, strings.Replace(beside, "192.0.2.7", "192.0.2.99", 1),
			[]string{"~ x.klb.h.example.com", "192.0.2.99", "1 name changed"},
		},
		{
			"no address any more", beside, endpoints("e", "h.example.com A 192.0.2.1") + www,
			[]string{"- x.klb.h.example.com", "192.0.2.7", "1 name removed"},
		},
		{"another address, and one of the host", beside, strings.NewReplacer("192.0.2.7", "192.0.2.99", "192.0.2.1]",
			"192.0.2.2]").Replace(beside), []string{"~ h.example.com", "~ x.klb.h.example.com", "192.0.2.99", "clients of 2 names move"}},
		{
			"another address, and a TTL of the host", beside,
			strings.NewReplacer("192.0.2.7", "192.0.2.99", "192.0.2.1], recordTTL: 300", "192.0.2.1], recordTTL: 200").Replace(beside),
			[]string{"~ h.example.com", "~ x.klb.h.example.com", "clients of 1 name move"},
		},
		{"the TTL of a CNAME", chain("300", "eu"), chain("200", "eu"), []string{"~ klb.h.example.com", "with TTL 200"}},
		{"the name of a group", chain("300", "eu"), chain("300", "xx"), []string{"- eu.klb.h.example.com", "+ xx.klb.h.example.com"}},
		{
			"an address of the host", chain("300", "eu"), strings.Replace(chain("300", "eu"), "192.0.2.1", "192.0.2.2", 1),
			[]string{"~ h.example.com", "1 name changed"},
		},
	} {
		before, after := writeFile(t, dir+"/before.yaml", c.before), writeFile(t, dir+"/after.yaml", c.after)
		r := kuadrantctl(t, "", "preview", "--corefile", corefile, "--against", before, "-f", after, "--prune")
		if r.code != 1 {
			t.Errorf("%s: code %d\n%s%s", c.name, r.code, r.out, r.errs)
		}
		for _, want := range c.wants {
			if !strings.Contains(r.out, want) {
				t.Errorf("%s: lacks %q:\n%s", c.name, want, r.out)
			}
		}
		if r := kuadrantctl(t, "", "preview", "--corefile", corefile, "--against", before, "-f", before, "--prune"); r.code != 0 {
			t.Errorf("%s: against itself: code %d\n%s%s", c.name, r.code, r.out, r.errs)
		}
	}
}

// TestPreviewOfDS: the DS records of a zone that is served below another are told of that zone.
func TestPreviewOfDS(t *testing.T) {
	dir := t.TempDir()
	zone := "apiVersion: kubi.zone/v1alpha1\nkind: Zone\nmetadata: {name: z, namespace: ns}\nspec: {domainName: k.example.com., " +
		"delegations: [{records: [{pattern: \"*\"}]}]}\n---\n"
	ds := "apiVersion: kubi.zone/v1alpha1\nkind: Record\nmetadata: {name: ds, namespace: ns}\nspec: {domainName: sub, zoneRef: " +
		"{name: z}, type: DS, rdata: 12345 13 2 000102030405060708090a0b0c0d0e0f000102030405060708090a0b0c0d0e0f}\n"
	for _, c := range []struct {
		name, before, after string
		wants               []string
	}{
		{
			"it goes", zone + ds, zone + strings.NewReplacer("sub", "other", "name: ds", "name: other").Replace(ds),
			[]string{"~ sub.k.example.com\n", "    - record sub.k.example.com. 360 IN DS 12345 13 2 "},
		},
		{
			"another key", zone + ds, zone + strings.Replace(ds, "12345", "54321", 1),
			[]string{
				"~ sub.k.example.com\n", "    - record sub.k.example.com. 360 IN DS 12345 13 2 ",
				"    + record sub.k.example.com. 360 IN DS 54321 13 2 ",
			},
		},
	} {
		before, after := writeFile(t, dir+"/before.yaml", c.before), writeFile(t, dir+"/after.yaml", c.after)
		r := kuadrantctl(t, "", "preview", "--zone", "k.example.com", "--zone", "sub.k.example.com", "--against", before, "-f", after, "--prune")
		if r.code != 1 {
			t.Errorf("%s: code %d\n%s%s", c.name, r.code, r.out, r.errs)
		}
		for _, want := range c.wants {
			if !strings.Contains(r.out, want) {
				t.Errorf("%s: lacks %q:\n%s", c.name, want, r.out)
			}
		}
	}
}

// checkedGateway has a policy with a check, and headers for it.
const checkedGateway = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: g, namespace: ns, creationTimestamp: "2026-01-01T00:00:00Z"}
spec: {gatewayClassName: x, listeners: [{name: l, hostname: h.example.com, port: 443, protocol: HTTPS}]}
status: {addresses: [{value: 192.0.2.1}, {value: 192.0.2.2}]}
---
apiVersion: kuadrant.io/v1
kind: DNSPolicy
metadata: {name: p, namespace: ns, creationTimestamp: "2026-01-01T00:00:00Z"}
spec:
  targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: g}
  healthCheck: {protocol: PROTOCOL, port: 443, path: /healthz, additionalHeadersRef: {name: hs}}
---
apiVersion: v1
kind: Secret
metadata: {name: hs, namespace: ns, labels: {kuadrant.io/probe-headers: "true"}}
stringData: {X-Key: not-to-be-seen}
---
`

// TestPreviewOfChecks: what is checked is compared, by whatever object, and no value of a header is shown.
func TestPreviewOfChecks(t *testing.T) {
	dir := t.TempDir()
	https, grpc := strings.Replace(checkedGateway, "PROTOCOL", "HTTPS", 1),
		strings.Replace(strings.Replace(checkedGateway, "PROTOCOL", "gRPC", 1), ", additionalHeadersRef: {name: hs}", "", 1)
	probe := "apiVersion: kuadrant.io/v1alpha1\nkind: DNSHealthCheckProbe\nmetadata: {name: pr, namespace: ns}\nspec: {address: " +
		"192.0.2.1, hostname: h.example.com, port: 8081, protocol: HTTP, path: /other, interval: 1m}\n---\n"
	for _, c := range []struct {
		name, before, after string
		wants               []string
	}{
		{"a probe comes", https, https + probe, []string{
			"+ check http://192.0.2.1:8081/other, host h.example.com, every 1m",
			"no name changes; 1 check begins, ends or changes\n",
		}},
		{
			"another probe", https + probe, https + strings.ReplaceAll(strings.ReplaceAll(probe, "pr,", "other,"), "8081", "8082"),
			[]string{"- check http://192.0.2.1:8081/other, host h.example.com, every 1m", "+ check http://192.0.2.1:8082/other"},
		},
		{
			"TLS goes", grpc, strings.Replace(grpc, "protocol: HTTPS}", "protocol: HTTP}", 1),
			[]string{"- check grpcs://192.0.2.1:443/healthz", "+ check grpc://192.0.2.2:443/healthz"},
		},
		{
			"a check of any certificate", https + probe, https +
				strings.Replace(probe, "interval", "allowInsecureCertificate: true, interval", 1),
			[]string{
				"- check http://192.0.2.1:8081/other, host h.example.com, every",
				"+ check http://192.0.2.1:8081/other, host h.example.com, any certificate, every",
			},
		},
		{
			"another Secret", https, strings.Replace(https, "{name: hs}}", "{name: hs2}}", 1),
			[]string{", headers of Secret local/ns/hs, every", ", headers of Secret local/ns/hs2, every"},
		},
		{
			"the value of a header", https, strings.Replace(https, "not-to-be-seen", "not-to-be-seen-too", 1),
			[]string{"~ check https://192.0.2.1:443/healthz, host h.example.com, ", ", with other headers\n"},
		},
	} {
		before, after := writeFile(t, dir+"/before.yaml", c.before), writeFile(t, dir+"/after.yaml", c.after)
		for _, form := range outputs {
			r := kuadrantctl(t, "", "preview", "--zone", "example.com", "--against", before, "-f", after, "--prune", "-o", form)
			if r.code != 1 || strings.Contains(r.out+r.errs, "not-to-be-seen") {
				t.Errorf("%s: code %d\n%s%s", c.name, r.code, r.out, r.errs)
			}
			for _, want := range c.wants {
				if form == outputTable && !strings.Contains(r.out, want) {
					t.Errorf("%s: lacks %q:\n%s", c.name, want, r.out)
				}
			}
		}
	}
}

// TestPreviewOfProbeStatus: where others check, the state that they write is told of an address.
func TestPreviewOfProbeStatus(t *testing.T) {
	dir := t.TempDir()
	corefile := writeFile(t, dir+"/Corefile", "example.com {\n  kuadrant {\n    probes off\n  }\n}\n")
	simple := strings.Replace(strings.Replace(checkedGateway, "PROTOCOL", "HTTP", 1), ", additionalHeadersRef: {name: hs}", "", 1) +
		"apiVersion: kuadrant.io/v1alpha1\nkind: DNSHealthCheckProbe\nmetadata: {name: p, namespace: ns}\nspec: {address: 192.0.2.2, " +
		"hostname: h.example.com, port: 443, protocol: HTTP, path: /healthz}\nstatus: {healthy: true}\n"
	before, after := writeFile(t, dir+"/before.yaml", simple),
		writeFile(t, dir+"/after.yaml", strings.Replace(simple, "healthy: true", "healthy: false", 1))
	r := kuadrantctl(t, "", "preview", "--corefile", corefile, "--against", before, "-f", after)
	if r.code != 1 || !strings.Contains(r.out, "    - address 192.0.2.2\n    + address 192.0.2.2, down\n") {
		t.Errorf("code %d\n%s%s", r.code, r.out, r.errs)
	}
}
