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
	// someone who undoes it more often means to.
	maxSame    = 5
	samePeriod = 10 * time.Minute
)

// undone counts writes, to detect that they are undone each time.
type undone struct {
	mu    sync.Mutex
	since time.Time
	wrote map[writtenKey]repeated // within samePeriod of since
}

// writtenKey is a part of an object that is written separately.
type writtenKey struct {
	ref                api.Ref
	field, subresource string
	// uid is the object's, or the owner's for a write to a child: a recreated object is another one,
	// but a child of the same owner replaces the deleted one.
	uid string
}

// repeated is the last write, and how often it came in a row.
type repeated struct {
	settled string
	times   int
}

func keyOf(p *write) writtenKey {
	return writtenKey{p.ref, p.field, p.subresource, cmp.Or(p.ownerUID, p.uid)}
}

// check returns an error if a write must wait.
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

// note counts a successful write that check has allowed.
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

// end notes that a child was deleted here because it is unwanted: nobody else undid it.
func (u *undone) end(ref api.Ref, ownerUID string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.wrote, keyOf(&write{ref: ref, field: "spec", ownerUID: ownerUID}))
}
