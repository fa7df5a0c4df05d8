package health

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// says returns what answers a request with text, whatever was asked, and ends.
func says(text string) func(net.Conn) {
	return func(conn net.Conn) {
		_, _ = conn.Read(make([]byte, 4096))
		_, _ = io.WriteString(conn, text)
	}
}

// repeats returns what answers with text, and then with more again and again, at
// that pace, until the other side has gone.
func repeats(text, more string, pace time.Duration) func(net.Conn) {
	return func(conn net.Conn) {
		_, _ = conn.Read(make([]byte, 4096))
		_, err := io.WriteString(conn, text)
		for err == nil {
			time.Sleep(pace)
			_, err = io.WriteString(conn, more)
		}
	}
}

// secured does what talk says behind a handshake that offers the protocols.
func secured(talk func(net.Conn), protocols ...string) func(net.Conn) {
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS()
	config := &tls.Config{Certificates: s.TLS.Certificates, NextProtos: protocols, MinVersion: tls.VersionTLS12}
	s.Close()
	return func(conn net.Conn) {
		server := tls.Server(conn, config)
		if server.Handshake() == nil {
			talk(server)
		}
	}
}

// alike reports whether two outcomes mean the same. Where a connection ends within
// an answer, it depends on the parser whether that is a broken connection or a
// broken answer.
func alike(a, b Outcome) bool {
	for _, o := range []*Outcome{&a, &b} {
		if o.Reason == ConnectionReset {
			o.Reason = BadAnswer
		}
	}
	return a == b
}

// TestHostileHTTP asks servers that break HTTP in every way. What counts is the
// status, where one came within the time of the check.
func TestHostileHTTP(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	short := func(target *Target) { target.Timeout = 300 * time.Millisecond }
	late := func(target *Target) { target.Timeout = 10 * time.Second } // the status comes in time, on a busy machine too
	for _, c := range []struct {
		name   string
		talk   func(net.Conn)
		change func(*Target)
		want   Outcome
	}{
		{"continue for ever, slowly", repeats("", "HTTP/1.1 100 Continue\r\n\r\n", 100*time.Millisecond), short, Outcome{Reason: Timeout}},
		{
			"100 is expected", says("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No\r\n\r\n"), func(t *Target) { t.Expected = "100" },
			Outcome{StatusCode, 204},
		},
		{"switches to HTTP/2", repeats("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n", "x",
			time.Millisecond), nil, Outcome{StatusCode, 101}},
		{"no end of the line", repeats("HTTP/1.1 200 ", strings.Repeat("K", 1000), 0), nil, Outcome{Reason: BadAnswer}},
		{"headers, slowly", repeats(ok, "X: x\r\n", 50*time.Millisecond), short, Outcome{Reason: Timeout}},
		{"endless body", repeats(ok+"\r\n", strings.Repeat("x", 1000), 0), nil, Outcome{Status: 200}},
		{"endless body, slowly", repeats(ok+"\r\n", "x", 50*time.Millisecond), late, Outcome{Timeout, 200}},
		{"endless body of an error, slowly", repeats("HTTP/1.1 404 No\r\n\r\n", "x", 50*time.Millisecond), nil, Outcome{StatusCode, 404}},
	} {
		for protocol, talk := range map[Protocol]func(net.Conn){HTTP: c.talk, HTTPS: secured(c.talk)} {
			t.Run(fmt.Sprintf("%s, %s", c.name, protocol), func(t *testing.T) {
				if c.want == (Outcome{Timeout, 200}) {
					t.Parallel() // it takes its time
				}
				target := at(protocol, raw(t, talk))
				target.Insecure = true
				if c.change != nil {
					c.change(target)
				}
				if got := newConnector(loopback).run(t.Context(), target); !alike(got, c.want) {
					t.Errorf("%v, want %v", got, c.want)
				}
			})
		}
	}
}

// TestAnswers asks servers that answer as testdata/answers.txt says.
func TestAnswers(t *testing.T) {
	text, err := os.ReadFile("testdata/answers.txt")
	if err != nil {
		t.Fatal(err)
	}
	repeated := regexp.MustCompile(`\{(\d+)×([^}]*)\}`)
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "# ") || line == "\n" {
			continue
		}
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), " | ", 3)
		if len(fields) < 3 {
			t.Fatal(line)
		}
		answer, err := strconv.Unquote(`"` + repeated.ReplaceAllStringFunc(fields[2], func(s string) string {
			m := repeated.FindStringSubmatch(s)
			n, _ := strconv.Atoi(m[1])
			return strings.Repeat(m[2], n)
		}) + `"`)
		if err != nil {
			t.Fatal(line, err)
		}
		for protocol, talk := range map[Protocol]func(net.Conn){HTTP: says(answer), HTTPS: secured(says(answer))} {
			t.Run(fmt.Sprintf("%s, %s", fields[0], protocol), func(t *testing.T) {
				target := at(protocol, raw(t, talk))
				target.Insecure, target.Timeout = true, 24*time.Hour
				o := newConnector(loopback).run(t.Context(), target)
				got := map[Reason]string{Good: "", StatusCode: "StatusCode ", BadAnswer: "BadAnswer", ConnectionReset: "ConnectionReset"}[o.Reason]
				if o.Status != 0 {
					got += strconv.Itoa(o.Status)
				}
				// Where a connection ends within an answer, it depends on the parser which it is.
				if same := strings.NewReplacer("ConnectionReset", "BadAnswer"); same.Replace(got) != same.Replace(fields[1]) {
					t.Errorf("%q, want %q", got, fields[1])
				}
			})
		}
	}
}

