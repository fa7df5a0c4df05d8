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

// TestYoungerZoneBetween: a Zone that comes between a Zone and the one that delegates it does not take it away, whether or not the older one is on
// record (rules 5.4 and 6.5).
func TestYoungerZoneBetween(t *testing.T) {
	for _, recorded := range []bool{false, true} {
		w := tenantZone("b.shop.example.org.")
		s := Compile(nil, w.objects(), dnsHasZones, testTime)
		if recorded {
			w.acquireKeys(s, "app.b.shop.example.org.", api.ZoneKey("b.shop.example.org."))
		}
		was := ask(s, "app.b.shop.example.org.", dns.TypeA)
		w.zone("evil/z", "shop.example.org.", 9)
		s = Compile(s, w.objects(), dnsHasZones, testTime)
		if is := ask(s, "app.b.shop.example.org.", dns.TypeA); was != is {
			t.Errorf("on record: %v: the host was %s and is %s: %s", recorded, was, is, verdictText(s, api.KindZone, "victim/z"))
		}
	}
}

// TestYoungerZoneAboveZone: the same in a zone of the Corefile without a Zone, where all may have Zones (rule 5.2).
func TestYoungerZoneAboveZone(t *testing.T) {
	w := newWorld("c")
	w.zone("victim/z", "b.shop.example.org.", 5, api.Delegation{Records: []api.RecordDelegation{{Pattern: "*"}}})
	w.setRecord(0, "victim/r", &api.Record{Meta: api.Meta{Created: 5}, DomainName: "app", Parent: "victim/z", Type: "A", Class: "IN", TTL: 60, RData: "192.0.2.1"})
	opt := &Options{Zones: dnsHasZones.Zones}
	s := Compile(nil, w.objects(), opt, testTime)
	was := ask(s, "app.b.shop.example.org.", dns.TypeA)
	w.zone("evil/z", "shop.example.org.", 9)
	s = Compile(s, w.objects(), opt, testTime)
	if is := ask(s, "app.b.shop.example.org.", dns.TypeA); was != is {
		t.Errorf("the host was %s and is %s: %s", was, is, verdictText(s, api.KindZone, "victim/z"))
	}
}

// TestOlderZoneMovesOntoRecordedZone: an older Zone that changes its domainName does not take the name of a Zone which is on record (rule 5.4,
// decision 22).
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

// TestVoidRecordBelowKlb: who has a host on record and wants only a name below klb.<host> any more does not keep what others want from counting against
// its Zone (rule 5.4: such an entry is void).
func TestVoidRecordBelowKlb(t *testing.T) {
	w := sharedWorld()
	w.endpoints("evil/e", 1, endpoint("h.example.org.", "A", "192.0.2.66"))
	w.gateway("victim/g", "h.example.org", api.Simple, 2, api.IPAddress, "192.0.2.1")
	s := Compile(nil, w.objects(), dnsHasZones, testTime)
	w.acquireKeys(s, "h.example.org.")
	s = Compile(s, w.objects(), dnsHasZones, testTime)
	w.endpoints("evil/e", 1, endpoint("x.klb.h.example.org.", "A", "192.0.2.66"))
	w.zone("evil/z", "h.example.org.", 9)
	s = Compile(s, w.objects(), dnsHasZones, testTime)
	if z := s.Zone("h.example.org."); z.origin == "h.example.org." {
		t.Errorf("a Zone of day 9 has the host of day 2: %s", verdictText(s, api.KindDNSPolicy, "victim/g"))
	}
}

// TestRefusedDNSRecordKeepsNoZone: a DNSRecord that is refused as its rootHost lies above the zone keeps no Zone from being served (decision 22: what is
// not served here wants nothing).
func TestRefusedDNSRecordKeepsNoZone(t *testing.T) {
	w := sharedWorld()
	w.setDNSRecord(0, "evil/r", &api.DNSRecord{
		Meta: api.Meta{Created: 1, Labels: map[string]string{api.LabelZoneName: "example.org"}}, RootHost: "org.", Endpoints: []api.Endpoint{endpoint("www.shop.example.org.", "A", "192.0.2.66")},
	})
	w.zone("victim/z", "shop.example.org.", 2)
	s := Compile(nil, w.objects(), dnsHasZones, testTime)
	if z := s.Zone("shop.example.org."); z.origin != "shop.example.org." {
		t.Errorf("the Zone is not served: %s; the DNSRecord: %s", verdictText(s, api.KindZone, "victim/z"), verdictText(s, api.KindDNSRecord, "evil/r"))
	}
}
