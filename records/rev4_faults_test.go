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

// TestChainBelowOwnKlbIsKept: an object's chain whose host lies below klb.<host> of another of its own hosts comes to be on record, and is not taken by an
// older object that moves onto one of its names (rules 5.4 and 5.7).
func TestChainBelowOwnKlbIsKept(t *testing.T) {
	w := sharedWorld()
	w.endpoints("victim/s", 5, append([]api.Endpoint{endpoint("h.example.org.", "CNAME", "lb.victim.net.")}, chainOf("x.klb.h.example.org.", "192.0.2.1")...)...)
	w.gateway("victim/q", "h.example.org", api.Simple, 5, api.IPAddress, "192.0.2.1")
	s := Compile(nil, w.objects(), dnsHasZones, testTime)
	const name = "klb.x.klb.h.example.org."
	w.acquireKeys(s, "h.example.org.", "x.klb.h.example.org.", name, "one."+name)
	s = Compile(s, w.objects(), dnsHasZones, testTime)
	was := ask(s, name, dns.TypeA)
	w.endpoints("eve/s", 3, endpoint(name, "CNAME", "lb.eve.net."))
	s = Compile(s, w.objects(), dnsHasZones, testTime)
	if is := ask(s, name, dns.TypeA); is != was {
		t.Errorf("the name was %s and is %s: %s", was, is, verdictText(s, api.KindDNSEndpoint, "victim/s"))
	}
}

// TestHiddenDataAreToldSo: data of other types than addresses that an older NS or DNAME of another namespace hides are not told that they are served
// (rules 5.5 and 8.1, decision 13): those of a DNSRecord or DNSEndpoint contend with it as claims do, which are told.
func TestHiddenDataAreToldSo(t *testing.T) {
	for _, hider := range []string{"NS", "DNAME"} {
		for _, data := range [][2]string{{"MX", "10 mx.victim.net."}, {"TXT", "victim"}, {"NS", "ns.victim.net."}} {
			w := sharedWorld()
			w.endpoints("eve/e", 1, endpoint("t.example.org.", hider, "eve.net."))
			w.endpoints("victim/e", 2, endpoint("app.t.example.org.", data[0], data[1]))
			w.record("victim/r", "rec.t.example.org.", data[0], data[1], 2)
			s := Compile(nil, w.objects(), dnsHasZones, testTime)
			for name, kind := range map[string]api.Kind{"victim/e": api.KindDNSEndpoint, "victim/r": api.KindRecord} {
				if told := verdictText(s, kind, name); strings.HasSuffix(strings.TrimSpace(told), "Served: served") {
					t.Errorf("an older %s of another namespace hides the %s of %s, which is told: %s", hider, data[0], name, told)
				}
			}
		}
	}
}
