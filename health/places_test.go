package health

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// TestHostnameWhileAllPlacesAreTaken: where one address of a hostname swallows everything and
// there is no place for a connection to the other, which works, nothing is held against the
// target (rules 4.3 and 4.4).
func TestHostnameWhileAllPlacesAreTaken(t *testing.T) {
	l := listen(t, "127.0.0.2")
	port := portOf(l)
	swallows, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Skip(err)
	}
	defer swallows.Close() // nobody accepts, and nobody answers
	go accept(l, says("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
	c := newConnector(loopback)
	c.lookup = func(context.Context, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("127.0.0.2")}, nil
	}
	var asked atomic.Int32
	c.more = func() bool { asked.Add(1); return false } // others have all the places
	target := at(HTTP, port)
	target.Address, target.Timeout = "lb.example.com", time.Second
	if o := c.run(t.Context(), target); o.Reason.verdict() == failure {
		t.Errorf("%q counts against the target", o.Reason)
	}
	t.Logf("asked for a place %d times", asked.Load())
}

// TestHostnameAsksForPlacesNowAndThen: a check that has no place for another connection does
// not ask for one more and more often as its time runs out.
func TestHostnameAsksForPlacesNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newConnector(loopback)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		asked := 0
		c.more = func() bool {
			if asked++; asked == 2000 {
				t.Errorf("asked %d times in 5 seconds", asked)
				cancel()
			}
			return false // others have all the places
		}
		c.dialer.ControlContext = func(ctx context.Context, _, _ string, _ syscall.RawConn) error {
			<-ctx.Done() // the first address says nothing until the check ends
			return ctx.Err()
		}
		c.anyOf(ctx, at(TCP, 443), []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("127.0.0.2")})
	})
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
		if wait := p.pace(now); wait > 0 {
			now = now.Add(wait)
			continue
		}
		begun++
	}
	if begun < n {
		t.Errorf("%d of %d checks that are due within %s begin", begun, n, hurry)
	}
}

// TestRateAfterManyChanges: what the terms of all targets come to does not drift.
func TestRateAfterManyChanges(t *testing.T) {
	p := NewProber(Options{})
	a := []*Target{target("192.0.2.1", 7*time.Second, 1, 1), target("192.0.2.2", 300*time.Second, 1, 1), target("192.0.2.3", 0, 1, 1)}
	for i := range 300000 {
		p.Follow(targets(a[i%3], a[(i+1)%3]), nil)
		if i%5 == 0 {
			c := *a[i%3]
			c.Interval += time.Second
			if c.Interval > time.Hour {
				c.Interval = 0
			}
			a[i%3] = &c
			p.Follow(targets(a[i%3]), nil)
		}
	}
	p.Follow(targets(), nil)
	if p.rate > 1e-6 || p.rate < -1e-6 || p.fresh != 0 || p.firsts != 0 {
		t.Errorf("rate %g, fresh %d, firsts %d without targets", p.rate, p.fresh, p.firsts)
	}
}
