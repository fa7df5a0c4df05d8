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
	in.Keeper = "c"
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

// TestChildrenOfWaitingHosts: a policy has a DNSRecord, and a server that starts could not read its
// provider's Secret yet. What is not among Children is deleted: the DNSRecord must be among them, as
// nothing says that it should go, and it is the memory of the Secret (api.md, Providers): or what
// it should have is not settled.
func TestChildrenOfWaitingHosts(t *testing.T) {
	w := newWorld("c")
	w.setGateway(0, "n/gw", gatewayOf([]string{"app.example.com"}, "192.0.2.1"))
	p := parentOf("gw", "u", api.Simple)
	p.Provider = api.Provider{Kind: "Secret", Name: "s"}
	w.setPolicy(0, "n/p", p)
	r := ownRecord("p", "u", "app.example.com.", "example.com")
	r.Provider = p.Provider
	w.setDNSRecord(0, "n/gw-l0", r)
	in := w.objects()
	in.Clusters[0].Listings[api.KindSecret] = api.NotListed
	s := Compile(nil, in, childOptions, testTime)
	if s.waiting.Len() == 0 {
		t.Fatal("nothing waits")
	}
	policy := api.Ref{Kind: api.KindDNSPolicy, Name: "n/p"}
	if got, there := s.Children("c", policy), s.Existing("c", policy); len(got) < len(there) && !s.Waits("c", policy) {
		t.Errorf("of %v there are to be %d, and it is not said that more may come", there, len(got))
	}
	in.Clusters[0].Listings[api.KindSecret] = api.Listed
	if s = Compile(nil, in, childOptions, testTime); s.Waits("c", policy) {
		t.Error("it waits for Secrets that are listed")
	}
}
