package records

import (
	"iter"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
)

// watched is a target with how many names have it checked.
type watched struct {
	target *health.Target
	users  int
}

// Checks are the targets that a snapshot has checked, by health.Target.Key. It is
// immutable but for the targets' cells.
type Checks struct {
	all tree.Map[*watched]
	// changed are the keys that differ from those of the snapshot before; nil
	// where any may.
	changed []string
}

// Checks returns the targets that are to be checked.
func (s *Snapshot) Checks() *Checks { return &s.checks }

// Get returns the target of that key.
func (c *Checks) Get(key string) (*health.Target, bool) {
	w, ok := c.all.Get(key)
	if !ok {
		return nil, false
	}
	return w.target, true
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

// Changed returns the keys that differ from those of the snapshot that this one
// was compiled from; nil where any may. The caller must not change the slice.
func (c *Checks) Changed() []string { return c.changed }

// checkEdit is the next version of Checks.
type checkEdit struct {
	before Checks // of the snapshot before
	edit   *tree.Edit[*watched]
	// touched are the keys that came or went.
	touched map[string]struct{}
	// used are the keys of the group that is being made, once for each use.
	used []string
}

// newCheckEdit returns the next version of before; anew, it begins with nothing
// and takes over what is wanted again.
func newCheckEdit(before Checks, anew bool) *checkEdit {
	from := before.all
	if anew { // the compiler of before may be at work on it
		from = tree.Map[*watched]{}
	}
	return &checkEdit{before: before, edit: from.Edit(), touched: make(map[string]struct{})}
}

// watch has t checked, and returns its cell. A target that was checked before
// keeps its cell; one whose terms alone are new begins with what was known under
// the others (rule 4.7).
func (e *checkEdit) watch(t *health.Target) *health.Cell {
	key := t.Key()
	e.used = append(e.used, key)
	w, ok := e.edit.Get(key)
	if !ok {
		e.touched[key] = struct{}{}
		w = &watched{target: t}
		if was, known := e.before.all.Get(key); known {
			w.target = was.target
		} else {
			t.Cell = health.NewCell(e.known(t))
		}
	}
	e.edit.Set(key, &watched{w.target, w.users + 1})
	return w.target.Cell
}

// known returns what was known of t under other terms.
func (e *checkEdit) known(t *health.Target) health.Word {
	same := t.Check.String() + "\n"
	for key, w := range e.before.all.From(same) {
		if !strings.HasPrefix(key, same) {
			break
		}
		return w.target.Cell.Load().Fresh()
	}
	return 0
}

// release ends one use of each key.
func (e *checkEdit) release(keys []string) {
	for _, key := range keys {
		w, _ := e.edit.Get(key)
		if w.users > 1 {
			e.edit.Set(key, &watched{w.target, w.users - 1})
			continue
		}
		e.edit.Delete(key)
		e.touched[key] = struct{}{}
	}
}

// finish returns the edited checks.
func (e *checkEdit) finish(anew bool) Checks {
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
