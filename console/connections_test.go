package console

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// dial connects to an address, and ends with the test.
func dial(t *testing.T, addr net.Addr) net.Conn {
	t.Helper()
	c, err := net.Dial(addr.Network(), addr.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// read returns the status of the next answer on a connection.
func read(c net.Conn) (int, error) {
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0, err
	}
	defer func() { _ = res.Body.Close() }()
	_, err = io.Copy(io.Discard, res.Body)
	return res.StatusCode, err
}

// TestIdleConnectionsGiveWay: connections that are kept, or have never been used, keep nobody out, however many there
// are; those on which something is asked stay.
func TestIdleConnectionsGiveWay(t *testing.T) {
	t.Parallel()
	entered, leave := make(chan struct{}), make(chan struct{})
	server := httptest.NewUnstartedServer(nil)
	server.Config = HTTPServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			entered <- struct{}{}
			<-leave
		}
	}))
	noticed := server.Config.ConnState
	server.Listener = Bounded(server.Listener)
	server.Start() // it has a ConnState of its own, which calls ours
	defer server.Close()
	if noticed == nil {
		t.Fatal("the server tells nobody of its connections")
	}
	addr := server.Listener.Addr()
	const get = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
	slow := dial(t, addr)
	_, _ = io.WriteString(slow, "GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n")
	<-entered
	for i := range 2 * MaxConnections {
		c := dial(t, addr)
		if i%2 == 0 {
			_, _ = io.WriteString(c, get)
			if code, err := read(c); code != http.StatusOK || err != nil {
				t.Fatalf("connection %d: %d, %v", i, code, err)
			}
		} else if i%4 == 1 {
			_, _ = io.WriteString(c, "GET / HTTP/1.1\r\n") // and no more
		}
	}
	close(leave)
	if code, err := read(slow); code != http.StatusOK || err != nil {
		t.Errorf("the one that was asked on: %d, %v", code, err)
	}
}

// TestOptionsOfEverything: a request for * is bounded and guarded as any other.
func TestOptionsOfEverything(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(nil)
	server.Config = HTTPServer(New(Options{Source: newServer(t)}))
	server.Start()
	defer server.Close()
	for host, want := range map[string]int{"localhost": http.StatusNotFound, "evil.example": http.StatusMisdirectedRequest} {
		c := dial(t, server.Listener.Addr())
		_, _ = io.WriteString(c, "OPTIONS * HTTP/1.1\r\nHost: "+host+"\r\n\r\n")
		if code, err := read(c); code != want || err != nil {
			t.Errorf("%s: %d, %v, want %d", host, code, err, want)
		}
	}
}

// TestNobodyWaitsForUnwantedBodies: who is not let in, or sends what nobody reads, is answered and has to go, however slowly the rest
// comes.
func TestNobodyWaitsForUnwantedBodies(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "token")
	const secret = "a-token-of-some-length"
	if err := os.WriteFile(path, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	token, err := OpenToken(path)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(nil)
	server.Config = HTTPServer(New(Options{Source: newServer(t), Token: token}))
	server.Config.ReadTimeout = 0 // else it waits that long at most
	server.Listener = Bounded(server.Listener)
	server.Start()
	defer server.Close()
	for _, c := range []struct {
		line, host, token string
		want              int
	}{
		{"POST " + PathPreview, "localhost", "", http.StatusUnauthorized},
		{"POST " + PathPreview, "evil.example", secret, http.StatusMisdirectedRequest},
		{"POST //x", "localhost", secret, http.StatusNotFound},
		{"POST " + PathNames, "localhost", secret, http.StatusMethodNotAllowed},
		{"GET " + PathNames, "localhost", secret, http.StatusBadRequest},
		{"POST " + PathPreview, "localhost", secret, http.StatusUnsupportedMediaType},
		{"POST " + PathPreview + "?x=1", "localhost", secret, http.StatusBadRequest},
		{"POST " + PathPreview + "?prune=x", "localhost", secret, http.StatusBadRequest},
	} {
		conn := dial(t, server.Listener.Addr())
		_, _ = io.WriteString(conn, c.line+" HTTP/1.1\r\nHost: "+c.host+"\r\nAuthorization: Bearer "+c.token+"\r\nContent-Length: 9\r\n\r\nx")
		if code, err := read(conn); code != c.want || err != nil {
			t.Errorf("%s of %s: %d, %v, want %d", c.line, c.host, code, err, c.want)
		}
		if n, err := io.Copy(io.Discard, conn); n != 0 || err != nil {
			t.Errorf("%s of %s: %d octets more, %v", c.line, c.host, n, err)
		}
	}
}

