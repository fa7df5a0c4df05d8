package records

import (
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// forgetGone takes the lines off the record that the elected replica would: nobody has what they say, and it is known that
// nobody does.
func (w *world) forgetGone(s *Snapshot) {
	held := maps.Collect(s.SiteHoldings())
	for g := range s.Groups() {
		maps.Insert(held, s.Holdings(g))
	}
	edit := w.acquired.Edit()
	for key, o := range w.acquired.All() {
		if _, ok := held[key]; ok {
			continue
		}
		if gone, _ := s.Gone(key, o); gone {
			edit.Delete(key)
		}
	}
	w.acquired = edit.Map()
}

// TestUnreadOutageLeavesNothing: after an outage, in which others bring something that is older than all else, everything is as it
// would be without it: what is on record, what is served, and what is said of it.
func TestUnreadOutageLeavesNothing(t *testing.T) {
	for seed := range seeds(t, 300) {
		r := rand.New(rand.NewPCG(seed, 15))
		w := newWorld("c1", "c2")
		w.written, w.zoned, w.crowded = true, seed%2 == 0, seed%3 == 0
		for range 12 {
			w.mutate(r)
			w.kept()
		}
		acquired, clusters := w.acquired, [2]*api.Cluster(w.clusters)
		said, record := make(map[bool]string), make(map[bool]map[string]api.Owner)
		for _, away := range []bool{false, true} {
			w.acquired, w.clusters = acquired, []*api.Cluster{clusters[0], clusters[1]}
			r := rand.New(rand.NewPCG(seed, 6))
			do := func() {
				for range 1 + r.IntN(2) {
					w.change(r)
				}
			}
			if away {
				w.outage(do)
			} else {
				do()
			}
			s := w.kept()
			w.forgetGone(s)
			said[away], record[away] = dump(s), maps.Collect(w.acquired.All())
		}
		if said[false] != said[true] || !maps.Equal(record[false], record[true]) {
			t.Errorf("seed %d: on record were\n%v\nand are without an outage\n%v\nand with one\n%v\n%s",
				seed, maps.Collect(acquired.All()), record[false], record[true], differing(said[true], said[false]))
		}
	}
}
