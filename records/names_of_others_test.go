package records

import (
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestHostTakesNothingInOlderZoneBelowKlb: a weightedGeo host is flat for an older Zone of another namespace below klb.<host>; it takes no names from
// the Zone's own Records either, whether or not the Zone is on record (rules 5.4, 5.7 and 6.3, decision 22).
func TestHostTakesNothingInOlderZoneBelowKlb(t *testing.T) {
	for _, recorded := range []bool{false, true} {
		for _, data := range [][2]string{{"A", "192.0.2.1"}, {"CNAME", "lb.victim.net."}, {"NS", "ns.victim.net."}, {"DNAME", "victim.net."}} {
			w := sharedWorld()
			w.setZone(0, "victim/z", &api.Zone{
				Meta: api.Meta{Created: 5}, DomainName: "x.klb.h.example.org.", TTL: 60, Minimum: 30,
				Delegations: []api.Delegation{{Namespaces: []string{"victim"}, Records: []api.RecordDelegation{{Pattern: "*"}, {Pattern: "@"}}}},
			})
			s := Compile(nil, w.objects(), dnsHasZones, testTime)
			if recorded {
				w.acquireKeys(s, api.ZoneKey("x.klb.h.example.org."))
			}
			w.gateway("evil/p", "h.example.org", api.WeightedGeo, 7, api.IPAddress, "192.0.2.66")
			s = Compile(s, w.objects(), dnsHasZones, testTime)
			w.setRecord(0, "victim/new", &api.Record{Meta: api.Meta{Created: 9}, DomainName: "new", Parent: "victim/z", Type: data[0], Class: "IN", TTL: 60, RData: data[1]})
			s = Compile(s, w.objects(), dnsHasZones, testTime)
			if told := verdictText(s, api.KindRecord, "victim/new"); !strings.Contains(told, "Ready=True") {
				t.Errorf("on record: %v; the %s Record of an older Zone's own namespace in it is not served: %sto the host: %s", recorded, data[0], told, verdictText(s, api.KindDNSPolicy, "evil/p"))
			}
		}
	}
}

// TestChainBelowOwnKlbIsKept: an object's chain whose host lies below klb.<host> of another of its own hosts is part of that host's (rule 5.7): it comes to be
// on record with it, and is not taken by an older object that moves onto one of its names (rule 5.4). Where another has the host, nothing of it is served.
func TestChainBelowOwnKlbIsKept(t *testing.T) {
	w := sharedWorld()
	w.endpoints("victim/s", 5, append([]api.Endpoint{endpoint("h.example.org.", "CNAME", "lb.victim.net.")}, chainOf("x.klb.h.example.org.", "192.0.2.1")...)...)
	s := Compile(nil, w.objects(), dnsHasZones, testTime)
	const name = "klb.x.klb.h.example.org."
	w.acquireKeys(s, "h.example.org.", "x.klb.h.example.org.", name, "one."+name)
	s = Compile(s, w.objects(), dnsHasZones, testTime)
	was := ask(s, name, dns.TypeA)
	w.endpoints("eve/s", 3, endpoint(name, "CNAME", "lb.eve.net."))
	s = Compile(s, w.objects(), dnsHasZones, testTime)
	if is := ask(s, name, dns.TypeA); is != was || !strings.Contains(is, "192.0.2.1") {
		t.Errorf("the name was %s and is %s: %s", was, is, verdictText(s, api.KindDNSEndpoint, "victim/s"))
	}
	w = sharedWorld()
	w.gateway("first/q", "h.example.org", api.Simple, 1, api.IPAddress, "192.0.2.7")
	w.endpoints("victim/s", 5, append([]api.Endpoint{endpoint("h.example.org.", "CNAME", "lb.victim.net.")}, chainOf("x.klb.h.example.org.", "192.0.2.1")...)...)
	s = Compile(nil, w.objects(), dnsHasZones, testTime)
	if got := verdictText(s, api.KindDNSEndpoint, "victim/s"); strings.Contains(got, "Ready=True") || !strings.Contains(ask(s, name, dns.TypeA), "NXDOMAIN") {
		t.Errorf("the host is another's, the chain below it gives %s, and its owner is told %s", ask(s, name, dns.TypeA), got)
	}
}
