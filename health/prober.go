package health

import (
	"container/heap"
	"context"
	"crypto/x509"
	"iter"
	"math/rand/v2"
	"sync"
	"time"
)

// Options are what a Prober needs besides its targets.
type Options struct {
	Guard Guard
	// Concurrent bounds the simultaneous connections of checks; 0 means DefaultConcurrent, or a
	// third of this process's file descriptors if that is less.
	Concurrent int
	// Changed is called when a target's state, or its reason including the HTTP status, has changed. Many goroutines call it, and it must
	// not wait. nil for none.
	Changed func(t *Target, before, after Value)
	// Ended is called after each check with its duration, under the same conditions.
	Ended func(t *Target, o Outcome, took time.Duration)
}

// DefaultConcurrent bounds the memory of unanswered checks: some 15 KiB each until they are
// connected, then up to 40 KiB, mostly with HTTP/2.
const DefaultConcurrent = 8192

const (
	spread = time.Second // of first checks, unless there are many (rule 4.3)
	// firstRate bounds the first checks a second: more of the most expensive, TLS handshakes,
	// starve each other until they fail.
	firstRate = 2500
	// paces is how many parts of a second are caught up at once.
	paces = 20
	// starved is how far a check may exceed its timeout before that says more about this machine
	// than about the target.
	starved = 500 * time.Millisecond
	hurry   = 10 * time.Second // at most between two checks until a state is decided
	// Bounds that no policy can exceed, so that no terms make a prober run without a pause.
	leastInterval = time.Second
	mostInterval  = 366 * 24 * time.Hour
	jitter        = 0.1       // relative deviation from an interval
	nothing       = time.Hour // between two looks at empty queues
)

// Prober checks targets and writes the results into their cells. Any number of goroutines may call
// its methods.
type Prober struct {
	opts Options
	// run does one check; tests of the schedule replace it.
	run   func(context.Context, *Target) Outcome
	hosts *hostAddresses // where no check may go
	wake  chan struct{}  // one place: look at the queue

	mu         sync.Mutex // guards what follows
	schedules  map[string]*schedule
	lines      map[string]*line // by tenant
	waiting    heaped[*line]    // those that no check was due of
	turns      []*line          // the others: those with checks due, in turns
	running    int              // connections; every check has one
	firsts     int              // targets without any result yet
	rate       float64          // checks a second under the terms of all targets
	all, first credit           // for all checks, and for the first of schedules
}

// NewProber returns a Prober without targets.
func NewProber(opts Options) *Prober {
	if opts.Concurrent <= 0 {
		// A third of the file descriptors stays free: answering queries and watching the API server
		// take some, even while no target answers. Resolving a hostname takes two.
		opts.Concurrent = max(1, min(DefaultConcurrent, descriptors()/3))
	}
	c := newConnector(opts.Guard)
	p := &Prober{
		opts: opts, run: c.run, hosts: c.guard.hosts, wake: make(chan struct{}, 1),
		schedules: make(map[string]*schedule), lines: make(map[string]*line),
	}
	c.more, c.less = p.more, p.less
	return p
}

// more reports whether a check of t may have one more connection than its first. The caller returns
// it with less.
func (p *Prober) more(t *Target) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.lineOf(t)
	if !p.room(l) {
		return false
	}
	p.running++
	l.running++
	return true
}

// less returns n connections of a check of t.
func (p *Prober) less(t *Target, n int) {
	p.mu.Lock()
	p.release(p.lineOf(t), n)
	p.mu.Unlock()
	p.ring()
}

// release returns n connections of a line.
func (p *Prober) release(l *line, n int) {
	p.running -= n
	l.running -= n
	p.arrange(l)
}

// Targets are what a Prober checks, by Target.Key.
type Targets interface {
	Get(key string) (*Target, bool)
	All() iter.Seq2[string, *Target]
}

// Follow sets the targets to check. changed are the keys that differ from the last time; nil means
// any.
func (p *Prober) Follow(all Targets, changed []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if changed == nil {
		for key := range p.schedules {
			if _, kept := all.Get(key); !kept {
				p.drop(key)
			}
		}
		for key, t := range all.All() {
			p.put(key, t, now)
		}
	}
	for _, key := range changed {
		if t, ok := all.Get(key); ok {
			p.put(key, t, now)
		} else {
			p.drop(key)
		}
	}
	p.ring()
}

