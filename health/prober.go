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
	// Concurrent is how many connections checks have at one time; 0 for
	// DefaultConcurrent, or for a third of this process's file descriptors where that
	// is less.
	Concurrent int
	// Changed is called when what is known of a target has changed: its state, or
	// why it has it, the HTTP status included. It is called by many goroutines, and must not wait. nil for
	// nobody.
	Changed func(t *Target, before, after Word)
	// Ended is called for each check with how long it took. The same holds for
	// it.
	Ended func(t *Target, o Outcome, took time.Duration)
}

// DefaultConcurrent bounds the memory that checks take which nobody answers: some 15 KiB
// each until they are connected, and up to 40 KiB then, most of it with HTTP/2.
const DefaultConcurrent = 8192

const (
	spread = time.Second // over which first checks are spread, unless they are many (rule 4.3)
	// firstRate is how many first checks begin in a second at most: with the costliest,
	// TLS handshakes, more than that starve each other until they fail.
	firstRate = 2500
	// paces is how many parts of a second are made up for at once.
	paces = 20
	// starved is by how much a check may outlast its timeout before that says more
	// about this machine than about the target.
	starved = 500 * time.Millisecond
	hurry   = 10 * time.Second // the most between two checks until a state is decided
	// What no policy goes below or beyond, so that no terms at all make a prober
	// run without a pause.
	leastInterval = time.Second
	mostInterval  = 366 * 24 * time.Hour
	jitter        = 0.1       // how much an interval is more or less than its length
	nothing       = time.Hour // between two looks at a queue without anything in it
	capacity      = 1 << 10   // of the queue, to begin with
)

// Prober checks targets and writes what it finds into their cells. Its methods
// may be called by any number of goroutines.
type Prober struct {
	opts Options
	// run does one check; tests of the schedule have their own.
	run   func(context.Context, *Target) Outcome
	hosts *hostAddresses // where no check may go
	wake  chan struct{}  // one place: look at the queue

	mu        sync.Mutex // guards what follows
	schedules map[string]*schedule
	queue     queue
	running   int     // connections, of which every check has one
	firsts    int     // targets of which nothing is known yet
	rate      float64 // checks in a second that the terms of all targets come to
	// credit is how many checks may begin at once, as of the time at.
	credit float64
	at     time.Time
	fresh  int // schedules that are fresh
}

// schedule says when to check one target.
type schedule struct {
	key    string
	target *Target
	due    time.Time
	place  int       // in the queue; -1 while it is not there
	busy   bool      // a check runs
	gone   bool      // and busy: the end of the check takes it out of the map
	ended  bool      // a check has ended, of this prober or of one before
	last   time.Time // when the last check of this prober ended; zero for none
	since  uint32    // when a check of this prober has found another state, in Unix seconds; 0 for never
	fresh  bool      // no check of this prober, or with these headers, has begun
	again  bool      // due holds for the time after the check that runs
}

// of reports whether what a check of t has found is about the schedule's target.
func (e *schedule) of(t *Target) bool { return !e.gone && e.target.Cell == t.Cell }

// NewProber returns a Prober without targets.
func NewProber(opts Options) *Prober {
	if opts.Concurrent <= 0 {
		// A third of the file descriptors stays free: whoever answers queries and
		// watches the API server needs some, also while no target answers. To look a
		// hostname up takes two.
		opts.Concurrent = max(1, min(DefaultConcurrent, descriptors()/3))
	}
	c := newConnector(opts.Guard)
	p := &Prober{
		opts: opts, run: c.run, hosts: c.guard.hosts, wake: make(chan struct{}, 1),
		schedules: make(map[string]*schedule), queue: make(queue, 0, capacity),
	}
	c.more, c.less = p.more, p.less
	return p
}

// more reports whether a check may have one more connection than its first. Who is
// told so says less afterwards.
func (p *Prober) more() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running >= p.opts.Concurrent {
		return false
	}
	p.running++
	return true
}

// less gives n connections back.
func (p *Prober) less(n int) {
	p.mu.Lock()
	p.running -= n
	p.mu.Unlock()
	p.ring()
}

// Targets are what a Prober checks, by Target.Key.
type Targets interface {
	Get(key string) (*Target, bool)
	All() iter.Seq2[string, *Target]
}

// Follow makes all what is checked. changed are the keys that differ from the
// last time; nil stands for any.
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

