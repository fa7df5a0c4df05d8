package pool

import (
	"iter"
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
)

// watched is a target with its users.
type watched struct {
	key    string // one string for all holders
	target *health.Target
	users  users
	// generation is the snapshot's for which it was made: only that snapshot's edit may change it.
	generation uint32
}

// Checks are a snapshot's check targets, by health.Target.Key. It is immutable except for the
// targets' cells.
type Checks struct {
	all tree.Map[*watched]
	// changed are the keys that differ from the snapshot before; nil if any may.
	changed []string
}

// Get returns the target with that key.
func (c *Checks) Get(key string) (*health.Target, bool) {
	w, ok := c.all.Get(key)
	if !ok {
		return nil, false
	}
	return w.target, true
}

// Users yields the groups of names that use a target, some more than once, in no order.
func (c *Checks) Users(key string) iter.Seq[string] {
	w, ok := c.all.Get(key)
	if !ok {
		return func(func(string) bool) {}
	}
	return w.users.all()
}

// All yields the targets in the order of their keys.
func (c *Checks) All() iter.Seq2[string, *health.Target] {
	return func(yield func(string, *health.Target) bool) {
		for key, w := range c.all.All() {
			if !yield(key, w.target) {
				return
			}
		}
	}
}

// Len returns how many targets there are.
func (c *Checks) Len() int { return c.all.Len() }

// Changed returns the keys that differ from the snapshot that this one was compiled from; nil if
// any may. The caller must not change the slice.
func (c *Checks) Changed() []string { return c.changed }

// SameCells reports whether the targets in both have the same cells.
func (c *Checks) SameCells(o *Checks) bool {
	for key, w := range c.all.All() {
		if other, ok := o.Get(key); ok && other.Cell != w.target.Cell {
			return false
		}
	}
	return true
}

// CheckEdit is the next version of Checks.
type CheckEdit struct {
	before Checks // the snapshot before's, whose cells stay
	edit   *tree.Edit[*watched]
	// touched are the keys that came or went.
	touched map[string]struct{}
	// user is the user of what is watched from now on; Used are its keys, once for each use.
	user string
	Used []string
	// generation is that of the edit's snapshot.
	generation uint32
	restored   map[string]health.State // Options.Health
}

// Edit begins the next version of c, for the snapshot of a generation. Targets in last keep their cells; restored has the known states of
// others, by key.
func (c *Checks) Edit(last Checks, generation uint32, restored map[string]health.State) *CheckEdit {
	return &CheckEdit{before: last, edit: c.all.Edit(), touched: make(map[string]struct{}), generation: generation, restored: restored}
}

// Begin sets the user of the next targets.
func (e *CheckEdit) Begin(user string) { e.user, e.Used = user, nil }

// Watch has t checked, and returns its cell. A target that was checked before keeps its cell, even
// with other headers. If only its terms are new, it begins with what its owner knew under the old
// ones (rule 4.7): was, called only if that matters, returns what the same object checked there
// before, nil for nothing.
func (e *CheckEdit) Watch(t *health.Target, was func() *health.Target) *health.Cell {
	key := t.Key()
	w, ok := e.edit.Get(key)
	if !ok {
		w = &watched{key: key, target: t, generation: e.generation}
		if before, known := e.before.Get(key); !known {
			t.Cell = health.NewCell(e.known(t, was()))
			if s, ok := e.restored[key]; ok && !t.Cell.Load().Known() {
				t.Cell = health.NewCell(health.Restored(s))
			}
		} else if t.Cell = before.Cell; t.SameHeaders(before) {
			w.target = before
		}
		e.touch(w)
	}
	w = e.own(w)
	if tenants := withTenant(w.target.Tenant, t.Tenant); !t.SameHeaders(w.target) || tenants != w.target.Tenant {
		t.Cell, t.Tenant = w.target.Cell, tenants
		w.target = t
		e.touch(w)
	}
	w.users.add(e.user)
	e.Used = append(e.Used, w.key)
	return w.target.Cell
}

// maxTenants bounds the namespaces whose names a target keeps.
const maxTenants = 16

// withTenant adds a namespace to those of a target. A target that several namespaces have takes turns of its own: none of them can
// delay it with its other targets. A namespace that no longer has it stays: it costs nothing.
func withTenant(all, one string) string {
	list := strings.Fields(all)
	at, found := slices.BinarySearch(list, one)
	if all == one || found || len(list) == maxTenants {
		return all
	}
	return strings.Join(slices.Insert(list, at, one), " ")
}

// touch stores w, as different from the version before.
func (e *CheckEdit) touch(w *watched) {
	e.edit.Set(w.key, w)
	e.touched[w.key] = struct{}{}
}

// own returns a version of w that may be changed.
func (e *CheckEdit) own(w *watched) *watched {
	if w.generation != e.generation {
		w = &watched{w.key, w.target, w.users.copied(), e.generation}
		e.edit.Set(w.key, w)
	}
	return w
}

// known returns was's result if it made the same request as t under other terms. Other objects'
// results do not count: their terms may be such that nothing is up.
func (e *CheckEdit) known(t, was *health.Target) health.Value {
	if was == nil || was.Check != t.Check || was.Expected != t.Expected {
		return 0
	}
	if before, ok := e.before.Get(was.Key()); ok {
		return before.Cell.Load().Fresh()
	}
	return 0
}

// Release ends one use of each key by user.
func (e *CheckEdit) Release(user string, keys []string) {
	for _, key := range keys {
		w, _ := e.edit.Get(key)
		w = e.own(w)
		if w.users.remove(user) {
			e.edit.Delete(key)
			e.touched[key] = struct{}{}
		}
	}
}

// Finish returns the edited checks; with anew, all count as changed.
func (e *CheckEdit) Finish(anew bool) Checks {
	c := Checks{all: e.edit.Map()}
	if anew {
		return c
	}
	c.changed = make([]string, 0, len(e.touched))
	for key := range e.touched {
		before, _ := e.before.Get(key)
		if after, _ := c.Get(key); after != before {
			c.changed = append(c.changed, key)
		}
	}
	return c
}
