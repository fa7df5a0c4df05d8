package health

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

func init() {
	children["descriptors"], children["network"] = noDescriptors, noNetwork
}

// rerun runs this test binary as a child, and fails where that does.
func rerun(t *testing.T, child string, attr *syscall.SysProcAttr, env ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	cmd.Env = append(append(os.Environ(), env...), childEnv+"="+child)
	cmd.SysProcAttr = attr
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		t.Errorf("%v\n%s", err, out)
	case err != nil:
		t.Skipf("such a process cannot be had here: %v", err)
	}
}

// report prints what is wrong in a child, and returns its exit code.
func report(wrong []string) int {
	for _, line := range wrong {
		fmt.Println(line)
	}
	return min(len(wrong), 1)
}

// TestNoDescriptors: where file descriptors are short, targets keep their states,
// and checks go on when there are some again (rule 4.4).
func TestNoDescriptors(t *testing.T) {
	_, plain := serve(t, false, answers(200))
	_, secure := serve(t, true, answers(200))
	open := raw(t, func(net.Conn) {})
	closed := listen(t, "127.0.0.1")
	_ = closed.Close()
	rerun(t, "descriptors", nil, fmt.Sprintf("PORTS=%d %d %d %d", plain, secure, open, portOf(closed)))
}

// noDescriptors is the child of TestNoDescriptors.
func noDescriptors() int {
	var plain, secure, open, closed uint16
	if _, err := fmt.Sscan(os.Getenv("PORTS"), &plain, &secure, &open, &closed); err != nil {
		return report([]string{err.Error()})
	}
	up := []*Target{at(HTTP, plain), at(HTTPS, secure), at(TCP, open)}
	down := []*Target{at(HTTP, closed), at(GRPC, closed), at(GRPCS, closed)}
	for _, target := range append(up, down...) {
		target.Insecure, target.Cell, target.Interval = true, new(Cell), time.Second
		target.FailureThreshold, target.SuccessThreshold = 1, 1
	}
	all := append(up, down...)
	p := NewProber(Options{Guard: loopback.NotHere()})
	p.Follow(targets(all...), nil)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan struct{})
	go func() { p.Run(ctx); close(done) }()
	var wrong []string
	// await waits until all targets are as they should be.
	await := func(what string, is func(w Word, up bool) bool) {
		for range 3000 {
			ready := true
			for i, target := range all {
				ready = ready && is(target.Cell.Load(), i < len(up))
			}
			if ready {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		for _, target := range all {
			w := target.Cell.Load()
			wrong = append(wrong, fmt.Sprintf("%s: %s is %s, reason %q", what, target.URL(), w.State(), w.Reason()))
		}
	}
	asItIs := func(w Word, up bool) bool {
		return w.Checked() && (w.Reason() == Good) == up && (w.State() == Up) == up && (w.State() == Down) == !up && w.Reason() != LocalTrouble
	}
	await("at first", asItIs)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 64, Max: 64}); err != nil {
		return report([]string{err.Error()})
	}
	var taken []*os.File
	for {
		f, err := os.Open(os.DevNull)
		if err != nil {
			break
		}
		taken = append(taken, f)
	}
	await("without file descriptors", func(w Word, up bool) bool {
		if state := map[bool]State{true: Up, false: Down}[up]; w.State() != state {
			wrong = append(wrong, fmt.Sprintf("without file descriptors %s has become %s", state, w.State()))
		}
		return w.Reason() == LocalTrouble
	})
	// Hostnames do not fail to exist for that.
	if n := NewProber(Options{}).opts.Concurrent; n != 21 {
		wrong = append(wrong, fmt.Sprintf("%d checks at a time with 64 file descriptors", n))
	}
	if _, err := newConnector(loopback).lookup(ctx, "host.example"); reasonOf(ctx, err).verdict() != noEvidence {
		wrong = append(wrong, fmt.Sprintf("a hostname: %v", err))
	}
	for _, f := range taken {
		_ = f.Close()
	}
	await("with file descriptors again", asItIs)
	cancel()
	<-done
	return report(wrong)
}

