package derive

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/internal/tree"
)

// world is a small graph that has every kind of step and of read: people have friends and
// a home, homes have a colour, and streets gather the people who live there.
type world struct {
	g       *Graph
	people  *Source[string]    // "street/name" → "friend's key|colour's key"
	colours *Source[int]       // by key
	seen    *Collection[*fact] // one to one with people and colours
	streets *Collection[[]*fact]
	sums    *Collection[*fact]
	runs    map[string]int // how often a function has run
}

type fact struct{ key, text string }

func sameFact(a, b *fact) bool { return a == b || a != nil && b != nil && *a == *b }

func same[V comparable](a, b V) bool { return a == b }

func newWorld(old *Graph) *world {
	w := &world{g: NewGraph(old), runs: make(map[string]int)}
	w.people = NewSource(w.g, "people", same[string])
	w.colours = NewSource(w.g, "colours", same[int])
	w.seen = Map(w.g, "seen", []Any{w.people, w.colours}, sameFact, func(r *Reader, key string) (*fact, bool) {
		w.runs["seen"]++
		person, ok := w.people.Now().Get(key)
		if !ok {
			return nil, false
		}
		own, _ := w.colours.Now().Get(key)
		friend, colour, _ := strings.Cut(person, "|")
		text := "own " + strconv.Itoa(own)
		if other, ok := Get(r, &w.people.Collection, friend); ok && colour != "" { // what is read depends on what was read
			n, has := Get(r, &w.colours.Collection, colour)
			text += fmt.Sprint(" friend ", other, " ", n, has)
		}
		return &fact{key, text}, true
	})
	w.streets = Index(w.g, "streets", []*Collection[*fact]{w.seen}, func(a, b *fact) int { return strings.Compare(a.key, b.key) },
		func(f *fact, yield func(string, *fact)) {
			street, _, _ := strings.Cut(f.key, "/")
			yield(street, f)
			if strings.Contains(f.text, "true") {
				yield("befriended", f)
			}
		})
	w.sums = Map(w.g, "sums", []Any{w.streets}, sameFact, func(r *Reader, key string) (*fact, bool) {
		w.runs["sums"]++
		list, ok := w.streets.Now().Get(key)
		if !ok {
			return nil, false
		}
		text := ""
		for _, f := range list {
			text += f.text + ";"
		}
		n := 0
		for name := range Prefix(r, &w.people.Collection, key[len(key)-1:]+"/") {
			n += len(name)
		}
		return &fact{key, text + strconv.Itoa(n)}, true
	})
	return w
}

func put[V any](s *Source[V], now map[string]V, changed []string) {
	edit := tree.Map[V]{}.Edit()
	for _, key := range slices.Sorted(maps.Keys(now)) {
		edit.Set(key, now[key])
	}
	s.Put(edit.Map(), changed)
}

// told returns all that a world has made, as text.
func (w *world) told() string {
	var b strings.Builder
	for key, f := range w.seen.Now().All() {
		fmt.Fprintln(&b, "seen", key, *f)
	}
	for key, list := range w.streets.Now().All() {
		fmt.Fprint(&b, "street ", key)
		for _, f := range list {
			fmt.Fprint(&b, " ", *f)
		}
		fmt.Fprintln(&b)
	}
	for key, f := range w.sums.Now().All() {
		fmt.Fprintln(&b, "sum", key, *f)
	}
	return b.String()
}

// TestStepByStep: after any row of changes, a graph has what one that is made from nothing
// has, and has run no function whose reads did not change. One that is made from nothing
// beside it takes over what is equal.
func TestStepByStep(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 1))
		people, colours := map[string]string{}, map[string]int{}
		key := func() string { return string(rune('a'+r.IntN(4))) + "/" + strconv.Itoa(r.IntN(6)) }
		w := newWorld(nil)
		for range 60 {
			var changed, painted []string
			for range r.IntN(4) {
				k := key()
				changed = append(changed, k)
				if r.IntN(3) == 0 {
					delete(people, k)
				} else {
					people[k] = key() + "|" + key()
				}
			}
			for range r.IntN(3) {
				k := key()
				painted = append(painted, k)
				if r.IntN(3) == 0 {
					delete(colours, k)
				} else {
					colours[k] = r.IntN(3)
				}
			}
			put(w.people, people, changed)
			put(w.colours, colours, painted)
			clear(w.runs)
			w.g.Run()
			if len(w.people.Changed())+len(w.colours.Changed()) == 0 && len(w.runs) > 0 {
				t.Fatalf("seed %d: ran %v without a change", seed, w.runs)
			}
			fresh := newWorld(w.g)
			put(fresh.people, people, slices.Collect(maps.Keys(people)))
			put(fresh.colours, colours, slices.Collect(maps.Keys(colours)))
			fresh.g.Run()
			if got, want := w.told(), fresh.told(); got != want {
				t.Fatalf("seed %d: step by step\n%sfrom nothing\n%s", seed, got, want)
			}
			for k, f := range fresh.sums.Now().All() {
				if old, _ := w.sums.Now().Get(k); old != f {
					t.Fatalf("seed %d: the equal value at %s was made anew", seed, k)
				}
			}
			w.checkChanged(t)
			if r.IntN(4) == 0 {
				w.g.Rest()
			}
			if r.IntN(10) == 0 {
				w = fresh
			}
		}
		clear(people)
		put(w.people, people, []string{
			"a/0", "a/1", "a/2", "a/3", "a/4", "a/5", "b/0", "b/1", "b/2", "b/3", "b/4", "b/5",
			"c/0", "c/1", "c/2", "c/3", "c/4", "c/5", "d/0", "d/1", "d/2", "d/3", "d/4", "d/5",
		})
		w.g.Run()
		for _, s := range w.g.steps {
			if n := s.head(); len(n.at)+len(n.below)+len(n.reads) > 0 {
				t.Fatalf("seed %d: %s keeps reads of what is gone: %v %v %v", seed, n.name, n.at, n.below, n.reads)
			}
		}
	}
}

// checkChanged compares what a collection says has changed with what has.
func (w *world) checkChanged(t *testing.T) {
	t.Helper()
	var want []string
	for key, f := range w.sums.Now().All() {
		if before, ok := w.sums.Was().Get(key); !ok || before != f {
			want = append(want, key)
		}
	}
	for key := range w.sums.Was().All() {
		if _, ok := w.sums.Now().Get(key); !ok {
			want = append(want, key)
		}
	}
	slices.Sort(want)
	if got := w.sums.Changed(); !slices.Equal(got, want) {
		t.Fatalf("changed %q, want %q", got, want)
	}
}

// TestCutOff: where a value is equal, nothing further runs.
func TestCutOff(t *testing.T) {
	w := newWorld(nil)
	people := map[string]string{"a/1": "", "b/1": "a/1|a/1"}
	put(w.people, people, []string{"a/1", "b/1"})
	put(w.colours, map[string]int{"a/1": 1}, []string{"a/1"})
	w.g.Run()
	clear(w.runs)
	put(w.colours, map[string]int{"a/1": 1, "z/9": 3}, []string{"a/1", "z/9"}) // nobody reads z/9
	w.g.Run()
	if w.runs["seen"] != 1 || w.runs["sums"] != 0 {
		t.Errorf("ran %v, want seen once, for z/9", w.runs)
	}
	clear(w.runs)
	put(w.colours, map[string]int{"a/1": 2, "z/9": 3}, []string{"a/1"})
	w.g.Run()
	if w.runs["seen"] != 2 || w.runs["sums"] != 3 { // a, b, befriended
		t.Errorf("ran %v, want seen twice, for a/1 and who reads it", w.runs)
	}
}
