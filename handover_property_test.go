package kuadrant

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestReloadProperty reloads engines in any order, with sources that come, go,
// move, are refused in part and are listed late. What was answered goes on to be
// for as long as it exists in a source that is read, serials never go back, and
// once everything is listed the answers are those of the sources alone.
func TestReloadProperty(t *testing.T) {
	kept := 0
	for seed := range uint64(150) {
		synctest.Test(t, func(t *testing.T) {
			w := &reloads{T: t, r: rand.New(rand.NewPCG(seed, 7)), answered: make(map[string]bool)}
			for _, p := range []string{"c east", "c west", "d north", "e south"} {
				name, place, _ := strings.Cut(p, " ")
				w.places = append(w.places, &feed{name: name, place: place})
			}
			w.truth = make(map[string]hosts)
			w.reload()
			for range 25 {
				if w.r.IntN(5) == 0 {
					w.reload()
				} else {
					w.change(w.feeds[w.r.IntN(len(w.feeds))])
				}
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
		t.Errorf("only %d answers were there to be kept", kept)
	}
}

// reloads is a process that is reloaded, with the sources that it may read.
type reloads struct {
	*testing.T
	r      *rand.Rand
	places []*feed          // where sources may be; only their names and places count
	truth  map[string]hosts // what exists, by place
	feeds  []*feed          // what the newest engine reads
	limits map[*feed]limit  // how much of it may be read
	now    *running
	serial uint32
	// answered are the objects whose hosts were answered at the last check.
	answered map[string]bool
	story    []string
}

// names are those of the objects that may exist at a place.
func names(place string) (all []string) {
	for i := range 4 {
		all = append(all, fmt.Sprintf("ns/h%d-%s", i, place), fmt.Sprintf("other/g%d-%s", i, place))
	}
	return all
}

// sees tells whether the object of that name would be seen.
func (l limit) sees(name string) bool {
	return len(l.kinds) == 0 && strings.HasPrefix(name, l.namespace+"/") || l.whole
}

// limit is how much of a source may be read.
type limit struct {
	whole     bool
	namespace string     // "" for no limit to one
	kinds     []api.Kind // that are refused
}

func (w *reloads) tell(format string, args ...any) {
	w.story = append(w.story, fmt.Sprintf(format, args...))
}

// reload starts an engine on other sources, and ends the one before.
func (w *reloads) reload() {
	w.feeds, w.limits = nil, make(map[*feed]limit)
	for _, i := range w.r.Perm(len(w.places))[:1+w.r.IntN(3)] {
		p := w.places[i]
		if slices.ContainsFunc(w.feeds, func(f *feed) bool { return f.name == p.name }) {
			continue
		}
		f := &feed{name: p.name, place: p.place}
		w.feeds = append(w.feeds, f)
		w.limits[f] = []limit{{whole: true}, {namespace: "ns"}, {kinds: []api.Kind{api.Kind(w.r.IntN(int(api.NumKinds)))}}}[w.r.IntN(3)]
		w.tell("read %s in %s", f.name, f.place)
	}
	before := w.now
	w.now = follow(w.T, before, uint32(60+w.r.IntN(2)), w.feeds...)
	if before != nil {
		before.plugin.engine.stop()
		w.now.plugin.engine.ring()
		synctest.Wait()
	}
}

// change adds or removes a host at a source, and has the source show what may be
// read of it. Now and then, the limits of that end.
func (w *reloads) change(f *feed) {
	h := maps.Clone(w.truth[f.place])
	if h == nil {
		h = make(hosts)
	}
	all := names(f.place)
	name := all[w.r.IntN(len(all))]
	if w.r.IntN(3) == 0 {
		delete(h, name)
	} else {
		h[name] = fmt.Sprintf("192.0.2.%d", 1+w.r.IntN(200))
	}
	w.truth[f.place] = h
	if w.r.IntN(4) == 0 {
		w.limits[f] = limit{whole: true}
	}
	w.show(f)
}

func (w *reloads) show(f *feed) {
	h, l := w.truth[f.place], w.limits[f]
	w.tell("%s shows %v, %+v", f.place, h, l)
	switch {
	case l.whole:
		f.show(h)
	case l.namespace != "":
		h = maps.Clone(h)
		maps.DeleteFunc(h, func(name, _ string) bool { return !strings.HasPrefix(name, l.namespace+"/") })
		f.showIn(h, l.namespace)
	default:
		f.show(h, l.kinds...)
	}
}

// check compares what is answered now with what was answered before. It returns
// how many answers have stayed.
func (w *reloads) check() (kept int) {
	if w.now.plugin.engine.snap.Load() == nil {
		return 0
	}
	if s := w.now.serial(); int32(s-w.serial) < 0 {
		w.Errorf("serial %d after %d", s, w.serial)
	} else {
		w.serial = s
	}
	answered := make(map[string]bool)
	for _, f := range w.feeds {
		for _, name := range names(f.place) {
			_, exists := w.truth[f.place][name]
			got := w.now.answer(name[strings.Index(name, "/")+1:])
			has := strings.HasPrefix(got, "192.")
			switch {
			case has && exists:
				answered[name] = true
				kept++
			case exists && w.answered[name]:
				w.Errorf("%s is lost: %s", name, got)
			case has && f.last != nil && w.limits[f].sees(name) && len(w.now.plugin.engine.handover.left) == 0:
				w.Errorf("%s does not exist, and is answered with %s", name, got)
			}
		}
	}
	w.answered = answered
	return kept
}

// settle lets everything be read, and compares the answers with what exists.
func (w *reloads) settle() {
	for _, f := range w.feeds {
		w.limits[f] = limit{whole: true}
		w.show(f)
	}
	w.check()
	engine := w.now.plugin.engine
	if n := len(engine.snap.Load().Objects().Clusters); n != len(w.feeds) {
		w.Errorf("%d clusters, want %d", n, len(w.feeds))
	}
	probes := make(map[string]string)
	for _, f := range w.feeds {
		maps.Copy(probes, w.truth[f.place])
	}
	if got := w.now.probed(); !maps.Equal(got, probes) {
		w.Errorf("probes %v, want %v", got, probes)
	}
	if engine.from.Load() != nil {
		w.Error("the engine before is kept")
	}
	for _, p := range w.places {
		read := slices.ContainsFunc(w.feeds, func(f *feed) bool { return f.place == p.place })
		for _, name := range names(p.place) {
			want, exists := w.truth[p.place][name]
			if !exists || !read {
				want = "NXDOMAIN"
			}
			w.now.expect("at the end", name[strings.Index(name, "/")+1:]+"="+want)
		}
	}
}
