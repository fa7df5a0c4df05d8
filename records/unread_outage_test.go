package records

import (
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// change has the namespace e of the first cluster publish something that is older than all else.
func (w *world) change(r *rand.Rand) {
	host := pick(r, []string{"a.example.com", "*.a.example.com", "b.a.example.com", "klb.a.example.com", "x.klb.a.example.com", "deep.example.com", "*.example.com", "example.com"})
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
