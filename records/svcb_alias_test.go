package records

import (
	"testing"

	"github.com/miekg/dns"
)

// TestServiceBindingOfAnAlias: with an alias, the additional section has the service bindings of
// its target, too, as BIND and Knot answer it (RFC 9460 §4.1: "A, AAAA, and SVCB records").
func TestServiceBindingOfAnAlias(t *testing.T) {
	w := newWorld("c")
	w.record("dns/alias", "example.org.", "HTTPS", "0 svc.example.org.", 1)
	w.record("dns/svc", "svc.example.org.", "HTTPS", "1 . alpn=h2", 1)
	w.record("dns/a", "svc.example.org.", "A", "192.0.2.1", 1)
	s := Compile(nil, w.objects(), &reviewOptions, testTime)
	a := answerOf(s, "example.org.", dns.TypeHTTPS)
	if len(a.Extra) != 2 {
		t.Errorf("%v has %v, want the address and the HTTPS record of svc.example.org", a.Answer, a.Extra)
	}
}
