package records

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestProbesThatSayNothingCostNothing: what a controller writes about a target says
// nothing where we check ourselves, so its status has nothing made anew.
func TestProbesThatSayNothingCostNothing(t *testing.T) {
	w := newWorld("c")
	w.checkedHost("s", "s.example.com", "", "192.0.2.1")
	var snap *Snapshot
	for i, healthy := range []api.ConditionStatus{api.ConditionTrue, api.ConditionFalse} {
		w.setProbe(0, "n/p", &api.HealthCheckProbe{Meta: api.Meta{Controlled: true}, Address: "192.0.2.1", Host: "s.example.com", Check: tcpCheck, Healthy: healthy})
		snap = Compile(snap, w.objects(), healthOptions, testTime)
		if i > 0 && len(snap.Renewed()) > 0 {
			t.Errorf("the status of a probe that counts for nothing has %q made anew", snap.Renewed())
		}
	}
}

// TestRenewedByProbe: a probe that comes, changes or goes has those hosts made anew
// that it is meant for, among all that share its address.
func TestRenewedByProbe(t *testing.T) {
	asking := *someChecks[0]
	asking.Host = "asked.example.com"
	probe := func(host string, healthy api.ConditionStatus) *api.HealthCheckProbe {
		p := &api.HealthCheckProbe{Address: "192.0.2.1", Host: host, Check: tcpCheck, Healthy: healthy}
		p.Check.Host = host
		return p
	}
	written := func(host string, healthy api.ConditionStatus) *api.HealthCheckProbe {
		p := probe(host, healthy)
		p.Controlled = true
		return p
	}
	slower := probe("b.example.com", api.ConditionUnknown)
	slower.Check.Interval *= 2
	const up, down = api.ConditionTrue, api.ConditionFalse
	for _, c := range []struct {
		name          string
		before, after *api.HealthCheckProbe
		on, off       string // with probes on and off
	}{
		{"about all comes", nil, probe("", down), "a b d w", "a b d w"},
		{"about a host outside goes", probe("internal.test", down), nil, "a b d w", "a b d w"},
		{"about one host", nil, probe("b.example.com", down), "b", "b"},
		{"below the wildcard", nil, probe("x.y.w.example.com", down), "w", "w"},
		{"at the wildcard", nil, probe("*.w.example.com", down), "w", "w"},
		{"above the wildcard", nil, probe("w.example.com", down), "", ""},
		{"about what a check asks for", nil, probe("asked.example.com", down), "d", "d"},
		{"about nothing here", nil, probe("z.example.com", down), "", ""},
		{"from one to another", probe("a.example.com", down), probe("b.example.com", down), "a b", "a b"},
		{"another status", probe("b.example.com", up), probe("b.example.com", down), "", "b"},
		{"another status that says the same", probe("b.example.com", up), probe("b.example.com", api.ConditionUnknown), "", ""},
		{"other terms", probe("b.example.com", up), slower, "b", ""},
		{"written by a controller", written("b.example.com", up), written("b.example.com", down), "", "b"},
		{"written about a host that is not checked", written("a.example.com", up), written("a.example.com", down), "", ""},
		{"no longer written by a controller", written("b.example.com", down), probe("b.example.com", down), "b", "b"},
	} {
		for probesOff, want := range map[bool]string{false: c.on, true: c.off} {
			opt := &Options{Zones: healthOptions.Zones, ProbesOff: probesOff}
			w := newWorld("c")
			for name, host := range map[string]string{"a": "a.example.com", "b": "b.example.com", "d": "d.example.com", "w": "*.w.example.com"} {
				w.checkedHost(name, host, "", "192.0.2.1")
				check := map[string]*api.HealthCheck{"b": someChecks[0], "d": &asking}[name]
				w.setPolicy(0, "n/"+name, &api.DNSPolicy{Target: api.Target{Name: name}, HealthCheck: check})
			}
			w.checkedHost("elsewhere", "b.example.org", "", "192.0.2.2")
			if c.before != nil {
				w.setProbe(0, "n/p", c.before)
			}
			snap := Compile(nil, w.objects(), opt, testTime)
			w.setProbe(0, "n/p", c.after)
			snap = Compile(snap, w.objects(), opt, testTime)
			var hosts []string
			for _, group := range snap.Renewed() {
				hosts = append(hosts, group[:1])
			}
			if got := strings.Join(hosts, " "); got != want {
				t.Errorf("%s, probes off %v: %q made anew, want %q", c.name, probesOff, got, want)
			}
			if got, want := dump(snap), dump(Compile(nil, w.objects(), opt, testTime)); got != want {
				t.Errorf("%s, probes off %v:\n%s\nfrom nothing:\n%s", c.name, probesOff, got, want)
			}
		}
	}
}

// TestProbesOfManyHosts: probes of one address that name other hosts are not looked
// at, so twice as many of both make a compile twice the work, not four times.
func TestProbesOfManyHosts(t *testing.T) {
	work := func(n int) float64 {
		w := newWorld("c")
		for i := range n {
			w.checkedHost(fmt.Sprintf("g%d", i), fmt.Sprintf("h%d.example.com", i), "", "192.0.2.1")
			w.setProbe(0, fmt.Sprintf("n/p%d", i), &api.HealthCheckProbe{Address: "192.0.2.1", Host: fmt.Sprintf("elsewhere%d.example.com", i), Check: tcpCheck})
		}
		return testing.AllocsPerRun(2, func() { Compile(nil, w.objects(), healthOptions, testTime) })
	}
	if some, twice := work(150), work(300); twice > 2.5*some {
		t.Errorf("%v allocations with 150 hosts and probes, %v with 300", some, twice)
	}
}

// TestJoinedFirst: of too many probes those join that are about the least, and of
// these the first by name.
func TestJoinedFirst(t *testing.T) {
	w := newWorld("c")
	w.checkedHost("s", "s.example.com", "", "192.0.2.1")
	for i := range maxJoined {
		for _, host := range []string{"", "s.example.com"} {
			check := tcpCheck
			check.Host, check.Port = host, uint16(2000+i)
			if i%2 == 0 {
				w.setProbe(0, fmt.Sprintf("n/%02d%s", i, host), &api.HealthCheckProbe{Address: "192.0.2.1", Host: host, Check: check})
			}
			check.Port += 100
			w.setProbe(0, fmt.Sprintf("n/x%02d", i), &api.HealthCheckProbe{Address: "192.0.2.1", Check: check})
		}
	}
	snap := Compile(nil, w.objects(), healthOptions, testTime)
	var joined []string
	for _, target := range snap.Checks().All() {
		if target.Port >= 2000 {
			joined = append(joined, fmt.Sprintf("%d%s", target.Port, target.Host))
		}
	}
	slices.Sort(joined)
	var want []string
	for i := 0; i < maxJoined; i += 2 {
		want = append(want, fmt.Sprintf("%d", 2000+i), fmt.Sprintf("%ds.example.com", 2000+i))
	}
	if !slices.Equal(joined, want) {
		t.Errorf("%q join, want %q", joined, want)
	}
}