// TestHostileHTTP2 asks servers that agree on HTTP/2, and then do not speak it.
func TestHostileHTTP2(t *testing.T) {
	frames := func(write func(*http2.Framer) error) func(net.Conn) {
		return func(conn net.Conn) {
			f := http2.NewFramer(conn, nil)
			go silent(conn)
			err := f.WriteSettings()
			for err == nil {
				err = write(f)
			}
		}
	}
	for _, c := range []struct {
		name string
		talk func(net.Conn)
		want Reason
	}{
		{"silent", silent, Timeout},
		{"HTTP/1.1", says("HTTP/1.1 200 OK\r\n\r\n"), BadAnswer},
		{"endless pings", frames(func(f *http2.Framer) error { return f.WritePing(false, [8]byte{}) }), BadAnswer},
		{"endless settings", frames(func(f *http2.Framer) error { return f.WriteSettings() }), BadAnswer},
		{"a stream that nobody opened", frames(func(f *http2.Framer) error { return f.WriteData(7, false, make([]byte, 100)) }), BadAnswer},
	} {
		t.Run(c.name, func(t *testing.T) {
			target := at(HTTPS, raw(t, secured(c.talk, "h2")))
			target.Insecure, target.Timeout = true, 30*time.Second
			if c.want == Timeout {
				target.Timeout = 300 * time.Millisecond
			}
			if got := newConnector(loopback).run(t.Context(), target); !alike(got, Outcome{Reason: c.want}) {
				t.Errorf("%v, want %v", got.Reason, c.want)
			}
		})
	}
}

// dials returns a connector that notes the addresses it connects to.
func dials() (*connector, func() []string) {
	var mu sync.Mutex
	var all []string
	c := newConnector(loopback)
	c.dialer.Control = func(_, address string, _ syscall.RawConn) error {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, address)
		return nil
	}
	return c, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return append([]string{}, all...)
	}
}

// TestRedirectIsNotFollowed: not to a forbidden address, and to no other.
func TestRedirectIsNotFollowed(t *testing.T) {
	for _, secure := range []bool{false, true} {
		for _, where := range []string{"http://169.254.169.254/latest/meta-data/", "http://[64:ff9b::a9fe:a9fe]/", "//127.0.0.1:1/", "/ok"} {
			_, port := serve(t, secure, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, where, http.StatusFound) })
			target := at(HTTP, port)
			if secure {
				target.Protocol, target.Insecure = HTTPS, true
			}
			conn, dialled := dials()
			if o := conn.run(t.Context(), target); o != (Outcome{StatusCode, 302}) {
				t.Errorf("to %s: %v", where, o)
			}
			if all := dialled(); len(all) != 1 || all[0] != fmt.Sprintf("127.0.0.1:%d", port) {
				t.Errorf("to %s: connections to %q", where, all)
			}
		}
	}
}

// TestProxiesAreNotUsed: what the environment says of proxies is not for checks.
func TestProxiesAreNotUsed(t *testing.T) {
	_, port := serve(t, false, answers(200))
	_, secure := serve(t, true, answers(200))
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "GRPC_PROXY"} {
		proxy := fmt.Sprintf("http://127.0.0.1:%d", portOf(listen(t, "127.0.0.1")))
		t.Setenv(name, proxy)
		t.Setenv(strings.ToLower(name), proxy)
	}
	t.Setenv("NO_PROXY", "")
	t.Setenv("no_proxy", "")
	for _, target := range []*Target{at(HTTP, port), at(HTTPS, secure), at(GRPC, port), at(GRPCS, secure), at(TCP, port)} {
		target.Insecure = true
		conn, dialled := dials()
		conn.run(t.Context(), target)
		for _, to := range dialled() {
			if to != fmt.Sprintf("127.0.0.1:%d", target.Port) {
				t.Errorf("%s: a connection to %s", target.Protocol, to)
			}
		}
		if len(dialled()) == 0 {
			t.Errorf("%s: no connection", target.Protocol)
		}
	}
}

