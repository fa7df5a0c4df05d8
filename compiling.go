package kuadrant

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// compileLoop compiles whenever something was published.
func (e *engine) compileLoop(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.wake:
		}
		e.compile()
	}
}

// compile makes and publishes the snapshot of what is pending. The first one waits until it
// is known what is kept of zones.
func (e *engine) compile() {
	if e.snap.Load() == nil && e.keeping.waits() {
		return
	}
	e.compiling.Lock() // one at a time comes from a snapshot
	defer e.compiling.Unlock()
	begin := e.now()
	e.mu.Lock()
	before := e.clusters
	e.clusters = e.next()
	next, recalled, others := e.clusters, e.recalled(), e.awaited()
	e.mu.Unlock()

	prev := e.snap.Load()
	if prev == nil && e.first != nil { // what is on disk was to be answered from: see resume
		prev = records.Compile(nil, e.objects(before, others), e.opt, begin)
	}
	snap := e.compileGuarded(prev, next, others, begin)
	compileDuration.Observe(e.now().Sub(begin).Seconds())
	if from := e.from.Load(); from != nil {
		ended := from.ended.Load()
		if last := from.snap.Load(); last != nil {
			snap = snap.After(last, begin)
		}
		if ended {
			e.from.Store(nil)
		}
	}
	e.publish(snap, recalled)
	e.noteUnmet(snap)
	e.dropLost()
}

// compileGuarded compiles what comes of clusters after prev, which may be nil (rule 8.5).
func (e *engine) compileGuarded(prev *records.Snapshot, clusters []*api.Cluster, others named, now time.Time) *records.Snapshot {
	in := e.objects(clusters, others)
	return e.guard.compile(prev, clusters, now, func(clusters []*api.Cluster) *records.Snapshot {
		in := in
		in.Clusters = clusters
		return records.Compile(prev, in, e.opt, now)
	})
}

// objects returns what is to be compiled of the given clusters. Each call is for one step:
// what has changed of what is kept is told once.
func (e *engine) objects(clusters []*api.Cluster, others named) api.Objects {
	in := api.Objects{
		Clusters: clusters, Expecting: e.remotes.expecting.Load(), Awaited: others.awaited, Unsure: others.unsure, Overrides: e.overrides.Load(),
	}
	e.keeping.fill(&in)
	return in
}

// next returns the clusters to compile now, with what is pending. The caller
// holds mu.
func (e *engine) next() []*api.Cluster {
	pending, came, over := e.pending, e.came, e.handover.over
	e.pending, e.came = make(map[string]*api.Cluster, len(pending)), make(map[string]string)
	e.handover.over = nil
	next := make([]*api.Cluster, 0, len(e.clusters)+len(pending))
	for _, c := range e.clusters {
		p := pending[c.Name]
		delete(pending, c.Name)
		switch {
		case p != nil:
			next = append(next, p)
			if is, from := came[c.Name]; from && e.origins[c.Name] != is {
				e.origins[c.Name], e.guard.foreign[c.Name] = is, true
			}
			if e.remotes.lost[c.Name] != nil {
				e.guard.lost[c.Name] = true
			} else if s := e.handover.standIns[c.Name]; s == nil || !s.lacking[api.KindDNSPolicy] {
				e.guard.relisted[c.Name] = true
			}
		case over[c.Name] && (!e.remotes.reads(c.Name) || e.hasLeft(e.remotes.running[c.Name])): // else a Secret names it now
			delete(e.origins, c.Name)
		case len(c.Changed) > 0:
			same := *c // nothing new here since the last compile
			same.Changed, same.Inferred = nil, nil
			next = append(next, &same)
		default:
			next = append(next, c)
		}
	}
	for _, c := range pending { // those that have come since
		next = append(next, c)
		e.origins[c.Name] = came[c.Name]
	}
	slices.SortFunc(next, func(a, b *api.Cluster) int { return cmp.Compare(a.Name, b.Name) })
	return next
}

// identity returns where this engine reads the given cluster from.
func (e *engine) identity(cluster string) string {
	for _, s := range e.sources {
		if s.Name() == cluster {
			return s.Identity()
		}
	}
	if r := e.remotes.running[cluster]; r != nil {
		return r.source.Identity()
	}
	return ""
}

// publish makes snap what queries are answered from, and tells about it. recalled are the
// clusters of which something in it comes from the state on disk.
func (e *engine) publish(snap *records.Snapshot, recalled []string) {
	was := e.snap.swap(publication{snap, recalled})
	before := was.snap
	if before == nil && e.first != nil {
		close(e.first)
	}
	e.made.Store(e.now().UnixNano())
	logVerdicts(e.warnf, before, snap)
	logOpen(e.infof, before, snap)
	logStandIns(e.infof, e.opt.Zones, before, snap)
	logProbes(e.warnf, before, snap)
	if e.prober != nil {
		checks := snap.Checks()
		e.prober.Follow(checks, checks.Changed())
		if e.answerable(snap) {
			began := e.now()
			e.probing.CompareAndSwap(nil, &began)
		}
	}
	e.failing.compiled(snap)
	e.tellWriters(before, snap, recalled)
	e.conflictEvents(before, snap)
	e.notifier.ring()
	e.noteRecalled(was.recalled, snap, recalled)
	e.keeper.changed()
}
