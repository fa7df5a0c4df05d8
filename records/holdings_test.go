package records

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
)

// holdingsOf returns all that a snapshot's owners hold.
func holdingsOf(t *testing.T, s *Snapshot) map[string]api.Owner {
	t.Helper()
	all := make(map[string]api.Owner)
	put := func(key string, o api.Owner) {
		if _, twice := all[key]; twice {
			t.Fatalf("%s is listed twice", key)
		}
		if owner, ok := s.Owner(key); !ok || owner != o {
			t.Fatalf("%s is held by %+v, and its owner is %+v", key, o, owner)
		}
		all[key] = o
	}
	for group := range s.Groups() {
		for key, o := range s.Holdings(group) {
			put(key, o)
		}
	}
	for key, o := range s.SiteHoldings() {
		put(key, o)
	}
	return all
}

// randomWorld returns a world as TestIncremental has them.
func randomWorld(seed uint64) (*world, *Options) {
	opt := &Options{Zones: []ZoneOptions{
		{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300, Nameservers: []Nameserver{{Name: "ns1.example.com."}}},
		{Origin: "klb.deep.example.com.", TTL: 60, LoadBalancedTTL: 300, Flatten: true},
	}, ProbesOff: seed%4 == 0, ProbeAllow: []netip.Prefix{netip.MustParsePrefix("192.0.2.2/31")}}
	w := newWorld("c1", "c2")
	w.crowded, w.zoned, w.written = seed%3 == 0, seed%2 == 0, true
	if seed%3 == 1 {
		opt.Zones[0].OwnerTXT = "_owner-"
	}
	return w, opt
}

// TestHoldings: what is kept of the owners as snapshots say that it changes is what the last one
// says of all; and compiled with that, the same objects have the same owners
// (rule 5.4).
func TestHoldings(t *testing.T) {
	for seed := range seeds(t, 60) {
		w, opt := randomWorld(seed)
		r := rand.New(rand.NewPCG(seed, 7))
		var snap *Snapshot
		kept := make(map[string]map[string]api.Owner) // by group; "" for zones
		for step := range 40 {
			for range 1 + r.IntN(3) {
				w.mutate(r)
			}
			snap = Compile(snap, w.objects(), opt, testTime)
			if snap.Renewed() == nil {
				clear(kept)
				for group := range snap.Groups() {
					kept[group] = maps.Collect(snap.Holdings(group))
				}
			}
			for _, group := range snap.Renewed() {
				kept[group] = maps.Collect(snap.Holdings(group))
			}
			kept[""] = maps.Collect(snap.SiteHoldings())
			all := make(map[string]api.Owner)
			for _, in := range kept {
				maps.Copy(all, in)
			}
			want := holdingsOf(t, snap)
			if !maps.Equal(all, want) {
				t.Fatalf("seed %d step %d: kept %v\nwant %v", seed, step, all, want)
			}
			checkKept(t, opt, snap, want, fmt.Sprintf("seed %d step %d", seed, step))
			if r.IntN(4) == 0 {
				w.writeOwners(want)
			}
		}
	}
}

// checkKept compiles the objects with the owners on record.
func checkKept(t *testing.T, opt *Options, snap *Snapshot, owners map[string]api.Owner, at string) {
	t.Helper()
	in := snap.in
	in.Acquired = mapOf(owners)
	again := Compile(nil, in, opt, testTime)
	got := holdingsOf(t, again)
	for key, o := range owners { // nobody loses anything; a name that nobody could have may find an owner
		if got[key] != o {
			t.Fatalf("%s: with the owners on record %s belongs to %+v, not to %+v\n%s", at, key, got[key], o, differing(dump(again), dump(snap)))
		}
	}
}

func mapOf(owners map[string]api.Owner) tree.Map[api.Owner] {
	e := tree.Map[api.Owner]{}.Edit()
	for key, o := range owners {
		e.Set(key, o)
	}
	return e.Map()
}

// writeOwners puts owners on record, as a writer does.
func (w *world) writeOwners(owners map[string]api.Owner) {
	for key, was := range w.acquired.All() {
		if owners[key] != was {
			w.acquiredChanged = append(w.acquiredChanged, key)
		}
	}
	for key := range owners {
		if _, known := w.acquired.Get(key); !known {
			w.acquiredChanged = append(w.acquiredChanged, key)
		}
	}
	w.acquired = mapOf(owners)
}

// BenchmarkHoldings lists what the owners of 10,000 hosts hold, and of one group of names.
func BenchmarkHoldings(b *testing.B) {
	w := newWorld("c")
	for i := range 10_000 {
		g := gatewayOf([]string{fmt.Sprintf("h%d.example.com", i)}, "192.0.2.1", "2001:db8::1")
		p := parentOf(fmt.Sprint("g", i), fmt.Sprint("u", i), api.WeightedGeo)
		w.setGateway(0, fmt.Sprint("n/g", i), g)
		w.setPolicy(0, fmt.Sprint("n/g", i), p)
	}
	s := Compile(nil, w.objects(), childOptions, testTime)
	for _, c := range []struct {
		name   string
		groups func(func(string) bool)
	}{
		{"all", s.Groups()},
		{"one", func(yield func(string) bool) { yield("h77.example.com.") }},
	} {
		b.Run(c.name, func(b *testing.B) {
			n := 0
			for b.Loop() {
				n = 0
				for group := range c.groups {
					for range s.Holdings(group) {
						n++
					}
				}
			}
			b.ReportMetric(float64(n), "names")
		})
	}
}

// BenchmarkChildren makes the children of one policy.
func BenchmarkChildren(b *testing.B) {
	w := newWorld("c")
	w.setGateway(0, "n/g", gatewayOf([]string{"h.example.com"}, "192.0.2.1", "2001:db8::1"))
	p := parentOf("g", "u", api.WeightedGeo)
	p.HealthCheck = statusCheck
	w.setPolicy(0, "n/g", p)
	s := Compile(nil, w.objects(), childOptions, testTime)
	for b.Loop() {
		if len(s.Children("c", ofPolicy("n/g"))) != 3 {
			b.Fatal("not three children")
		}
	}
}
