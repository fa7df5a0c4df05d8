package records

import (
	"fmt"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"
)

var truthOptions = &Options{Zones: []ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300}}}

// TestStatusOfWhatIsServed: where all that a host is answered with is down, its status
// says so, whatever else is among the Gateway's addresses (rule 4.8).
func TestStatusOfWhatIsServed(t *testing.T) {
	for _, c := range []struct {
		name      string
		strategy  api.Strategy
		addresses []api.Address
	}{
		{"an address and a hostname that is dropped", api.Simple, []api.Address{{Type: api.IPAddress, Value: "192.0.2.1"}, {Type: api.HostnameAddress, Value: "lb.example.net"}}},
		{"two hostnames, of which the first is served", api.Simple, []api.Address{{Type: api.HostnameAddress, Value: "lb.example.net"}, {Type: api.HostnameAddress, Value: "lb2.example.net"}}},
		{"one address of two clusters", api.WeightedGeo, []api.Address{
			{Type: api.MultiClusterIPAddress, Value: "east/192.0.2.1"}, {Type: api.MultiClusterIPAddress, Value: "west/192.0.2.1"},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld("c")
			w.setGateway(0, "n/g", &api.Gateway{Listeners: []api.Listener{{Name: "l", Hostname: "h.example.com", AttachedRoutes: -1}}, Addresses: c.addresses})
			w.setPolicy(0, "n/p", &api.DNSPolicy{Target: api.Target{Name: "g"}, Strategy: c.strategy, DefaultWeight: 1, HealthCheck: someChecks[0]})
			snap := Compile(nil, w.objects(), truthOptions, testTime)
			for _, target := range snap.Checks().All() {
				target.Cell.Set(health.Down)
			}
			if snap.FailsOpen("h.example.com") != allClients {
				t.Fatalf("the host is not answered with what is down: %s", answered(snap, "h.example.com."))
			}
			if got := status(snap, "n/p"); !strings.Contains(got, reasonAllFailed) || !strings.Contains(got, messageFailOpen) {
				t.Errorf("all that is checked is down, and the status says %q", got)
			}
		})
	}
}

// TestStatusWithProbesOfOthers: a probe that has nothing to do with a policy changes
// nothing in the policy's status.
func TestStatusWithProbesOfOthers(t *testing.T) {
	w := newWorld("c")
	w.checkedHost("s", "s.example.com", "", "192.0.2.1")
	p, _ := w.clusters[0].Policies.Get("n/s")
	p.HealthCheck = nil
	g, _ := w.clusters[0].Gateways.Get("n/s")
	g.Programmed = api.ConditionFalse
	before := status(Compile(nil, w.objects(), truthOptions, testTime), "n/s")
	w.setProbe(0, "other/p", &api.HealthCheckProbe{Address: "198.51.100.1", Check: tcpCheck})
	if after := status(Compile(nil, w.objects(), truthOptions, testTime), "n/s"); after != before {
		t.Errorf("a probe of another namespace turns the status from %q to %q", before, after)
	}
}

// TestStatusOfALoser: a policy that publishes nothing, because its host is another's,
// has no sub-resources that could be healthy.
func TestStatusOfALoser(t *testing.T) {
	for _, state := range []health.State{health.Up, health.Down} {
		w := newWorld("c")
		for i, ns := range []string{"n", "m"} {
			w.setGateway(0, ns+"/g", &api.Gateway{
				Listeners: []api.Listener{{Name: "l", Hostname: "h.example.com", AttachedRoutes: -1}}, Addresses: []api.Address{{Type: api.IPAddress, Value: "192.0.2.1"}},
			})
			w.setPolicy(0, ns+"/p", &api.DNSPolicy{Meta: api.Meta{Created: int64(i)}, Target: api.Target{Name: "g"}, HealthCheck: someChecks[0]})
		}
		snap := Compile(nil, w.objects(), truthOptions, testTime)
		find(snap, "192.0.2.1", state)
		if got := status(snap, "m/p"); strings.Contains(got, messageHealthy) {
			t.Errorf("%v: the loser's status says %q", state, got)
		}
	}
}

