package main

import (
	"strings"
	"testing"
)

// previewed is what is served before a change.
const previewed = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: eu, namespace: shop, uid: a1, creationTimestamp: "2026-01-01T00:00:00Z"}
spec: {gatewayClassName: x, listeners: [{name: l, hostname: shop.k.example.com, port: 80, protocol: HTTP}]}
status: {addresses: [{value: 192.0.2.1}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: na, namespace: shop, uid: a2, creationTimestamp: "2026-01-01T00:00:00Z"}
spec: {gatewayClassName: x, listeners: [{name: l, hostname: shop.k.example.com, port: 80, protocol: HTTP}]}
status: {addresses: [{value: 192.0.2.2}]}
---
apiVersion: kuadrant.io/v1
kind: DNSPolicy
metadata: {name: eu, namespace: shop, uid: b1, creationTimestamp: "2026-01-01T00:00:00Z"}
spec:
  targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: eu}
  loadBalancing: {weight: 100, geo: GEO-EU, defaultGeo: true}
---
apiVersion: kuadrant.io/v1
kind: DNSPolicy
metadata: {name: na, namespace: shop, uid: b2, creationTimestamp: "2026-01-01T00:00:00Z"}
spec:
  targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: na}
  loadBalancing: {weight: 100, geo: GEO-NA}
  healthCheck: {port: 80, path: /healthz, interval: 30s}
---
apiVersion: kubi.zone/v1alpha1
kind: Zone
metadata: {name: z, namespace: shop, uid: c1, creationTimestamp: "2026-01-01T00:00:00Z"}
spec: {domainName: k.example.com., refresh: 86400, delegations: [{records: [{pattern: "*"}, {pattern: "@"}]}]}
---
apiVersion: kubi.zone/v1alpha1
kind: Record
metadata: {name: www, namespace: shop, uid: c2, creationTimestamp: "2026-01-01T00:00:00Z"}
spec: {domainName: www, zoneRef: {name: z}, type: A, rdata: 192.0.2.7}
---
apiVersion: externaldns.k8s.io/v1alpha1
kind: DNSEndpoint
metadata: {name: ep, namespace: shop, uid: d1, creationTimestamp: "2026-01-01T00:00:00Z"}
spec: {endpoints: [{dnsName: wiki.k.example.com, recordType: A, recordTTL: 30, targets: [192.0.2.8]}]}
`

// TestPreviewTells: what a change does shows, whatever it is a change of.
func TestPreviewTells(t *testing.T) {
	dir := t.TempDir()
	before := writeFile(t, dir+"/before/x.yaml", previewed)
	for _, c := range []struct {
		name, old, new string
		code           int
		wants          []string
	}{
		{"nothing", "", "", 0, []string{"nothing changes"}},
		{
			"the operator's drain", "{name: na, namespace: shop, uid: a2,",
			"{name: na, namespace: shop, uid: a2, annotations: {kuadrant.io/health-override: drain},", 1,
			[]string{
				"~ shop.k.example.com: ", "of the countries get other addresses",
				"(GEO-NA, local)  up -> drained (the operator says drain)", "clients of 1 name move",
			},
		},
		{
			"a word that changes no answer", "{name: na, namespace: shop, uid: a2,",
			"{name: na, namespace: shop, uid: a2, annotations: {kuadrant.io/health-override: up},", 1,
			[]string{"~ shop.k.example.com\n", "up -> up (the operator says up)"},
		},
		{
			"a Gateway that is not programmed", "value: 192.0.2.2}]", "value: 192.0.2.2}], conditions: [{type: Programmed, status: \"False\"}]", 1,
			[]string{"of the countries get other addresses", "up -> down (its Gateway is not programmed)"},
		},
		{
			"a weight of 0", "{weight: 100, geo: GEO-NA}", "{weight: 0, geo: GEO-NA}", 1,
			[]string{"(GEO-NA, local)  weight 100 -> 0\n"},
		},
		{
			"a check with other terms", "interval: 30s", "interval: 1m, failureThreshold: 2", 1,
			[]string{"~ shop.k.example.com\n", "- check https to port 80, path /healthz, every 30s, down after 5 failures, up after 1 " +
				"success", "+ check https to port 80, path /healthz, every 1m, down after 2 failures"},
		},
		{
			"no check", "\n  healthCheck: {port: 80, path: /healthz, interval: 30s}", "", 1,
			[]string{
				"- CNAME at shop.k.example.com with TTL 60, ", "+ CNAME at shop.k.example.com with TTL 300, ",
				"        - check https", "\n- check https://192.0.2.2:80/healthz, host shop.k.example.com, every 30s",
			},
		},
		{
			"a check of another member", "{weight: 100, geo: GEO-EU, defaultGeo: true}",
			"{weight: 100, geo: GEO-EU, defaultGeo: true}\n  healthCheck: {port: 80, path: /healthz, interval: 30s}", 1,
			[]string{"~ shop.k.example.com\n", "(GEO-EU, local)", "        + check https to port 80, path /healthz"},
		},
		{"the SOA", "refresh: 86400", "refresh: 3600", 1, []string{"~ k.example.com\n", " 3600 7200 3600000 360 (whatever the serial)"}},
		{"a TTL", "recordTTL: 30", "recordTTL: 3000", 1, []string{"~ wiki.k.example.com\n", "- TTL 30\n", "+ TTL 3000\n"}},
		{"the address of a Record", "192.0.2.7", "192.0.2.9", 1, []string{
			"~ www.k.example.com: 100 % of the countries",
			"+ record www.k.example.com. 360 IN A 192.0.2.9",
		}},
	} {
		after := writeFile(t, dir+"/after/x.yaml", strings.Replace(previewed, c.old, c.new, 1))
		r := kuadrantctl(t, "", "preview", "-f", after, "--against", before, "--zone", "k.example.com")
		if r.code != c.code || r.errs != "" {
			t.Errorf("%s: exit %d, %s", c.name, r.code, r.errs)
		}
		for _, want := range c.wants {
			if !strings.Contains(r.out, want) {
				t.Errorf("%s: lacks %q:\n%s", c.name, want, r.out)
			}
		}
	}
}

// TestExplainForNobody: an answer that depends on where the client is does not count as everybody's.
func TestExplainForNobody(t *testing.T) {
	file := writeFile(t, t.TempDir()+"/x.yaml", previewed)
	for args, want := range map[string]string{
		"shop.k.example.com":                   "answer: NOERROR, for clients of whom nothing is known: others may get another",
		"shop.k.example.com --from 192.0.2.77": "of whom nothing is known: there is nothing to look up clients in",
		"wiki.k.example.com":                   "answer: NOERROR, the same for every client",
		"wiki.k.example.com --from 192.0.2.77": "the answer does not depend on the client",
	} {
		r := kuadrantctl(t, "", append([]string{"explain", "-f", file, "--zone", "k.example.com"}, strings.Fields(args)...)...)
		if r.code != 0 || !strings.Contains(r.out, want) {
			t.Errorf("%s: exit %d, lacks %q:\n%s%s", args, r.code, want, r.out, r.errs)
		}
	}
}
