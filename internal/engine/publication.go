package engine

import (
	"slices"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/internal/source"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// What others see of an engine. Any goroutine may call these.

// Publication is a snapshot, nil for none, with the time of its compile, the clusters answered partly from the state on disk,
// and the clusters that Secrets name. All of it changes at once, so no answer from the state passes for a fresh one.
type Publication struct {
	Snapshot            *records.Snapshot
	FromState, bySecret []string
	Made                time.Time
	// Listed are the options whose sources have all listed the kinds with names; nil until then.
	Listed *Options
	listed bool           // every source has
	gone   []string       // the clusters whose last Secret has gone
	prober *health.Prober // the one that got the targets
}

// Stale reports whether any part comes from the state on disk.
func (p *Publication) Stale() bool { return len(p.FromState) > 0 }

// Current returns the publication that answers queries.
func (e *Engine) Current() *Publication { return e.now.Load() }

// Snapshot returns the newest snapshot; nil before the first.
func (e *Engine) Snapshot() *records.Snapshot { return e.now.Load().Snapshot }

// Ended reports whether the engine was stopped: nothing is published any more.
func (e *Engine) Ended() bool { return e.ended.Load() }

// Locator returns the database that locates clients; nil if the Corefile names none.
func (e *Engine) Locator() *geo.DB { return e.settings().locator }

// Prober returns the prober; nil if the Corefile turns checks off.
func (e *Engine) Prober() *health.Prober { return e.settings().prober }

// Selection returns which objects are read.
func (e *Engine) Selection() source.Selection { return e.settings().reads }

// Options returns the options of the compile.
func (e *Engine) Options() *records.Options { return e.settings().opt }

// Held returns the guard's holds, by origin of the zone.
func (e *Engine) Held() []HeldZone {
	var all []HeldZone
	if list := e.guard.published.Load(); list != nil {
		all = append(all, *list...)
	}
	for _, z := range e.registry.held() {
		if i := slices.IndexFunc(all, func(o HeldZone) bool { return o.Origin == z.Origin }); i >= 0 {
			all[i].Names += z.Names
		} else {
			all = append(all, z)
		}
	}
	return all
}

// Failing returns, by host, the clients that it has nothing up for. The map must not be changed.
func (e *Engine) Failing() map[string]records.Failing { return *e.failing.open.Load() }

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

// Imagine returns the current snapshot, and the one that would follow if objects were applied to a cluster. It compiles
// another structure, beside the live one.
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
	e.registry.addIncumbents(&in)
	if next := before.Next(in, opt); next.Fits() {
		defer e.compiling.Unlock()
		return before, next.Compile(e.Now())
	}
	own := *opt
	e.compiling.Unlock()
	return before, records.Compile(before, in, &own, e.Now())
}
