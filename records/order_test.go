package records

import (
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestSameNameAndAge: a Record and a DNSEndpoint of one second and one namespace/name have one order, whichever comes first
// (rule 5.4: on every replica alike).
func TestSameNameAndAge(t *testing.T) {
	for _, rtype := range [][2]string{{"TXT", `"x"`}, {"CNAME", "lb.example.net."}} {
		w := sharedWorld()
		w.record("a/same", "x.example.org.", rtype[0], rtype[1], 1)
		s := Compile(nil, w.objects(), dnsHasZones, testTime)
		w.endpoints("a/same", 1, apiEndpoint("x.example.org.", "TXT", `"y"`))
		in := w.objects()
		s = Compile(s, in, dnsHasZones, testTime)
		if got, want := dump(s), dump(Compile(nil, in, dnsHasZones, testTime)); got != want {
			t.Errorf("%s: step by step it is not what it is from nothing: %s", rtype[0], differing(got, want))
		}
	}
}

// TestWhoIsOlderIsNamed: a Record that loses to a DNSEndpoint is told of a DNSEndpoint, and not of a Record of that name.
func TestWhoIsOlderIsNamed(t *testing.T) {
	w := sharedWorld()
	w.endpoints("a/e", 1, apiEndpoint("x.example.org.", "TXT", `"y"`))
	w.record("b/r", "x.example.org.", "CNAME", "lb.example.net.", 2)
	s := Compile(nil, w.objects(), dnsHasZones, testTime)
	if text := verdictText(s, api.KindRecord, "b/r"); !strings.Contains(text, "DNSEndpoint a/e") {
		t.Error(text)
	}
}

// TestHostAtStandInServer: a host at ns.<zone> is answered the same whether the NS Record that ends the standing in of that name
// came before the host or after it (rules 2.4 and 6.8).
func TestHostAtStandInServer(t *testing.T) {
	w := newWorld("c")
	w.zone("dns/z", "example.org.", 0, api.Delegation{Records: []api.RecordDelegation{{Pattern: "*"}, {Pattern: "@"}}})
	w.gateway("a/g", "ns.example.org", api.Simple, 1, api.HostnameAddress, "lb.example.net")
	s := Compile(nil, w.objects(), dnsHasZones, testTime)
	w.record("dns/ns", "example.org.", "NS", "ns.example.net.", 1)
	w.step(t, s, dnsHasZones)
}
