package records

import (
	"maps"
	"testing"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"
)

// TestPublished: serials go on from what was published before: the same for the same
// content, a later one for any other, and never one below (rule 6.7).
func TestPublished(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	zones := []ZoneOptions{{Origin: "example.com.", TTL: 60}}
	w := newWorld("c")
	zone := func(kept api.Kept) {
		w.setZone(0, "dns/z", &api.Zone{DomainName: "example.com.", TTL: 360, Kept: kept, Delegations: []api.Delegation{{Records: []api.RecordDelegation{{Pattern: "*"}}}}})
	}
	record := func(data string) {
		w.setRecord(0, "dns/r", &api.Record{DomainName: "a.example.com.", Type: "A", Class: "IN", TTL: api.NoTTL, RData: data})
	}
	zone(api.Kept{})
	record("192.0.2.1")
	hash := Compile(nil, w.objects(), &Options{Zones: zones}, noon).zones[0].Hash()
	for _, c := range []struct {
		what            string
		published, kept api.Kept
		want            uint32
	}{
		{"nothing is known", api.Kept{}, api.Kept{}, 2026112150},
		{"the same content", api.Kept{Hash: hash, Serial: 2026112103}, api.Kept{}, 2026112103},
		{"the same content, in the future", api.Kept{Hash: hash, Serial: 2036112103}, api.Kept{}, 2036112103},
		{"other content", api.Kept{Hash: "other", Serial: 2026112103}, api.Kept{}, 2026112104},
		{"other content of yesterday", api.Kept{Hash: "other", Serial: 2026112003}, api.Kept{}, 2026112100},
		{"content that is not known", api.Kept{Serial: 2026112170}, api.Kept{}, 2026112171},
		{"content that is not known, of the morning", api.Kept{Serial: 2026112110}, api.Kept{}, 2026112150},
		{"the last serial there is", api.Kept{Serial: 1<<32 - 1}, api.Kept{}, 2026112150},
		{"the status knows a later one", api.Kept{Hash: hash, Serial: 2026112103}, api.Kept{Hash: hash, Serial: 2026112105}, 2026112105},
		{"the status knows an earlier one", api.Kept{Hash: hash, Serial: 2026112103}, api.Kept{Hash: hash, Serial: 2026112101}, 2026112103},
		{"the status knows a later one of other content", api.Kept{Hash: hash, Serial: 2026112103}, api.Kept{Hash: "other", Serial: 2026112105}, 2026112106},
	} {
		zone(c.kept)
		opt := &Options{Zones: zones, Published: map[string]api.Kept{"example.com.": c.published, "gone.": {Hash: "x", Serial: 5}}}
		first := Compile(nil, w.objects(), opt, noon)
		if got := first.zones[0].Serial(); got != c.want {
			t.Errorf("%s: serial %d, want %d", c.what, got, c.want)
			continue
		}
		if got := maps.Collect(first.Published()); len(got) != 2 || got["example.com."] != (api.Kept{Hash: hash, Serial: c.want}) || got["gone."] != opt.Published["gone."] {
			t.Errorf("%s: published %v", c.what, got)
		}
		record("192.0.2.2")
		second := Compile(first, w.objects(), opt, noon)
		record("192.0.2.1")
		third := Compile(second, w.objects(), opt, noon)
		if a, b := second.zones[0].Serial(), third.zones[0].Serial(); int32(a-c.want) <= 0 || int32(b-a) <= 0 {
			t.Errorf("%s: after serial %d come %d and %d", c.what, c.want, a, b)
		}
	}

	// A zone that comes later goes on from its own, and one that went is yielded.
	opt := &Options{Zones: []ZoneOptions{{Origin: "org.", TTL: 60}}, Published: map[string]api.Kept{"example.org.": {Serial: 2026112157}}}
	before := Compile(nil, w.objects(), opt, noon)
	w.setZone(0, "dns/y", &api.Zone{DomainName: "example.org.", TTL: 360})
	with := Compile(before, w.objects(), opt, noon)
	if got := maps.Collect(with.Published())["example.org."]; got.Serial != 2026112158 || got.Hash == "" {
		t.Errorf("a zone that comes: %v", got)
	}
	w.setZone(0, "dns/y", nil)
	if got := maps.Collect(Compile(with, w.objects(), opt, noon).Published())["example.org."]; got != (api.Kept{Serial: 2026112158}) {
		t.Errorf("a zone that goes: %v", got)
	}
}

// TestHealthFromBefore: a target begins with what was known of it, until checks decide
// otherwise, and only a target with the same key (rule 4.7).
func TestHealthFromBefore(t *testing.T) {
	w := newWorld("c")
	w.setGateway(0, "ns/g", &api.Gateway{
		Listeners: []api.Listener{{Name: "l", Hostname: "a.example.com", AttachedRoutes: 1}},
		Addresses: []api.Address{{Type: api.IPAddress, Value: "192.0.2.1"}, {Type: api.IPAddress, Value: "192.0.2.2"}},
	})
	check := &api.HealthCheck{Protocol: api.TCP, Port: 80, Interval: time.Minute, Timeout: time.Second, FailureThreshold: 2, SuccessThreshold: 2}
	w.setPolicy(0, "ns/p", &api.DNSPolicy{Target: api.Target{Name: "g"}, HealthCheck: check})
	zones := []ZoneOptions{{Origin: "example.com.", TTL: 60}}
	now := time.Unix(0, 0)
	states := func(s *Snapshot) (down []string) {
		for _, target := range s.Checks().All() {
			if target.Cell.Load().State() == health.Down {
				down = append(down, target.Address)
			}
		}
		return down
	}
	plain := Compile(nil, w.objects(), &Options{Zones: zones}, now)
	known := make(map[string]health.State)
	for key, target := range plain.Checks().All() {
		if target.Address == "192.0.2.1" {
			known[key] = health.Down
		}
	}
	opt := &Options{Zones: zones, Health: known}
	s := Compile(nil, w.objects(), opt, now)
	if got := states(s); len(known) != 1 || len(got) != 1 || got[0] != "192.0.2.1" {
		t.Fatalf("down: %v of %v", got, known)
	}
	for key := range known {
		target, _ := s.Checks().Get(key)
		if w := target.Cell.Load(); w.Checked() || !w.Known() {
			t.Errorf("checked %v, known %v", w.Checked(), w.Known())
		}
		good := health.Outcome{Reason: health.Good}
		for i, want := range []health.State{health.Down, health.Up} {
			if _, after := target.Cell.Observe(good, target.Terms); after.State() != want || !after.Checked() {
				t.Errorf("after %d checks: %v", i+1, after.State())
			}
		}
	}
	other := *check
	other.Port = 443
	w.setPolicy(0, "ns/p", &api.DNSPolicy{Target: api.Target{Name: "g"}, HealthCheck: &other})
	if got := states(Compile(s, w.objects(), opt, now)); len(got) != 0 {
		t.Errorf("another check: %v are down", got)
	}
}
