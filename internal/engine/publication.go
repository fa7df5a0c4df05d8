package engine

import (
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/internal/source"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// What others see of an engine. Any goroutine may call these.

// Publication is a snapshot, nil for none, with the time at which it was made, the names of the clusters that are answered in
// part from the state on disk, and those of the clusters that Secrets name. All of it changes at once, so that no answer from
// the state goes out as a fresh one.
type Publication struct {
	Snapshot            *records.Snapshot
	FromState, bySecret []string
	Made                time.Time
	// Listed are the options of which every source has listed what names come from; nil while one has not.
	Listed *Options
	listed bool           // every source has
	prober *health.Prober // that was given the targets
}

// Stale reports whether something comes from the state on disk.
func (p *Publication) Stale() bool { return len(p.FromState) > 0 }

// Current returns what queries are answered from.
func (e *Engine) Current() *Publication { return e.now.Load() }

// Snapshot returns the newest snapshot; nil before the first.
func (e *Engine) Snapshot() *records.Snapshot { return e.now.Load().Snapshot }

// Ended reports whether the engine was stopped: nothing is published any more.
func (e *Engine) Ended() bool { return e.ended.Load() }

// Locator returns what locates clients; nil if the Corefile names no database.
func (e *Engine) Locator() *geo.DB { return e.settings().locator }

// Prober returns what checks targets; nil if the Corefile turns checks off.
func (e *Engine) Prober() *health.Prober { return e.settings().prober }

// Selection returns which objects are read.
func (e *Engine) Selection() source.Selection { return e.settings().reads }

// Options returns what is compiled by.
func (e *Engine) Options() *records.Options { return e.settings().opt }

// Held returns what the guard holds, by origin of the zone.
func (e *Engine) Held() []HeldZone {
	if list := e.guard.published.Load(); list != nil {
		return *list
	}
	return nil
}

// FailingOpen returns the clients that a host fails open for, by host. It must not be changed.
func (e *Engine) FailingOpen() map[string]string { return *e.failing.open.Load() }

// StateWritten returns when this server last wrote the state on disk, zero for never; kept is false without a state.
func (e *Engine) StateWritten() (at time.Time, kept bool) {
	k := e.settings().state
	if k == nil {
		return at, false
	}
	if n := k.written.Load(); n != 0 {
		at = time.Unix(0, n)
	}
	return at, true
}

// Imagine returns the snapshot of now, and what would come of it if objects were applied to a cluster. Another structure is
// compiled beside what goes on.
func (e *Engine) Imagine(cluster string, applied *api.Cluster, how api.Application) (before, after *records.Snapshot) {
	e.compiling.Lock()
	before = e.Snapshot()
	in, opt := before.Objects(), e.settings().opt
	clusters := make([]*api.Cluster, len(in.Clusters))
	for i, c := range in.Clusters {
		same := *c
		same.Changed, same.Inferred = nil, nil
		if clusters[i] = &same; c.Name == cluster {
			clusters[i] = c.Applied(applied, how)
		}
	}
	in.Clusters, in.AcquiredChanged, in.SerialsChanged = clusters, nil, nil
	if before.Fits(in, opt) {
		defer e.compiling.Unlock()
		return before, records.Compile(before, in, opt, e.Now())
	}
	own := *opt
	e.compiling.Unlock()
	return before, records.Compile(before, in, &own, e.Now())
}
