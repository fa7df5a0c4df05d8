package records

import (
	"fmt"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"
)

var healthOptions = &Options{Zones: []ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300}}}

// TestStatusOfWhatIsServed: where all that a host is answered with is down, its status
// says so, whatever else is among the Gateway's addresses (rule 4.8).
func TestStatusOfWhatIsServed(t *testing.T) {
	for _, c := range []struct {
		name      string
		strategy  api.Strategy
		addresses []api.Address
	}{
		{"at the apex, an address and a hostname that cannot stand there", api.WeightedGeo, []api.Address{
			{Type: api.IPAddress, Value: "192.0.2.1"}, {Type: api.HostnameAddress, Value: "lb.example.net"},
		}},
		{"an address and a hostname that is dropped", api.Simple, []api.Address{{Type: api.IPAddress, Value: "192.0.2.1"}, {Type: api.HostnameAddress, Value: "lb.example.net"}}},
		{"two hostnames, of which the first is served", api.Simple, []api.Address{{Type: api.HostnameAddress, Value: "lb.example.net"}, {Type: api.HostnameAddress, Value: "lb2.example.net"}}},
		{"one address of two clusters", api.WeightedGeo, []api.Address{
			{Type: api.MultiClusterIPAddress, Value: "east/192.0.2.1"}, {Type: api.MultiClusterIPAddress, Value: "west/192.0.2.1"},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, host := newWorld("c"), "h.example.com"
			if strings.HasPrefix(c.name, "at the apex") {
				host = "example.com"
			}
			w.setGateway(0, "n/g", &api.Gateway{Listeners: []api.Listener{{Name: "l", Hostname: host, AttachedRoutes: -1}}, Addresses: c.addresses})
			w.setPolicy(0, "n/p", &api.DNSPolicy{Target: api.Target{Name: "g"}, Strategy: c.strategy, DefaultWeight: 1, HealthCheck: someChecks[0]})
			snap := Compile(nil, w.objects(), healthOptions, testTime)
			for _, target := range snap.Checks().All() {
				target.Cell.Set(health.Down)
			}
			if snap.FailsOpen(host) != allClients {
				t.Fatalf("the host is not answered with what is down: %s", answered(snap, host+"."))
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
	before := status(Compile(nil, w.objects(), healthOptions, testTime), "n/s")
	w.setProbe(0, "other/p", &api.HealthCheckProbe{Address: "198.51.100.1", Check: tcpCheck})
	w.setProbe(0, "n/p", &api.HealthCheckProbe{Address: "198.51.100.1", Check: tcpCheck})
	w.overrides, _ = api.ParseOverrides("o", []byte("target 198.51.100.1 down"))
	if after := status(Compile(nil, w.objects(), healthOptions, testTime), "n/s"); after != before {
		t.Errorf("what is said of another address turns the status from %q to %q", before, after)
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
		snap := Compile(nil, w.objects(), healthOptions, testTime)
		find(snap, "192.0.2.1", state)
		if got := status(snap, "m/p"); strings.Contains(got, messageHealthy) {
			t.Errorf("%v: the loser's status says %q", state, got)
		}
	}
}

// TestStatusOfUnchecked: what no check may go to counts as healthy, and the status says
// why (rule 4.4).
func TestStatusOfUnchecked(t *testing.T) {
	w := newWorld("c")
	w.checkedHost("s", "s.example.com", "", "192.0.2.1", "192.0.2.2")
	snap := Compile(nil, w.objects(), healthOptions, testTime)
	observe := func(snap *Snapshot, address string, reason health.Reason) {
		for _, target := range snap.Checks().All() {
			if target.Address == address {
				target.Cell.Observe(health.Outcome{Reason: reason}, target.Terms)
			}
		}
	}
	const good = "True SubResourcesHealthy: All sub-resources are healthy"
	for _, step := range []struct {
		address string
		reason  health.Reason
		want    string
	}{
		{"192.0.2.1", health.Forbidden, good + "; not checked, and counted as healthy (address must not be probed): [192.0.2.1]"},
		{"192.0.2.2", health.Forbidden, good + "; not checked, and counted as healthy (address must not be probed): [192.0.2.1 192.0.2.2]"},
		{"192.0.2.1", health.Good, good + "; not checked, and counted as healthy (address must not be probed): [192.0.2.2]"},
		{"192.0.2.2", health.NoRoute, good},
	} {
		observe(snap, step.address, step.reason)
		if got := status(snap, "n/s"); got != step.want {
			t.Errorf("%s, %v: %s, want %s", step.address, step.reason, got, step.want)
		}
	}
	observe(snap, "192.0.2.1", health.Forbidden)
	w.setProbe(0, "n/p", &api.HealthCheckProbe{Address: "192.0.2.1", Check: tcpCheck}) // which may go there
	snap = Compile(snap, w.objects(), healthOptions, testTime)
	if got := status(snap, "n/s"); got != good {
		t.Errorf("with a probe that is not forbidden: %s", got)
	}
	var many []string
	for i := range 20 {
		many = append(many, fmt.Sprintf("192.0.2.%d", i))
	}
	w.checkedHost("s", "s.example.com", "", many...)
	snap = Compile(snap, w.objects(), healthOptions, testTime)
	for _, address := range many {
		observe(snap, address, health.Forbidden)
	}
	if got := status(snap, "n/s"); !strings.HasSuffix(got, " 192.0.2.15 and 4 more]") {
		t.Errorf("of many: %s", got)
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
	snap := Compile(nil, w.objects(), healthOptions, testTime)
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
