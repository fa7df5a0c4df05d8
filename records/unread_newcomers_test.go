package records

import (
	"maps"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestUnreadNewcomers: what comes while the cluster of an owner on record is away, and would take a part of what that has, is
// neither answered with nor put on record, also where the line has no flag (rules 5.4 and 5.7).
func TestUnreadNewcomers(t *testing.T) {
	everything := []api.Delegation{{Zones: []string{"*"}, Records: []api.RecordDelegation{{Pattern: "*"}}}}
	text := func(w *world) { w.record("r/r", "x.klb.app.example.com.", "TXT", "x", 1) } // the host is flat, and has no chain on record
	for _, c := range []struct {
		name      string
		owns, old func(*world)
		comes     func(*world)
		asks      string
		qtype     uint16
		key       string
	}{
		{"a host below klb of a flat one", func(w *world) { w.gatewayIn(1, "b/p", "app.example.com", api.WeightedGeo, 5, "192.0.2.1") }, text, func(w *world) {
			w.gatewayIn(0, "e/p", "y.klb.app.example.com", api.Simple, 0, "192.0.2.66")
		}, "y.klb.app.example.com.", dns.TypeA, "app.example.com."},
		{"NS records above a Zone", func(w *world) {
			w.setZone(1, "b/z", &api.Zone{Meta: api.Meta{Created: 5}, DomainName: "z.sub.example.com.", TTL: 360, Minimum: 60, Delegations: everything})
		}, nil, func(w *world) { w.record("e/r", "sub.example.com.", "NS", "ns.example.net.", 0) }, "www.z.sub.example.com.", dns.TypeA, api.ZoneKey("z.sub.example.com.")},
		{"a Zone of the name", func(w *world) {
			w.setZone(1, "b/z", &api.Zone{Meta: api.Meta{Created: 5}, DomainName: "sub.example.com.", TTL: 360, Minimum: 60, Delegations: everything})
		}, nil, func(w *world) { w.zone("e/z", "sub.example.com.", 0) }, "sub.example.com.", dns.TypeSOA, api.ZoneKey("sub.example.com.")},
		{"a Zone in a Zone", func(w *world) {
			w.setZone(1, "b/z", &api.Zone{Meta: api.Meta{Created: 5}, DomainName: "sub.example.com.", TTL: 360, Minimum: 60, Delegations: everything[:0]})
		}, nil, func(w *world) { w.zone("e/z", "z.sub.example.com.", 0) }, "z.sub.example.com.", dns.TypeSOA, api.ZoneKey("sub.example.com.")},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld("c", "d")
			c.owns(w)
			if c.old != nil {
				c.old(w)
			}
			had := gives(w.kept(), c.asks, c.qtype)
			is, ok := w.acquired.Get(c.key)
			if !ok {
				t.Fatalf("the owner is not on record: %+v", maps.Collect(w.acquired.All()))
			}
			before := maps.Collect(w.acquired.All())
			meanwhile, after := w.outage(func() { c.comes(w) })
			if got := gives(meanwhile, c.asks, c.qtype); got != "unlisted" {
				t.Errorf("while the owner cannot be read, %s is %q", c.asks, got)
			}
			if now, ok := after.Owner(c.key); !ok || now.Name != is.Name {
				t.Errorf("after that %s is %+v's, and was %+v's", c.key, now, is)
			}
			if got := gives(after, c.asks, c.qtype); got != had {
				t.Errorf("after that %s is %q, and was %q", c.asks, got, had)
			}
			if now := maps.Collect(w.acquired.All()); !maps.Equal(now, before) {
				t.Errorf("on record were %+v, and are %+v", before, now)
			}
		})
	}
}

// TestUnreadNewcomersOfTheNamespace: what the owner's own namespace brings meanwhile is answered where it may share the name, also where
// names of the chain are on record each by itself; and so is a Zone above the namespace's own names.
func TestUnreadNewcomersOfTheNamespace(t *testing.T) {
	w := newWorld("c", "d")
	w.gatewayIn(1, "b/p", "app.example.com", api.WeightedGeo, 5, "192.0.2.1")
	w.kept()
	for _, name := range []string{"klb.app.example.com.", "default.klb.app.example.com."} {
		w.acquireAs(name, ownerIn("d", api.KindDNSPolicy, "b/p"))
	}
	w.acquireAs("app.example.com.", ownerIn("d", api.KindDNSPolicy, "b/p"))
	d := w.clusters[1]
	w.clusters[1] = &api.Cluster{Name: d.Name, UID: d.UID}
	w.gatewayIn(0, "b/q", "app.example.com", api.WeightedGeo, 6, "192.0.2.2")
	s := Compile(nil, w.objects(), unreadOptions, testTime)
	for name, want := range map[string]string{"app.example.com.": "klb.app.example.com. default.klb.app.example.com. " + leafOf("c", "q", "b") + "192.0.2.2", "klb.app.example.com.": "default.klb.app.example.com. " + leafOf("c", "q", "b") + "192.0.2.2"} {
		if got := gives(s, name, dns.TypeA); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	w = newWorld("c", "d")
	w.gatewayIn(1, "b/p", "app.sub.example.com", api.Simple, 5, "192.0.2.1")
	w.kept()
	meanwhile, after := w.outage(func() {
		w.zone("b/z", "sub.example.com.", 9, api.Delegation{Records: []api.RecordDelegation{{Pattern: "*"}}})
	})
	if z := meanwhile.Zone("sub.example.com."); z.origin != "sub.example.com." {
		t.Errorf("the namespace's own Zone is not served meanwhile: %+v", *meanwhile.Verdict("c", api.Ref{Kind: api.KindZone, Name: "b/z"}))
	}
	if got := gives(after, "app.sub.example.com.", dns.TypeA); got != "192.0.2.1" {
		t.Errorf("after that its host is %q", got)
	}
}
