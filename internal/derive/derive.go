// Package derive keeps collections that are computed from others up to date.
//
// A Graph is a fixed row of steps. Each step keeps one Collection, a persistent
// map from strings to values, and makes every value with a pure function of the
// collections before it. Run makes again what may differ, and nothing else:
//
//   - the value at a key, where a collection that the step goes along with has
//     changed at the same key;
//   - the value at any key, where its function has read something that changed:
//     a Reader records each read, that of an absent key or of a prefix too.
//
// Where the new value is the same as the old one, nothing further runs. So the
// result of a Run equals that of running everything from nothing.
//
// A Graph and its collections belong to one goroutine. The maps that Now
// returns are immutable, and may be read by any number of goroutines.
package derive

import (
	"slices"

	"github.com/coredns-kuadrant/kuadrant/internal/tree"
)

// Graph is a row of steps. The zero Graph has none.
type Graph struct {
	steps []step
	old   map[string]step // those of the graph whose equal values are kept, by name
}

// step is one collection, whatever its values are.
type step interface {
	head() *node
	// run makes again what may differ, and notes in head().changed where it does.
	run()
	// rest ends a Run: nothing is changed any more.
	rest()
}

// NewGraph returns a graph without steps. Where a step of the same name in old,
// nil for none, has an equal value at a key, that value is taken in place of the
// new one: what is compared by pointer further on is the same then.
func NewGraph(old *Graph) *Graph {
	g := &Graph{}
	if old != nil {
		g.old = make(map[string]step, len(old.steps))
		for _, s := range old.steps {
			g.old[s.head().name] = s
		}
	}
	return g
}

// Run brings all collections up to date with what was put into the sources since
// the last Run. Changed and Was of each collection tell of this Run until the next.
func (g *Graph) Run() {
	for _, s := range g.steps {
		s.run()
		s.head().wakeReaders()
	}
	g.old = nil // all that is alike has been found by the first Run
}

// Rest forgets what the last Run has changed, so that what it replaced can be freed.
func (g *Graph) Rest() {
	for _, s := range g.steps {
		s.rest()
	}
}

// node is what all steps have, whatever their values are.
type node struct {
	name string
	// changed are the keys at which the last Run made a difference, sorted.
	changed []string
	// along are the collections whose changed keys are made again here.
	along []*node
	// woken are the keys whose functions have read what has changed.
	woken map[string]struct{}
	// reads has what the function of a key has read, where it has read anything.
	reads map[string][]read
	// at and below have who has read a key, or the keys with a prefix.
	at, below map[string][]reader
}

// read is one read of a key, or of all keys with a prefix.
type read struct {
	of     *node
	key    string
	prefix bool
}

// reader is a value that has read something.
type reader struct {
	step *node
	key  string
}

func (n *node) head() *node { return n }

// readers returns the map that r is noted in.
func (r read) readers() *map[string][]reader {
	if r.prefix {
		return &r.of.below
	}
	return &r.of.at
}

// wakeReaders has all values made again that have read a key which has changed.
func (n *node) wakeReaders() {
	if len(n.at) == 0 && len(n.below) == 0 {
		return // by far the most
	}
	for _, key := range n.changed {
		wake(n.at[key])
		if len(n.below) == 0 {
			continue
		}
		wake(n.below[""])
		for i := range len(key) {
			if key[i] == '/' || key[i] == '.' {
				wake(n.below[key[:i+1]])
			}
		}
	}
}

func wake(readers []reader) {
	for _, r := range readers {
		if r.step.woken == nil {
			r.step.woken = make(map[string]struct{})
		}
		r.step.woken[r.key] = struct{}{}
	}
}

// due returns the keys to make again, sorted, and forgets them.
func (n *node) due() []string {
	if len(n.along) == 1 && len(n.woken) == 0 {
		return n.along[0].changed // by far the most
	}
	var keys []string
	for _, of := range n.along {
		keys = append(keys, of.changed...)
	}
	for key := range n.woken {
		keys = append(keys, key)
	}
	n.woken = nil
	slices.Sort(keys)
	return slices.Compact(keys)
}

