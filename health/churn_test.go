package health

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// churn is a Prober whose targets come and go, and what it must not do.
type churn struct {
	*testing.T
	*Prober
	r        *rand.Rand
	followed map[string]*Target
	gone     map[*Cell]Value // what the cells of targets that have gone held then

	mu     sync.Mutex
	active map[string]int
	count  map[*Cell]int
}

// check takes up to four seconds and ends in any way. One key has one check at a
// time.
func (c *churn) check(ctx context.Context, t *Target) Outcome {
	key := t.Key()
	c.mu.Lock()
	c.active[key]++
	if c.active[key] > 1 {
		c.Errorf("%d checks of %q at a time", c.active[key], key)
	}
	c.count[t.Cell]++
	take := time.Duration(c.r.IntN(4000)) * time.Millisecond
	o := Outcome{Reason: Reason(c.r.IntN(int(numReasons)))}
	c.mu.Unlock()
	select {
	case <-ctx.Done():
	case <-time.After(take):
	}
	c.mu.Lock()
	c.active[key]--
	c.mu.Unlock()
	return o
}

// mutate changes one target, and returns its key.
func (c *churn) mutate() string {
	fresh := target(fmt.Sprintf("192.0.2.%d", c.r.IntN(20)), time.Duration(1+c.r.IntN(20))*time.Second, 2, 1)
	fresh.Interval = 5 * time.Second // part of the key
	key := fresh.Key()
	old := c.followed[key]
	fresh.Tenant = fmt.Sprint(c.r.IntN(4))
	switch n := c.r.IntN(5); n {
	case 0: // it goes
		delete(c.followed, key)
	case 1, 2: // other headers, or another tenant
		if old != nil {
			changed := *old
			if n == 1 {
				changed.Values = []Header{{"X", fmt.Sprint(c.r.Int())}}
			}
			changed.Tenant = fresh.Tenant
			c.followed[key] = &changed
			return key
		}
		fallthrough
	default: // it comes, or goes and comes between two looks
		if c.r.IntN(2) == 0 {
			fresh.Cell.Set(Down) // known from before
		}
		c.followed[key] = fresh
	}
	if old != nil {
		c.gone[old.Cell] = 0
	}
	return key
}

// follow tells the prober of some changes.
func (c *churn) follow() {
	var changed []string
	for range c.r.IntN(8) {
		changed = append(changed, c.mutate())
	}
	if c.r.IntN(4) == 0 {
		changed = nil
	} else if changed == nil {
		changed = []string{}
	}
	if changed != nil && c.r.IntN(10) == 0 {
		changed = append(changed, "nobody's")
		for key := range c.followed {
			changed = append(changed, key)
		}
	}
	c.Follow(targets(slices.Collect(maps.Values(c.followed))...), changed)
	for cell := range c.gone {
		if c.gone[cell] == 0 {
			c.gone[cell] = cell.Load() | 1<<63
		}
	}
}

// consistent looks at the schedule.
func (c *churn) consistent() {
	c.Helper()
	c.Prober.mu.Lock()
	defer c.Prober.mu.Unlock()
	busy, firsts := 0, 0
	for key, e := range c.schedules {
		if e.key != key {
			c.Errorf("%q stands under %q", e.key, key)
		}
		if e.busy {
			busy++
		} else if e.place < 0 || e.line.queue[e.place] != e {
			c.Errorf("%q is neither checked nor in the queue", key)
		}
		want := c.followed[key]
		if e.gone != (want == nil) || want != nil && e.target != want {
			c.Errorf("%q: gone %v, followed %v", key, e.gone, want != nil)
		}
		if e.gone && !e.busy {
			c.Errorf("%q has gone and stays", key)
		}
		if !e.gone && !e.ended {
			firsts++
		}
	}
	for key := range c.followed {
		if c.schedules[key] == nil {
			c.Errorf("%q is not checked", key)
		}
	}
	rate, fresh := 0.0, 0
	for _, e := range c.schedules {
		if !e.gone {
			rate += e.target.rate()
		}
		if e.fresh {
			fresh++
		}
	}
	var all line
	for _, l := range c.lines {
		all.fresh, all.running, all.members = all.fresh+l.fresh, all.running+l.running, all.members+l.members
		if l.members+l.running == 0 && !l.turns {
			c.Errorf("tenant %q has no targets", l.tenant)
		}
	}
	if math.Abs(c.rate-rate) > 1e-6 || all.fresh != fresh {
		c.Errorf("rate %g, want %g; %d are fresh, want %d", c.rate, rate, all.fresh, fresh)
	}
	if c.running != busy || all.running != busy || all.members != len(c.schedules) || c.firsts != firsts || c.queued() != len(c.schedules)-busy {
		c.Errorf("%d run, of tenants %d, want %d; %d first checks, want %d; %d in the queues, want %d; %d members, want %d", c.running,
			all.running, busy, c.firsts, firsts, c.queued(), len(c.schedules)-busy, all.members, len(c.schedules))
	}
	for cell, w := range c.gone {
		if w != 0 && cell.Load() != w&^(1<<63) {
			c.Errorf("a cell has changed after its target has gone: %x, was %x", cell.Load(), w&^(1<<63))
		}
	}
}

