package engine

import (
	"context"
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
	if e.snap.Load() == nil && e.keeping.waits() {
		return
	}
	e.compileNow()
}

// compileNow is compile without a wait. The caller holds compiling.
func (e *Engine) compileNow() {
	begin, s := e.Now(), e.settings()
	e.mu.Lock()
	next, recalled, others := e.next(), e.recalled(), e.awaited()
	e.mu.Unlock()
	prev := e.snap.Load()
	if prev == nil && e.base != nil { // what is on disk was to be answered from: see answerRecalled
		prev = records.Compile(nil, e.objects(e.base, others), s.opt, begin)
	}
	snap := e.compileGuarded(prev, next, others, begin)
	e.publish(snap, recalled, e.Now().Sub(begin))
	e.dropMissing()
}

// compileGuarded compiles what comes of clusters after prev, which may be nil (rule 8.5).
func (e *Engine) compileGuarded(prev *records.Snapshot, clusters []*api.Cluster, others named, now time.Time) *records.Snapshot {
	in := e.objects(clusters, others)
	return e.guard.compile(prev, clusters, now, func(clusters []*api.Cluster) *records.Snapshot {
		in := in
		in.Clusters = clusters
		return records.Compile(prev, in, e.settings().opt, now)
	})
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

// publish makes snap what queries are answered from, and tells about it. recalled are the
// clusters of which something in it comes from the state on disk.
func (e *Engine) publish(snap *records.Snapshot, recalled []string, took time.Duration) {
	was := e.snap.swap(Publication{snap, recalled})
	before := was.Snapshot
	if before == nil && e.first != nil {
		close(e.first)
	}
	e.base = nil
	s := e.settings()
	e.made.Store(e.Now().UnixNano())
	if s.prober != nil {
		checks := snap.Checks()
		s.prober.Follow(checks, checks.Changed())
		if e.answerable(snap) {
			began := e.Now()
			e.probing.CompareAndSwap(nil, &began)
		}
	}
	e.failing.compiled(snap)
	e.tellWriters(before, snap, recalled)
	e.conflictEvents(before, snap)
	e.tell.Published(before, snap, took)
	e.noteRecalled(was.recalled, snap, recalled)
	s.keeper.changed()
}
