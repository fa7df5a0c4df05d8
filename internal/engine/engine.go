// Package engine is the hub between what is read and what is answered: it takes what the feeds of clusters publish, compiles it,
// and keeps the newest snapshot. It knows nothing of CoreDNS.
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

// Engine is the hub: it takes what the feeds publish, compiles it and keeps
// the snapshot that all server blocks answer from. All Corefiles of a CoreDNS, one after the other, have one engine.
type Engine struct {
	// now is what queries are answered from; never nil.
	now atomic.Pointer[Publication]
	// inForce are the settings; nil before the first.
	inForce atomic.Pointer[settings]

	// failing finds hosts without a target that is up.
	failing *failOpens

	// registry has the owners and serials that the elected writer keeps.
	registry registry
	// Now and Random, which queries call, any number at a time, are set before the first Corefile, if at all.
	Now    func() time.Time
	Random func() uint64
	tell   Listener

	life
	clusters
	readiness
	stateRead

	// compiling is held while something is compiled: what comes of a snapshot shares trees with it. It guards running, too:
	// what ends each part that runs.
	compiling sync.Mutex
	running   map[any]context.CancelFunc
	structure structure  // it guards this, too
	standing  standstill // and this

	ended atomic.Bool // set once nothing is published any more

	// guard holds back unreported removals. Only the compiling goroutine uses it.
	guard *guard
}

// Logger takes what an engine says.
type Logger interface {
	Infof(format string, args ...any)
	Warningf(format string, args ...any)
	Errorf(format string, args ...any)
}

// Listener is told of events in an engine, and must not block for long.
type Listener interface {
	// Published says that now is answered from, after before, which is nil for the first. took is how long compiling took.
	Published(before, now *records.Snapshot, took time.Duration)
	// FailOpen says that a host begins to fail open, and for whom, or with "" that it ceases to (rule 4.6).
	FailOpen(host, whom string)
	// Checked says how a check of a target has ended, Found that it has changed what is known of the target. Several
	// goroutines call them.
	Checked(t *health.Target, o health.Outcome, took time.Duration)
	Found(t *health.Target, before, after health.Word)
}

// deaf is a Listener that does nothing.
type deaf struct{}

func (deaf) Published(_, _ *records.Snapshot, _ time.Duration)           {}
func (deaf) FailOpen(_, _ string)                                        {}
func (deaf) Checked(_ *health.Target, _ health.Outcome, _ time.Duration) {}
func (deaf) Found(_ *health.Target, _, _ health.Word)                    {}

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
	e.failing.follow, e.failing.told = e.TellHealth, func(host, whom string) {
		tell.FailOpen(host, whom)
		e.failOpenEvent(host, whom)
	}
	e.guard = newGuard(e.wake.ring, log)
	return e
}

// Stop ends everything. Queries are answered from the last
// snapshot afterwards too: CoreDNS goes on asking until its lame duck time ends.
func (e *Engine) Stop() {
	e.cancel()
	e.done.Wait()
	e.guard.alarm.stop()
	e.structure.alarm.stop()
	e.standing.alarm.stop()
	if k := e.settings().state; k != nil {
		k.save(true)
	}
	e.ended.Store(true)
}

// life is what ends with an engine.
type life struct {
	log    Logger
	ctx    context.Context
	cancel context.CancelFunc
	done   sync.WaitGroup // what runs
	wake   bell           // has everything compiled that is pending
}

// after calls do in a while, unless that is after the end, and has everything compiled anew.
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

// bell wakes a goroutine once for all rings before it looks.
type bell chan struct{}

func newBell() bell { return make(bell, 1) }

func (b bell) ring() {
	select {
	case b <- struct{}{}:
	default: // it will look anyway
	}
}

// wait returns a while after the bell has been rung, and not before a time; false if ctx has ended.
func (b bell) wait(ctx context.Context, while time.Duration, before time.Time) bool {
	select {
	case <-ctx.Done():
		return false
	case <-b:
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(max(while, time.Until(before))):
	}
	return true
}

// alarm rings after a while, unless it is set anew or stopped before. The zero alarm is not set.
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
