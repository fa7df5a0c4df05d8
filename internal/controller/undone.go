package controller

import (
	"cmp"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
)

const (
	// maxSame is how often in a row the same may be written to one object within samePeriod:
	// whoever undoes it does not do so by accident, and would be at it all day.
	maxSame    = 5
	samePeriod = 10 * time.Minute
)

// undone counts what is written, to find out where somebody undoes it each time.
type undone struct {
	mu    sync.Mutex
	since time.Time
	wrote map[writtenKey]repeated // within samePeriod of since
}

// writtenKey is a part of an object that is written by itself.
type writtenKey struct {
	ref                api.Ref
	field, subresource string
	// uid is that of the object, or, of what is written to a child for its owner, that of the owner:
	// an object that is made anew is another one, but a child of the same owner stands for the one
	// that somebody has deleted.
	uid string
}

// repeated is what was written last, and how often in a row.
type repeated struct {
	settled string
	times   int
}

func keyOf(p *write) writtenKey {
	return writtenKey{p.ref, p.field, p.subresource, cmp.Or(p.ownerUID, p.uid)}
}

// errUndone says that something is not written once more for now.
var errUndone = errors.New("another writer undoes what is written")

// check returns an error if a write is to wait.
func (u *undone) check(p *write, now time.Time) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.wrote == nil || now.Sub(u.since) >= samePeriod || now.Before(u.since) {
		u.since, u.wrote = now, make(map[writtenKey]repeated)
	}
	if last := u.wrote[keyOf(p)]; last.settled == p.settled && last.times >= maxSame {
		return fmt.Errorf("%w to %s %s: %d equal writes in a row within %v; its metadata.managedFields name the other writer",
			errUndone, p.ref.Kind, p.ref.Name, maxSame, samePeriod)
	}
	return nil
}

// note counts a write that the API server has taken, which check has let pass.
func (u *undone) note(p *write) {
	u.mu.Lock()
	defer u.mu.Unlock()
	last := u.wrote[keyOf(p)]
	if last.settled != p.settled {
		last = repeated{settled: p.settled}
	}
	last.times++
	u.wrote[keyOf(p)] = last
}

// end notes that a child was deleted here, as it is not wanted any more: nobody else has undone it.
func (u *undone) end(ref api.Ref, ownerUID string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.wrote, keyOf(&write{ref: ref, field: "spec", ownerUID: ownerUID}))
}
