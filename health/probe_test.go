package health

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// loopback is the guard of tests: their targets are on this machine.
var loopback = Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}}

// Ports from firstPort on, numPorts of them, are below those that the system gives out, which
// may lie beyond those that checks may go to, and above those that other tests choose.
const firstPort, numPorts = 30000, 2000

// listen opens a listener on a port that checks may go to.
func listen(t testing.TB, address string) net.Listener {
	t.Helper()
	for range 100 {
		l, err := net.Listen("tcp", net.JoinHostPort(address, fmt.Sprint(firstPort+rand.IntN(numPorts))))
		if err == nil {
			t.Cleanup(func() { _ = l.Close() })
			return l
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			t.Fatal(err)
		}
	}
	t.Fatal("no free port")
	return nil
}

// serve runs an HTTP server, with TLS where that is wanted.
func serve(t testing.TB, secure bool, handler http.HandlerFunc) (*httptest.Server, uint16) {
	t.Helper()
	return serveOn(t, listen(t, "127.0.0.1"), secure, handler)
}

func serveOn(t testing.TB, l net.Listener, secure bool, handler http.HandlerFunc) (*httptest.Server, uint16) {
	s := httptest.NewUnstartedServer(handler)
	_ = s.Listener.Close()
	s.Listener = l
	s.EnableHTTP2 = secure
	if secure {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s, portOf(s.Listener)
}

// refusing returns a port where nobody listens, and nobody can until the test ends: one that
// was merely closed may be given to somebody else.
func refusing(t testing.TB) uint16 {
	t.Helper()
	to := listen(t, "127.0.0.1")
	for range 100 {
		from := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: firstPort + rand.IntN(numPorts)}}
		if conn, err := from.Dial("tcp", to.Addr().String()); err == nil {
			t.Cleanup(func() { _ = conn.Close() })
			return uint16(conn.LocalAddr().(*net.TCPAddr).Port)
		} else if !errors.Is(err, syscall.EADDRINUSE) && !errors.Is(err, syscall.EADDRNOTAVAIL) {
			t.Fatal(err)
		}
	}
	t.Fatal("no free port")
	return 0
}

func portOf(l net.Listener) uint16 { return uint16(l.Addr().(*net.TCPAddr).Port) }

// raw runs a server that does to each connection what talk says, and then ends it.
func raw(t testing.TB, talk func(net.Conn)) uint16 {
	t.Helper()
	l := listen(t, "127.0.0.1")
	go accept(l, talk)
	return portOf(l)
}

// accept does to each connection what talk says, and then ends it: after the answer comes
// the end of the stream, and what the client still sends is read. The kernel answers unread
// octets with a reset (RFC 2525 §2.17), and a client that gets one may lose the answer.
func accept(l net.Listener, talk func(net.Conn)) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			talk(conn)
			_ = conn.(*net.TCPConn).CloseWrite()
			silent(conn)
		}()
	}
}

// resets ends the connection with a reset once it is asked something.
func resets(conn net.Conn) {
	_, _ = conn.Read(make([]byte, 1))
	_ = conn.(*net.TCPConn).SetLinger(0)
	_ = conn.Close()
}

