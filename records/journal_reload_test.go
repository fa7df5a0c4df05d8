package records

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// lagging is a compiler that sees objects later than they come.
type lagging struct {
	opt  *Options
	snap *Snapshot
	// waiting is what it has not seen.
	waiting []api.Objects
}

// step has the compiler see some of what waits for it; after, where it is not nil, is the
// other compiler's newest.
func (l *lagging) step(r *rand.Rand, after *Snapshot) {
	n := 1 + r.IntN(len(l.waiting))
	in := api.Objects{Overrides: l.waiting[n-1].Overrides}
	for i, c := range l.waiting[n-1].Clusters {
		own := *c
		own.Changed = nil
		for _, w := range l.waiting[:n] {
			for _, ref := range w.Clusters[i].Changed {
				if !slices.Contains(own.Changed, ref) {
					own.Changed = append(own.Changed, ref)
				}
			}
		}
		in.Clusters = append(in.Clusters, &own)
	}
	l.waiting = l.waiting[n:]
	l.snap = Compile(l.snap, in, l.opt, testTime)
	if after != nil {
		l.snap = l.snap.After(after, testTime)
	}
}

// TestJournalOfTwoCompilers is a reload under random changes: two compilers publish from
// one snapshot on, and the second goes on from what the first has published. A journal
// may be forgotten then, and never leads astray: not even where one serial has meant two
// things, one to each compiler's clients.
func TestJournalOfTwoCompilers(t *testing.T) {
	oneGoroutine(t)
	steps, forgotten := 0, 0
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 4))
		w := newWorld("c1", "c2")
		w.zoned = seed%2 == 0
		first, second := &lagging{opt: worldOptions(seed)}, &lagging{opt: worldOptions(seed)}
		first.snap = Compile(nil, w.objects(), first.opt, testTime)
		p := make(published)
		p.note(t, first.snap, 1)
		second.snap = Compile(first.snap, w.objects(), second.opt, testTime)
		checkReach(t, first.snap, second.snap)
		for i := range 40 {
			w.mutate(r)
			in := w.objects()
			first.waiting, second.waiting = append(first.waiting, in), append(second.waiting, in)
			if r.IntN(2) == 0 && i < 30 { // then it has ended
				first.step(r, nil)
				p.note(t, first.snap, 2)
			}
			if r.IntN(2) == 0 {
				before := second.snap
				second.step(r, first.snap)
				p.note(t, second.snap, 2)
				steps += p.check(t, second.snap)
				for _, z := range second.snap.zones {
					if at, ok := before.zoneSet.index[z.origin]; ok && len(z.journal.deltas) < len(before.zones[at].journal.deltas) {
						forgotten++
					}
				}
			}
		}
	}
	if steps < 10_000 || forgotten < 300 {
		t.Errorf("%d steps of journals were checked, %d journals were forgotten", steps, forgotten)
	}
}

// TestJournalGoesOn: where the compiler before has published what the next one sees too,
// the next one has its journal.
func TestJournalGoesOn(t *testing.T) {
	w, opt := oneZone(t)
	again := *opt
	old := Compile(nil, w.objects(), opt, testTime)
	first := old.zones[0].serial
	next := Compile(old, w.objects(), &again, testTime)
	var all []api.Ref
	var in api.Objects
	for i := range 3 {
		w.put("a", "a", "A", fmt.Sprintf("192.0.2.%d", i))
		in = w.objects()
		all = in.Clusters[0].Changed // the same each time
		old = Compile(old, in, opt, testTime)
	}
	own := *in.Clusters[0]
	own.Changed = all
	next = Compile(next, api.Objects{Clusters: []*api.Cluster{&own}}, &again, testTime).After(old, testTime)
	if deltas, ok := next.zones[0].Since(first); !ok || len(deltas) != 3 || next.zones[0].SOA() != old.zones[0].SOA() {
		t.Errorf("%v, %d steps", ok, len(deltas))
	}
	w.put("b", "b", "A", "192.0.2.1")
	next = Compile(next, w.objects(), &again, testTime).After(old, testTime)
	if deltas, ok := next.zones[0].Since(first); !ok || len(deltas) != 4 {
		t.Errorf("one more: %v, %d steps", ok, len(deltas))
	}
}
