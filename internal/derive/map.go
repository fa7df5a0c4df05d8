package derive

import (
	"iter"
	"slices"
	"strings"
)

// mapped is a Collection that a function makes.
type mapped[V any] struct {
	Collection[V]
	make func(r *Reader, key string) (v V, ok bool)
}

// Map adds a step to g. It makes a value for each key of the collections along, at least
// one of which has it: make returns the value, or false for none. It is a pure function
// of the key, of the values at that very key of the collections along, and of what it
// reads through r, all of which come earlier in g. name is the step's own within g, and
// same reports whether two values are equal.
func Map[V any](g *Graph, name string, along []Any, same func(a, b V) bool, make func(r *Reader, key string) (v V, ok bool)) *Collection[V] {
	m := &mapped[V]{Collection: Collection[V]{node: node{name: name}, same: same}, make: make}
	for _, of := range along {
		m.along = append(m.along, of.head())
	}
	m.adopt(g)
	g.steps = append(g.steps, m)
	return &m.Collection
}

func (m *mapped[V]) run() {
	keys := m.due()
	edit := m.begin()
	r := &Reader{step: &m.node}
	for _, key := range keys {
		r.reads = r.reads[:0]
		v, ok := m.make(r, key)
		if len(r.reads) > 0 || m.reads != nil {
			m.record(key, r.reads)
		}
		m.put(edit, key, v, ok)
	}
	m.now, m.old = edit.Map(), nil
}

// Reader gives a function the values of earlier collections, and records which it has
// asked for. It must not be used once the function has returned.
type Reader struct {
	step  *node
	reads []read
}

func (r *Reader) note(of read) {
	if !slices.Contains(r.reads, of) {
		r.reads = append(r.reads, of)
	}
}

// Get returns the value at a key of another collection, of any key.
func Get[V any](r *Reader, c *Collection[V], key string) (V, bool) {
	r.note(read{of: &c.node, key: key})
	return c.now.Get(key)
}

// Prefix yields the values of another collection whose keys begin with prefix, in order.
// A prefix is empty, or ends with a slash or a dot. Where the caller stops early, the
// read is that of the whole prefix nonetheless.
func Prefix[V any](r *Reader, c *Collection[V], prefix string) iter.Seq2[string, V] {
	if prefix != "" && !strings.HasSuffix(prefix, "/") && !strings.HasSuffix(prefix, ".") {
		panic("derive: a prefix ends with a slash or a dot: " + prefix)
	}
	r.note(read{of: &c.node, key: prefix, prefix: true})
	return func(yield func(string, V) bool) {
		for key, v := range c.now.From(prefix) {
			if !strings.HasPrefix(key, prefix) || !yield(key, v) {
				return
			}
		}
	}
}
