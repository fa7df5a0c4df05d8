package health

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coredns-kuadrant/kuadrant/internal/tree"
)

// bench is a Prober whose checks end as a test says.
type bench struct {
	*Prober
	mu     sync.Mutex
	began  map[string][]time.Duration // of each target's checks, since the start
	end    map[string]Reason          // how they end; Good where nothing is said
	take   time.Duration              // how long each takes
	active int
	most   int // of active
	start  time.Time
}

// newBench returns a running Prober. It belongs into a synctest bubble.
func newBench(t *testing.T, opts Options) *bench {
	b := &bench{Prober: NewProber(opts), began: make(map[string][]time.Duration), end: make(map[string]Reason), start: time.Now()}
	b.run = func(ctx context.Context, target *Target) Outcome {
		b.mu.Lock()
		b.began[target.Address] = append(b.began[target.Address], time.Since(b.start))
		b.active++
		b.most = max(b.most, b.active)
		o := Outcome{Reason: b.end[target.Address]}
		b.mu.Unlock()
		defer func() {
			b.mu.Lock()
			b.active--
			b.mu.Unlock()
		}()
		select {
		case <-ctx.Done():
			return Outcome{Reason: Interrupted}
		case <-time.After(b.take):
			return o
		}
	}
	running(t, b.Prober)
	return b
}

// running runs a Prober until stop is called, or the test has ended.
func running(t *testing.T, p *Prober) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { p.Run(ctx); close(done) }()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return stop
}

// queued returns how many schedules are in queues.
func (p *Prober) queued() (n int) {
	for _, l := range p.lines {
		n += len(l.queue)
	}
	return n
}

// says makes checks of an address end with r from now on.
func (b *bench) says(address string, r Reason) {
	b.mu.Lock()
	b.end[address] = r
	b.mu.Unlock()
}

// checks returns when the checks of an address began.
func (b *bench) checks(address string) []time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]time.Duration{}, b.began[address]...)
}

func target(address string, interval time.Duration, fall, rise int) *Target {
	return &Target{
		Check: Check{Address: address, Protocol: TCP, Port: 80},
		Terms: Terms{Interval: interval, Timeout: 5 * time.Second, FailureThreshold: fall, SuccessThreshold: rise},
		Cell:  new(Cell),
	}
}

// many returns targets that are alike but for their addresses.
func many(n int, interval time.Duration) []*Target {
	all := make([]*Target, n)
	for i := range all {
		all[i] = target(fmt.Sprintf("192.0.2.%d", i), interval, 1, 1)
	}
	return all
}

func targets(all ...*Target) tree.Map[*Target] {
	edit := tree.Map[*Target]{}.Edit()
	for _, t := range all {
		edit.Set(t.Key(), t)
	}
	return edit.Map()
}

// between checks that d is from least to most.
func between(t *testing.T, what string, d, least, most time.Duration) {
	t.Helper()
	if d < least || d > most {
		t.Errorf("%s: %v, want %v to %v", what, d, least, most)
	}
}

// TestSchedule follows a target through its life: the first check within a
// second, the next ones at their interval, faster ones until it is decided.
func TestSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Options{})
		a := target("192.0.2.1", time.Minute, 3, 2)
		if !b.Settled() {
			t.Error("nothing is checked, and that is not settled")
		}
		b.Follow(targets(a), nil)
		if b.Settled() {
			t.Error("settled before the first check")
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if !b.Settled() || a.Cell.Load().State() != Unknown {
			t.Errorf("settled %v, %s", b.Settled(), a.Cell.Load().State())
		}
		time.Sleep(11 * time.Second)
		if s := a.Cell.Load().State(); s != Up {
			t.Errorf("%s after two successes", s)
		}
		time.Sleep(5 * time.Minute)
		b.says(a.Address, ConnectionRefused)
		before := len(b.checks(a.Address))
		time.Sleep(66*time.Second + 22*time.Second)
		if s := a.Cell.Load().State(); s != Down {
			t.Errorf("%s after a minute and two quick checks", s)
		}
		began := b.checks(a.Address)
		between(t, "first check", began[0], 0, time.Second)
		between(t, "second check", began[1]-began[0], 9*time.Second, 11*time.Second)
		for i := 2; i < before; i++ {
			between(t, "interval", began[i]-began[i-1], 54*time.Second, 66*time.Second)
		}
		between(t, "after the first failure", began[before+1]-began[before], 9*time.Second, 11*time.Second)
		between(t, "after the second failure", began[before+2]-began[before+1], 9*time.Second, 11*time.Second)
		b.says(a.Address, Good)
		time.Sleep(66*time.Second + 11*time.Second)
		if s := a.Cell.Load().State(); s != Up {
			t.Errorf("%s after two successes again", s)
		}
	})
}

