package health

import (
	"context"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestFirstChecksAfterSlowResolver: first checks are spread also where the API server's
// name takes a while to resolve.
func TestFirstChecksAfterSlowResolver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newConnector(Guard{DenyHosts: []string{"api.example.com"}})
		c.guard.hosts.lookup = func(ctx context.Context, _, _ string) ([]netip.Addr, error) {
			time.Sleep(1900 * time.Millisecond)
			return []netip.Addr{netip.MustParseAddr("203.0.113.1")}, nil
		}
		p := NewProber(Options{Concurrent: DefaultConcurrent})
		p.hosts = c.guard.hosts
		start := time.Now()
		var mu sync.Mutex
		tenths := make(map[int]int)
		p.run = func(context.Context, *Target) Outcome {
			mu.Lock()
			defer mu.Unlock()
			tenths[int(time.Since(start)/(100*time.Millisecond))]++
			return Outcome{}
		}
		p.Follow(targets(many(10000, time.Hour)...), nil)
		stop := running(t, p)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		stop()
		for tenth, n := range tenths {
			if n > firstRate/2 {
				t.Errorf("%d first checks began in the tenth of a second after %d00 ms", n, tenth)
			}
		}
	})
}

// TestChecksAfterPause: a process that was stopped for a while, as by a container's freezer,
// does not begin all checks at once when it goes on.
func TestChecksAfterPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewProber(Options{Concurrent: DefaultConcurrent})
		var begun atomic.Int32
		p.run = func(context.Context, *Target) Outcome { begun.Add(1); return Outcome{} }
		p.Follow(targets(many(8000, time.Minute)...), nil)
		run := func(length time.Duration) {
			stop := running(t, p)
			time.Sleep(length)
			synctest.Wait()
			stop()
		}
		run(10 * time.Minute)
		time.Sleep(10 * time.Minute) // nothing of the prober runs
		begun.Store(0)
		run(100 * time.Millisecond)
		if n := begun.Load(); n > firstRate {
			t.Errorf("%d checks began within 100 ms", n)
		}
	})
}

// TestKnownTargetIsCheckedAfterReload: a target that is known from before is checked soon
// also where the first attempt was no evidence: the API server's name took three seconds to
// resolve, or file descriptors were short.
func TestKnownTargetIsCheckedAfterReload(t *testing.T) {
	for _, first := range []Reason{ResolverFailed, LocalTrouble} {
		t.Run(first.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, Options{})
				a := target("192.0.2.1", time.Hour, 1, 1)
				a.Cell.Set(Up) // as the engine before has found it
				b.says(a.Address, first)
				b.Follow(targets(a), nil)
				time.Sleep(2 * time.Second)
				b.says(a.Address, ConnectionRefused)
				time.Sleep(time.Minute)
				synctest.Wait()
				if w := a.Cell.Load(); w.State() != Down {
					t.Errorf("a minute later it is %s after %d checks", w.State(), len(b.checks(a.Address)))
				}
			})
		})
	}
}

// TestPaceWhileUndecided: after a first failure the next checks come after min(interval, 10 s)
// until the state is decided, also where very many fail at once (rule 4.3).
func TestPaceWhileUndecided(t *testing.T) {
	p := NewProber(Options{})
	const n = 100000
	terms := Terms{Interval: 5 * time.Minute}
	p.rate = n * terms.rate()
	now := time.Now()
	begun := 0
	for end := now.Add(hurry); now.Before(end); {
		if !p.pace(now, false) {
			now = now.Add(time.Second / paces / 2)
			continue
		}
		begun++
	}
	if begun < n {
		t.Errorf("%d of %d checks that are due within %s begin", begun, n, hurry)
	}
}
