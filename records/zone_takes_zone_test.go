package records

import (
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// tenantZone is a world in which a namespace has a Zone of its own, of day 5, with a host in it.
func tenantZone(name string) *world {
	w := sharedWorld()
	w.zone("victim/z", name, 5, api.Delegation{Namespaces: []string{"victim"}, Records: []api.RecordDelegation{{Pattern: "*"}, {Pattern: "@"}}})
	w.setRecord(0, "victim/r", &api.Record{Meta: api.Meta{Created: 5}, DomainName: "app", Parent: "victim/z", Type: "A", Class: "IN", TTL: 60, RData: "192.0.2.1"})
	return w
}

// acquireKeys puts on record what the snapshot says of the keys.
func (w *world) acquireKeys(s *Snapshot, keys ...string) {
	for _, key := range keys {
		if owner, ok := s.Owner(key); ok {
			w.acquireAs(key, owner)
		}
	}
}

// TestZoneBetween: a Zone that comes between a Zone in the registry and the one that delegates it does not take it away, however old it is (rule 6.5).
func TestZoneBetween(t *testing.T) {
	w := tenantZone("b.shop.example.org.")
	s := Compile(nil, w.objects(), dnsHasZones, testTime)
	w.acquireKeys(s, "app.b.shop.example.org.", api.ZoneKey("b.shop.example.org."))
	was := ask(s, "app.b.shop.example.org.", dns.TypeA)
	w.zone("evil/z", "shop.example.org.", 1)
	s = Compile(s, w.objects(), dnsHasZones, testTime)
	if is := ask(s, "app.b.shop.example.org.", dns.TypeA); was != is {
		t.Errorf("the host was %s and is %s: %s", was, is, verdictText(s, api.KindZone, "victim/z"))
	}
}

// TestOlderZoneMovesOntoRecordedZone: an older Zone that changes its domainName does not take the name of a Zone which is on record (rule 5.4,
// decision 22, superseded by rule 6.5).
func TestOlderZoneMovesOntoRecordedZone(t *testing.T) {
	w := tenantZone("shop.example.org.")
	w.zone("evil/z", "junk.example.org.", 1)
	s := Compile(nil, w.objects(), dnsHasZones, testTime)
	w.acquireKeys(s, "app.shop.example.org.", api.ZoneKey("shop.example.org."), api.ZoneKey("junk.example.org."))
	s = Compile(s, w.objects(), dnsHasZones, testTime)
	was := ask(s, "app.shop.example.org.", dns.TypeA)
	w.zone("evil/z", "shop.example.org.", 1)
	s = Compile(s, w.objects(), dnsHasZones, testTime)
	if is := ask(s, "app.shop.example.org.", dns.TypeA); was != is {
		t.Errorf("the host was %s and is %s: %s", was, is, verdictText(s, api.KindZone, "victim/z"))
	}
}