// TestFirstChecksAreSpread: many targets that come at one time are first checked over a second; of very many no more in a
// second than one machine can do, and a target that comes later does not wait for long once they are done.
func TestFirstChecksAreSpread(t *testing.T) {
	for _, c := range []struct {
		n           int
		part        time.Duration
		least, most int // first checks in each part of the time
	}{
		{1000, 100 * time.Millisecond, 40, 200},
		{8 * firstRate, time.Second, 0, firstRate * 6 / 5},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, Options{})
			all := many(c.n, time.Hour)
			b.Follow(targets(all...), nil)
			if time.Sleep(10*c.part + 100*time.Millisecond); !b.Settled() {
				t.Errorf("not all of %d have been checked", c.n)
			}
			parts := make([]int, 10)
			for _, a := range all {
				parts[min(9, b.checks(a.Address)[0]/c.part)]++
			}
			for i, n := range parts {
				if n < c.least || n > c.most {
					t.Errorf("%d of %d first checks in part %d", n, c.n, i)
				}
			}
			b.Follow(targets(append(all, target("192.0.3.1", time.Hour, 1, 1))...), nil)
			time.Sleep(time.Second)
			if n := len(b.checks("192.0.3.1")); n != 1 {
				t.Errorf("%d checks of a target that came later", n)
			}
		})
	}
}

// TestHeadersChangeOfMany: a Secret that many checks use does not start them all at
// one moment, and changes of it do not make checks more frequent than they may be.
func TestHeadersChangeOfMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Options{})
		b.take = 100 * time.Millisecond
		all := many(2000, 5*time.Minute)
		b.Follow(targets(all...), nil)
		time.Sleep(10 * time.Second)
		b.mu.Lock()
		b.most = 0
		b.mu.Unlock()
		for range 20 {
			for i, old := range all {
				next := *old
				next.Values = []Header{{"X", fmt.Sprint(time.Now().UnixNano())}}
				all[i] = &next
			}
			b.Follow(targets(all...), nil)
			time.Sleep(time.Second / 4)
		}
		time.Sleep(time.Second)
		b.mu.Lock()
		most := b.most
		b.mu.Unlock()
		if most > 1000 {
			t.Errorf("%d checks at a time", most)
		}
		for _, a := range all {
			if n := len(b.checks(a.Address)); n < 2 || n > 16 {
				t.Fatalf("%d checks in sixteen seconds", n)
			}
		}
	})
}

// TestDefaultTimeout: terms without a timeout have that of rule 4.2.
func TestDefaultTimeout(t *testing.T) {
	for timeout, want := range map[time.Duration]time.Duration{
		0: 5 * time.Second, -1: 5 * time.Second, time.Second: time.Second,
	} {
		if got := (&Terms{Timeout: timeout}).timeout(); got != want {
			t.Errorf("%s is %s, want %s", timeout, got, want)
		}
	}
}

// TestStarvedTimeoutIsNoEvidence: a check that ends long after its time says that
// this machine is too slow, and nothing about the target.
func TestStarvedTimeoutIsNoEvidence(t *testing.T) {
	for _, c := range []struct {
		take   time.Duration
		reason Reason
		state  State
	}{
		{time.Second, Timeout, Down},
		{time.Second + starved, Timeout, Down},
		{time.Second + starved + time.Millisecond, LocalTrouble, Up},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, Options{})
			b.take = c.take
			b.says("192.0.2.1", Timeout)
			a := target("192.0.2.1", time.Hour, 1, 1)
			a.Timeout = time.Second
			b.Follow(targets(a), nil)
			time.Sleep(4 * time.Second)
			if w := a.Cell.Load(); w.Reason() != c.reason || w.State() != c.state {
				t.Errorf("after %s: %v, %v", c.take, w.Reason(), w.State())
			}
		})
	}
}

