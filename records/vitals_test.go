package records

import (
	"fmt"
	"testing"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"
)

// TestGRPCSpeaksTLSWhereTheListenerDoes: listeners on the port decide, and where
// there are none, the port. One snapshot is compiled from the other.
func TestGRPCSpeaksTLSWhereTheListenerDoes(t *testing.T) {
	type on struct {
		port     uint16
		protocol api.ListenerProtocol
	}
	w := newWorld("c1")
	var s *Snapshot
	for _, c := range []struct {
		port      uint16
		listeners []on
		want      health.Protocol
	}{
		{443, nil, health.GRPCS},
		{8443, nil, health.GRPC},
		{443, []on{{443, api.TLS}}, health.GRPCS},
		{443, []on{{443, api.Plain}}, health.GRPC},
		{443, []on{{443, api.TLS}}, health.GRPCS}, // back again
		{443, []on{{443, api.NotTCP}}, health.GRPCS},
		{443, []on{{80, api.Plain}}, health.GRPCS},
		{8443, []on{{8443, api.TLS}}, health.GRPCS},
		{8443, []on{{8443, api.Plain}}, health.GRPC},
		{8443, []on{{443, api.TLS}, {8443, api.NotTCP}}, health.GRPC},
		{8443, []on{{8443, api.Plain}, {8443, api.TLS}}, health.GRPCS},
	} {
		g := &api.Gateway{
			Listeners: []api.Listener{{Name: "host", Hostname: "a.example.com", AttachedRoutes: 1}},
			Addresses: []api.Address{{Type: api.IPAddress, Value: "192.0.2.1"}},
		}
		for i, l := range c.listeners {
			g.Listeners = append(g.Listeners, api.Listener{Name: fmt.Sprint(i), AttachedRoutes: 1, Port: l.port, Protocol: l.protocol})
		}
		w.setGateway(0, "ns/g", g)
		w.setPolicy(0, "ns/g", &api.DNSPolicy{Target: api.Target{Name: "g"}, HealthCheck: &api.HealthCheck{
			Protocol: api.GRPC, Port: c.port, Path: "/", Interval: time.Minute, Timeout: time.Second, FailureThreshold: 1, SuccessThreshold: 1,
		}})
		s = Compile(s, w.objects(), &Options{Zones: []ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300}}}, time.Now())
		if n := s.Checks().Len(); n != 1 {
			t.Fatalf("%d checks", n)
		}
		for _, target := range s.Checks().All() {
			if target.Protocol != c.want || target.Port != c.port {
				t.Errorf("port %d with listeners %v: %s on %d, want %s", c.port, c.listeners, target.Protocol, target.Port, c.want)
			}
		}
	}
}
