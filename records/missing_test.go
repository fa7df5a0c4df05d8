package records

import (
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestMissingBeatsNoLiveObject: what the guard keeps has its name against other namespaces, older or not, and gives it to a
// live object of its own namespace at once (rule 8.5).
func TestMissingBeatsNoLiveObject(t *testing.T) {
	const host = "h.example.org."
	publish := func(w *world, name, address string, created int64) {
		w.setGateway(0, name, &api.Gateway{
			Listeners: []api.Listener{{Name: "l", Hostname: "h.example.org", AttachedRoutes: 1}},
			Addresses: []api.Address{{Type: api.IPAddress, Value: address}},
		})
		_, bare, _ := strings.Cut(name, "/")
		w.setPolicy(0, name, &api.DNSPolicy{Meta: api.Meta{Created: created}, Target: api.Target{Name: bare}})
	}
	for _, c := range []struct {
		what string
		held api.Ref
		put  func(w *world) // the object that is missing later, at 192.0.2.1
	}{
		{"an endpoint", api.Ref{Kind: api.KindDNSEndpoint, Name: "n1/held"}, func(w *world) { w.endpoints("n1/held", 1, apiEndpoint(host, "A", "192.0.2.1")) }},
		{"a Record", api.Ref{Kind: api.KindRecord, Name: "n1/held"}, func(w *world) { w.record("n1/held", host, "A", "192.0.2.1", 1) }},
		{"a policy", api.Ref{Kind: api.KindDNSPolicy, Name: "n1/held"}, func(w *world) { publish(w, "n1/held", "192.0.2.1", 1) }},
		{"a Gateway", api.Ref{Kind: api.KindGateway, Name: "n1/held"}, func(w *world) { publish(w, "n1/held", "192.0.2.1", 1) }},
	} {
		w := newWorld("c")
		var snap *Snapshot
		expect := func(when, address string) {
			t.Helper()
			in := w.objects()
			snap = Compile(snap, in, &reviewOptions, testTime)
			for _, s := range []*Snapshot{snap, Compile(nil, in, &reviewOptions, testTime)} {
				if got := ask(s, host, dns.TypeA); !strings.Contains(got, "\t"+address) || strings.Count(got, "\n") != 1 {
					t.Errorf("%s, %s: answered with %s, want %s", c.what, when, got, address)
				}
			}
		}
		c.put(w)
		w.endpoints("n2/other", 2, apiEndpoint(host, "A", "192.0.2.2"))
		expect("before", "192.0.2.1")
		w.miss(c.held)
		expect("missing", "192.0.2.1")
		w.endpoints("n2/older", 0, apiEndpoint("x."+host, "A", "192.0.2.2"))
		publish(w, "n1/live", "192.0.2.3", 3)
		expect("beside a live policy", "192.0.2.3")
		w.setPolicy(0, "n1/live", nil)
		expect("without it", "192.0.2.1")
		w.endpoints("n1/live", 3, apiEndpoint(host, "A", "192.0.2.4"))
		expect("beside a live endpoint", "192.0.2.4")
		c.put(w)
		expect("back", "192.0.2.1")
	}
}

// miss marks an object as missing, as the guard does.
func (w *world) miss(ref api.Ref) {
	next := *w.clusters[0]
	next.Keep(ref.Kind, w.clusters[0], func(yield func(string) bool) { yield(ref.Name) })
	w.clusters[0], w.changed[0][ref] = &next, true
}

// TestMissingRecordsAndPolicies: a missing CNAME gives its name to a younger A record of its namespace, and a missing policy
// its Gateway to a younger policy (rule 8.5).
func TestMissingRecordsAndPolicies(t *testing.T) {
	w := newWorld("c")
	w.record("n1/alias", "h.example.org.", "CNAME", "elsewhere.example.", 1)
	w.record("n1/live", "h.example.org.", "A", "192.0.2.1", 2)
	w.setGateway(0, "n1/g", &api.Gateway{
		Listeners: []api.Listener{{Name: "l", Hostname: "g.example.org", AttachedRoutes: 1}},
		Addresses: []api.Address{{Type: api.IPAddress, Value: "192.0.2.1"}},
	})
	w.setPolicy(0, "n1/old", &api.DNSPolicy{Meta: api.Meta{Created: 1}, Target: api.Target{Name: "g"}, Strategy: api.WeightedGeo, DefaultWeight: 1})
	w.setPolicy(0, "n1/new", &api.DNSPolicy{Meta: api.Meta{Created: 2}, Target: api.Target{Name: "g"}})
	snap := Compile(nil, w.objects(), &reviewOptions, testTime)
	hosts := []string{"h.example.org."}
	if got := ask(snap, "g.example.org.", dns.TypeA); !strings.Contains(got, "CNAME") {
		t.Errorf("g.example.org. has no chain: %s", got)
	}
	for _, host := range hosts {
		if got := ask(snap, host, dns.TypeA); strings.Contains(got, "192.0.2.1") {
			t.Errorf("%s is answered with %s before anything is missing", host, got)
		}
	}
	w.miss(api.Ref{Kind: api.KindRecord, Name: "n1/alias"})
	w.miss(api.Ref{Kind: api.KindDNSPolicy, Name: "n1/old"})
	in := w.objects()
	for _, s := range []*Snapshot{Compile(snap, in, &reviewOptions, testTime), Compile(nil, in, &reviewOptions, testTime)} {
		for _, host := range append(hosts, "g.example.org.") {
			if got := ask(s, host, dns.TypeA); !strings.Contains(got, "192.0.2.1") || strings.Contains(got, "CNAME") {
				t.Errorf("%s is answered with %s", host, got)
			}
		}
	}
}

// TestMissingZone: a missing Zone gives its name to a younger one of its namespace, and to none of another (it kept the
// name).
func TestMissingZone(t *testing.T) {
	w := newWorld("c")
	for i, name := range []string{"n1/held", "n2/other", "n1/live"} {
		w.zone(name, "z.example.org", int64(i))
	}
	served := func(s *Snapshot) string { return s.zoneSet.closest("z.example.org.").object.Name }
	snap := Compile(nil, w.objects(), &reviewOptions, testTime)
	if got := served(snap); got != "n1/held" {
		t.Errorf("Zone %s is served before anything is missing", got)
	}
	w.miss(api.Ref{Kind: api.KindZone, Name: "n1/held"})
	in := w.objects()
	for _, s := range []*Snapshot{Compile(snap, in, &reviewOptions, testTime), Compile(nil, in, &reviewOptions, testTime)} {
		if got := served(s); got != "n1/live" {
			t.Errorf("Zone %s is served", got)
		}
	}
}