// TestProbeProblemOfNoEffect: a probe that is not checked is told so.
func TestProbeProblemOfNoEffect(t *testing.T) {
	problem := func(w *world, name string) (string, int) {
		snap := Compile(nil, w.objects(), truthOptions, testTime)
		p, _ := w.clusters[0].Probes.Get(name)
		return snap.ProbeProblem(p), snap.Checks().Len()
	}
	t.Run("a host that is misspelt", func(t *testing.T) {
		w := newWorld("c")
		w.checkedHost("s", "s.example.com", "", "192.0.2.1")
		w.setProbe(0, "n/p", &api.HealthCheckProbe{Address: "192.0.2.1", Host: "z.example.com", Check: tcpCheck})
		if why, n := problem(w, "n/p"); n == 1 && why == "" {
			t.Error("the probe joins nothing, and nobody says so")
		}
	})
	t.Run("a host that is another's", func(t *testing.T) {
		w := newWorld("c")
		for i, ns := range []string{"a", "n"} {
			w.setGateway(0, ns+"/g", &api.Gateway{
				Listeners: []api.Listener{{Name: "l", Hostname: "h.example.com", AttachedRoutes: -1}}, Addresses: []api.Address{{Type: api.IPAddress, Value: fmt.Sprintf("192.0.2.%d", i)}},
			})
			w.setPolicy(0, ns+"/p", &api.DNSPolicy{Meta: api.Meta{Created: int64(i)}, Target: api.Target{Name: "g"}})
		}
		w.setProbe(0, "n/p", &api.HealthCheckProbe{Address: "192.0.2.1", Check: tcpCheck})
		if why, n := problem(w, "n/p"); n == 0 && why == "" {
			t.Error("the probe joins nothing, and nobody says so")
		}
	})
	t.Run("one too many", func(t *testing.T) {
		w := newWorld("c")
		w.checkedHost("s", "s.example.com", "", "192.0.2.1")
		for i := range maxJoined + 1 {
			check := tcpCheck
			check.Port = uint16(2000 + i)
			w.setProbe(0, fmt.Sprintf("n/p%02d", i), &api.HealthCheckProbe{Address: "192.0.2.1", Check: check})
		}
		if why, n := problem(w, fmt.Sprintf("n/p%02d", maxJoined)); n == 1+maxJoined && why == "" {
			t.Error("the last probe joins nothing, and nobody says so")
		}
	})
}

// TestProbeProblemWithProbesOff: with probes off, a probe counts by its status alone,
// so what its spec has wrong does not keep it from counting (rule 4.1).
func TestProbeProblemWithProbesOff(t *testing.T) {
	opt := &Options{Zones: truthOptions.Zones, ProbesOff: true}
	w := newWorld("c")
	w.checkedHost("s", "s.example.com", "", "192.0.2.1", "192.0.2.2")
	p := &api.HealthCheckProbe{Address: "192.0.2.1", Invalid: "spec.port 22: not allowed", Healthy: api.ConditionFalse}
	w.setProbe(0, "n/p", p)
	snap := Compile(nil, w.objects(), opt, testTime)
	if got, why := answered(snap, "s.example.com."), snap.ProbeProblem(p); got == "192.0.2.2 up" && why != "" {
		t.Errorf("the probe takes an address out of the answer (%s), and is said to have no effect: %s", got, why)
	}
}

// TestStatusOfSharedChain: a host that is kept from answers by what the check of its
// wildcard finds is not said to be healthy.
func TestStatusOfSharedChain(t *testing.T) {
	w := newWorld("c")
	for i, name := range []string{"one", "two"} {
		w.setGateway(0, "n/"+name, &api.Gateway{
			Listeners: []api.Listener{{Name: "h", Hostname: "h.example.com", AttachedRoutes: -1}, {Name: "w", Hostname: "*.h.example.com", AttachedRoutes: -1}},
			Addresses: []api.Address{{Type: api.IPAddress, Value: fmt.Sprintf("192.0.2.%d", i+1)}},
		})
		w.setPolicy(0, "n/h-"+name, steeringPolicy(name, "h", someChecks[0]))
		w.setPolicy(0, "n/w-"+name, steeringPolicy(name, "w", someChecks[4]))
	}
	snap := Compile(nil, w.objects(), truthOptions, testTime)
	for _, target := range snap.Checks().All() { // the wildcard's check, which asks for another host
		if target.Address == "192.0.2.1" && target.Protocol != health.HTTP {
			target.Cell.Set(health.Down)
		}
	}
	answer, says := answered(snap, "h.example.com."), status(snap, "n/h-one")
	if !strings.Contains(answer, "192.0.2.1") && !strings.Contains(says, "192.0.2.1") {
		t.Errorf("h.example.com is answered by %s, and n/h-one says %q", answer, says)
	}
}
