// Package engine is the hub between what is read and what is answered: it takes what the feeds of clusters publish, compiles it,
// and keeps the newest snapshot. It knows nothing of CoreDNS.
package engine

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// Engine is the hub: it takes what the feeds publish, compiles it and keeps
// the snapshot that all server blocks answer from. All Corefiles of a CoreDNS, one after the other, have one engine.
type Engine struct {
	// snap is what queries are answered from; nil until something is known.
	snap current
	// made is when snap was made, in nanoseconds since 1970.
	made atomic.Int64
	// answers is set once ready has found something to answer from.
	answers atomic.Bool
	// inForce are the settings; nil before the first.
	inForce atomic.Pointer[settings]

	// probing is when the prober was given the targets of the first snapshot that can be answered from, nil
	// before that: a Time keeps counting where the clock is set.
	probing atomic.Pointer[time.Time]
	// failing tells which hosts have no target left that is up.
	failing *failOpens
	// published is told of each snapshot; nil for nobody.
	published func()

	// overrides are the operator's own words. noted are those that were looked through;
	// only the compiling goroutine uses it.
	overrides  atomic.Pointer[api.Overrides]
	overridden atomic.Pointer[overridden] // the same as text
	noted      *api.Overrides

	// keeping is what the elected writer keeps: owners, and serials.
	keeping keeping
	// late is set when what is not the main cluster's has had its time before the first answer.
	late atomic.Bool
	// Now and Random, which queries call, any number at a time, are set before the first Corefile, if at all.
	Now    func() time.Time
	Random func() uint64
	log    Logger
	warnf  func(format string, args ...any)
	infof  func(format string, args ...any)

	recollection
	// unsaid are the clusters of which nothing is said to writers; nil before any was told.
	unsaid atomic.Pointer[[]string]

	// compiling is held while something is compiled: what comes of a snapshot shares trees with it. It guards running, too:
	// what ends each part that runs.
	compiling sync.Mutex
	running   map[any]context.CancelFunc

	ctx    context.Context // ends with the engine
	cancel context.CancelFunc
	done   sync.WaitGroup
	ended  atomic.Bool // set once nothing is published any more
	wake   chan struct{}

	mu sync.Mutex // guards what follows
	// feeds are those of the Corefile, in its order, and those of Secrets, in the order of their age.
	feeds   []*feed
	secrets secrets
	// known are the clusters of which something is known, or a feed has told the UID.
	known []*cluster
	// origins says where each cluster that was compiled last comes from, by name.
	origins map[string]string
	// doubled are the lines of the Corefile of which it was said that another one has the same cluster.
	doubled map[string]bool
	timers  []*time.Timer
	// guard holds removals back that nobody has reported. It is the compiling goroutine's.
	guard *guard
}

// Logger takes what an engine says.
type Logger interface {
	Infof(format string, args ...any)
	Warningf(format string, args ...any)
	Errorf(format string, args ...any)
}

// New returns an engine that does not know yet what it is to do. published, which may be nil, is called for each snapshot.
func New(log Logger, published func()) *Engine {
	e := &Engine{
		Now: time.Now, Random: rand.Uint64, log: log, published: published, warnf: log.Warningf, infof: log.Infof, wake: make(chan struct{}, 1),
		doubled: make(map[string]bool),
	}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	e.failing = newFailOpens(e.snap.Load, log)
	e.failing.follow, e.failing.told = e.TellHealth, e.failOpenEvent
	e.guard = newGuard(e.ring, func(format string, args ...any) { e.warnf(format, args...) }, func(format string, args ...any) { e.infof(format, args...) })
	return e
}

// Stop ends everything. Queries are answered from the last
// snapshot afterwards too: CoreDNS goes on asking until its lame duck time ends.
func (e *Engine) Stop() {
	e.cancel()
	e.done.Wait()
	e.guard.stop()
	e.mu.Lock()
	for _, t := range e.timers {
		t.Stop()
	}
	e.mu.Unlock()
	if k := e.settings().keeper; k != nil {
		k.save(true)
	}
	e.ended.Store(true)
}

// after calls do in a while, unless e has stopped, and has everything compiled anew.
func (e *Engine) after(while time.Duration, do func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.timers = append(e.timers, time.AfterFunc(while, func() {
		do()
		e.ring()
	}))
}

// ring has everything compiled that is pending.
func (e *Engine) ring() {
	select {
	case e.wake <- struct{}{}:
	default: // it will look anyway
	}
}
