package kuadrant

import (
	"sync/atomic"

	"github.com/coredns-kuadrant/kuadrant/records"
)

// current is what queries are answered from. Its zero value is that of an engine that knows
// nothing. Any goroutine may use it.
type current struct{ now atomic.Pointer[publication] }

// publication is a snapshot, nil for none, and the names of the clusters of which something in it
// comes from the state on disk. Both change at once: no answer from there goes out as a fresh one.
type publication struct {
	snap     *records.Snapshot
	recalled []string
}

// stale tells whether something comes from the state on disk.
func (p publication) stale() bool { return len(p.recalled) > 0 }

// Load returns the snapshot.
func (p *current) Load() *records.Snapshot { return p.whole().snap }

// whole returns the snapshot with what is said of it.
func (p *current) whole() publication {
	if now := p.now.Load(); now != nil {
		return *now
	}
	return publication{}
}

// Store publishes a snapshot of which nothing comes from the state on disk.
func (p *current) Store(snap *records.Snapshot) { p.swap(publication{snap: snap}) }

// swap publishes next, and returns what was published before.
func (p *current) swap(next publication) (before publication) {
	if was := p.now.Swap(&next); was != nil {
		return *was
	}
	return publication{}
}
