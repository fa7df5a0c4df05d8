package records

import (
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestTransferWithoutWaitingHosts: a host waits for its provider's Secret, which could not be read yet:
// it is SERVFAIL here. A zone that lacks it must neither be transferred nor be kept with a serial: each
// secondary would say NXDOMAIN (rules 6.7, 7.4).
func TestTransferWithoutWaitingHosts(t *testing.T) {
	w := newWorld("c")
	w.setGateway(0, "n/gw", gatewayOf([]string{"app.example.com"}, "192.0.2.1"))
	p := parentOf("gw", "u", api.Simple)
	p.Provider = api.Provider{Kind: "Secret", Name: "s"}
	w.setPolicy(0, "n/p", p)
	in := w.objects()
	in.Writer = true
	for _, c := range in.Clusters {
		c.Listings[api.KindSecret] = api.NotListed
	}
	s := Compile(nil, in, childOptions, testTime)
	if _, served := s.Owner("app.example.com."); served || s.waiting.Len() == 0 {
		t.Fatal("nothing waits")
	}
	if s.denies("app.example.com.") {
		t.Error("the host is denied")
	}
	z := s.Zone("app.example.com.")
	if s.Lists(z) {
		t.Error("the zone is transferred, without the host")
	}
	if proposal, ok := z.Proposed(); ok {
		t.Errorf("the zone is to be kept as %+v, without the host", proposal.Kept)
	}
}
