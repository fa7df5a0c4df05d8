package health

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

func init() { children["roots"] = noRoots }

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
