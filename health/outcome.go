package health

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
)

// Outcome is the result of one check.
type Outcome struct {
	Reason Reason
	// Status is the HTTP status, 0 for none.
	Status int
}

// Reason says why a check did not succeed. The list is fixed: no text of a peer, or of a Secret,
// gets into a log, a status or a metric (rule 4.8).
type Reason uint8

// The reasons. The zero Reason is success.
const (
	Good Reason = iota
	// Evidence against the target.
	StatusCode        // an HTTP status that is not expected
	ConnectionRefused // nobody listens
	HostUnreachable   // nobody has the address on its network
	ConnectionReset   // the connection ended before the answer did
	Timeout           // no answer in time
	TLSFailed         // the handshake failed
	BadCertificate    // the certificate is not one for the host, or not trusted
	BadAnswer         // the answer is not of the protocol
	NotServing        // the gRPC service says so
	UnknownService    // the gRPC server does not know the service, or health checks
	NoSuchHost        // the hostname has no address
	// No evidence (rule 4.4).
	NoRoute         // there is no way to the address from here
	LocalTrouble    // this machine lacks a port, a file descriptor, memory or CPU time
	ResolverFailed  // our resolver does not answer, or so late that the target has no time left
	NoRoots         // this machine has no root certificates to verify one with
	HeadersNotFound // the Secret with the headers cannot be used
	Interrupted     // the prober ended
	// The target counts as unchecked (rule 4.9).
	Forbidden
	numReasons
)

var reasonTexts = [numReasons]string{
	"", "unexpected status code", "connection refused", "host unreachable", "connection reset", "no answer in time", "TLS handshake failed",
	"certificate not accepted", "not an answer of the protocol", "not serving", "service unknown", "host name does not resolve",
	"no route to the address", "no local port, file descriptor, memory or CPU time", "resolver does not answer in time",
	"no root certificates on this machine",
	"headers cannot be read from their Secret", "interrupted", "address must not be probed",
}

// String returns the reason as it is shown; "" for success.
func (r Reason) String() string { return reasonTexts[r] }

// verdict is what a reason says about the target.
type verdict uint8

const (
	success verdict = iota
	failure
	noEvidence
	unchecked
)

func (r Reason) verdict() verdict {
	switch {
	case r == Good:
		return success
	case r < NoRoute:
		return failure
	case r < Forbidden:
		return noEvidence
	}
	return unchecked
}

// Result is the outcome's text in metrics: success, failure or, if the target is not the cause,
// none.
func (o Outcome) Result() string {
	return [...]string{"success", "failure", "none", "none"}[o.Reason.verdict()]
}

// reasonOf interprets an error of a connection. ctx is the check's.
func reasonOf(ctx context.Context, err error) Reason {
	var dnsErr *net.DNSError
	var invalid x509.CertificateInvalidError
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var verification *tls.CertificateVerificationError
	var roots x509.SystemRootsError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	var timeout net.Error
	switch {
	case err == nil:
		return Good
	case errors.Is(ctx.Err(), context.Canceled):
		return Interrupted
	case errors.As(err, &dnsErr):
		return reasonOfLookup(err)
	case isErrno(err, syscall.ENETUNREACH, syscall.EACCES, syscall.EPERM, syscall.ENETDOWN, syscall.EAFNOSUPPORT, syscall.EINVAL):
		return NoRoute // EINVAL is a route that drops (type blackhole)
	case isErrno(err, syscall.EADDRNOTAVAIL, syscall.EADDRINUSE, syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM):
		return LocalTrouble
	case isErrno(err, syscall.ECONNREFUSED):
		return ConnectionRefused
	case isErrno(err, syscall.EHOSTUNREACH, syscall.EHOSTDOWN):
		// Our network has a route, but the last router on it, which may be this machine, finds no
		// such host: a dead host on our own link.
		return HostUnreachable
	case errors.As(err, &roots), errors.As(err, &unknown) && noRootsHere():
		return NoRoots
	case errors.As(err, &verification), errors.As(err, &invalid), errors.As(err, &unknown), errors.As(err, &host):
		return BadCertificate
	case errors.Is(err, context.DeadlineExceeded), errors.Is(ctx.Err(), context.DeadlineExceeded),
		errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return Timeout
	case errors.As(err, &record), errors.As(err, &alert), strings.Contains(err.Error(), "tls: "):
		return TLSFailed
	case isErrno(err, syscall.ECONNRESET, syscall.EPIPE, syscall.ECONNABORTED), errors.Is(err, io.EOF),
		errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, http.ErrServerClosed):
		return ConnectionReset
	}
	return BadAnswer
}

// reasonOfLookup interprets an error of our resolver.
func reasonOfLookup(err error) Reason {
	var dnsErr *net.DNSError
	var family *net.AddrError // only addresses of another family, in the hosts file
	if errors.As(err, &dnsErr) && dnsErr.IsNotFound || errors.As(err, &family) {
		return NoSuchHost
	}
	return ResolverFailed
}

// noRootsHere reports whether this machine has no root certificates at all, as in a minimal image:
// then failed verification is no evidence.
var noRootsHere = sync.OnceValue(func() bool {
	pool, err := x509.SystemCertPool()
	return err != nil || pool.Equal(x509.NewCertPool())
})

func isErrno(err error, numbers ...syscall.Errno) bool {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return false
	}
	for _, n := range numbers {
		if errno == n {
			return true
		}
	}
	return false
}
