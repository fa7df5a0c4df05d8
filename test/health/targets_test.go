package health

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"
)

// listener is a server on an address of this machine that speaks HTTP, TCP or gRPC, and can be
// switched off. It lives outside of every synctest bubble: a goroutine in a bubble that accepts
// connections would keep time from advancing.
type listener struct {
	kind    string // http, tcp or grpc
	address string
	port    int
	down    atomic.Bool // it answers, but reports a failure
	asked   atomic.Int64
	status  atomic.Int64 // of HTTP answers while it works; 0 for 200

	// do receives functions that change the socket, done their results. Both belong to the
	// goroutine of serve.
	do   chan func() error
	done chan error
	end  func() // closes the socket; nil while there is none
}

// portSet maps a test's names of ports to ports.
type portSet map[string]int

// listenAt starts a server. It ends with the test.
func listenAt(t *testing.T, kind, address string, port int) *listener {
	t.Helper()
	if strings.Contains(address, ":") {
		probe, err := net.Listen("tcp", "[::1]:0")
		if err != nil {
			t.Skip("no IPv6 on this machine")
		}
		_ = probe.Close()
	}
	l := &listener{kind: kind, address: address, port: port, do: make(chan func() error), done: make(chan error)}
	if err := l.open(); err != nil {
		t.Fatal(err)
	}
	go l.serve()
	t.Cleanup(func() {
		l.refuse()
		close(l.do)
	})
	return l
}

// serve runs the functions from do until it is closed.
func (l *listener) serve() {
	for f := range l.do {
		l.done <- f()
	}
}

// open starts to accept connections.
func (l *listener) open() error {
	if l.end != nil {
		return nil
	}
	socket, err := net.Listen("tcp", net.JoinHostPort(l.address, strconv.Itoa(l.port)))
	if err != nil {
		return err
	}
	l.end = func() { _ = socket.Close() }
	switch l.kind {
	case "http":
		s := &http.Server{Handler: l} //nolint:gosec // it ends with the test
		go func() { _ = s.Serve(socket) }()
		l.end = func() { _ = s.Close() }
	case "tcp":
		go l.accept(socket)
	case "grpc":
		s := grpc.NewServer()
		grpc_health_v1.RegisterHealthServer(s, &servingStatus{listener: l})
		go func() { _ = s.Serve(socket) }()
		l.end = s.Stop
	default:
		return fmt.Errorf("no kind of listener: %q", l.kind)
	}
	return nil
}

func (l *listener) accept(socket net.Listener) {
	for {
		conn, err := socket.Accept()
		if err != nil {
			return
		}
		l.asked.Add(1)
		_ = conn.Close()
	}
}

// refuse stops accepting connections. It may be called from a bubble.
func (l *listener) refuse() {
	l.do <- func() error {
		if l.end != nil {
			l.end()
			l.end = nil
		}
		return nil
	}
	<-l.done
}

// works makes the target work again. It may be called from a bubble.
func (l *listener) works(t *testing.T) {
	t.Helper()
	l.down.Store(false)
	l.do <- l.open
	if err := <-l.done; err != nil {
		t.Fatal(err)
	}
}

// ServeHTTP implements http.Handler.
func (l *listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.asked.Add(1)
	switch status := int(l.status.Load()); {
	case l.down.Load():
		w.WriteHeader(http.StatusServiceUnavailable)
	case status != 0:
		w.WriteHeader(status)
	}
}

// servingStatus is the gRPC health service of a listener.
type servingStatus struct {
	grpc_health_v1.UnimplementedHealthServer
	listener *listener
}

// Check implements grpc_health_v1.HealthServer.
func (s *servingStatus) Check(context.Context, *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	s.listener.asked.Add(1)
	status := grpc_health_v1.HealthCheckResponse_SERVING
	if s.listener.down.Load() {
		status = grpc_health_v1.HealthCheckResponse_NOT_SERVING
	}
	return &grpc_health_v1.HealthCheckResponse{Status: status}, nil
}
