package health

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// silence is a code that no resolver answers with: it does not answer at all.
const silence = 255

// answering starts a resolver on loopback that says, of any name, what answer returns
// for a type, A being 1 and AAAA 28: the RCODE, and an address of that family, the
// zero one for none. It returns what asks it in place of the machine's own.
func answering(t *testing.T, answer func(qtype byte) (rcode byte, addr netip.Addr)) *net.Resolver {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	go func() {
		for {
			msg := make([]byte, 512)
			n, from, err := server.ReadFrom(msg)
			if err != nil {
				return
			}
			end := 12 + strings.IndexByte(string(msg[12:n]), 0) + 5
			qtype := msg[end-3]
			rcode, addr := answer(qtype)
			if rcode == silence {
				continue
			}
			msg[2] |= 0x80          // an answer
			msg[3] = 0x80 | rcode   // of a resolver
			msg[10], msg[11] = 0, 0 // without OPT
			reply := msg[:end:end]
			if addr.IsValid() {
				reply[7] = 1
				data := addr.AsSlice()
				reply = append(reply, 0xc0, 12, 0, qtype, 0, 1, 0, 0, 0, 60, 0, byte(len(data)))
				reply = append(reply, data...)
			}
			_, _ = server.WriteTo(reply, from)
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
}

const typeAAAA = 28

// resolving returns a look-up that finds these addresses, whatever the name.
func resolving(list ...string) func(context.Context, string) ([]netip.Addr, error) {
	return func(context.Context, string) (all []netip.Addr, _ error) {
		for _, a := range list {
			all = append(all, netip.MustParseAddr(a))
		}
		return all, nil
	}
}

// TestHostname: one good address is enough (rule 4.3); an address that
// must not be checked is not, whatever name leads to it.
func TestHostname(t *testing.T) {
	_, port := serve(t, false, answers(200))
	fails := func(err error) func(context.Context, string) ([]netip.Addr, error) {
		return func(context.Context, string) ([]netip.Addr, error) { return nil, err }
	}
	for _, c := range []struct {
		name   string
		lookup func(context.Context, string) ([]netip.Addr, error)
		want   Reason
	}{
		{"the last of three", resolving("127.0.0.2", "127.0.0.3", "127.0.0.1"), Good},
		{"none of two", resolving("127.0.0.2", "127.0.0.3"), ConnectionRefused},
		{"metadata", resolving("169.254.169.254"), Forbidden},
		{"metadata in IPv6", resolving("::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe"), Forbidden},
		{"metadata and a good one", resolving("169.254.169.254", "127.0.0.1"), Good},
		{"metadata and a bad one", resolving("169.254.169.254", "127.0.0.2"), ConnectionRefused},
		{"no address", resolving(), NoSuchHost},
		{"no such host", fails(&net.DNSError{Err: "no such host", IsNotFound: true}), NoSuchHost},
		{"resolver is away", fails(&net.DNSError{Err: "i/o timeout", IsTimeout: true}), ResolverFailed},
		{"resolver refuses", fails(&net.DNSError{Err: "server misbehaving", IsTemporary: true}), ResolverFailed},
	} {
		conn := newConnector(loopback)
		conn.lookup = c.lookup
		target := at(HTTP, port)
		target.Address = "lb.example.com"
		if o := conn.run(t.Context(), target); o.Reason != c.want {
			t.Errorf("%s: %v, want %v", c.name, o.Reason, c.want)
		}
	}
}

// TestResolver asks resolvers that answer badly, and one that does not: what they do says nothing about a target, but where
// they say that there is no such host. A hostname with IPv6 addresses alone is not without an address where our resolver fails
// for those; but where the addresses of one family fail, that counts, whatever it says of the other: there are servers of zones
// that never answer for IPv6, and their dead targets are to be found out too (decision 11).
func TestResolver(t *testing.T) {
	for _, c := range []struct {
		name  string
		a     string // the address of IPv4; "" for none
		rcode byte   // with neither
		six   byte   // for AAAA
		want  Reason
	}{
		{"no address", "", 0, 0, NoSuchHost},
		{"SERVFAIL", "", 2, 2, ResolverFailed},
		{"NXDOMAIN", "", 3, 3, NoSuchHost},
		{"REFUSED", "", 5, 5, ResolverFailed},
		{"silent", "", silence, silence, ResolverFailed},
		{"SERVFAIL for one family, and none of the other", "", 0, 2, ResolverFailed},
		{"SERVFAIL for one family, and one of the other that fails", "127.0.0.1", 0, 2, ConnectionRefused},
	} {
		conn := newConnector(loopback)
		conn.resolver = *answering(t, func(qtype byte) (byte, netip.Addr) {
			if qtype == typeAAAA {
				return c.six, netip.Addr{}
			}
			a, _ := netip.ParseAddr(c.a)
			return c.rcode, a
		})
		target := at(HTTP, refusing(t))
		target.Address = "host.example.com"
		if c.rcode == silence {
			target.Timeout = 300 * time.Millisecond
		}
		if o := conn.run(t.Context(), target); o.Reason != c.want {
			t.Errorf("%s: %q, want %q", c.name, o.Reason, c.want)
		}
	}
}

// TestHostnameWithLocalTrouble: where one address of a hostname fails and another
// could not be tried for want of a file descriptor, it is not known whether one is
// good (rules 4.3 and 4.4).
func TestHostnameWithLocalTrouble(t *testing.T) {
	for _, errno := range []syscall.Errno{syscall.EMFILE, syscall.EADDRNOTAVAIL, syscall.ENOBUFS} {
		c := newConnector(loopback)
		c.lookup = resolving("127.0.0.1", "127.0.0.2")
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
		var addrs []string
		for i := range maxAddresses {
			addrs = append(addrs, fmt.Sprintf("127.0.0.%d", i+1))
		}
		const places = 5 // half of all: one tenant's
		p := NewProber(Options{Guard: loopback, Concurrent: 2 * places})
		c := newConnector(loopback)
		c.lookup = resolving(addrs...)
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
		stop := running(t, p)
		time.Sleep(30 * time.Second)
		stop()
		if n := most.Load(); n != places {
			t.Errorf("%d connections at a time, want %d", n, places)
		}
		if p.running != 0 || !p.Settled() {
			t.Errorf("%d places are taken in the end, settled %v", p.running, p.Settled())
		}
	})
}

// TestSlowResolver: the time that our own resolver took is not held against the
// target (rule 4.4).
func TestSlowResolver(t *testing.T) {
	port := raw(t, func(conn net.Conn) {
		time.Sleep(200 * time.Millisecond)
		says("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")(conn)
	})
	conn := newConnector(loopback)
	conn.lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
		time.Sleep(900 * time.Millisecond)
		return resolving("127.0.0.1")(ctx, host)
	}
	target := at(HTTP, port)
	target.Address, target.Timeout = "lb.example.com", time.Second
	if o := conn.run(t.Context(), target); o.Reason.verdict() == failure {
		t.Errorf("%q counts against the target", o.Reason)
	}
}

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
	c.lookup = resolving("127.0.0.1", "127.0.0.2")
	var asked atomic.Int32
	c.more = func(*Target) bool { asked.Add(1); return false } // others have all the places
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
		c.more = func(*Target) bool {
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
