package records

import (
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestZoneTakesNoPoolOfVoidRecord: a younger Zone does not get a host that several objects share when the one on record goes: its entry is
// void, and age decides (rules 5.4 and 5.6).
func TestZoneTakesNoPoolOfVoidRecord(t *testing.T) {
	for _, zone := range []string{"app.example.org.", "klb.app.example.org."} {
		w := sharedWorld()
		w.gateway("victim/g1", "app.example.org", api.WeightedGeo, 1, api.IPAddress, "192.0.2.1")
		w.gateway("victim/g2", "app.example.org", api.WeightedGeo, 2, api.IPAddress, "192.0.2.1")
		s := Compile(nil, w.objects(), dnsHasZones, testTime)
		owner, _ := s.Owner("app.example.org.")
		w.acquire1("app.example.org.", owner.Kind, owner.Name)
		w.zone("evil/z", zone, 3)
		s = Compile(s, w.objects(), dnsHasZones, testTime)
		if z := s.Zone(zone); z.origin == zone {
			t.Fatal("the younger Zone is served beside an older host")
		}
		w.setPolicy(0, owner.Name, nil)
		s = Compile(s, w.objects(), dnsHasZones, testTime)
		if z := s.Zone(zone); z.origin == zone {
			t.Errorf("%s of day 3 is served, the host of day 2 is %s: %s", zone, ask(s, "app.example.org.", dns.TypeA), verdictText(s, api.KindDNSPolicy, "victim/g2"))
		}
	}
}

// TestZoneTakesNoObjectOfTwoClusters: nor a host of one object in two clusters, when it goes in the one on record (rule 5.6).
func TestZoneTakesNoObjectOfTwoClusters(t *testing.T) {
	w := newWorld("c", "d")
	w.zone("dns/z", "example.org.", 0, api.Delegation{Zones: []string{"*"}, Records: []api.RecordDelegation{{Pattern: "*"}}})
	for cluster := range 2 {
		w.setGateway(cluster, "victim/g", &api.Gateway{
			Listeners: []api.Listener{{Name: "l", Hostname: "app.example.org", AttachedRoutes: 1}}, Addresses: []api.Address{{Type: api.IPAddress, Value: "192.0.2.1"}},
		})
		w.setPolicy(cluster, "victim/g", &api.DNSPolicy{Meta: api.Meta{Created: 1}, Target: api.Target{Name: "g"}, Strategy: api.Simple})
	}
	w.zone("evil/z", "app.example.org.", 3)
	w.acquire1("app.example.org.", api.KindDNSPolicy, "victim/g")
	s := Compile(nil, w.objects(), dnsHasZones, testTime)
	was := ask(s, "app.example.org.", dns.TypeA)
	w.setPolicy(0, "victim/g", nil)
	s = Compile(s, w.objects(), dnsHasZones, testTime)
	if is := ask(s, "app.example.org.", dns.TypeA); was != is {
		t.Errorf("the host was %s and is %s", was, is)
	}
}

// TestZoneTakesNoJoinedRecords: nor a name of several Records, when the one on record goes (rule 5.3: all are one owner).
func TestZoneTakesNoJoinedRecords(t *testing.T) {
	opt := &Options{Zones: []ZoneOptions{{Origin: "example.org.", TTL: 60, LoadBalancedTTL: 300}}}
	w := newWorld("c")
	w.record("victim/r1", "app.example.org.", "A", "192.0.2.1", 1)
	w.record("victim/r2", "app.example.org.", "A", "192.0.2.1", 2)
	w.zone("evil/z", "app.example.org.", 3)
	w.acquire1("app.example.org.", api.KindRecord, "victim/r1")
	s := Compile(nil, w.objects(), opt, testTime)
	was := ask(s, "app.example.org.", dns.TypeA)
	w.setRecord(0, "victim/r1", nil)
	s = Compile(s, w.objects(), opt, testTime)
	if is := ask(s, "app.example.org.", dns.TypeA); was != is {
		t.Errorf("the name was %s and is %s", was, is)
	}
}
