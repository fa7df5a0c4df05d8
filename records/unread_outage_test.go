package records

import (
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// gatewayIn is gateway for an IP address in any cluster. The namespace has one letter.
func (w *world) gatewayIn(cluster int, name, host string, strategy api.Strategy, created int64, value string) {
	w.setGateway(cluster, name, &api.Gateway{
		Listeners: []api.Listener{{Name: "l", Hostname: host, AttachedRoutes: 1}}, Addresses: []api.Address{{Type: api.IPAddress, Value: value}},
	})
	w.setPolicy(cluster, name, &api.DNSPolicy{Meta: api.Meta{Created: created}, Target: api.Target{Name: name[2:]}, Strategy: strategy})
}

// keepAll puts on record what the elected replica would, and leaves lines of others that are not gone.
func (w *world) keepAll(s *Snapshot) {
	put := func(key string, o api.Owner) {
		if was, ok := w.acquired.Get(key); ok && (was.Cluster != o.Cluster || was.Kind != o.Kind || was.Name != o.Name) {
			if gone, _ := s.Gone(key, was); !gone {
				return
			}
		}
		w.acquireAs(key, o)
	}
	for key, o := range s.SiteHoldings() {
		put(key, o)
	}
	for g := range s.Groups() {
		for key, o := range s.Holdings(g) {
			put(key, o)
		}
	}
}

// kept compiles the world from nothing, with what is put on record of it.
func (w *world) kept() *Snapshot {
	for range 2 {
		w.keepAll(Compile(nil, w.objects(), unreadOptions, testTime))
	}
	return Compile(nil, w.objects(), unreadOptions, testTime)
}

// outage has the second cluster away while do changes the first one, and the writer writes on.
func (w *world) outage(do func()) (meanwhile, after *Snapshot) {
	d := w.clusters[1]
	w.clusters[1] = &api.Cluster{Name: d.Name, UID: d.UID}
	do()
	meanwhile = w.kept()
	w.clusters[1] = d
	return meanwhile, w.kept()
}

// change has the namespace e of the first cluster publish something that is older than all else.
func (w *world) change(r *rand.Rand) {
	host := pick(r, []string{"a.example.com", "*.a.example.com", "b.a.example.com", "deep.example.com", "*.example.com", "example.com"})
	switch r.IntN(4) {
	case 0, 1:
		w.gatewayIn(0, "e/p", host, pick(r, []api.Strategy{api.Simple, api.WeightedGeo}), 0, "192.0.2.66")
	case 2:
		w.zone("e/z", host+".", 0, api.Delegation{Records: []api.RecordDelegation{{Pattern: "*"}}})
	case 3:
		data := pick(r, [][2]string{{"A", "192.0.2.66"}, {"TXT", "x"}, {"NS", "e.example.net."}, {"DNAME", "e.example.net."}})
		w.record("e/r", host+".", data[0], data[1], 0)
	}
}

// TestUnreadOutageLosesNothing: what an owner on record keeps when others change something beside it, it keeps too when its
// cluster is away meanwhile, and the writer writes on (rule 5.4).
func TestUnreadOutageLosesNothing(t *testing.T) {
	oneGoroutine(t)
	lost := 0
	for seed := range seeds(t, 800) {
		r := rand.New(rand.NewPCG(seed, 5))
		w := newWorld("c1", "c2")
		w.written, w.zoned, w.crowded = true, seed%2 == 0, seed%3 == 0
		for range 12 {
			w.mutate(r)
			w.kept()
		}
		acquired, clusters := w.acquired, [2]*api.Cluster(w.clusters)
		first := w.kept()
		after := make(map[bool]*Snapshot)
		for _, away := range []bool{false, true} {
			w.acquired, w.clusters = acquired, []*api.Cluster{clusters[0], clusters[1]}
			r := rand.New(rand.NewPCG(seed, 6))
			do := func() {
				w.change(r)
				w.change(r)
			}
			if away {
				_, after[away] = w.outage(do)
			} else {
				w.kept()
				do()
				after[away] = w.kept()
			}
		}
		has := func(s *Snapshot, key string, o api.Owner) bool {
			is, ok := s.Owner(key)
			return ok && is.Kind == o.Kind && is.Cluster == o.Cluster && is.Name == o.Name
		}
		for key, o := range acquired.All() {
			if o.Cluster != "c2" || !has(first, key, o) || !has(after[false], key, o) || has(after[true], key, o) {
				continue
			}
			if lost++; lost <= 5 {
				t.Errorf("seed %d: %+v has lost %s while its cluster was away: on record were\n%v\nand are\n%v", seed, o, key, maps.Collect(acquired.All()), maps.Collect(w.acquired.All()))
			}
		}
	}
	if lost > 5 {
		t.Errorf("%d names are lost", lost)
	}
}

// TestUnreadNewcomers: what comes while the cluster of an owner on record is away, and would take a part of what that has, is
// neither answered with nor put on record, also where the line has no flag (rules 5.4 and 5.7).
func TestUnreadNewcomers(t *testing.T) {
	everything := []api.Delegation{{Zones: []string{"*"}, Records: []api.RecordDelegation{{Pattern: "*"}}}}
	for _, c := range []struct {
		name  string
		owns  func(*world)
		comes func(*world)
		asks  string
		qtype uint16
		key   string
	}{
		{"NS records above a Zone", func(w *world) {
			w.setZone(1, "b/z", &api.Zone{Meta: api.Meta{Created: 5}, DomainName: "z.sub.example.com.", TTL: 360, Minimum: 60, Delegations: everything})
		}, func(w *world) { w.record("e/r", "sub.example.com.", "NS", "ns.example.net.", 0) }, "www.z.sub.example.com.", dns.TypeA, api.ZoneKey("z.sub.example.com.")},
		{"a Zone of the name", func(w *world) {
			w.setZone(1, "b/z", &api.Zone{Meta: api.Meta{Created: 5}, DomainName: "sub.example.com.", TTL: 360, Minimum: 60, Delegations: everything})
		}, func(w *world) { w.zone("e/z", "sub.example.com.", 0) }, "sub.example.com.", dns.TypeSOA, api.ZoneKey("sub.example.com.")},
		{"a Zone in a Zone", func(w *world) {
			w.setZone(1, "b/z", &api.Zone{Meta: api.Meta{Created: 5}, DomainName: "sub.example.com.", TTL: 360, Minimum: 60, Delegations: everything[:0]})
		}, func(w *world) { w.zone("e/z", "z.sub.example.com.", 0) }, "z.sub.example.com.", dns.TypeSOA, api.ZoneKey("sub.example.com.")},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld("c", "d")
			c.owns(w)
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
			if now, _ := w.acquired.Get(c.key); now != before[c.key] {
				t.Errorf("on record was %+v, and is %+v", before[c.key], now)
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
