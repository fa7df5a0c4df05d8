package health

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// TestHostnameWithLocalTrouble: where one address of a hostname fails and another
// could not be tried for want of a file descriptor, it is not known whether one is
// good (rules 4.3 and 4.4).
func TestHostnameWithLocalTrouble(t *testing.T) {
	for _, errno := range []syscall.Errno{syscall.EMFILE, syscall.EADDRNOTAVAIL, syscall.ENOBUFS} {
		c := newConnector(loopback)
		c.lookup = func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("127.0.0.2")}, nil
		}
		c.dialer.Control = func(_, address string, _ syscall.RawConn) error {
			if host, _, _ := net.SplitHostPort(address); host == "127.0.0.2" { // the good one
				return os.NewSyscallError("connect", errno)
			}
			return os.NewSyscallError("connect", syscall.ECONNREFUSED)
		}
		target := at(TCP, 443)
		target.Address = "lb.example.com"
		if o := c.run(t.Context(), target); o.Reason.verdict() != noEvidence {
			t.Errorf("%v: %q counts against the target", errno, o.Reason)
		}
	}
}

// TestHostnamesAndConcurrent: Options.Concurrent bounds the connections that checks have
// at one time, so that file descriptors stay free.
func TestHostnamesAndConcurrent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int32
		var addrs []netip.Addr
		for i := range maxAddresses {
			addrs = append(addrs, netip.MustParseAddr(fmt.Sprintf("127.0.0.%d", i+1)))
		}
		const places = 5
		p := NewProber(Options{Guard: loopback, Concurrent: places})
		c := newConnector(loopback)
		c.lookup = func(context.Context, string) ([]netip.Addr, error) { return addrs, nil }
		c.more, c.less = p.more, p.less
		c.dialer.ControlContext = func(ctx context.Context, _, _ string, _ syscall.RawConn) error {
			most.Store(max(most.Load(), now.Add(1)))
			defer now.Add(-1)
			<-ctx.Done() // no address ever answers
			return ctx.Err()
		}
		p.run = c.run
		var all []*Target
		for i := range 4 {
			target := at(TCP, 443)
			target.Address, target.Cell, target.Timeout, target.Interval = fmt.Sprintf("lb%d.example.com", i), new(Cell), time.Second, time.Minute
			all = append(all, target)
		}
		p.Follow(targets(all...), nil)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { p.Run(ctx); close(done) }()
		time.Sleep(30 * time.Second)
		cancel()
		<-done
		if n := most.Load(); n != places {
			t.Errorf("%d connections at a time, want %d", n, places)
		}
		if p.running != 0 || !p.Settled() {
			t.Errorf("%d places are taken in the end, settled %v", p.running, p.Settled())
		}
	})
}

// TestResolverFailsForOneFamily: a hostname with IPv6 addresses alone is not without an
// address where our resolver fails for those.
func TestResolverFailsForOneFamily(t *testing.T) {
	conn := newConnector(loopback)
	conn.resolver = *answering(t, func(qtype byte) (rcode byte, addr netip.Addr) {
		if qtype == typeAAAA {
			return 2, netip.Addr{} // SERVFAIL
		}
		return 0, netip.Addr{}
	})
	target := at(HTTP, 80)
	target.Address = "six.example.com"
	if o := conn.run(t.Context(), target); o.Reason.verdict() != noEvidence {
		t.Errorf("%q counts against the target", o.Reason)
	}
}

// TestSlowResolver: the time that our own resolver took is not held against the
// target (rule 4.4).
func TestSlowResolver(t *testing.T) {
	port := raw(t, func(conn net.Conn) {
		time.Sleep(200 * time.Millisecond)
		says("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")(conn)
	})
	conn := newConnector(loopback)
	conn.lookup = func(context.Context, string) ([]netip.Addr, error) {
		time.Sleep(900 * time.Millisecond)
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}
	target := at(HTTP, port)
	target.Address, target.Timeout = "lb.example.com", time.Second
	if o := conn.run(t.Context(), target); o.Reason.verdict() == failure {
		t.Errorf("%q counts against the target", o.Reason)
	}
}
