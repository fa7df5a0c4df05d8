package engine

import (
	"context"
	"slices"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// compileLoop compiles whenever something was published.
func (e *Engine) compileLoop(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.wake:
		}
		e.compile()
	}
}

// compile makes and publishes the snapshot of what is known now. The first one waits until it
// is known what is kept of zones.
func (e *Engine) compile() {
	e.compiling.Lock() // one at a time comes from a snapshot
	defer e.compiling.Unlock()
	if e.Snapshot() == nil && e.keeping.waits() {
		return
	}
	e.compileNow()
}

// compileNow is compile without a wait. The caller holds compiling.
func (e *Engine) compileNow() {
	begin := e.Now()
	e.mu.Lock()
	next, from := e.next()
	fromState, others := e.fromState(), e.awaited()
	e.mu.Unlock()
	prev := e.Snapshot()
	if prev == nil && e.base != nil { // what is on disk was to be answered from: see answerFromState
		prev = records.Compile(nil, e.objects(e.base, others), e.settings().opt, begin)
	}
	in := e.objects(next, others)
	snap := e.guard.compile(prev, next, from, begin, func(clusters []*api.Cluster) *records.Snapshot {
		in := in
		in.Clusters = clusters
		return e.structure.compile(prev, in, e.settings().opt, begin)
	})
	if snap.Behind() { // it may hold what came from there
		fromState = slices.Compact(slices.Sorted(slices.Values(slices.Concat(fromState, e.Current().fromState))))
	}
	e.follow(snap, begin)
	e.publish(snap, fromState, e.Now().Sub(begin))
	e.dropMissing()
}

// objects returns what is to be compiled of the given clusters. Each call is for one step:
// what has changed of what is kept is told once.
func (e *Engine) objects(clusters []*api.Cluster, others named) api.Objects {
	in := api.Objects{
		Clusters: clusters, Expecting: e.secrets.expecting.Load(), Awaited: others.awaited, Unsure: others.unsure, Overrides: e.overrides.Load(),
	}
	e.keeping.fill(&in)
	return in
}

// Publish makes snap what queries are answered from.
func (e *Engine) Publish(snap *records.Snapshot) {
	e.compiling.Lock()
	defer e.compiling.Unlock()
	e.publish(snap, nil, 0)
}

// publish makes snap what queries are answered from, and tells about it. fromState are the
// clusters of which something in it comes from the state on disk.
func (e *Engine) publish(snap *records.Snapshot, fromState []string, took time.Duration) {
	was := e.now.Swap(&Publication{snap, fromState, e.Now()})
	before, s := was.Snapshot, e.settings()
	if e.base = nil; before == nil {
		close(e.first)
	}
	if s.prober != nil {
		checks := snap.Checks()
		s.prober.Follow(checks, checks.Changed())
		if e.answerable(snap) {
			began := e.Now()
			e.probing.CompareAndSwap(nil, &began)
		}
	}
	e.failing.compiled(snap)
	e.tellWriters(was, snap, fromState)
	e.conflictEvents(before, snap)
	e.tell.Published(before, snap, took)
	e.noteFromState(was.fromState, snap, fromState)
	s.state.changed()
}