// TestFollowChurn: targets come and go while checks of them run and end in any
// order. What is followed is checked, one check at a time, and nothing else is.
func TestFollowChurn(t *testing.T) {
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) {
			c := &churn{
				T: t, r: rand.New(rand.NewPCG(seed, 1)), followed: make(map[string]*Target),
				gone: make(map[*Cell]Value), active: make(map[string]int), count: make(map[*Cell]int),
			}
			var told sync.Map
			c.Prober = NewProber(Options{Concurrent: 1 + c.r.IntN(30), Changed: func(*Target, Value, Value) { told.Store("changed", true) }})
			c.run = c.check
			stop := running(t, c.Prober)
			for range 60 {
				c.mu.Lock() // which checks share the source of chance with
				c.follow()
				c.mu.Unlock()
				c.consistent()
				c.mu.Lock()
				pause := time.Duration(c.r.IntN(3000)) * time.Millisecond
				c.mu.Unlock()
				time.Sleep(pause)
				c.consistent()
			}
			c.mu.Lock()
			clear(c.count)
			c.mu.Unlock()
			time.Sleep(5 * time.Minute) // with few at a time, all get their turn
			if !c.Settled() {
				t.Error("not settled")
			}
			c.consistent()
			c.mu.Lock()
			for key, followed := range c.followed {
				if c.count[followed.Cell] == 0 {
					t.Errorf("%q is followed and not checked", key)
				}
			}
			if len(c.count) != len(c.followed) {
				t.Errorf("%d cells are checked, of %d", len(c.count), len(c.followed))
			}
			c.mu.Unlock()
			stop()
			if c.running != 0 || c.queued() != len(c.followed) {
				t.Errorf("at the end %d run, and %d are in the queue, want %d", c.running, c.queued(), len(c.followed))
			}
			c.consistent()
			if _, ok := told.Load("changed"); !ok {
				t.Error("nothing has been told")
			}
		})
	}
}

// TestComesBackWhileChecked: a target that goes and comes back while its check
// runs is checked anew, after that check, and gets nothing of it.
func TestComesBackWhileChecked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Options{})
		b.take = 3 * time.Second
		first, second := target("192.0.2.1", time.Hour, 1, 1), target("192.0.2.1", time.Hour, 1, 1)
		b.says(first.Address, Timeout)
		b.Follow(targets(first), nil)
		time.Sleep(2 * time.Second) // its first check runs
		b.says(first.Address, Good)
		b.Follow(targets(), []string{first.Key()})
		b.Follow(targets(second), []string{second.Key()})
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if first.Cell.Load() != 0 || second.Cell.Load() != 0 || b.Settled() {
			t.Errorf("words %x and %x, settled %v", first.Cell.Load(), second.Cell.Load(), b.Settled())
		}
		time.Sleep(3 * time.Second)
		if w := second.Cell.Load(); !w.Checked() || w.State() != Up || b.most != 1 || !b.Settled() {
			t.Errorf("%s, checked %v, %d at a time, settled %v", w.State(), w.Checked(), b.most, b.Settled())
		}
	})
}

// TestRunAgain: what was under way when a Prober ended is checked when it runs
// again.
func TestRunAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewProber(Options{})
		checks := 0
		p.run = func(ctx context.Context, _ *Target) Outcome {
			checks++
			select {
			case <-ctx.Done():
			case <-time.After(time.Minute):
			}
			return Outcome{}
		}
		a := target("192.0.2.1", time.Second, 1, 1)
		p.Follow(targets(a), nil)
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			p.Run(ctx)
			cancel()
		}
		if checks != 3 || p.running != 0 || a.Cell.Load() != 0 || p.Settled() {
			t.Errorf("%d checks, %d run, word %x, settled %v", checks, p.running, a.Cell.Load(), p.Settled())
		}
	})
}

// TestNoTermsDoNotSpin: terms without an interval, or with one that is beyond all
// measure, make nobody run without a pause, and no timeout is not no time.
func TestNoTermsDoNotSpin(t *testing.T) {
	for _, interval := range []time.Duration{0, -1, -1 << 63, time.Nanosecond, 1<<63 - 1} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, Options{})
			a := target("192.0.2.1", interval, 0, 0)
			a.Timeout = 0
			b.Follow(targets(a), nil)
			time.Sleep(time.Minute)
			if n := len(b.checks(a.Address)); n < 1 || n > 70 {
				t.Errorf("%d checks in a minute with interval %v", n, interval)
			}
			if s := a.Cell.Load().State(); s != Up {
				t.Errorf("%s after successes", s)
			}
			b.says(a.Address, Timeout)
			time.Sleep(2 * time.Second)
			if s := a.Cell.Load().State(); s != Down && interval < time.Second {
				t.Errorf("%s after a failure", s)
			}
		})
	}
	_, port := serve(t, false, answers(200))
	none := at(HTTP, port)
	none.Timeout = 0
	if o := newConnector(loopback).run(t.Context(), none); o.Reason != Good {
		t.Errorf("without a timeout: %v", o.Reason)
	}
}
