package engine

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// failOpens tells which hosts begin and cease to fail open: to be answered with
// targets that are down, because no other is left (rule 4.6). What happens at once
// is looked at once: a rack that fails takes thousands of targets with it.
type failOpens struct {
	snap func() *records.Snapshot // may return nil
	// follow is told of the targets that have another state, by key; nil for nobody.
	follow func(snap *records.Snapshot, targets map[string]health.State)
	// told is told of each host that begins to fail open, and for whom, or ceases: ""; nil for
	// nobody.
	told         func(host, whom string)
	warnf, infof func(format string, args ...any)
	wake         chan struct{} // one place: look

	mu sync.Mutex
	// targets are those that have changed since the last look, by key, each with what was
	// found of it before, groups the groups; all is set where any may have. mu guards them.
	targets map[string]health.State
	groups  map[string]struct{}
	all     bool

	// open are the hosts that failed open at the last look, and for whom, the
	// goroutine's own; shown is a copy for others to read.
	open  map[string]string
	shown atomic.Pointer[map[string]string]
}

func newFailOpens(snap func() *records.Snapshot, log Logger) *failOpens {
	return &failOpens{
		snap: snap, warnf: log.Warningf, infof: log.Infof, wake: make(chan struct{}, 1),
		targets: make(map[string]health.State), groups: make(map[string]struct{}), open: make(map[string]string),
	}
}

// changed notes that something else has been found of a target.
func (f *failOpens) changed(t *health.Target, before health.State) {
	f.mu.Lock()
	if _, known := f.targets[t.Key()]; !known {
		f.targets[t.Key()] = before
	}
	f.mu.Unlock()
	f.ring()
}

// compiled notes what snap has made anew.
func (f *failOpens) compiled(snap *records.Snapshot) {
	f.mu.Lock()
	f.all = f.all || snap.Renewed() == nil
	for _, group := range snap.Renewed() {
		f.groups[group] = struct{}{}
	}
	f.mu.Unlock()
	f.ring()
}

func (f *failOpens) ring() {
	select {
	case f.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// gather is how long changes are gathered before they are looked at.
const gather = time.Second

// run looks at what changes until ctx ends.
func (f *failOpens) run(ctx context.Context) {
	timer := time.NewTimer(gather)
	timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.wake:
		}
		timer.Reset(gather)
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		f.look()
	}
}

// look finds the hosts that have begun and ceased to fail open, and logs them.
func (f *failOpens) look() {
	// First what has changed, then what came of it: a snapshot that is compiled in
	// between is looked at now, and once more later.
	targets, groups, all := f.take()
	snap := f.snap()
	if snap == nil {
		return // the first one renews everything
	}
	if all {
		for group := range snap.Groups() {
			groups[group] = struct{}{}
		}
	} else {
		for key := range targets {
			for group := range snap.Checks().Users(key) {
				groups[group] = struct{}{}
			}
		}
	}
	// Each host is looked at once: its targets change meanwhile.
	hosts := make(map[string]string)
	for group := range groups {
		for host, whom := range snap.Hosts(group) {
			if _, open := f.open[host]; open || whom != "" {
				hosts[host] = whom
			}
		}
	}
	if len(groups) > 0 || all {
		for host := range f.open {
			_, looked := groups[records.Group(host)]
			if _, ok := hosts[host]; !ok && (looked || all) {
				hosts[host] = "" // it is gone
			}
		}
	}
	f.note(hosts)
	if f.follow != nil && len(targets) > 0 {
		f.follow(snap, targets)
	}
}

// note takes in whom hosts fail open for, "" for nobody, and logs what is new.
func (f *failOpens) note(hosts map[string]string) {
	began, ceased := make(map[string]string), make(map[string]string)
	for host, whom := range hosts {
		switch {
		case whom == f.open[host]:
		case whom == "":
			delete(f.open, host)
			ceased[host] = ""
			f.hand(host, whom)
		default:
			f.open[host], began[host] = whom, whom
			f.hand(host, whom)
		}
	}
	if len(began)+len(ceased) > 0 {
		shown := maps.Clone(f.open)
		f.shown.Store(&shown)
	}
	f.tell(f.warnf, began, "Host %s has no target that is up for %s: answers hold those that are down (fail-open)", "%d more hosts have no target that is up")
	f.tell(f.infof, ceased, "Host %s fails open no longer", "%d more hosts fail open no longer")
}

// hand hands on what is new of a host.
func (f *failOpens) hand(host, whom string) {
	if f.told != nil {
		f.told(host, whom)
	}
}

// take returns what has changed since it was called last: targets and groups by
// their keys, or anything.
func (f *failOpens) take() (targets map[string]health.State, groups map[string]struct{}, all bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	targets, groups, all = f.targets, f.groups, f.all
	f.targets, f.groups, f.all = make(map[string]health.State), make(map[string]struct{}), false
	return targets, groups, all
}

// tell logs one line for each host, with what is said of it, up to a bound.
func (f *failOpens) tell(logf func(string, ...any), hosts map[string]string, line, more string) {
	for i, host := range slices.Sorted(maps.Keys(hosts)) {
		switch whom := hosts[host]; {
		case i == maxTold:
			logf(more, len(hosts)-i)
			return
		case whom == "":
			logf(line, host)
		default:
			logf(line, host, whom)
		}
	}
}
