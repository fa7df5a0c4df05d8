package engine

import (
	"maps"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// The numbers of rule 8.5.
const (
	// DefaultGuard is how long too large a loss is held without a setting.
	DefaultGuard = 5 * time.Minute
	// gatherTime is how long missing objects are gathered before a decision: a cluster's kinds and namespaces are
	// listed one by one.
	gatherTime = 30 * time.Second
	// A loss is too large from lossNames names of a zone, if they are more than lossShare percent of it.
	lossNames = 3
	lossShare = 30
	// maxMissing bounds a cluster's missing objects: lists of ever new objects must not fill the memory.
	maxMissing = 1_000_000
)

// guard is the brake on mass withdrawal (rule 8.5), between the feeds and the compile. Objects that vanish without a
// report of their deletion stay for gatherTime; then they go, or the cluster's are all held for period. All but published
// belongs to the holder of the engine's compiling.
type guard struct {
	period time.Duration // 0 turns the guard off
	// origins says, by cluster, where the last compiled objects of each kind come from: if they come from elsewhere now, the
	// operator wanted the loss. reloaded is true from a new Corefile until everything is compiled under it.
	origins  map[string]origins
	reloaded bool

	wake  func() // compiles everything anew
	alarm alarm  // rings when the next absence ends
	log   Logger

	clusters  map[string]*guarded
	published atomic.Pointer[[]HeldZone] // by origin; nil for none
}

// guarded is what one cluster lacks. It is immutable.
type guarded struct {
	missing map[api.Ref]absence
	held    *hold // nil for none
}

// hold is one decision to hold what a source lacks: a cluster, or the Secrets that name clusters. It is immutable.
type hold struct {
	at time.Time
	// losses are what the zones would lose without the objects, as of the decision.
	losses   map[string]records.Loss
	clusters []string
	objects  int
}

// absence is an object, or the status of a Gateway, that vanished without a report.
type absence struct {
	since time.Time // when it vanished; if held, when that was decided
	held  bool
	// gateway is the served form of a Gateway that lost its status; nil if the object is missing.
	gateway *api.Gateway
}

func newGuard(wake func(), log Logger) *guard {
	return &guard{period: DefaultGuard, clusters: make(map[string]*guarded), wake: wake, log: log}
}

// compile compiles clusters, as the feeds published them, with the objects missing since prev, which may be nil. from says where
// they come from; gone are the clusters whose last Secret has gone. To decide whether a loss is too large, it compiles the whole, not
// leaves alone.
func (g *guard) compile(
	prev *records.Snapshot, clusters []*api.Cluster, from map[string]origins, gone []string, now time.Time,
	compile func(_ []*api.Cluster, whole bool) *records.Snapshot,
) *records.Snapshot {
	steps := g.look(prev, clusters, from, now)
	due := slices.ContainsFunc(steps, func(s *guardStep) bool { return s.due })
	render := func() *records.Snapshot {
		merged := make([]*api.Cluster, len(steps))
		for i, s := range steps {
			merged[i] = s.render()
		}
		return compile(merged, due)
	}
	snap := render()
	for _, of := range bySource(steps, gone) {
		if !slices.ContainsFunc(of, func(s *guardStep) bool { return s.due }) {
			continue
		}
		kept := make([]map[api.Ref]absence, len(of))
		for i, s := range of {
			kept[i], s.missing = s.missing, nil
		}
		tried := render()
		losses, again := snap.Losses(tried), false
		if tooLarge(losses) {
			holdAll(of, kept, &hold{at: now, losses: losses})
			continue
		}
		for i, s := range of {
			maps.DeleteFunc(kept[i], func(_ api.Ref, a absence) bool { return a.held || !now.Before(a.end(g.period)) })
			if len(kept[i]) > 0 { // objects that vanished later have their own time
				s.missing, again = kept[i], true
			}
		}
		if again {
			tried = render()
		}
		snap = tried
	}
	g.noteReload(prev, snap, steps)
	g.commit(steps, now)
	return snap
}

// tooLarge reports whether a zone loses too many names.
func tooLarge(losses map[string]records.Loss) bool {
	for _, l := range losses {
		if l.Gone >= lossNames && l.Exceeds(lossShare) {
			return true
		}
	}
	return false
}

// bySource returns the steps whose losses count together: those of the clusters without a Secret, and each other one by itself.
func bySource(steps []*guardStep, gone []string) (all [][]*guardStep) {
	var nameless []*guardStep
	for _, s := range steps {
		if slices.Contains(gone, s.in.Name) {
			nameless = append(nameless, s)
		} else {
			all = append(all, []*guardStep{s})
		}
	}
	return append(all, nameless)
}

// holdAll holds what the clusters of one source lack.
func holdAll(of []*guardStep, missing []map[api.Ref]absence, h *hold) {
	for i, s := range of {
		if s.missing = missing[i]; len(s.missing) == 0 {
			continue
		}
		s.held = h
		h.clusters, h.objects = append(h.clusters, strconv.Quote(s.in.Name)), h.objects+len(s.missing)
		for ref, a := range s.missing {
			if !a.held {
				a.since, a.held = h.at, true
				s.missing[ref] = a
			}
		}
	}
}

// commit adopts the steps, logs what is new, and sets the alarm.
func (g *guard) commit(steps []*guardStep, now time.Time) {
	g.clusters = make(map[string]*guarded, len(steps))
	var next time.Time
	for _, s := range steps {
		holds := false
		for _, a := range s.missing {
			holds = holds || a.held
			if end := a.end(g.period); next.IsZero() || end.Before(next) {
				next = end
			}
		}
		if !holds {
			s.held = nil
		}
		g.say(s)
		if len(s.missing) > 0 {
			own := s.guarded
			g.clusters[s.in.Name] = &own
		}
	}
	g.show()
	if g.alarm.stop(); !next.IsZero() {
		g.alarm.set(next.Sub(now), g.wake)
	}
}

// end returns when an absence is decided on, or its hold ends.
func (a absence) end(period time.Duration) time.Time {
	if a.held {
		return a.since.Add(period)
	}
	return a.since.Add(gatherTime)
}
