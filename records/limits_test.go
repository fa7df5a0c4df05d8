package records

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestTooManyParts is a Gateway with more listeners and addresses than are read:
// the first are served, and the policy says so.
func TestTooManyParts(t *testing.T) {
	w := newWorld("c1")
	g := &api.Gateway{}
	for i := range maxParts + 1 {
		g.Listeners = append(g.Listeners, api.Listener{Name: fmt.Sprintf("l%d", i), Hostname: fmt.Sprintf("h%d.example.com", i), AttachedRoutes: 1})
		g.Addresses = append(g.Addresses, api.Address{Type: api.IPAddress, Value: fmt.Sprintf("10.0.%d.%d", i>>8, i&255)})
	}
	w.setGateway(0, "ns/g", g)
	w.setPolicy(0, "ns/p", &api.DNSPolicy{Target: api.Target{Name: "g"}})
	s := Compile(nil, w.objects(), &Options{Zones: []ZoneOptions{{Origin: "example.com.", TTL: 60}}}, time.Now())
	z := s.zones[0]
	if n := z.find(fmt.Sprintf("h%d.example.com.", maxParts-1)); n == nil || len(n.steered.set.rrs) != maxParts {
		t.Errorf("the last host that is read is not served with %d addresses: %v", maxParts, n)
	}
	if n := z.find(fmt.Sprintf("h%d.example.com.", maxParts)); n != nil {
		t.Error("a host beyond the limit is served")
	}
	v := s.Verdict("c1", api.Ref{Kind: api.KindDNSPolicy, Name: "ns/p"})
	for _, want := range []string{"257 listeners, of which the first 256 are read", "257 status addresses, of which the first 256 are read"} {
		if !strings.Contains(v.Conditions[1].Message, want) {
			t.Errorf("the condition says %q, want %q in it", v.Conditions[1].Message, want)
		}
	}
}