func answers(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// silent reads and never answers, until the other side has gone.
func silent(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }

// at returns a target on this machine.
func at(p Protocol, port uint16) *Target {
	t := &Target{Check: Check{Address: "127.0.0.1", Protocol: p, Port: port, Path: "/", Host: "example.com"}}
	t.Timeout, t.Expected = 20*time.Second, "200,201"
	return t
}

// TestHTTP asks servers that answer well, badly and not at all (rules 4.2
// and 4.4).
func TestHTTP(t *testing.T) {
	server := func(h http.HandlerFunc) uint16 { _, port := serve(t, false, h); return port }
	short := func(target *Target) { target.Timeout = 300 * time.Millisecond }
	late := func(target *Target) { target.Timeout = 10 * time.Second } // the status comes in time, on a busy machine too
	// What must not be waited for makes the test hang.
	forever := func(target *Target) { target.Timeout = 24 * time.Hour }
	for _, c := range []struct {
		name   string
		port   uint16
		change func(*Target)
		want   Outcome
	}{
		{"200", server(answers(200)), nil, Outcome{Status: 200}},
		{"201", server(answers(201)), nil, Outcome{Status: 201}},
		{"204", server(answers(204)), nil, Outcome{StatusCode, 204}},
		{"503", server(answers(503)), nil, Outcome{StatusCode, 503}},
		{"404 is expected", server(answers(404)), func(t *Target) { t.Expected = "404" }, Outcome{Status: 404}},
		{"20 is no 200", server(answers(200)), func(t *Target) { t.Expected = "20,2000" }, Outcome{StatusCode, 200}},
		{
			"redirect", server(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/ok", http.StatusMovedPermanently) }),
			nil,
			Outcome{StatusCode, 301},
		},
		{"refused", refusing(t), nil, Outcome{Reason: ConnectionRefused}},
		{"silent", raw(t, silent), short, Outcome{Reason: Timeout}},
		{"closes", raw(t, func(net.Conn) {}), nil, Outcome{Reason: ConnectionReset}},
		{"resets", raw(t, resets), nil, Outcome{Reason: ConnectionReset}},
		{"endless 1xx", raw(t, func(conn net.Conn) {
			for err := error(nil); err == nil; {
				_, err = io.WriteString(conn, "HTTP/1.1 102 Processing\r\n\r\n")
			}
		}), nil, Outcome{Reason: BadAnswer}},
		{"endless header", raw(t, func(conn net.Conn) {
			_, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\n")
			for err == nil {
				_, err = io.WriteString(conn, "X: "+strings.Repeat("x", 1000)+"\r\n")
			}
		}), nil, Outcome{Reason: BadAnswer}},
		{"endless body", server(func(w http.ResponseWriter, _ *http.Request) {
			for err := error(nil); err == nil; {
				_, err = w.Write(make([]byte, 1000))
			}
		}), forever, Outcome{Status: 200}},
		{"endless body, and the connection stays", server(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Connection", "keep-alive")
			for err := error(nil); err == nil; {
				_, err = w.Write(make([]byte, 1000))
			}
		}), forever, Outcome{Status: 200}},
		{
			"header that cannot be sent", server(answers(200)), func(t *Target) { t.Values = []Header{{"X-Test", "a\r\nb"}} },
			Outcome{Reason: BadAnswer},
		},
		{"body that stops", server(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write(make([]byte, 50))
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}), late, Outcome{Timeout, 200}},
		{"HTTP on a TLS port", func() uint16 { _, p := serve(t, true, answers(200)); return p }(), nil, Outcome{StatusCode, 400}},
		{"no headers", server(answers(200)), func(t *Target) { t.Missing = true }, Outcome{Reason: HeadersNotFound}},
		{"forbidden port", 22, nil, Outcome{Reason: Forbidden}},
		{"forbidden address", 443, func(t *Target) { t.Address = "169.254.169.254" }, Outcome{Reason: Forbidden}},
		{"forbidden address in another form", 443, func(t *Target) { t.Address = "64:ff9b::a9fe:a9fe" }, Outcome{Reason: Forbidden}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.want == (Outcome{Timeout, 200}) {
				t.Parallel() // it takes its time
			}
			target := at(HTTP, c.port)
			if c.change != nil {
				c.change(target)
			}
			if got := newConnector(loopback).run(t.Context(), target); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// TestHTTPRequest looks at what a server gets (rule 4.2).
func TestHTTPRequest(t *testing.T) {
	var got atomic.Pointer[http.Request]
	keep := func(_ http.ResponseWriter, r *http.Request) { got.Store(r) }
	for _, secure := range []bool{false, true} {
		_, port := serve(t, secure, keep)
		target := at(HTTP, port)
		if secure {
			target.Protocol, target.Insecure = HTTPS, true
		}
		target.Host, target.Path = "app.example.com", "/healthz?x=1"
		target.Values = []Header{{"X-Test", "test-value"}, {"User-Agent", "other"}}
		if o := newConnector(loopback).run(t.Context(), target); o.Reason != Good {
			t.Fatalf("%v", o)
		}
		r := got.Load()
		if want := "app.example.com"; r.Host != want || r.RequestURI != "/healthz?x=1" || r.Method != http.MethodGet {
			t.Errorf("%s %s %s, want host %s", r.Method, r.Host, r.RequestURI, want)
		}
		if r.Header.Get("X-Test") != "test-value" || r.Header.Get("User-Agent") != "other" {
			t.Errorf("headers %v", r.Header)
		}
		if secure && r.TLS.ServerName != "app.example.com" {
			t.Errorf("SNI %s", r.TLS.ServerName)
		}
	}
}

// TestHTTPS verifies certificates unless it is told not to, and speaks HTTP/2
// where the server wants that.
func TestHTTPS(t *testing.T) {
	_, port := serve(t, true, answers(200))
	insecure := func(t *Target) { t.Insecure = true }
	_, plain := serve(t, false, answers(200))
	two, portTwo := serve(t, true, func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			w.WriteHeader(http.StatusHTTPVersionNotSupported)
		}
	})
	two.TLS.NextProtos = []string{"h2"}
	for _, c := range []struct {
		name   string
		port   uint16
		change func(*Target)
		want   Outcome
	}{
		{"not trusted", port, nil, Outcome{Reason: BadCertificate}},
		{"insecure", port, insecure, Outcome{Status: 200}},
		{"HTTP/2 alone", portTwo, insecure, Outcome{Status: 200}},
		{"no TLS", plain, insecure, Outcome{Reason: TLSFailed}},
		{"handshake hangs", raw(t, silent), func(t *Target) { t.Timeout = 300 * time.Millisecond }, Outcome{Reason: Timeout}},
		{"handshake breaks off", raw(t, func(net.Conn) {}), insecure, Outcome{Reason: ConnectionReset}},
		{"handshake is reset", raw(t, resets), insecure, Outcome{Reason: ConnectionReset}},
		{"handshake is nonsense", raw(t, func(conn net.Conn) {
			_, _ = conn.Read(make([]byte, 10))
			_, _ = io.WriteString(conn, strings.Repeat("x", 100))
		}), insecure, Outcome{Reason: TLSFailed}},
	} {
		t.Run(c.name, func(t *testing.T) {
			target := at(HTTPS, c.port)
			if c.change != nil {
				c.change(target)
			}
			if got := newConnector(loopback).run(t.Context(), target); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// TestTCP connects, and that is all.
func TestTCP(t *testing.T) {
	l := listen(t, "127.0.0.1")
	six, err := net.Listen("tcp", "[::1]:0")
	if err == nil {
		_ = six.Close()
		l6 := listen(t, "::1")
		target := at(TCP, portOf(l6))
		target.Address = "::1"
		if o := newConnector(loopback).run(t.Context(), target); o.Reason != Good {
			t.Errorf("over IPv6: %v", o)
		}
	}
	for port, want := range map[uint16]Reason{portOf(l): Good, refusing(t): ConnectionRefused} {
		if o := newConnector(loopback).run(t.Context(), at(TCP, port)); o.Reason != want {
			t.Errorf("%v, want %v", o, want)
		}
	}
}

// TestNoEvidence: what goes wrong on this machine says nothing about a target
// (rule 4.4).
func TestNoEvidence(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		err  error
		want Reason
	}{
		{&net.OpError{Op: "dial", Err: syscall.ENETUNREACH}, NoRoute},
		{&net.OpError{Op: "dial", Err: syscall.EHOSTUNREACH}, HostUnreachable},
		{&net.OpError{Op: "dial", Err: syscall.EADDRNOTAVAIL}, LocalTrouble},
		{&net.OpError{Op: "dial", Err: syscall.EMFILE}, LocalTrouble},
		{&net.OpError{Op: "dial", Err: syscall.ENFILE}, LocalTrouble},
		{&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, ConnectionRefused},
		{&net.OpError{Op: "read", Err: syscall.ECONNRESET}, ConnectionReset},
		{context.DeadlineExceeded, Timeout},
		{errors.New("malformed HTTP response"), BadAnswer},
	} {
		if got := reasonOf(t.Context(), c.err); got != c.want {
			t.Errorf("%v: %v, want %v", c.err, got, c.want)
		}
	}
	if got := reasonOf(ctx, errors.New("whatever")); got != Interrupted || got.verdict() != noEvidence {
		t.Errorf("%v", got)
	}
	for r := Good; r < numReasons; r++ {
		if r != Good && r.String() == "" {
			t.Errorf("reason %d has no text", r)
		}
	}
}
