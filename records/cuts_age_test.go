package records

import (
	"fmt"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestOldNSMovesOntoRecordedCut: older NS records that are moved to a name at which another's NS records are on record do not take these away
// (rule 5.4, decision 13).
func TestOldNSMovesOntoRecordedCut(t *testing.T) {
	for _, glue := range []bool{false, true} {
		w := sharedWorld()
		w.endpoints("evil/e", 1, endpoint("junk.example.org.", "NS", "ns.evil.example.net."))
		w.record("dns/ns", "shop.example.org.", "NS", "ns.shop.example.org.", 5)
		if glue {
			w.record("dns/a", "ns.shop.example.org.", "A", "192.0.2.53", 0)
		}
		s := Compile(nil, w.objects(), dnsHasZones, testTime)
		for _, key := range []string{api.CutKey("shop.example.org."), api.CutKey("junk.example.org."), "ns.shop.example.org."} {
			if owner, ok := s.Owner(key); ok {
				w.acquire1(key, owner.Kind, owner.Name)
			}
		}
		s = Compile(s, w.objects(), dnsHasZones, testTime)
		if _, ok := w.acquired.Get(api.CutKey("shop.example.org.")); !ok {
			t.Fatal("the cut is not on record")
		}
		was := cutAt(s, "shop.example.org.")
		w.endpoints("evil/e", 1, endpoint("shop.example.org.", "NS", "ns.evil.example.net."))
		s = Compile(s, w.objects(), dnsHasZones, testTime)
		if is := cutAt(s, "shop.example.org."); was != is {
			t.Errorf("glue %v: the NS records on record were %s and are %s: %s", glue, was, is, verdictText(s, api.KindRecord, "dns/ns"))
		}
	}
}

// cutAt returns the NS records that are served at a name.
func cutAt(s *Snapshot, name string) string {
	n, _ := s.Zone(name).names.Get(name)
	if n == nil {
		return "none"
	}
	return fmt.Sprint(ofType(n.static, dns.TypeNS))
}

// TestYoungerNSBesideDNAME: NS records that come to a DNAME at their name have their own age: they take neither an older host at the
// name (rule 5.4), nor, because of it, the DNAME (rule 8.1).
func TestYoungerNSBesideDNAME(t *testing.T) {
	for _, dname := range []int64{1, 7} {
		w := sharedWorld()
		w.record("dns/d", "shop.example.org.", "DNAME", "example.net.", dname)
		w.gateway("victim/app", "shop.example.org", api.Simple, 5, api.IPAddress, "192.0.2.1")
		s := Compile(nil, w.objects(), dnsHasZones, testTime)
		questions := []string{"shop.example.org.", "x.shop.example.org."}
		var was [2]string
		for i, name := range questions {
			was[i] = ask(s, name, dns.TypeA)
		}
		w.record("evil/ns", "shop.example.org.", "NS", "ns.example.net.", 9)
		s = Compile(s, w.objects(), dnsHasZones, testTime)
		for i, name := range questions {
			if is := ask(s, name, dns.TypeA); was[i] != is {
				t.Errorf("a DNAME of day %d, a host of day 5 and NS records of day 9: %s was %s and is %s", dname, name, was[i], is)
			}
		}
	}
}

// TestCutThatBecomesZone: NS records that lose to an older host are the delegation, and served, once their name is that of a Zone:
// step by step as from nothing (rules 6.3 and 6.6).
func TestCutThatBecomesZone(t *testing.T) {
	w := sharedWorld()
	w.setRecord(0, "dns/ns", &api.Record{Meta: api.Meta{Created: 5}, DomainName: "sub", Parent: "dns/z", Type: "NS", Class: "IN", TTL: api.NoTTL, RData: "ns.example.net."})
	w.gateway("team/g", "a.sub.example.org", api.Simple, 1, api.IPAddress, "192.0.2.1")
	s := Compile(nil, w.objects(), dnsHasZones, testTime)
	w.zone("team/s", "sub.example.org.", 9, api.Delegation{Records: []api.RecordDelegation{{Pattern: "*"}}})
	in := w.objects()
	s = Compile(s, in, dnsHasZones, testTime)
	if got, want := dump(s), dump(Compile(nil, in, dnsHasZones, testTime)); got != want {
		t.Errorf("step by step it is not what it is from nothing: %s", differing(got, want))
	}
}

// BenchmarkPoliciesAndZonesBelowKlb changes an address of a Gateway with n policies, beside n Zones of the same namespace below klb.<host>:
// it costs what the product of both does (rule 8.4).
func BenchmarkPoliciesAndZonesBelowKlb(b *testing.B) {
	for _, of := range []string{"elsewhere", "klb.h"} {
		for _, n := range []int{1000, 3000, 10000} {
			b.Run(fmt.Sprint(of, "-", n), func(b *testing.B) {
				w := sharedWorld()
				gateway := func(i int) {
					w.setGateway(0, "evil/g", &api.Gateway{
						Listeners: []api.Listener{{Name: "l", Hostname: "h.example.org", AttachedRoutes: 1}}, Addresses: []api.Address{{Type: api.IPAddress, Value: fmt.Sprint("192.0.2.", 1+i%2)}},
					})
				}
				gateway(0)
				for i := range n {
					w.setPolicy(0, fmt.Sprintf("evil/p%d", i), &api.DNSPolicy{Target: api.Target{Name: "g"}, Strategy: api.WeightedGeo})
					w.zone(fmt.Sprintf("evil/z%d", i), fmt.Sprintf("z%d.%s.example.org.", i, of), 3)
				}
				s := Compile(nil, w.objects(), dnsHasZones, testTime)
				b.ResetTimer()
				for i := 1; b.Loop(); i++ {
					gateway(i)
					s = Compile(s, w.objects(), dnsHasZones, testTime)
				}
			})
		}
	}
}