// TestBusyConnectionsStay: where something is asked on each connection, a new one waits until one of them has ended, or is kept.
// A connection that is closed counts once, whatever is noted of it later.
func TestBusyConnectionsStay(t *testing.T) {
	t.Parallel()
	below, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := Bounded(below)
	taken := make(chan net.Conn)
	ended := make(chan error, 1)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				ended <- err
				return
			}
			noted(c, http.StateNew)
			noted(c, http.StateActive)
			taken <- c
		}
	}()
	held := make([]net.Conn, MaxConnections)
	for i := range held {
		dial(t, below.Addr())
		held[i] = <-taken
	}
	next := func(what string, free func()) {
		t.Helper()
		dial(t, below.Addr())
		select {
		case <-taken:
			t.Fatalf("%s: there was no room", what)
		default:
		}
		free()
		held = append(held, <-taken)
	}
	next("one is kept", func() { noted(held[3], http.StateIdle) })
	noted(held[3], http.StateIdle) // its server has not seen yet that it is closed
	next("one has ended", func() { _ = held[5].Close() })
	_ = held[5].Close()
	next("another one is kept", func() { noted(held[7], http.StateIdle) })
	if _, err := held[3].Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the one that gave way: %v", err)
	}
	dial(t, below.Addr()) // waits for room
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Errorf("closed, it says %v", err)
	}
}

// pipes is a listener of connections that a test sends.
type pipes struct {
	net.Listener
	taken chan net.Conn
}

// Accept implements net.Listener.
func (p pipes) Accept() (net.Conn, error) { return <-p.taken, nil }

// TestPipelinedConnectionsGiveWay: where a new connection waits, one on which the next request is there already when the last
// has been answered gives way to it, and one alone.
func TestPipelinedConnectionsGiveWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		below := pipes{nil, make(chan net.Conn)}
		l := Bounded(below)
		taken := make(chan net.Conn, 2*MaxConnections)
		connect := func() {
			ours, theirs := net.Pipe()
			t.Cleanup(func() { _, _ = ours.Close(), theirs.Close() })
			below.taken <- theirs
			synctest.Wait()
		}
		go func() {
			for range MaxConnections + 2 {
				c, err := l.Accept()
				if err != nil {
					t.Error(err)
					return
				}
				noted(c, http.StateNew)
				noted(c, http.StateActive)
				taken <- c
			}
		}()
		for range MaxConnections {
			connect()
		}
		first, second, third := <-taken, <-taken, <-taken
		asks := func(c net.Conn) bool { // again, at once
			noted(c, http.StateIdle)
			noted(c, http.StateActive)
			return c.SetDeadline(time.Time{}) == nil
		}
		for i, c := range []net.Conn{first, second} {
			connect()
			if len(taken) != MaxConnections-3+i {
				t.Fatalf("there was room for %d", len(taken))
			}
			if asks(c) {
				t.Errorf("connection %d stays", i)
			}
			if synctest.Wait(); len(taken) != MaxConnections-2+i {
				t.Errorf("there is no room for %d", len(taken))
			}
			if !asks(third) {
				t.Error("one that nobody waits for is gone")
			}
		}
	})
}
