package health

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

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
