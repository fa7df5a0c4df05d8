package records

import (
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestUnreadWildcardBesideWithheldChain: the chain of a claim that is kept back makes no names exist: what a wildcard on record, whose owner
// cannot be read, would answer for below klb.<host> is not denied for it (RFC 4592 §3.3.1, rule 7.4).
func TestUnreadWildcardBesideWithheldChain(t *testing.T) {
	for _, taken := range []bool{false, true} {
		w := newWorld("c", "d")
		w.acquireAs("*.app.example.com.", ownerIn("d", api.KindDNSPolicy, "b/p"))
		w.lackOf(1, api.NotCounted, api.KindGateway, api.KindDNSPolicy)
		if taken {
			w.gateway("a/p", "*.app.example.com", api.WeightedGeo, 1, api.IPAddress, "192.0.2.66")
		}
		s := Compile(nil, w.objects(), unreadOptions, testTime)
		for _, name := range []string{"x.app.example.com.", "x.klb.app.example.com.", "y.x.klb.app.example.com.", "x.default.klb.app.example.com."} {
			if got := gives(s, name, dns.TypeA); got != "unlisted" {
				t.Errorf("somebody else wants it: %v: %s is %q", taken, name, got)
			}
		}
	}
}
