// Package tree provides the persistent sorted map that holds objects, names and verdicts. A
// published Map never changes; its next version shares every part that an edit did not touch.
package tree

import (
	"iter"
	"strings"
	"sync"

	"github.com/tidwall/btree"
)

// Map is an immutable sorted map from strings to V. The zero Map is empty. It is safe for
// concurrent use.
type Map[V any] struct {
	m *btree.Map[string, V]
}

// Get returns the value at key. It does not allocate.
func (t Map[V]) Get(key string) (V, bool) {
	if t.m == nil {
		var zero V
		return zero, false
	}
	return t.m.Get(key)
}

// Len returns the number of entries.
func (t Map[V]) Len() int {
	if t.m == nil {
		return 0
	}
	return t.m.Len()
}

// All yields the entries in the order of their keys.
func (t Map[V]) All() iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		if t.m != nil {
			t.m.Scan(yield)
		}
	}
}

// From yields the entries whose keys are at or after key, in order.
func (t Map[V]) From(key string) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		if t.m != nil {
			t.m.Ascend(key, yield)
		}
	}
}

// Edit starts the next version of t; t stays as it is. Different goroutines may edit versions of
// the same map at a time.
func (t Map[V]) Edit() *Edit[V] {
	if t.m == nil {
		return &Edit[V]{m: btree.NewMap[string, V](degree)}
	}
	copying.Lock()
	defer copying.Unlock()
	return &Edit[V]{m: t.m.Copy()}
}

// copying guards the mark that Copy leaves in the map that it copies. One lock is enough: Copy
// takes nanoseconds, whatever the map's size.
var copying sync.Mutex

// degree is the branching factor of the B-tree: nodes hold up to 2*degree-1 entries. One edit
// copies one node on each level. Small nodes make edits cheap; large nodes make look-ups cheap and
// memory dense.
const degree = 16

// Edit is the next version of a Map while it is being built. It belongs to one goroutine.
type Edit[V any] struct {
	m *btree.Map[string, V]
}

// Get returns the value at key as edited so far.
func (e *Edit[V]) Get(key string) (V, bool) { return e.m.Get(key) }

// From yields the entries as edited so far whose keys are at or after key, in order.
// The body must not edit.
func (e *Edit[V]) From(key string) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) { e.m.Ascend(key, yield) }
}

// Set puts value at key.
func (e *Edit[V]) Set(key string, value V) { e.m.Set(key, value) }

// Delete removes key.
func (e *Edit[V]) Delete(key string) { e.m.Delete(key) }

// Len returns the number of entries as edited so far.
func (e *Edit[V]) Len() int { return e.m.Len() }

// Map returns the edited version and ends the edit: do not use the Edit afterwards.
func (e *Edit[V]) Map() Map[V] {
	m := e.m
	e.m = nil
	return Map[V]{m: m}
}

// Beginning yields the entries of t whose keys begin with prefix, in order.
func (t Map[V]) Beginning(prefix string) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		if t.Len() == 0 {
			return // almost always
		}
		for key, v := range t.From(prefix) {
			if !strings.HasPrefix(key, prefix) || !yield(key, v) {
				return
			}
		}
	}
}