// record replaces what the value at a key has read by now, which has each read once.
func (n *node) record(key string, now []read) {
	before := n.reads[key]
	if slices.Equal(before, now) {
		return
	}
	for _, r := range before {
		if !slices.Contains(now, r) {
			of := r.readers()
			left := slices.DeleteFunc((*of)[r.key], func(by reader) bool { return by == reader{n, key} })
			if len(left) == 0 {
				delete(*of, r.key)
			} else {
				(*of)[r.key] = left
			}
		}
	}
	for _, r := range now {
		if !slices.Contains(before, r) {
			of := r.readers()
			if *of == nil {
				*of = make(map[string][]reader)
			}
			(*of)[r.key] = append((*of)[r.key], reader{n, key})
		}
	}
	switch {
	case len(now) == 0:
		delete(n.reads, key)
	case n.reads == nil:
		n.reads = map[string][]read{key: slices.Clone(now)}
	default:
		n.reads[key] = slices.Clone(now)
	}
}

// Collection is the values of one step, by key.
type Collection[V any] struct {
	node
	now, was tree.Map[V]
	// same reports whether two values are equal to all that reads them.
	same func(a, b V) bool
	old  *Collection[V] // that of this name in the graph before; nil for none
}

// Any is a collection of any values, for Map to go along with.
type Any interface{ head() *node }

// Now returns the values after the last Run, Was those before it.
func (c *Collection[V]) Now() tree.Map[V] { return c.now }

// Was returns the values before the last Run.
func (c *Collection[V]) Was() tree.Map[V] { return c.was }

// Changed returns the keys at which Now and Was differ, sorted. The caller must not
// change the slice.
func (c *Collection[V]) Changed() []string { return c.changed }

func (c *Collection[V]) rest() { c.was, c.changed = c.now, nil }

// adopt finds the collection of the same name in the graph before.
func (c *Collection[V]) adopt(g *Graph) {
	if old, ok := g.old[c.name].(interface{ collection() *Collection[V] }); ok {
		c.old = old.collection()
	}
}

func (c *Collection[V]) collection() *Collection[V] { return c }

// put makes v the value at a key, or none where ok is false, and notes whether that is
// a change.
func (c *Collection[V]) put(edit *tree.Edit[V], key string, v V, ok bool) {
	before, had := c.was.Get(key)
	switch {
	case !ok && !had, ok && had && c.same(before, v):
		return
	case !ok:
		edit.Delete(key)
	default:
		if c.old != nil {
			if equal, has := c.old.now.Get(key); has && c.same(equal, v) {
				v = equal
			}
		}
		edit.Set(key, v)
	}
	c.changed = append(c.changed, key)
}

// begin starts a Run of c.
func (c *Collection[V]) begin() *tree.Edit[V] {
	c.was, c.changed = c.now, nil
	return c.now.Edit()
}

// Source is a collection that is put in from outside.
type Source[V any] struct {
	Collection[V]
	next  tree.Map[V]
	dirty []string // keys at which next may differ
}

// NewSource adds a source to g, without values. name is its own within g; same reports
// whether two values are equal.
func NewSource[V any](g *Graph, name string, same func(a, b V) bool) *Source[V] {
	s := &Source[V]{Collection: Collection[V]{node: node{name: name}, same: same}}
	g.steps = append(g.steps, s)
	return s
}

// Put makes next the values of the source from the next Run on. Only those at the keys
// in changed may differ from the values that were put in before.
func (s *Source[V]) Put(next tree.Map[V], changed []string) {
	s.next, s.dirty = next, append(s.dirty, changed...)
}

func (s *Source[V]) run() {
	s.was, s.changed = s.now, nil
	s.now = s.next
	slices.Sort(s.dirty)
	for _, key := range slices.Compact(s.dirty) {
		before, had := s.was.Get(key)
		after, has := s.now.Get(key)
		if had != has || had && !s.same(before, after) {
			s.changed = append(s.changed, key)
		}
	}
	s.dirty = nil
}