// TestNoNetwork: where there is no route, nothing is known of a target.
func TestNoNetwork(t *testing.T) {
	rerun(t, "network", &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWUSER})
}

// noNetwork is the child of TestNoNetwork. It has a network of its own with
// nothing in it.
func noNetwork() int {
	var wrong []string
	for _, address := range []string{"192.0.2.1", "2001:db8::1", "127.0.0.1"} {
		for _, p := range []Protocol{HTTP, HTTPS, TCP, GRPC, GRPCS} {
			target := at(p, 443)
			target.Address, target.Cell = address, new(Cell)
			c := newConnector(loopback)
			o := c.run(context.Background(), target)
			if o.Reason.verdict() != noEvidence {
				wrong = append(wrong, fmt.Sprintf("%s: %q", target.URL(), o.Reason))
			}
		}
	}
	target := at(HTTP, 80)
	target.Address = "host.example"
	if o := newConnector(loopback).run(context.Background(), target); o.Reason != ResolverFailed {
		wrong = append(wrong, fmt.Sprintf("a hostname: %q", o.Reason))
	}
	return report(wrong)
}

// TestDialErrors: what a socket fails with has the same meaning through all
// protocols.
func TestDialErrors(t *testing.T) {
	for errno, want := range map[syscall.Errno]Reason{
		syscall.ENETUNREACH: NoRoute, syscall.EAFNOSUPPORT: NoRoute, syscall.EACCES: NoRoute, syscall.EINVAL: NoRoute,
		syscall.EMFILE: LocalTrouble, syscall.EADDRNOTAVAIL: LocalTrouble,
		syscall.EHOSTUNREACH: HostUnreachable, syscall.ECONNREFUSED: ConnectionRefused, syscall.ETIMEDOUT: Timeout,
	} {
		for _, p := range []Protocol{HTTP, HTTPS, TCP, GRPC, GRPCS} {
			c := newConnector(loopback)
			c.dialer.Control = func(string, string, syscall.RawConn) error { return os.NewSyscallError("connect", errno) }
			if o := c.run(t.Context(), at(p, 443)); o.Reason != want {
				t.Errorf("%s, %v: %q, want %q", p, errno, o.Reason, want)
			}
		}
	}
}

// TestResolver asks resolvers that answer badly, and one that does not: what they
// do says nothing about a target, but where they say that there is no such
// host.
func TestResolver(t *testing.T) {
	for _, c := range []struct {
		name  string
		rcode byte
		want  Reason
	}{
		{"no address", 0, NoSuchHost},
		{"SERVFAIL", 2, ResolverFailed},
		{"NXDOMAIN", 3, NoSuchHost},
		{"REFUSED", 5, ResolverFailed},
		{"silent", silence, ResolverFailed},
	} {
		conn := newConnector(loopback)
		conn.resolver = *answering(t, func(byte) (byte, netip.Addr) { return c.rcode, netip.Addr{} })
		target := at(HTTP, 80)
		target.Address = "host.example.com"
		if c.rcode == silence {
			target.Timeout = 300 * time.Millisecond
		}
		if o := conn.run(t.Context(), target); o.Reason != c.want {
			t.Errorf("%s: %q, want %q", c.name, o.Reason, c.want)
		}
	}
}

// TestGRPCCancelledByServer: a server that answers that the call was cancelled is
// not one that works.
func TestGRPCCancelledByServer(t *testing.T) {
	s := grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(s, &healthServer{answer: func(string) (grpc_health_v1.HealthCheckResponse_ServingStatus, error) {
		return 0, status.Error(codes.Canceled, "cancelled")
	}})
	l := listen(t, "127.0.0.1")
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	if o := newConnector(loopback).run(t.Context(), at(GRPC, portOf(l))); o.Reason != BadAnswer {
		t.Errorf("%q", o.Reason)
	}
}
