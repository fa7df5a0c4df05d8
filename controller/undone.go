package controller

import (
	"fmt"
	"sync"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
)

const (
	// maxSame is how often the same may be written to one object within samePeriod: whoever
	// undoes it does not do so by accident, and would be at it all day.
	maxSame    = 5
	samePeriod = time.Minute
)

// undone counts what is written, to find out where somebody undoes it each time.
type undone struct {
	mu    sync.Mutex
	since time.Time
	wrote map[writtenKey]int // within samePeriod of since
}

type writtenKey struct {
	ref     api.Ref
	settled string
}

// undoneError says that something is not written once more for now.
type undoneError struct{ ref api.Ref }

func (e *undoneError) Error() string {
	return fmt.Sprintf("somebody undoes what is written to %s %s: it was written %d times within a minute; its metadata.managedFields say who writes it", e.ref.Kind, e.ref.Name, maxSame)
}

// check returns an error where a write is to wait.
func (u *undone) check(p *write, now time.Time) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.fresh(now); u.wrote[writtenKey{p.ref, p.settled}] >= maxSame {
		return &undoneError{p.ref}
	}
	return nil
}

// note counts a write that the API server has taken.
func (u *undone) note(p *write, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.fresh(now)
	u.wrote[writtenKey{p.ref, p.settled}]++
}

// fresh forgets what is too old. u is locked.
func (u *undone) fresh(now time.Time) {
	if u.wrote == nil || now.Sub(u.since) >= samePeriod || now.Before(u.since) {
		u.since, u.wrote = now, make(map[writtenKey]int)
	}
}
