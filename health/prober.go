package health

import (
	"container/heap"
	"context"
	"iter"
	"math/rand/v2"
	"sync"
	"time"
)

// Options are what a Prober needs besides its targets.
type Options struct {
	Guard Guard
	// Concurrent is how many checks run at one time; 0 for DefaultConcurrent.
	Concurrent int
	// Changed is called when what is known of a target has changed: its state, or
	// why it has it. It is called by many goroutines, and must not wait. nil for
	// nobody.
	Changed func(t *Target, before, after Word)
	// Ended is called for each check with how long it took. The same holds for
	// it.
	Ended func(t *Target, o Outcome, took time.Duration)
}

// DefaultConcurrent bounds the memory that checks take which nobody answers:
// some 20 KiB each.
const DefaultConcurrent = 8192

// Times that rule 4.3 gives.
const (
	spread   = time.Second      // over which first checks are spread
	hurry    = 10 * time.Second // the most between two checks until a state is decided
	jitter   = 0.1              // how much an interval is more or less than its length
	nothing  = time.Hour        // between two looks at a queue without anything in it
	capacity = 1 << 10          // of the queue, to begin with
)

// Prober checks targets and writes what it finds into their cells. Its methods
// may be called by any number of goroutines.
type Prober struct {
	opts Options
	// run does one check; tests of the schedule have their own.
	run  func(context.Context, *Target) Outcome
	wake chan struct{} // one place: look at the queue

	mu      sync.Mutex // guards what follows
	entries map[string]*entry
	queue   queue
	running int
	firsts  int // targets whose first check has not ended
	late    time.Duration
}

// entry is the schedule of one target.
type entry struct {
	key    string
	target *Target
	due    time.Time
	place  int  // in the queue; -1 while it is not there
	busy   bool // a check runs
	gone   bool
	ended  bool // a check has ended
	again  bool // another check is wanted when the one that runs has ended
}

// NewProber returns a Prober without targets.
func NewProber(opts Options) *Prober {
	if opts.Concurrent <= 0 {
		opts.Concurrent = DefaultConcurrent
	}
	return &Prober{
		opts: opts, run: newConnector(opts.Guard).run, wake: make(chan struct{}, 1),
		entries: make(map[string]*entry), queue: make(queue, 0, capacity),
	}
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
		for key := range p.entries {
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
	e := p.entries[key]
	if e != nil {
		if e.target == t {
			return
		}
		e.target = t // with other headers: they are to be tried
		if e.again = e.busy; !e.busy {
			e.due = now
			heap.Fix(&p.queue, e.place)
		}
		return
	}
	e = &entry{key: key, target: t, due: now.Add(time.Duration(rand.Float64() * float64(spread)))}
	if w := t.Cell.Load(); w.Checked() {
		// Known from before: go on in its own time.
		e.ended = true
		e.due = now.Add(time.Duration(rand.Float64() * float64(t.delay(w, 0))))
	} else {
		p.firsts++
	}
	p.entries[key] = e
	heap.Push(&p.queue, e)
}

// drop ends the checks of a target. The caller holds mu.
func (p *Prober) drop(key string) {
	e := p.entries[key]
	if e == nil {
		return
	}
	delete(p.entries, key)
	e.gone = true
	if !e.ended {
		p.firsts--
	}
	if e.place >= 0 {
		heap.Remove(&p.queue, e.place)
	}
}

func (p *Prober) ring() {
	select {
	case p.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// Settled tells whether the first check of every target has ended.
func (p *Prober) Settled() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.firsts == 0
}

// Late returns by how much the latest check so far began after its time, and
// begins anew.
func (p *Prober) Late() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	late := p.late
	p.late = 0
	return late
}

// Run checks targets until ctx ends, and returns when the last check has.
func (p *Prober) Run(ctx context.Context) {
	var checks sync.WaitGroup
	defer checks.Wait()
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
		heap.Pop(&p.queue)
		p.late = max(p.late, now.Sub(e.due))
		e.busy = true
		p.running++
		t := e.target
		checks.Go(func() { p.check(ctx, e, t, now) })
	}
	return nothing // the end of a check rings
}

// check runs one check of an entry's target, and plans the next.
func (p *Prober) check(ctx context.Context, e *entry, t *Target, began time.Time) {
	o := p.run(ctx, t)
	took := time.Since(began)
	if ctx.Err() != nil {
		return
	}
	if p.opts.Ended != nil {
		p.opts.Ended(t, o, took)
	}
	word, told := p.observe(e, t, o)
	if told != nil {
		told()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running--
	e.busy = false
	if e.gone {
		p.ring()
		return
	}
	if !e.ended {
		e.ended = true
		p.firsts--
	}
	e.due = began.Add(t.delay(word, 2*rand.Float64()-1))
	if e.again {
		e.again, e.due = false, time.Now()
	}
	heap.Push(&p.queue, e)
	if e.place == 0 || p.running == p.opts.Concurrent-1 {
		p.ring()
	}
}

// observe writes what a check has found. It returns the word, and what is to be
// called to tell of it, nil for nothing. A target that is gone meanwhile has no
// cell any more that this check may write to.
func (p *Prober) observe(e *entry, t *Target, o Outcome) (Word, func()) {
	p.mu.Lock()
	gone := e.gone
	p.mu.Unlock()
	if gone {
		return 0, nil
	}
	before, after := t.Cell.Observe(o, t.Terms)
	if p.opts.Changed == nil || before.Found() == after.Found() && before.Checked() == after.Checked() && before.Reason() == after.Reason() {
		return after, nil
	}
	return after, func() { p.opts.Changed(t, before, after) }
}

// delay returns the time from the beginning of a check to that of the next. at
// is from -1 to 1 (rule 4.3).
func (t *Terms) delay(w Word, at float64) time.Duration {
	d := t.Interval
	if w.Undecided() || !w.Checked() && w.Reason() != Forbidden {
		d = min(d, hurry)
	}
	return time.Duration(float64(d) * (1 + jitter*at))
}

// queue is a heap of entries by when they are due.
type queue []*entry

// Len implements heap.Interface.
func (q queue) Len() int { return len(q) }

// Less implements heap.Interface.
func (q queue) Less(i, j int) bool { return q[i].due.Before(q[j].due) }

// Swap implements heap.Interface.
func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i, j
}

// Push implements heap.Interface.
func (q *queue) Push(x any) {
	e := x.(*entry)
	e.place = len(*q)
	*q = append(*q, e)
}

// Pop implements heap.Interface.
func (q *queue) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	e.place = -1
	return e
}
