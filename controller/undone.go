package controller

import (
	"cmp"
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
	// maxFlaps is the same of children that this replica deletes in between, as they are not wanted: a
	// Gateway may lose its routes and have them again, but not without end.
	maxFlaps = 10 * maxSame
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

// repeated is what was written last, and how often in a row. ended is how often it was deleted here
// in between, which nobody else has undone.
type repeated struct {
	settled      string
	times, ended int
}

func keyOf(p *write) writtenKey {
	return writtenKey{p.ref, p.field, p.subresource, cmp.Or(p.ownerUID, p.uid)}
}

// undoneError says that something is not written once more for now.
type undoneError struct{ ref api.Ref }

func (e *undoneError) Error() string {
	return fmt.Sprintf("somebody undoes what is written to %s %s: the same was written %d times in a row, within %v; its "+
		"metadata.managedFields say who else writes it", e.ref.Kind, e.ref.Name, maxSame, samePeriod)
}

// check returns an error where a write is to wait.
func (u *undone) check(p *write, now time.Time) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.fresh(now)
	if last := u.wrote[keyOf(p)]; last.settled == p.settled && (last.times-last.ended >= maxSame || last.times >= maxFlaps) {
		return &undoneError{p.ref}
	}
	return nil
}

// note counts a write that the API server has taken.
func (u *undone) note(p *write, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.fresh(now)
	last := u.wrote[keyOf(p)]
	if last.settled != p.settled {
		last = repeated{settled: p.settled}
	}
	last.times++
	u.wrote[keyOf(p)] = last
}

// end notes that a child was deleted here, as it is not wanted any more.
func (u *undone) end(ref api.Ref, ownerUID string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	key := keyOf(&write{ref: ref, field: "spec", ownerUID: ownerUID})
	if last, known := u.wrote[key]; known {
		last.ended++
		u.wrote[key] = last
	}
}

// fresh forgets what is too old. u is locked.
func (u *undone) fresh(now time.Time) {
	if u.wrote == nil || now.Sub(u.since) >= samePeriod || now.Before(u.since) {
		u.since, u.wrote = now, make(map[writtenKey]repeated)
	}
}