// TestConcurrentIsBounded: checks beyond the bound wait, and all get their turn.
func TestConcurrentIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Options{Concurrent: 20}) // of which one tenant has half
		b.take = 2 * time.Second
		b.Follow(targets(many(55, time.Hour)...), nil)
		time.Sleep(9 * time.Second)
		if late := b.Overdue(); late < 8*time.Second {
			t.Errorf("the one that has waited longest is %v late", late)
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if !b.Settled() || b.most != 10 {
			t.Errorf("settled %v, at most %d at a time", b.Settled(), b.most)
		}
	})
}

// TestChanged tells of each change of what a probe's status says (rule 4.8), the HTTP status alone among them,
// and of no check that finds the same.
func TestChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		p := NewProber(Options{Changed: func(_ *Target, before, after Value) {
			told = append(told, fmt.Sprintf("%d-%d", before.Status(), after.Status()))
		}})
		var status atomic.Int64
		p.run = func(context.Context, *Target) Outcome { return Outcome{Reason: StatusCode, Status: int(status.Load())} }
		p.Follow(targets(target("192.0.2.1", 10*time.Second, 1, 1)), nil)
		stop := running(t, p)
		for _, s := range []int64{503, 404, 503} {
			status.Store(s)
			time.Sleep(time.Minute)
		}
		key := target("192.0.2.1", 10*time.Second, 1, 1).Key()
		if down := time.Since(p.Since(key)); down < 179*time.Second || down > 180*time.Second {
			t.Errorf("down for %v, whatever the status is, want 3 minutes but for the first second", down)
		}
		if at := p.Since("another"); !at.IsZero() {
			t.Errorf("a target that is not there is so since %v", at)
		}
		stop()
		if want := []string{"0-503", "503-404", "404-503"}; !slices.Equal(told, want) {
			t.Errorf("told %v, want %v", told, want)
		}
	})
}

// TestFollow: targets come and go; those that stay keep their schedule, and a
// target that is known from before does not begin anew.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		var mu sync.Mutex
		b := newBench(t, Options{Changed: func(target *Target, _, after Value) {
			mu.Lock()
			told = append(told, target.Address+" "+after.State().String())
			mu.Unlock()
		}})
		stays, goes := target("192.0.2.1", time.Minute, 1, 1), target("192.0.2.2", time.Minute, 1, 1)
		b.says(stays.Address, Timeout)
		b.Follow(targets(stays, goes), nil)
		time.Sleep(30 * time.Second)
		known := target("192.0.2.3", time.Minute, 1, 1)
		known.Cell.Observe(Outcome{Reason: Timeout}, known.Terms)
		b.Follow(targets(stays, known), []string{goes.Key(), known.Key(), "nobody's"})
		if !b.Settled() {
			t.Error("a target that is known is waited for")
		}
		time.Sleep(5 * time.Minute)
		if n := len(b.checks(goes.Address)); n != 1 {
			t.Errorf("%d checks of the one that has gone", n)
		}
		if n := len(b.checks(stays.Address)); n < 4 || n > 7 {
			t.Errorf("%d checks of the one that stays", n)
		}
		if s := known.Cell.Load().State(); s != Up {
			t.Errorf("%s: the one that was known is not checked", s)
		}
		b.Follow(targets(), nil)
		n := len(b.checks(stays.Address))
		time.Sleep(5 * time.Minute)
		if m := len(b.checks(stays.Address)); m != n {
			t.Error("checks go on after the last target has gone")
		}
		mu.Lock()
		defer mu.Unlock()
		want := map[string]bool{"192.0.2.1 down": true, "192.0.2.2 up": true, "192.0.2.3 up": true}
		if len(told) != len(want) {
			t.Errorf("told %q", told)
		}
		for _, line := range told {
			if !want[line] {
				t.Errorf("told %q", line)
			}
		}
	})
}

// TestHeadersChange: a target with other headers is checked at once, also where a
// check of it is under way.
func TestHeadersChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Options{})
		b.take = 3 * time.Second
		a := target("192.0.2.1", time.Hour, 1, 1)
		b.Follow(targets(a), nil)
		time.Sleep(2 * time.Second) // its first check runs
		second := *a
		second.Values = []Header{{"X-Test", "2"}}
		b.Follow(targets(&second), []string{a.Key()})
		time.Sleep(10 * time.Second)
		if n := len(b.checks(a.Address)); n != 2 {
			t.Errorf("%d checks, want 2", n)
		}
		third := *a
		b.Follow(targets(&third), []string{a.Key()})
		time.Sleep(time.Second)
		if n := len(b.checks(a.Address)); n != 3 {
			t.Errorf("%d checks, want 3", n)
		}
	})
}
