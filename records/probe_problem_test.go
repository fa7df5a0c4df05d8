package records

import (
	"fmt"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestProbeProblemOfNoEffect: a probe that is not checked is told so.
func TestProbeProblemOfNoEffect(t *testing.T) {
	problem := func(w *world, name string) (string, int) {
		snap := Compile(nil, w.objects(), healthOptions, testTime)
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
	opt := &Options{Zones: healthOptions.Zones, ProbesOff: true}
	w := newWorld("c")
	w.checkedHost("s", "s.example.com", "", "192.0.2.1", "192.0.2.2")
	p := &api.HealthCheckProbe{Address: "192.0.2.1", Invalid: "spec.port 22: not allowed", Healthy: api.ConditionFalse}
	w.setProbe(0, "n/p", p)
	snap := Compile(nil, w.objects(), opt, testTime)
	if got, why := answered(snap, "s.example.com."), snap.ProbeProblem(p); got == "192.0.2.2 up" && why != "" {
		t.Errorf("the probe takes an address out of the answer (%s), and is said to have no effect: %s", got, why)
	}
}

// TestProbeProblemText: what the owner of a probe is told. One compile serves all.
func TestProbeProblemText(t *testing.T) {
	w := newWorld("c")
	w.setGateway(0, "n/w", &api.Gateway{
		Listeners: []api.Listener{{Name: "w", Hostname: "*.w.example.com", AttachedRoutes: -1}},
		Addresses: []api.Address{{Type: api.IPAddress, Value: "192.0.2.1"}, {Type: api.HostnameAddress, Value: "lb.example.net"}},
	})
	check := *someChecks[0]
	check.Host = "asked.example.com"
	w.setPolicy(0, "n/w", &api.DNSPolicy{Target: api.Target{Name: "w"}, HealthCheck: &check})
	w.checkedHost("s", "s.example.com", "", "192.0.2.2")
	for i := range maxJoined {
		w.setProbe(0, fmt.Sprintf("n/all%02d", i), &api.HealthCheckProbe{Address: "192.0.2.2", Check: tcpCheck})
	}
	const nothing = ", and probe-allow does not cover it: it counts for nothing"
	unlisted := newWorld("c")
	unlisted.clusters[0].Listings[api.KindGateway] = api.NotListed
	for _, c := range []struct {
		name  string
		probe api.HealthCheckProbe
		want  string
	}{
		{"n/p", api.HealthCheckProbe{Address: "192.0.2.1"}, ""},
		{"n/p", api.HealthCheckProbe{Address: "192.0.2.1", Host: "*.w.example.com"}, ""},
		{"n/p", api.HealthCheckProbe{Address: "192.0.2.1", Host: "a.b.w.example.com"}, ""},
		{"n/p", api.HealthCheckProbe{Address: "192.0.2.1", Host: "asked.example.com"}, ""},
		{"n/p", api.HealthCheckProbe{Address: "192.0.2.1", Host: "internal.test"}, ""},
		{"n/p", api.HealthCheckProbe{Address: "192.0.2.1", Host: "w.example.com"}, "its namespace publishes 192.0.2.1, but not for the host w.example.com" + nothing},
		{"n/p", api.HealthCheckProbe{Address: "192.0.2.1", Host: "xw.example.com"}, "its namespace publishes 192.0.2.1, but not for the host xw.example.com" + nothing},
		{"n/p", api.HealthCheckProbe{Address: "192.0.2.1", Host: "z.example.com", Meta: api.Meta{Controlled: true}}, ""},
		{"n/p", api.HealthCheckProbe{Address: "192.0.2.1", Host: "z.example.com", Meta: api.Meta{Deleting: true}}, ""},
		{"n/p", api.HealthCheckProbe{Address: "lb.example.net"}, "its namespace publishes lb.example.net, but no name is answered with it, as the status of the policies tells" + nothing},
		{"n/p", api.HealthCheckProbe{Address: "192.0.2.3"}, "no name of its namespace publishes 192.0.2.3" + nothing},
		{"m/p", api.HealthCheckProbe{Address: "192.0.2.1"}, "no name of its namespace publishes 192.0.2.1" + nothing},
		{"n/p", api.HealthCheckProbe{Address: "192.0.2.2"}, "16 other probes join at 192.0.2.2 already, which is the most" + nothing},
		{"n/p", api.HealthCheckProbe{Address: "192.0.2.2", Host: "s.example.com"}, ""},
		{"n/p", api.HealthCheckProbe{Address: "192.0.2.2", Host: "z.example.com"}, "its namespace publishes 192.0.2.2, but not for the host z.example.com" + nothing},
		{"n/p", api.HealthCheckProbe{Address: "198.51.100.1"}, ""}, // probe-allow covers it
		{"n/p", api.HealthCheckProbe{Invalid: "spec.address is missing"}, "spec.address is missing"},
		{"n/p", api.HealthCheckProbe{Address: "198.51.100.1", Meta: api.Meta{Fault: "not readable"}}, "not readable"},
	} {
		opt := &Options{Zones: healthOptions.Zones, ProbeAllow: mustPrefixes("198.51.100.0/24")}
		p := c.probe
		p.Check = tcpCheck
		w.setProbe(0, c.name, &p)
		if got := Compile(nil, w.objects(), opt, testTime).ProbeProblem(&p); got != c.want {
			t.Errorf("%s, %s %q: %q, want %q", c.name, p.Address, p.Host, got, c.want)
		}
		w.setProbe(0, c.name, nil)
	}
	p := &api.HealthCheckProbe{Address: "192.0.2.3", Check: tcpCheck}
	unlisted.setProbe(0, "n/p", p)
	if got := Compile(nil, unlisted.objects(), healthOptions, testTime).ProbeProblem(p); got != "" {
		t.Errorf("before all is listed: %s", got)
	}
	w.setProbe(0, "n/p", p)
	off := Compile(nil, w.objects(), &Options{Zones: healthOptions.Zones, ProbesOff: true}, testTime)
	if got := off.ProbeProblem(p); got != "no name of its namespace publishes 192.0.2.3: it counts for nothing" {
		t.Errorf("with probes off: %s", got)
	}
}

// TestProbeProblemAtTheApex: where a hostname cannot stand at the host itself, the
// names below klb have it, if there are any (rule 2.7).
func TestProbeProblemAtTheApex(t *testing.T) {
	for strategy, want := range map[api.Strategy]string{
		api.WeightedGeo: "",
		api.Simple:      "its namespace publishes lb.example.net, but no name is answered with it, as the status of the policies tells, and probe-allow does not cover it: it counts for nothing",
	} {
		w := newWorld("c")
		w.setGateway(0, "n/g", &api.Gateway{
			Listeners: []api.Listener{{Name: "l", Hostname: "example.com", AttachedRoutes: -1}},
			Addresses: []api.Address{{Type: api.HostnameAddress, Value: "lb.example.net"}},
		})
		w.setPolicy(0, "n/p", &api.DNSPolicy{Target: api.Target{Name: "g"}, Strategy: strategy, DefaultWeight: 1})
		p := &api.HealthCheckProbe{Address: "lb.example.net", Check: tcpCheck}
		w.setProbe(0, "n/p", p)
		if got := Compile(nil, w.objects(), healthOptions, testTime).ProbeProblem(p); got != want {
			t.Errorf("strategy %v: %q, want %q", strategy, got, want)
		}
	}
}
