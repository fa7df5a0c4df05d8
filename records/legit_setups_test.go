package records

import (
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestLegitimateSetUps: what a platform team and its tenants make in good faith is served, in whichever order of age, on record or not.
func TestLegitimateSetUps(t *testing.T) {
	type object = func(w *world, day int64)
	zone := func(name, domain, parent string, ds ...api.Delegation) object {
		return func(w *world, day int64) {
			w.setZone(0, name, &api.Zone{Meta: api.Meta{Created: day}, DomainName: domain, Parent: parent, TTL: 60, Minimum: 30, Delegations: ds})
		}
	}
	rec := func(name, domain, parent, rtype, data string) object {
		return func(w *world, day int64) {
			w.setRecord(0, name, &api.Record{Meta: api.Meta{Created: day}, DomainName: domain, Parent: parent, Type: rtype, Class: "IN", TTL: 60, RData: data})
		}
	}
	host := func(name, host string, strategy api.Strategy, address string) object {
		return func(w *world, day int64) { w.gateway(name, host, strategy, day, api.IPAddress, address) }
	}
	eps := func(name string, all ...api.Endpoint) object {
		return func(w *world, day int64) { w.endpoints(name, day, all...) }
	}
	platform := zone("dns/z", "example.org.", "",
		api.Delegation{Namespaces: []string{"dns"}, Zones: []string{"*"}, Records: []api.RecordDelegation{{Pattern: "*"}, {Pattern: "@"}}},
		api.Delegation{Namespaces: []string{"shop"}, Zones: []string{"shop", "*.shop"}, Records: []api.RecordDelegation{{Pattern: "shop"}, {Pattern: "*.shop"}}},
		api.Delegation{Namespaces: []string{"apps"}, Records: []api.RecordDelegation{{Pattern: "*.apps"}}})
	all := func(ns string) api.Delegation {
		return api.Delegation{Namespaces: []string{ns}, Zones: []string{"*"}, Records: []api.RecordDelegation{{Pattern: "*"}, {Pattern: "@"}}}
	}
	for name, test := range map[string]struct {
		objects []object
		asks    []string // name, type, part of the answer
		fixed   bool     // the order of ages is that of the objects
	}{
		"tenant's sub-zone with hosts and records": {[]object{
			platform, rec("dns/ns", "@", "dns/z", "NS", "ns.example.net."), zone("shop/z", "shop", "dns/z", all("shop")), rec("shop/ns", "@", "shop/z", "NS", "ns"), rec("shop/nsa", "ns", "shop/z", "A", "192.0.2.53"),
			host("shop/web", "www.shop.example.org", api.WeightedGeo, "192.0.2.1"), rec("shop/mx", "www", "shop/z", "MX", "10 mx.example.net."), rec("shop/txt", "www", "shop/z", "TXT", "v=spf1"),
		}, []string{"www.shop.example.org. A 192.0.2.1", "www.shop.example.org. MX mx.example.net.", "www.shop.example.org. TXT v=spf1", "shop.example.org. NS ns.shop", "ns.shop.example.org. A 192.0.2.53"}, false},
		"sub-zone of a sub-zone, and a zone between of one's own": {[]object{
			platform, zone("shop/deep", "a.b.shop.example.org.", "", all("shop")), zone("shop/mid", "shop.example.org.", "", all("shop")), rec("shop/a", "x", "shop/deep", "A", "192.0.2.2"), host("shop/web", "www.shop.example.org", api.Simple, "192.0.2.1"),
		}, []string{"x.a.b.shop.example.org. A 192.0.2.2", "www.shop.example.org. A 192.0.2.1"}, false},
		"outside delegation by NS, DNAME, and glue": {[]object{
			platform, rec("dns/cut", "partner", "dns/z", "NS", "ns.partner"), rec("dns/cut2", "partner", "dns/z", "NS", "ns2.example.net."), rec("dns/glue", "ns.partner", "dns/z", "A", "192.0.2.54"), rec("dns/dn", "old", "dns/z", "DNAME", "apps.example.org."),
			rec("dns/ds", "partner", "dns/z", "DS", "1 8 2 00000000000000000000000000000000000000000000000000000000000000ff"),
			rec("dns/oldtxt", "old", "dns/z", "TXT", "moved"), rec("dns/olda", "old", "dns/z", "A", "192.0.2.9"), host("apps/web", "www.apps.example.org", api.Simple, "192.0.2.1"),
		}, []string{"x.partner.example.org. A referral", "partner.example.org. DS 8 2", "www.old.example.org. A 192.0.2.1", "old.example.org. TXT moved", "old.example.org. A 192.0.2.9"}, false},
		"DNAME beside NS at one name, of the platform": {[]object{
			platform, rec("dns/dn", "old", "dns/z", "DNAME", "apps.example.org."), rec("dns/mx", "old", "dns/z", "MX", "10 mx.example.net."), host("dns/web", "old.example.org", api.Simple, "192.0.2.7"), host("apps/web", "www.apps.example.org", api.Simple, "192.0.2.1"),
		}, []string{"www.old.example.org. A 192.0.2.1", "old.example.org. MX mx.example.net.", "old.example.org. A 192.0.2.7"}, false},
		"weightedGeo host beside TXT and MX of external-dns in one namespace": {[]object{
			platform, host("apps/web", "www.apps.example.org", api.WeightedGeo, "192.0.2.1"), eps("apps/more", apiEndpoint("www.apps.example.org.", "TXT", "v=spf1"), apiEndpoint("www.apps.example.org.", "MX", "10 mx.example.net.")),
		}, []string{"www.apps.example.org. A 192.0.2.1", "www.apps.example.org. TXT v=spf1", "www.apps.example.org. MX mx.example.net."}, false},
		"cut in a tenant's zone": {[]object{
			platform, zone("shop/z", "shop", "dns/z", all("shop")), rec("shop/cut", "lab", "shop/z", "NS", "ns.example.net."), rec("shop/dn", "legacy", "shop/z", "DNAME", "shop.example.org."), host("shop/web", "www.shop.example.org", api.WeightedGeo, "192.0.2.1"), host("shop/wild", "*.shop.example.org", api.WeightedGeo, "192.0.2.3"),
		}, []string{"x.lab.shop.example.org. A referral", "www.legacy.shop.example.org. A 192.0.2.1", "www.shop.example.org. A 192.0.2.1", "any.shop.example.org. A 192.0.2.3"}, false},
		"acme challenge below a host, by delegation": {[]object{
			platform, host("apps/web", "www.apps.example.org", api.WeightedGeo, "192.0.2.1"), rec("dns/acme", "_acme-challenge.www.apps", "dns/z", "CNAME", "x.acme.example.net."), rec("dns/cutacme", "_acme-challenge.apps", "dns/z", "NS", "ns.acme.example.net."),
		}, []string{"www.apps.example.org. A 192.0.2.1", "_acme-challenge.www.apps.example.org. CNAME x.acme", "x._acme-challenge.apps.example.org. TXT referral"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			n := len(test.objects)
			for turn := range n {
				for _, way := range []int{1, -1} {
					w := newWorld("c")
					for i, o := range test.objects {
						o(w, int64(1+((way*(i+turn))%n+n)%n))
					}
					s := Compile(nil, w.objects(), dnsHasZones, testTime)
					for range 2 {
						for i := 0; i < len(test.asks); i++ {
							f := strings.Fields(test.asks[i])
							if got := ask(s, f[0], dns.StringToType[f[1]]); !strings.Contains(got, f[2]) {
								t.Errorf("turn %d way %d: %s: got %s\n%s", turn, way, test.asks[i], got, w.describeAll(s))
								return
							}
						}
						for _, a := range test.asks {
							at := strings.Fields(a)[0]
							w.acquireKeys(s, at, api.ZoneKey(at), api.ZoneKey("shop.example.org."), "old.example.org.")
						}
						before := w.describeAll(s)
						s = Compile(s, w.objects(), dnsHasZones, testTime)
						_ = before
						for _, line := range strings.Split(w.describeAll(s), "\n") {
							if strings.HasPrefix(line, "\t") && (strings.Contains(line, "=False") && !strings.Contains(line, "NoNameservers") || strings.Contains(line, "Conflicted")) {
								t.Errorf("turn %d way %d: somebody is told %s\n%s", turn, way, line, w.describeAll(s))
								return
							}
						}
					}
				}
			}
		})
	}
}
