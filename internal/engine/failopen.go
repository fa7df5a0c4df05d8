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

// failOpens finds hosts that begin or cease to fail open or closed: no target is up for some of
// their clients (rules 4.6 and 9.3). Changes are collected first: a failing rack takes thousands of
// targets with it.
type failOpens struct {
	snap func() *records.Snapshot // may return nil
	// follow is told of targets whose state changed, by key.
	follow func(snap *records.Snapshot, targets map[string]health.State)
	// begins is called for each host that begins to fail, and for which clients; the zero value if it recovered.
	begins func(host string, is records.Failing)
	wake   bell

	mu sync.Mutex // guards what follows
	// targets changed since the last look, by key, each with its state before; groups are the
	// groups of names that were compiled.
	targets map[string]health.State
	groups  map[string]bool

	// open are the hosts that failed at the last look, and for which clients. The map is replaced, never changed.
	open atomic.Pointer[map[string]records.Failing]
}

func newFailOpens(snap func() *records.Snapshot) *failOpens {
	f := &failOpens{
		snap: snap, wake: newBell(), targets: make(map[string]health.State), groups: make(map[string]bool),
		follow: func(*records.Snapshot, map[string]health.State) {}, begins: func(string, records.Failing) {},
	}
	f.open.Store(&map[string]records.Failing{})
	return f
}

// changed notes a target's new state.
func (f *failOpens) changed(t *health.Target, before health.State) {
	f.mu.Lock()
	if _, known := f.targets[t.Key()]; !known {
		f.targets[t.Key()] = before
	}
	f.mu.Unlock()
	f.wake.ring()
}

// compiled notes the groups that snap compiled anew.
func (f *failOpens) compiled(snap *records.Snapshot) {
	f.mu.Lock()
	renewed := slices.Values(snap.Renewed())
	if snap.Renewed() == nil {
		renewed = snap.Groups()
		for host := range *f.open.Load() {
			f.groups[records.Group(host)] = true
		}
	}
	for group := range renewed {
		f.groups[group] = true
	}
	f.mu.Unlock()
	f.wake.ring()
}

// gather is how long changes are collected before a look.
const gather = time.Second

// run looks at changes until ctx ends.
func (f *failOpens) run(ctx context.Context) {
	for f.wake.wait(ctx, gather, time.Time{}) {
		f.look()
	}
}

// look finds the hosts that began or ceased to fail open, and reports them.
func (f *failOpens) look() {
	// Take the changes before the snapshot: one compiled in between is looked at now, and once more
	// later.
	f.mu.Lock()
	targets, groups := f.targets, f.groups
	f.targets, f.groups = make(map[string]health.State), make(map[string]bool)
	f.mu.Unlock()
	snap, open := f.snap(), *f.open.Load()
	if snap == nil {
		return // the first snapshot renews everything
	}
	for key := range targets {
		for group := range snap.Checks().Users(key) {
			groups[group] = true
		}
	}
	// Look at each host once: its targets change meanwhile.
	hosts := make(map[string]records.Failing)
	for host := range open {
		if len(groups) > 0 && groups[records.Group(host)] {
			hosts[host] = records.Failing{} // unless set below
		}
	}
	for group := range groups {
		for host, is := range snap.Hosts(group) {
			if is.Whom != "" || open[host].Whom != "" {
				hosts[host] = is
			}
		}
	}
	maps.DeleteFunc(hosts, func(host string, is records.Failing) bool { return is == open[host] })
	if len(hosts) > 0 {
		next := maps.Clone(open)
		maps.Copy(next, hosts)
		maps.DeleteFunc(next, func(_ string, is records.Failing) bool { return is.Whom == "" })
		f.open.Store(&next)
	}
	for _, host := range slices.Sorted(maps.Keys(hosts)) {
		f.begins(host, hosts[host])
	}
	if len(targets) > 0 {
		f.follow(snap, targets)
	}
}
