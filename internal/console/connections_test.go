package console

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// dial connects to an address until the test ends.
func dial(t *testing.T, addr net.Addr) net.Conn {
	t.Helper()
	c, err := net.Dial(addr.Network(), addr.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// read returns the status code of the next answer on a connection.
func read(c net.Conn) (int, error) {
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0, err
	}
	defer func() { _ = res.Body.Close() }()
	_, err = io.Copy(io.Discard, res.Body)
	return res.StatusCode, err
}

// served starts a server, modified by change, until the test ends.
func served(t *testing.T, opt Options, change func(*httptest.Server)) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	server.Config = HTTPServer(New(opt))
	change(server)
	server.Listener = Bounded(server.Listener)
	server.Start()
	t.Cleanup(server.Close)
	return server
}

// TestOptionsOfEverything: OPTIONS * is limited and guarded like any other request.
func TestOptionsOfEverything(t *testing.T) {
	t.Parallel()
	server := served(t, Options{Source: newServer(t)}, func(*httptest.Server) {})
	for host, want := range map[string]int{"localhost": http.StatusNotFound, "evil.example": http.StatusMisdirectedRequest} {
		c := dial(t, server.Listener.Addr())
		_, _ = io.WriteString(c, "OPTIONS * HTTP/1.1\r\nHost: "+host+"\r\n\r\n")
		if code, err := read(c); code != want || err != nil {
			t.Errorf("%s: %d, %v, want %d", host, code, err, want)
		}
	}
}

// TestNobodyWaitsForUnwantedBodies: unauthorized requests and those with an unwanted body are answered and
// disconnected, however slowly the body arrives.
func TestNobodyWaitsForUnwantedBodies(t *testing.T) {
	t.Parallel()
	const secret = "a-token-of-some-length"
	token := newToken(t, secret)
	// With a ReadTimeout, the connection would end after that in any case.
	server := served(t, Options{Source: newServer(t), Token: token}, func(s *httptest.Server) { s.Config.ReadTimeout = 0 })
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

// pipes is a listener for connections that a test injects.
type pipes struct {
	net.Listener
	taken chan net.Conn
}

func (p pipes) Accept() (net.Conn, error) { return <-p.taken, nil }

func (pipes) Close() error { return nil }

// TestConnectionsAreBounded: with MaxConnections open, a new connection waits until another closes. Closing one twice
// counts once. Closing the listener ends the wait.
func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		below := pipes{nil, make(chan net.Conn, 2*MaxConnections)}
		l := Bounded(below)
		for range 2 * MaxConnections {
			ours, theirs := net.Pipe()
			t.Cleanup(func() { _, _ = ours.Close(), theirs.Close() })
			below.taken <- theirs
		}
		var held []net.Conn
		ended := make(chan error, 1)
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					ended <- err
					return
				}
				held = append(held, c)
			}
		}()
		settle := func() { time.Sleep(time.Minute); synctest.Wait() } // the pace is not under test
		if settle(); len(held) != MaxConnections {
			t.Fatalf("%d are held", len(held))
		}
		c := held[5] // before the close, after which the loop above appends
		_, _ = c.Close(), c.Close()
		if settle(); len(held) != MaxConnections+1 {
			t.Errorf("one has ended, and %d were taken in its place", len(held)-MaxConnections)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; !errors.Is(err, net.ErrClosed) {
			t.Errorf("closed, it says %v", err)
		}
	})
}
