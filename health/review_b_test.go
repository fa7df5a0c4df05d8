package health

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
)

// TestDenyOfWrappedForms: what the operator forbids in the very form that is dialled
// is forbidden, whatever it is unwrapped to (rule 4.9).
func TestDenyOfWrappedForms(t *testing.T) {
	for _, c := range []struct{ deny, addr string }{
		{"64:ff9b::/96", "64:ff9b::192.0.2.1"},
		{"2002::/16", "2002:c000:201::1"},
		{"::/0", "64:ff9b::192.0.2.1"},
		{"::/0", "2002:c000:201::1"},
		{"2000::/3", "2002:c000:201::1"},
	} {
		g := Guard{Deny: []netip.Prefix{netip.MustParsePrefix(c.deny)}}
		if g.Allows(netip.MustParseAddr(c.addr), 443) {
			t.Errorf("probe-deny %s: a check may go to %s", c.deny, c.addr)
		}
	}
}

// TestGuardOwnWrapped: an own address of the 6to4 form is an own address.
func TestGuardOwnWrapped(t *testing.T) {
	for _, own := range []string{"2002:c000:201::1/64", "64:ff9b::c000:201/96"} {
		g := new(Guard).NotHere()
		g.own.find = func() ([]net.Addr, error) {
			ip, n, err := net.ParseCIDR(own)
			return []net.Addr{&net.IPNet{IP: ip, Mask: n.Mask}}, err
		}
		if addr := netip.MustParsePrefix(own).Addr(); g.Allows(addr, 443) {
			t.Errorf("%s is this machine's own", addr)
		}
	}
}

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

func init() { children["roots"] = noRoots }

// TestNoRoots: where this machine has no root certificates at all, a certificate that
// cannot be verified says nothing about the target (rule 4.4).
func TestNoRoots(t *testing.T) {
	_, secure := serve(t, true, answers(200))
	rerun(t, "roots", nil, fmt.Sprintf("PORTS=%d", secure), "SSL_CERT_FILE=/nonexistent/ca.pem", "SSL_CERT_DIR=/nonexistent")
}

func noRoots() int {
	var port uint16
	if _, err := fmt.Sscan(os.Getenv("PORTS"), &port); err != nil {
		return report([]string{err.Error()})
	}
	var wrong []string
	for _, p := range []Protocol{HTTPS, GRPCS} {
		if o := newConnector(loopback).run(context.Background(), at(p, port)); o.Reason.verdict() != noEvidence {
			wrong = append(wrong, fmt.Sprintf("%s: %q counts against the target", p, o.Reason))
		}
	}
	return report(wrong)
}

// TestHostnamesAndConcurrent: Options.Concurrent bounds the connections that checks have
// at one time, so that half of the file descriptors stay free.
func TestHostnamesAndConcurrent(t *testing.T) {
	var now, most atomic.Int32
	var addrs []netip.Addr
	for i := range maxAddresses {
		addrs = append(addrs, netip.MustParseAddr(fmt.Sprintf("127.0.0.%d", i+1)))
	}
	l := listen(t, "0.0.0.0")
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			most.Store(max(most.Load(), now.Add(1)))
			go func() { defer now.Add(-1); defer conn.Close(); silent(conn) }()
		}
	}()
	p := NewProber(Options{Guard: loopback, Concurrent: 2})
	c := newConnector(loopback)
	c.lookup = func(context.Context, string) ([]netip.Addr, error) { return addrs, nil }
	c.stagger = time.Millisecond
	p.run = c.run
	var all []*Target
	for i := range 4 {
		target := at(HTTP, portOf(l))
		target.Address, target.Cell, target.Timeout, target.Interval = fmt.Sprintf("lb%d.example.com", i), new(Cell), time.Second, time.Minute
		all = append(all, target)
	}
	p.Follow(targets(all...), nil)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { p.Run(ctx); close(done) }()
	for range 500 {
		if p.Settled() {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	cancel()
	<-done
	if n := most.Load(); n > 2 {
		t.Errorf("%d connections at a time where Concurrent is 2", n)
	}
}

// TestFirstChecksAfterSlowResolver: first checks are spread also where the API server's
// name takes a while to resolve.
func TestFirstChecksAfterSlowResolver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newConnector(Guard{DenyHosts: []string{"api.example.com"}})
		c.guard.hosts.lookup = func(ctx context.Context, _ string) ([]netip.Addr, error) {
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
		var all []*Target
		for i := range 10000 {
			all = append(all, target(fmt.Sprintf("192.0.2.%d", i), time.Hour, 1, 1))
		}
		p.Follow(targets(all...), nil)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { p.Run(ctx); close(done) }()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		cancel()
		<-done
		for tenth, n := range tenths {
			if n > firstRate/2 {
				t.Errorf("%d first checks began in the tenth of a second after %d00 ms", n, tenth)
			}
		}
	})
}

// TestResolverFailsForOneFamily: a hostname with IPv6 addresses alone is not without an
// address where our resolver fails for those.
func TestResolverFailsForOneFamily(t *testing.T) {
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	go func() {
		for {
			msg := make([]byte, 512)
			n, from, err := server.ReadFrom(msg)
			if err != nil {
				return
			}
			end := 12
			for msg[end] != 0 {
				end += int(msg[end]) + 1
			}
			end += 5
			_ = n
			rcode := byte(0)
			if msg[end-3] == 28 { // AAAA
				rcode = 2
			}
			msg[2] |= 0x80
			msg[3] = 0x80 | rcode
			msg[10], msg[11] = 0, 0
			_, _ = server.WriteTo(msg[:end], from)
		}
	}()
	conn := newConnector(loopback)
	conn.resolver.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", server.LocalAddr().String())
	}
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

