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

// failOpens finds which hosts begin and cease to fail open: to be answered with
// targets that are down, because no other is left (rule 4.6). What happens at once
// is looked at once: a rack that fails takes thousands of targets with it.
type failOpens struct {
	snap func() *records.Snapshot // may return nil
	// follow is told of the targets that have another state, by key.
	follow func(snap *records.Snapshot, targets map[string]health.State)
	// told is told of each host that begins to fail open, and for whom, or ceases: "".
	told func(host, whom string)
	wake bell

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

func newFailOpens(snap func() *records.Snapshot) *failOpens {
	return &failOpens{
		snap: snap, wake: newBell(), targets: make(map[string]health.State), groups: make(map[string]struct{}), open: make(map[string]string),
		follow: func(*records.Snapshot, map[string]health.State) {}, told: func(string, string) {},
	}
}

// changed notes that something else has been found of a target.
func (f *failOpens) changed(t *health.Target, before health.State) {
	f.mu.Lock()
	if _, known := f.targets[t.Key()]; !known {
		f.targets[t.Key()] = before
	}
	f.mu.Unlock()
	f.wake.ring()
}

// compiled notes what snap has made anew.
func (f *failOpens) compiled(snap *records.Snapshot) {
	f.mu.Lock()
	f.all = f.all || snap.Renewed() == nil
	for _, group := range snap.Renewed() {
		f.groups[group] = struct{}{}
	}
	f.mu.Unlock()
	f.wake.ring()
}

// gather is how long changes are gathered before they are looked at.
const gather = time.Second

// run looks at what changes until ctx ends.
func (f *failOpens) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.wake:
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(gather):
		}
		f.look()
	}
}

// look finds the hosts that have begun and ceased to fail open, and tells of them.
func (f *failOpens) look() {
	// First what has changed, then what came of it: a snapshot that is compiled in
	// between is looked at now, and once more later.
	f.mu.Lock()
	targets, groups, all := f.targets, f.groups, f.all
	f.targets, f.groups, f.all = make(map[string]health.State), make(map[string]struct{}), false
	f.mu.Unlock()
	snap := f.snap()
	if snap == nil {
		return // the first one renews everything
	}
	if all {
		for group := range snap.Groups() {
			groups[group] = struct{}{}
		}
		for host := range f.open {
			groups[records.Group(host)] = struct{}{}
		}
	}
	for key := range targets {
		for group := range snap.Checks().Users(key) {
			groups[group] = struct{}{}
		}
	}
	// Each host is looked at once: its targets change meanwhile.
	hosts := make(map[string]string)
	if len(groups) > 0 {
		for host := range f.open {
			if _, looked := groups[records.Group(host)]; looked {
				hosts[host] = "" // unless it is there
			}
		}
	}
	for group := range groups {
		for host, whom := range snap.Hosts(group) {
			if _, open := f.open[host]; open || whom != "" {
				hosts[host] = whom
			}
		}
	}
	f.note(hosts)
	if len(targets) > 0 {
		f.follow(snap, targets)
	}
}

// note takes in whom hosts fail open for, "" for nobody, and tells what is new.
func (f *failOpens) note(hosts map[string]string) {
	maps.DeleteFunc(hosts, func(host, whom string) bool { return whom == f.open[host] })
	if len(hosts) == 0 {
		return
	}
	for _, host := range slices.Sorted(maps.Keys(hosts)) {
		if f.open[host] = hosts[host]; hosts[host] == "" {
			delete(f.open, host)
		}
		f.told(host, hosts[host])
	}
	shown := maps.Clone(f.open)
	f.shown.Store(&shown)
}