// put makes t the target of that key. The caller holds mu.
func (p *Prober) put(key string, t *Target, now time.Time) {
	e := p.schedules[key]
	switch {
	case e == nil:
		e = &schedule{key: key, place: -1}
		p.schedules[key] = e
		p.enter(e, t, now)
	case !e.gone && e.target == t:
		return
	case e.of(t): // with other headers: they are to be tried soon
		p.rate += t.rate() - e.target.rate()
		e.target = t
		if due := p.soon(e, now); e.busy || due.Before(e.due) {
			e.due = due
		}
	default: // it has gone, and comes back as another
		p.leave(e)
		p.enter(e, t, now)
	}
	switch {
	case e.busy: // one check of a target at a time
		e.again = true
	case e.place < 0:
		heap.Push(&p.queue, e)
	default:
		heap.Fix(&p.queue, e.place)
	}
}

// enter makes t the target of the schedule, and says when its first check is due.
func (p *Prober) enter(e *schedule, t *Target, now time.Time) {
	w := t.Cell.Load()
	e.target, e.gone, e.ended, e.last, e.since = t, false, w.Checked(), time.Time{}, 0
	// What is known from before may have changed since: nothing is put off.
	e.due = p.soon(e, now)
	p.rate += t.rate()
	if !e.ended {
		p.firsts++
	}
}

// leave parts the schedule from its target.
func (p *Prober) leave(e *schedule) {
	if !e.gone {
		p.rate -= e.target.rate()
		if !e.ended {
			p.firsts--
		}
	}
	p.begun(e)
	e.gone = true
}

// begun notes that the first check of the schedule's target has begun, or never will.
func (p *Prober) begun(e *schedule) {
	if e.fresh {
		e.fresh = false
		p.fresh--
	}
}

// drop ends the checks of a target. The caller holds mu.
func (p *Prober) drop(key string) {
	e := p.schedules[key]
	if e == nil {
		return
	}
	if p.leave(e); !e.busy {
		delete(p.schedules, key)
		heap.Remove(&p.queue, e.place)
	}
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

// LastCheck returns when the last check of the target of that key ended; zero where none of
// this prober has.
func (p *Prober) LastCheck(key string) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.schedules[key]; e != nil && !e.gone {
		return e.last
	}
	return time.Time{}
}

// Since returns since when the target of that key is in its state; zero where that is longer than this prober knows.
func (p *Prober) Since(key string) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.schedules[key]; e != nil && !e.gone && e.since != 0 {
		return time.Unix(int64(e.since), 0)
	}
	return time.Time{}
}

// Deny forbids checks of more servers, by their names or addresses, such as those of API
// servers that are found while checks run. They take the place of those of the call before.
// A name is looked up at once, and then as those of Guard.DenyHosts are; no check waits for
// that. Any number of goroutines may call it.
func (p *Prober) Deny(hosts []string) { p.hosts.setLater(hosts) }

// Run checks targets until ctx ends, and returns when the last check has. It runs
// once at a time.
func (p *Prober) Run(ctx context.Context) {
	var checks sync.WaitGroup
	defer checks.Wait()
	// The system's root certificates are read once in the life of a process. Read
	// now, they are not missing for good where file descriptors are short later.
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

// begin begins the checks that are due, and returns how long there is nothing
// more to do.
func (p *Prober) begin(ctx context.Context, checks *sync.WaitGroup) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	for len(p.queue) > 0 && p.running < p.opts.Concurrent {
		e := p.queue[0]
		if wait := e.due.Sub(now); wait > 0 {
			return wait
		}
		if wait := p.pace(now); wait > 0 {
			return wait
		}
		heap.Pop(&p.queue)
		e.busy = true
		p.begun(e)
		p.running++
		t := e.target
		checks.Go(func() { p.check(ctx, e, t, now) })
	}
	return nothing // the end of a check rings
}

// Overdue returns by how much the check that has waited longest is past its time, 0
// for none.
func (p *Prober) Overdue() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.queue) == 0 {
		return 0
	}
	return max(0, time.Since(p.queue[0].due))
}

// check runs one check of a schedule's target, and plans the next.
func (p *Prober) check(ctx context.Context, e *schedule, t *Target, began time.Time) {
	o := p.run(ctx, t)
	took := time.Since(began)
	if o.Reason == Timeout && took > t.timeout()+starved {
		o.Reason = LocalTrouble // the goroutine got no CPU to be in time with
	}
	ended := ctx.Err() == nil // else it was broken off, whatever o says
	if ended {
		if p.opts.Ended != nil {
			p.opts.Ended(t, o, took)
		}
		p.observe(e, t, o)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running--
	e.busy = false
	if e.gone {
		delete(p.schedules, e.key)
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
			e.due = now // it is the check that ran which kept it waiting
		}
	} else {
		e.due = began.Add(e.target.delay(e.target.Cell.Load(), 2*rand.Float64()-1))
	}
	heap.Push(&p.queue, e)
	if e.place == 0 || p.running == p.opts.Concurrent-1 {
		p.ring()
	}
}

// observe writes what a check has found, and tells of it. A target that is gone
// meanwhile has no cell any more that this check may write to: mu keeps Follow
// from taking it away in between.
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
