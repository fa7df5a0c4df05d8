package engine

import (
	"sync/atomic"

	"github.com/coredns-kuadrant/kuadrant/records"
)

// current is what queries are answered from. Its zero value is that of an engine that knows
// nothing. Any goroutine may use it.
type current struct{ now atomic.Pointer[Publication] }

// Publication is a snapshot, nil for none, and the names of the clusters of which something in it
// comes from the state on disk. Both change at once: no answer from there goes out as a fresh one.
type Publication struct {
	Snapshot *records.Snapshot
	recalled []string
}

// Stale reports whether something comes from the state on disk.
func (p Publication) Stale() bool { return len(p.recalled) > 0 }

// Load returns the snapshot.
func (p *current) Load() *records.Snapshot { return p.whole().Snapshot }

// whole returns the snapshot with what is said of it.
func (p *current) whole() Publication {
	if now := p.now.Load(); now != nil {
		return *now
	}
	return Publication{}
}

// Store publishes a snapshot of which nothing comes from the state on disk.
func (p *current) Store(snap *records.Snapshot) { p.swap(Publication{Snapshot: snap}) }

// swap publishes next, and returns what was published before.
func (p *current) swap(next Publication) (before Publication) {
	if was := p.now.Swap(&next); was != nil {
		return *was
	}
	return Publication{}
}

// Current returns what queries are answered from.
func (e *Engine) Current() Publication { return e.snap.whole() }

// Snapshot returns the newest snapshot; nil where nothing is known.
func (e *Engine) Snapshot() *records.Snapshot { return e.snap.Load() }
