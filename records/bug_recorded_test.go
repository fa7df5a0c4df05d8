package records

import (
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestBugEndpointsWithoutRecords: where no Records are there but a DNSEndpoint has data
// below klb, a change of something else leaves these as they are: not served.
func TestBugEndpointsWithoutRecords(t *testing.T) {
	w := newWorld("c")
	p := &api.DNSPolicy{Strategy: api.WeightedGeo, DefaultWeight: 1}
	p.Created = 1
	w.publish("a/g", "app.example.com", p, "192.0.2.1")
	e := &api.DNSEndpoint{Endpoints: []api.Endpoint{{DNSName: "x.klb.app.example.com.", Type: "TXT", Targets: []string{"text"}, Weight: api.NoWeight}}}
	e.Created = 2
	w.setDNSEndpoint(0, "a/e", e)
	s := Compile(nil, w.objects(), hostileOptions, testTime)
	again := *p
	again.DefaultWeight = 2
	w.publish("a/g", "app.example.com", &again, "192.0.2.2")
	in := w.objects()
	s = Compile(s, in, hostileOptions, testTime)
	if got, want := dump(s), dump(Compile(nil, in, hostileOptions, testTime)); got != want {
		t.Error(differing(got, want))
	}
	if n := s.zones[0].find("x.klb.app.example.com."); n != nil {
		t.Errorf("the younger record below klb is served: %v", n.static)
	}
}