// TestRebinding: a hostname that means another address at each lookup leads
// nowhere else than to those that were checked (rule 4.9).
func TestRebinding(t *testing.T) {
	_, port := serve(t, false, answers(200))
	for _, protocol := range []Protocol{HTTP, HTTPS, TCP, GRPC, GRPCS} {
		for _, forbidden := range []string{"169.254.169.254", "::ffff:a9fe:a9fe", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::", "fe80::1%lo"} {
			conn, dialled := dials()
			lookups := 0
			conn.lookup = func(context.Context, string) ([]netip.Addr, error) {
				if lookups++; lookups%2 == 1 {
					return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
				}
				return []netip.Addr{netip.MustParseAddr(forbidden)}, nil
			}
			target := at(protocol, port)
			target.Address, target.Timeout = "rebind.example.com", 2*time.Second
			for i := range 4 {
				before := len(dialled())
				o := conn.run(t.Context(), target)
				if lookups != i+1 {
					t.Errorf("%s: %d lookups for %d checks", protocol, lookups, i+1)
				}
				if odd := i%2 == 1; odd != (o.Reason == Forbidden) || odd && len(dialled()) != before {
					t.Errorf("%s, %s: %v, connections to %q", protocol, forbidden, o.Reason, dialled())
				}
			}
			for _, to := range dialled() {
				if to != fmt.Sprintf("127.0.0.1:%d", port) {
					t.Errorf("%s: a connection to %s", protocol, to)
				}
			}
		}
	}
}

// TestDeadAddressKeepsNobodyWaiting: an address that swallows everything does not
// use up the time of the others (rule 4.3).
func TestDeadAddressKeepsNobodyWaiting(t *testing.T) {
	for port := firstPort; ; port++ {
		good, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		serveOn(t, good, false, answers(200))
		var addrs []string
		for i := 2; i <= maxAddresses; i++ {
			dead, err := net.Listen("tcp", fmt.Sprintf("127.0.0.%d:%d", i, port))
			if err != nil {
				t.Skip(err) // taken: very rare
			}
			defer dead.Close()
			addrs = append(addrs, fmt.Sprintf("127.0.0.%d", i))
		}
		conn := newConnector(loopback)
		conn.stagger = 10 * time.Millisecond
		conn.lookup = resolving(append(addrs, "127.0.0.1")...)
		target := at(HTTP, uint16(port))
		target.Address = "lb.example.com"
		if o := conn.run(t.Context(), target); o.Reason != Good {
			t.Errorf("%v", o.Reason)
		}
		return
	}
}

// TestLiterals: IPv6 addresses go into URL, Host header and handshake as they
// should, with a zone and without.
func TestLiterals(t *testing.T) {
	for _, c := range []struct {
		address, host string
		port          uint16
		url, header   string
		server        string
	}{
		{"::1", "", 8080, "http://[::1]:8080/", "[::1]", "::1"},
		{"::1", "", 80, "http://[::1]:80/", "[::1]", "::1"},
		{"::1%lo", "", 80, "http://[::1]:80/", "[::1]", "::1"},
		{"192.0.2.1", "", 80, "http://192.0.2.1:80/", "192.0.2.1", "192.0.2.1"},
		{"2001:db8::1", "example.com", 80, "http://example.com:80/", "example.com", "example.com"},
		{"2001:db8::1", "2001:db8::2", 80, "http://[2001:db8::2]:80/", "[2001:db8::2]", "2001:db8::2"},
	} {
		target := at(HTTP, c.port)
		target.Address, target.Host = c.address, c.host
		req, err := target.request(t.Context(), http.MethodGet, target.Path, nil)
		if err != nil {
			t.Errorf("%s: %v", c.address, err)
			continue
		}
		if req.URL.String() != c.url || req.Host != c.header || target.tls().ServerName != c.server {
			t.Errorf("%s, host %q, port %d: %s, Host %s, server %s", c.address, c.host, c.port, req.URL, req.Host, target.tls().ServerName)
		}
	}
	six, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skip("no IPv6 on this machine")
	}
	_ = six.Close()
	hosts := make(chan string, 10)
	_, port := serveOn(t, listen(t, "::1"), false, func(_ http.ResponseWriter, r *http.Request) { hosts <- r.Host })
	for _, address := range []string{"::1", "::1%lo"} {
		target := at(HTTP, port)
		target.Address, target.Host = address, ""
		if o := newConnector(loopback).run(t.Context(), target); o.Reason != Good {
			t.Errorf("%s: %v", address, o.Reason)
			continue
		}
		if host := <-hosts; host != "[::1]" {
			t.Errorf("%s: Host %s", address, host)
		}
	}
}
