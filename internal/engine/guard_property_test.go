package engine

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestGuardProperty lets hosts come, change and go in any way, and engines reload: a host that
// exists is answered as it is, one whose deletion was reported is denied at once, and one that
// has just gone unseen is denied or answered, but not for longer than the guard's time. Then the
// answers, and the objects, are those of an engine without a guard.
func TestGuardProperty(t *testing.T) {
	kept := 0
	for seed := range uint64(120) {
		synctest.Test(t, func(t *testing.T) {
			w := &guardWorld{T: t, aside: seed%2 == 0, r: rand.New(rand.NewPCG(seed, 85)), gone: make(map[string]time.Time)}
			w.feeds = []*fakeSource{{name: "c", place: "c"}, {name: "d", place: "d"}}
			w.truth = []hosts{make(hosts), make(hosts)}
			w.start()
			for range 40 {
				w.step()
				kept += w.check()
			}
			w.settle()
			if t.Failed() {
				t.Fatalf("seed %d: %s", seed, strings.Join(w.story, ", "))
			}
		})
		if t.Failed() {
			return
		}
	}
	if kept < 1000 {
		t.Errorf("only %d names were held at a check", kept)
	}
}

// guardWorld is hosts in two clusters, under an engine with a guard.
type guardWorld struct {
	*testing.T
	aside bool // structures are compiled beside leaves
	r     *rand.Rand
	feeds []*fakeSource
	truth []hosts
	now   *running
	// gone is since when hosts are missing that nobody has reported as deleted.
	gone  map[string]time.Time
	story []string
}

func (w *guardWorld) tell(format string, args ...any) {
	w.story = append(w.story, fmt.Sprintf(format, args...))
}

// start begins an engine after the one before; its sources show what there is.
func (w *guardWorld) start() {
	before := w.now
	for i, f := range w.feeds {
		w.feeds[i] = &fakeSource{name: f.name, place: f.place}
	}
	w.now = beginWith(w.T, "", before, func(e *Engine, s *settings) {
		beside(e, w.aside)
		s.opt = simpleOptions(60, "example.com.", "sub.example.com.")
	}, w.feeds...)
	if before != nil {
		w.check() // before anything is listed
	}
	for i := range w.feeds {
		w.show(i)
	}
}

func (w *guardWorld) show(i int) { w.feeds[i].show(w.truth[i]) }

// hosts are those that a cluster may have.
func (w *guardWorld) names(i int) (all []string) {
	for n := range 14 {
		all = append(all, fmt.Sprintf("h%d%s", n, w.feeds[i].name), fmt.Sprintf("g%d%s.sub", n, w.feeds[i].name))
	}
	return all
}

func (w *guardWorld) step() {
	i := w.r.IntN(len(w.feeds))
	h, all := maps.Clone(w.truth[i]), w.names(i)
	w.truth[i] = h
	some := func(of int) []string {
		w.r.Shuffle(len(all), func(a, b int) { all[a], all[b] = all[b], all[a] })
		return all[:w.r.IntN(of)]
	}
	add := func() {
		for _, name := range some(len(all)) {
			h[name] = fmt.Sprintf("192.0.2.%d", 1+w.r.IntN(200))
			delete(w.gone, name)
		}
	}
	switch w.r.IntN(8) {
	case 0, 1:
		add()
		w.tell("%s: additions", w.feeds[i].name)
		w.show(i)
	case 2:
		names := some(len(all))
		for _, name := range names {
			delete(h, name)
		}
		w.tell("%s: deletions of %v", w.feeds[i].name, names)
		w.report(i, names)
	case 3, 4:
		names := some(1 + len(all)*w.r.IntN(2))
		var lost []string
		for _, name := range names {
			if _, ok := h[name]; ok {
				w.gone[name] = time.Now()
				lost = append(lost, name)
				delete(h, name)
			}
		}
		w.tell("%s: a list without %v", w.feeds[i].name, lost)
		w.feeds[i].relist(h)
	case 5:
		if w.r.IntN(2) == 0 { // everything
			for name := range h {
				w.gone[name] = time.Now()
			}
			w.truth[i] = make(hosts)
			w.tell("%s: an empty list", w.feeds[i].name)
			w.feeds[i].relist(w.truth[i])
		}
	case 6:
		d := time.Duration(w.r.Int64N(int64(3 * time.Minute)))
		w.tell("%v pass", d)
		time.Sleep(d)
		synctest.Wait()
	case 7:
		w.tell("reload")
		w.start()
	}
}

// report shows what there is, with the deletion of names, of which some may have gone unseen
// before.
func (w *guardWorld) report(i int, names []string) {
	f := w.feeds[i]
	for _, name := range names {
		delete(w.gone, name)
	}
	c := f.cluster(w.truth[i])
	for k := range c.Listings {
		c.Listings[k] = f.last.Listings[k]
	}
	f.also = nil
	for _, name := range names {
		for _, k := range everything()[:3] {
			f.also = append(f.also, refOf(k, name))
		}
	}
	f.send(c)
	f.also = nil
}

// check compares answers with what there is. It returns how many names are held.
func (w *guardWorld) check() (held int) {
	for i := range w.feeds {
		for _, name := range w.names(i) {
			got := w.now.answer(name)
			want, is := w.truth[i][name]
			since, gone := w.gone[name]
			switch {
			case is && got != want:
				w.Errorf("%s is answered with %s, want %s", name, got, want)
			case is || got == "NXDOMAIN":
			case got == "SERVFAIL" || !gone:
				w.Errorf("%s is answered with %s and does not exist", name, got)
			case time.Since(since) >= heldTime:
				w.Errorf("%s is still answered with %s, gone for %v", name, got, time.Since(since))
			default:
				held++
			}
		}
	}
	return held
}

// settle lets the time of everything that is held pass.
func (w *guardWorld) settle() {
	time.Sleep(heldTime)
	synctest.Wait()
	if n := w.check(); n > 0 {
		w.Errorf("%d names are held at the end", n)
	}
	for _, origin := range []string{"example.com.", "sub.example.com."} {
		if n := w.now.held(origin); n > 0 {
			w.Errorf("%d names of %s are counted at the end", n, origin)
		}
	}
	g := w.now.e.guard
	if len(g.clusters) > 0 || len(w.now.e.Held()) > 0 {
		w.Error("objects are held at the end")
	}
	for _, c := range w.now.e.Snapshot().Objects().Clusters {
		i := slices.IndexFunc(w.feeds, func(f *fakeSource) bool { return f.name == c.Name })
		for _, k := range everything()[:3] {
			if got := c.Count(k); got != len(w.truth[i]) {
				w.Errorf("%d objects of kind %v in %s, want %d", got, k, c.Name, len(w.truth[i]))
			}
		}
	}
}
