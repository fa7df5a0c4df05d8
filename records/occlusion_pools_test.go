package records

import (
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestOcclusionWhenPoolsChange: a DNAME of a DNSEndpoint stands beside a host of its own namespace alone (decision 23). Where a cluster does not
// pool in that namespace any more, its objects are others': it is decided anew, also where nothing else of them has changed.
func TestOcclusionWhenPoolsChange(t *testing.T) {
	w := newWorld("c", "d")
	w.setDNSEndpoint(1, "n/host", &api.DNSEndpoint{Meta: api.Meta{Created: 1}, Endpoints: []api.Endpoint{endpoint("app.example.com.", "A", "192.0.2.1")}})
	w.endpoints("n/dname", 2, endpoint("app.example.com.", "DNAME", "example.net"))
	s := w.step(t, nil, unreadOptions)
	if got := gives(s, "x.app.example.com.", dns.TypeA); got == "NXDOMAIN" {
		t.Fatalf("the DNAME is not served: %q", got)
	}
	w.setPools(1, api.PoolsIn())
	s = w.step(t, s, unreadOptions)
	if got := gives(s, "x.app.example.com.", dns.TypeA); got != "NXDOMAIN" {
		t.Errorf("the host is another's, and older, and the DNAME beside it is served: %q", got)
	}
	w.setPools(1, api.Pools{})
	w.step(t, s, unreadOptions)
}
