package engine

import (
	"context"
	"runtime"
	"slices"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// compileLoop compiles after each publication.
func (e *Engine) compileLoop(ctx context.Context) {
	// CoreDNS starts a goroutine for each query. Its stack begins with the average size in use, and is copied into a larger one if
	// the query needs more. This raises the average: without it a query takes 5 to 8 % more CPU; 32 KiB are too few.
	var deep [64 << 10]byte
	defer runtime.KeepAlive(&deep)
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.wake:
		}
		e.compile()
	}
}

// compile compiles what is known now, and publishes the snapshot. The first one waits until the
// kept serials are known.
func (e *Engine) compile() {
	e.compiling.Lock() // one compile at a time starts from a snapshot
	defer e.compiling.Unlock()
	if e.Snapshot() == nil && e.registry.waits() {
		return
	}
	e.compileNow()
}

// compileNow is compile without waiting. The caller holds compiling.
func (e *Engine) compileNow() {
	begin, prev := e.Now(), e.Snapshot()
	in, from, p := e.next()
	in.Overrides = e.settings().override.overrides()
	in.GroupTexts = e.settings().groups.texts()
	e.registry.fill(&in, func(l *staleLines) { e.decideStale(l, &in, p.FromState, begin) })
	if prev == nil {
		in.ActiveGroups = e.groups
	}
	p.Snapshot = e.guard.compile(prev, in.Clusters, from, p.gone, begin, func(clusters []*api.Cluster, whole bool) *records.Snapshot {
		in := in
		in.Clusters = clusters
		return e.structure.compile(prev, in, e.settings().opt, begin, whole)
	})
	e.forget(in.Clusters, e.guard.clusters)
	if p.Snapshot.Behind() { // it may still hold objects of the state
		p.FromState = slices.Compact(slices.Sorted(slices.Values(slices.Concat(p.FromState, e.Current().FromState))))
	}
	if p.listed && !p.Snapshot.Behind() {
		p.Listed = e.settings().of
	}
	p.Made = e.Now()
	if p.Snapshot.Complete() && e.keepsWith(p) {
		e.registry.complete = p.Snapshot
	}
	e.follow(p.Snapshot, begin)
	e.publish(p, p.Made.Sub(begin))
}

// Publish makes snap the snapshot that answers queries.
func (e *Engine) Publish(snap *records.Snapshot) {
	e.compiling.Lock()
	defer e.compiling.Unlock()
	e.publish(&Publication{Snapshot: snap, Made: e.Now()}, 0)
}

// publish answers queries from p, and reports it. took is the time of the compile.
func (e *Engine) publish(p *Publication, took time.Duration) {
	s := e.settings()
	s.state.reserve(e.Snapshot(), p.Snapshot)
	was := e.now.Swap(p)
	before, snap := was.Snapshot, p.Snapshot
	if s.prober != nil {
		checks := snap.Checks()
		changed := checks.Changed()
		if p.prober = s.prober; was.prober != s.prober {
			changed = nil // all are new to it
		}
		s.prober.Follow(checks, changed)
		if e.answerable(p) {
			began := e.Now()
			e.probing.CompareAndSwap(nil, &began)
		}
	}
	s.groups.want(snap.GroupAliases())
	e.failing.compiled(snap)
	e.tellWriters(was, p)
	e.conflictEvents(before, snap)
	e.tell.Published(before, snap, took)
	e.tellStandstill(snap, p.Made)
	e.noteFromState(was.FromState, p)
	s.state.changed()
}
