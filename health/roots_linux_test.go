package health

import (
	"context"
	"fmt"
	"os"
	"testing"
)

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