func (p *Prober) ring() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Settled reports whether the first check of every target has ended.
func (p *Prober) Settled() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.firsts == 0
}

// LastCheck returns when the last check of the target with that key ended; zero if this prober has
// not checked it.
func (p *Prober) LastCheck(key string) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.schedules[key]; e != nil && !e.gone {
		return e.last
	}
	return time.Time{}
}

// Since returns since when the target with that key is in its state; zero if longer than this prober knows.
func (p *Prober) Since(key string) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.schedules[key]; e != nil && !e.gone && e.since != 0 {
		return time.Unix(int64(e.since), 0)
	}
	return time.Time{}
}

// Deny forbids checks of more servers, by name or address, such as API servers found while checks
// run. They replace those of the last call. A name is looked up at once, and then like those of
// Guard.DenyHosts; no check waits for that. Any number of goroutines may call it.
func (p *Prober) Deny(hosts []string) { p.hosts.setLater(hosts) }

// Run checks targets until ctx ends, and returns when the last check has ended. Only one Run at a
// time.
func (p *Prober) Run(ctx context.Context) {
	var checks sync.WaitGroup
	defer checks.Wait()
	// A process reads the system's root certificates once. Read now, they are not lost for good if
	// file descriptors are short later.
	_, _ = x509.SystemCertPool()
	p.hosts.watch(ctx, &checks)
	timer := time.NewTimer(nothing)
	defer timer.Stop()
	for {
		timer.Reset(p.begin(ctx, &checks))
		select {
		case <-ctx.Done():
			return
		case <-p.wake:
		case <-timer.C:
		}
	}
}

// begin begins the checks that are due, and returns how long to wait for the next.
func (p *Prober) begin(ctx context.Context, checks *sync.WaitGroup) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	for {
		e, wait := p.next(now)
		if e == nil {
			return wait
		}
		e.busy = true
		p.begun(e)
		p.running++
		e.line.running++
		t, l := e.target, e.line
		checks.Go(func() { p.check(ctx, e, t, l, now) })
	}
}

// Overdue returns how late the check that has waited longest is, 0 for none.
func (p *Prober) Overdue() (late time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	for _, l := range p.lines {
		if len(l.queue) > 0 {
			late = max(late, now.Sub(l.queue[0].due))
		}
	}
	return late
}

// check runs one check of a schedule's target in a line, and schedules the next.
func (p *Prober) check(ctx context.Context, e *schedule, t *Target, l *line, began time.Time) {
	o := p.run(ctx, t)
	took := time.Since(began)
	if o.Reason == Timeout && took > t.timeout()+starved {
		o.Reason = LocalTrouble // the goroutine got no CPU time to be on time
	}
	ended := ctx.Err() == nil // otherwise it was cancelled, whatever o says
	if ended {
		if p.opts.Ended != nil {
			p.opts.Ended(t, o, took)
		}
		p.observe(e, t, o)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.release(l, 1)
	e.busy = false
	if e.gone {
		p.end(e)
		p.ring()
		return
	}
	if ended && e.of(t) {
		e.last = began.Add(took)
		if !e.ended {
			e.ended = true
			p.firsts--
		}
	}
	if e.again {
		e.again = false
		if now := time.Now(); e.due.Before(now) {
			e.due = now // the check that ran delayed it
		}
	} else {
		e.due = began.Add(e.target.delay(e.target.Cell.Load(), 2*rand.Float64()-1))
	}
	heap.Push(&e.line.queue, e)
	if p.arrange(e.line); e.line.place == 0 || len(p.turns) > 0 {
		p.ring()
	}
}

// observe writes a check's result to the target's cell, and reports it. If the target has gone
// meanwhile, this check may no longer write to its cell: mu keeps Follow from removing it in
// between.
func (p *Prober) observe(e *schedule, t *Target, o Outcome) {
	p.mu.Lock()
	if !e.of(t) || t.Cell == nil {
		p.mu.Unlock()
		return
	}
	before, after := t.Cell.Observe(o, t.Terms)
	if before.Found() != after.Found() || !before.Known() && after.Known() {
		e.since = uint32(time.Now().Unix())
	}
	p.mu.Unlock()
	same := before.Found() == after.Found() && before.Checked() == after.Checked() && before.Reason() == after.Reason() &&
		before.Status() == after.Status()
	if !same && p.opts.Changed != nil {
		p.opts.Changed(t, before, after)
	}
}
