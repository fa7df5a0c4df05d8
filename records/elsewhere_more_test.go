package records

import (
	"fmt"
	"slices"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"
)

func elsewhereWorld(t *testing.T, opt *Options, probe func(*api.HealthCheckProbe)) (*world, *Snapshot) {
	w := newWorld("c")
	w.setGateway(0, "n/gw", gatewayOf([]string{"app.example.net"}, "192.0.2.1"))
	p := parentOf("gw", "u", api.WeightedGeo)
	p.Provider = api.Provider{Kind: "ExternalDNS", Name: "theirs"}
	p.HealthCheck = &api.HealthCheck{Protocol: api.HTTP, Port: 80, Path: "/"}
	w.setPolicy(0, "n/p", p)
	pr := &api.HealthCheckProbe{Address: "192.0.2.1", Host: "", Check: api.HealthCheck{Protocol: api.TCP, Port: 81}, Healthy: api.ConditionTrue}
	probe(pr)
	w.setProbe(0, "n/mine", pr)
	return w, w.step(t, nil, opt)
}

func toldOf(s *Snapshot, of api.Ref) bool {
	return slices.ContainsFunc(s.ChildrenChanged(), func(p ParentRef) bool { return p.Of == of }) ||
		slices.ContainsFunc(s.Changed(), func(r Reported) bool { return r.Ref == of })
}

func elsewhereSays(s *Snapshot) string {
	return fmt.Sprintf("%+v %s", s.StatusNow("c", "n/p").Conditions, tellAll(s.Children("c", ofPolicy("n/p"))))
}

// TestElsewhereMoreProbesOff: with `probes off` the status of a probe that joins says how a target is (rule 4.1); whoever
// writes must be told when that changes what the policy and its DNSRecord say.
func TestElsewhereMoreProbesOff(t *testing.T) {
	opt := &Options{Zones: childOptions.Zones, ProbesOff: true}
	for _, host := range []string{"", "app.example.net"} {
		w, s := elsewhereWorld(t, opt, func(p *api.HealthCheckProbe) { p.Host = host })
		was := elsewhereSays(s)
		w.setProbe(0, "n/mine", &api.HealthCheckProbe{Address: "192.0.2.1", Host: host, Check: api.HealthCheck{Protocol: api.TCP, Port: 81}, Healthy: api.ConditionFalse})
		s = w.step(t, s, opt)
		if is := elsewhereSays(s); is != was && !toldOf(s, ofPolicy("n/p")) {
			t.Errorf("probe about %q: nobody is told: it said\n%s\nand says\n%s\nchanged %v", host, was, is, s.ChildrenChanged())
		} else if is == was {
			t.Logf("probe about %q: the same: %s", host, is)
		}
	}
}

// TestElsewhereMoreJoinedFollowers: a user's probe that joins the checks of what another controller publishes makes it down:
// who follows the probe's target is told so.
func TestElsewhereMoreJoinedFollowers(t *testing.T) {
	opt := &Options{Zones: childOptions.Zones, ProbeAllow: mustPrefixes("192.0.2.0/24")}
	w, s := elsewhereWorld(t, opt, func(*api.HealthCheckProbe) {})
	_ = w
	was := elsewhereSays(s)
	for key, target := range s.Checks().All() {
		if target.Port != 81 {
			continue
		}
		target.Cell.Set(health.Down)
		if is := elsewhereSays(s); is != was {
			told := false
			for _, ref := range s.Followers(key) {
				told = told || ref == ofPolicy("n/p")
			}
			if !told {
				t.Errorf("nobody is told: it said\n%s\nand says\n%s", was, is)
			}
		}
	}
}

// TestElsewhereMoreJoined: a user's probe joins the checks of what another controller publishes in its namespace, whether
// or not somebody else has it checked (rule 4.10).
func TestElsewhereMoreJoined(t *testing.T) {
	_, s := elsewhereWorld(t, childOptions, func(*api.HealthCheckProbe) {})
	n := 0
	for _, target := range s.Checks().All() {
		if target.Port == 81 {
			n++
		}
	}
	allowed, a := elsewhereWorld(t, &Options{Zones: childOptions.Zones, ProbeAllow: mustPrefixes("192.0.2.0/24")}, func(*api.HealthCheckProbe) {})
	_ = allowed
	for _, target := range a.Checks().All() {
		target.Cell.Set(health.Down)
		if target.Port != 81 {
			target.Cell.Set(health.Up)
		}
	}
	t.Logf("with the probe checked for another reason: %s", elsewhereSays(a))
	if n == 0 {
		t.Error("the probe is not checked, though it counts where somebody else has it checked")
	}
}

// TestElsewhereMoreOverride: the operator's word on a target of another controller's host is known to concern something.
func TestElsewhereMoreOverride(t *testing.T) {
	w, s := elsewhereWorld(t, childOptions, func(p *api.HealthCheckProbe) { p.Address = "192.0.2.9" })
	was := elsewhereSays(s)
	o, err := api.ParseOverrides("overrides", []byte("target 192.0.2.1 down\n"))
	if err != nil {
		t.Fatal(err)
	}
	w.overrides = o
	s = w.step(t, s, childOptions)
	is := elsewhereSays(s)
	if is == was {
		t.Skip("the word counts for nothing")
	}
	if !toldOf(s, ofPolicy("n/p")) {
		t.Errorf("nobody is told: %s, %s", was, is)
	}
	if unmet := s.Unmet(); len(unmet) > 0 {
		t.Errorf("it makes the policy say %s, and is logged as concerning nothing: %v", is, unmet)
	}
}