// TestOneConnectionForACheck: a server cannot make a check connect again and again.
func TestOneConnectionForACheck(t *testing.T) {
	frames := func(write func(*http2.Framer, net.Conn)) func(net.Conn) {
		return func(conn net.Conn) {
			f := http2.NewFramer(conn, conn)
			preface := make([]byte, len(http2.ClientPreface))
			_, _ = conn.Read(preface)
			_ = f.WriteSettings()
			write(f, conn)
		}
	}
	goaway := frames(func(f *http2.Framer, conn net.Conn) {
		_ = f.WriteGoAway(0, http2.ErrCodeNo, nil)
		silent(conn)
	})
	goawayEnd := frames(func(f *http2.Framer, conn net.Conn) {
		_ = f.WriteGoAway(0, http2.ErrCodeNo, nil)
		time.Sleep(5 * time.Millisecond)
	})
	refuse := frames(func(f *http2.Framer, _ net.Conn) {
		for {
			frame, err := f.ReadFrame()
			if err != nil {
				return
			}
			if h, ok := frame.(*http2.HeadersFrame); ok {
				_ = f.WriteRSTStream(h.StreamID, http2.ErrCodeRefusedStream)
			}
		}
	})
	closes := frames(func(*http2.Framer, net.Conn) {})
	late := frames(func(f *http2.Framer, conn net.Conn) { // goes away when asked
		for {
			frame, err := f.ReadFrame()
			if err != nil {
				return
			}
			if _, ok := frame.(*http2.HeadersFrame); ok {
				_ = f.WriteGoAway(0, http2.ErrCodeNo, nil)
			}
		}
	})
	for name, talk := range map[string]func(net.Conn){"goaway": goaway, "goaway and end": goawayEnd, "refuse": refuse, "closes": closes, "goaway late": late} {
		for _, p := range []Protocol{HTTPS, GRPC, GRPCS} {
			var conns atomic.Int32
			counted := func(conn net.Conn) { conns.Add(1); talk(conn) }
			serve := counted
			if p != GRPC {
				serve = secured(counted, "h2")
			}
			target := at(p, raw(t, serve))
			target.Insecure, target.Timeout = true, time.Second
			o := newConnector(loopback).run(t.Context(), target)
			t.Logf("%s, %s: %d connections, %q", name, p, conns.Load(), o.Reason)
			if n := conns.Load(); n > 5 {
				t.Errorf("%s, %s: %d connections in one check of a second, %q", name, p, n, o.Reason)
			}
		}
	}
}

// TestGRPCAuthorityOfIPv6: an IPv6 address stands in brackets in :authority (RFC 3986
// §3.2.2).
func TestGRPCAuthorityOfIPv6(t *testing.T) {
	got := make(chan string, 1)
	s := grpc.NewServer(grpc.UnaryInterceptor(func(ctx context.Context, _ any, _ *grpc.UnaryServerInfo, _ grpc.UnaryHandler) (any, error) {
		md, _ := metadata.FromIncomingContext(ctx)
		got <- fmt.Sprint(md.Get(":authority"))
		return nil, errors.New("seen")
	}))
	grpc_health_v1.RegisterHealthServer(s, &healthServer{})
	l := listen(t, "::1")
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	target := at(GRPC, portOf(l))
	target.Address, target.Host = "::1", ""
	o := newConnector(loopback).run(t.Context(), target)
	select {
	case authority := <-got:
		if authority != "[[::1]]" {
			t.Errorf("authority %s", authority)
		}
	default:
		t.Errorf("not asked: %q", o.Reason)
	}
}

// TestChecksAfterPause: a process that was stopped for a while, as by a container's freezer,
// does not begin all checks at once when it goes on.
func TestChecksAfterPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewProber(Options{Concurrent: DefaultConcurrent})
		var begun atomic.Int32
		p.run = func(context.Context, *Target) Outcome { begun.Add(1); return Outcome{} }
		var all []*Target
		for i := range 8000 {
			all = append(all, target(fmt.Sprintf("192.0.2.%d", i), time.Minute, 1, 1))
		}
		p.Follow(targets(all...), nil)
		run := func(length time.Duration) {
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() { p.Run(ctx); close(done) }()
			time.Sleep(length)
			synctest.Wait()
			cancel()
			<-done
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

// TestMetadataServices: those of clouds that are not link-local are forbidden too (rule 4.9).
func TestMetadataServices(t *testing.T) {
	for service, addr := range map[string]string{
		"AWS, credentials of EKS pods": "fd00:ec2::23", "Scaleway": "fd00:42::42", "Oracle": "fd00:c1::a9fe:a9fe",
		"Akamai": "fd00:a9fe:a9fe::1", "Alibaba": "fd00:100::100:200",
	} {
		if new(Guard).Allows(netip.MustParseAddr(addr), 80) {
			t.Errorf("%s: a check may go to %s", service, addr)
		}
	}
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
