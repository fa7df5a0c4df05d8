// Package engine connects sources and answers: it takes what the feeds of clusters publish, compiles it, and keeps the newest
// snapshot. It knows nothing of CoreDNS.
package engine

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// Engine takes what the feeds publish, compiles it, and keeps the snapshot that all server blocks answer from. The
// successive Corefiles of a CoreDNS process share one engine.
type Engine struct {
	// now answers queries; never nil.
	now atomic.Pointer[Publication]
	// inForce are the settings; nil before the first.
	inForce atomic.Pointer[settings]

	// failing finds hosts whose targets are all down.
	failing *failOpens

	// registry has the owners and serials that the elected writer keeps.
	registry registry
	// Now and Random are called by queries, concurrently. Set them before the first Corefile, if at all.
	Now    func() time.Time
	Random func() uint64
	tell   Listener

	life
	clusters
	readiness
	stateRead

	// compiling is held during a compile: a snapshot shares trees with its predecessor. It also guards running, the
	// functions that end running parts.
	compiling sync.Mutex
	running   map[any]context.CancelFunc
	structure structure  // also guarded by compiling
	standing  standstill // also guarded by compiling

	ended atomic.Bool // set once no more is published

	// guard holds back unreported removals. Only the compiling goroutine uses it.
	guard *guard
}

// Listener is told of an engine's events, and must not block for long.
type Listener interface {
	// Published says that now replaced before, which is nil for the first. took is the time of the compile.
	Published(before, now *records.Snapshot, took time.Duration)
	// Fails says that a host has nothing up for some clients, or, as the zero value, that it recovered (rules 4.6 and 9.3).
	Fails(host string, is records.Failing)
	// Checked reports the outcome of a check, Found a change of a target's health. Several goroutines call them.
	Checked(t *health.Target, o health.Outcome, took time.Duration)
	Found(t *health.Target, before, after health.Value)
}

// deaf is a Listener that does nothing.
type deaf struct{}

func (deaf) Published(_, _ *records.Snapshot, _ time.Duration)           {}
func (deaf) Fails(string, records.Failing)                               {}
func (deaf) Checked(_ *health.Target, _ health.Outcome, _ time.Duration) {}
func (deaf) Found(_ *health.Target, _, _ health.Value)                   {}

// New returns an engine without settings. tell may be nil.
func New(log Logger, tell Listener) *Engine {
	if tell == nil {
		tell = deaf{}
	}
	e := &Engine{Now: time.Now, Random: rand.Uint64, tell: tell, life: life{log: log, wake: newBell()}}
	e.clusters.life = &e.life
	e.now.Store(new(Publication))
	e.structure.quick, e.structure.pause = quickCompile, minPause
	e.ctx, e.cancel = context.WithCancel(context.Background())
	e.failing = newFailOpens(e.Snapshot)
	e.failing.follow, e.failing.begins = e.TellHealth, func(host string, is records.Failing) {
		tell.Fails(host, is)
		e.failEvent(host, is)
	}
	e.guard = newGuard(e.wake.ring, log)
	return e
}

// Stop ends everything. Queries still get the last snapshot: CoreDNS serves until its lame duck
// time ends.
func (e *Engine) Stop() {
	e.cancel()
	e.done.Wait()
	e.guard.alarm.stop()
	e.structure.alarm.stop()
	e.standing.alarm.stop()
	e.registry.alarm.stop()
	if k := e.settings().state; k != nil {
		k.save()
	}
	e.ended.Store(true)
}

// life holds what ends with an engine.
type life struct {
	log    Logger
	ctx    context.Context
	cancel context.CancelFunc
	done   sync.WaitGroup // running goroutines
	wake   bell           // compiles everything pending
}

// after calls do after a while and compiles everything anew, unless the engine has ended.
func (l *life) after(while time.Duration, do func()) {
	l.done.Go(func() {
		select {
		case <-l.ctx.Done():
		case <-time.After(while):
			do()
			l.wake.ring()
		}
	})
}

// alarm rings after a while, unless it is set again or stopped first. The zero alarm is not set.
type alarm struct{ timer *time.Timer }

func (a *alarm) set(while time.Duration, ring func()) {
	a.stop()
	a.timer = time.AfterFunc(while, ring)
}

func (a *alarm) stop() {
	if a.timer != nil {
		a.timer.Stop()
	}
}
