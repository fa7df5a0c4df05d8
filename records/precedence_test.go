package records

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"
)

// answered returns the last records of the answers that a name gets, each once.
func answered(s *Snapshot, name string) string {
	seen := make(map[string]bool)
	for random := range uint64(64) {
		q := Query{Name: name, Owner: name, Type: dns.TypeA, Random: random}
		var a Answer
		s.Lookup(s.Zone(name), &q, &a)
		var last []string
		alias := ""
		for _, rr := range a.Answer {
			switch rr := rr.(type) {
			case *dns.A:
				last = append(last, rr.A.String())
			case *dns.CNAME:
				alias = rr.Target
			}
		}
		if len(last) == 0 {
			last = []string{alias}
		}
		seen[fmt.Sprintf("%s %s", strings.Join(last, " "), a.Class)] = true
	}
	var all []string
	for answer := range seen {
		all = append(all, answer)
	}
	slices.Sort(all)
	return strings.Join(all, " | ")
}

// TestPrecedence: the words on a target, on its Gateway and on its cluster, the
// annotations, Programmed and checks, in this order (rule 4.5), for simple and for
// weightedGeo hosts alike.
func TestPrecedence(t *testing.T) {
	opt := &Options{Zones: []ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300}}}
	for _, c := range []struct {
		name       string
		overrides  string
		annotation string // of the Gateway with .1 and .2
		programmed api.ConditionStatus
		down       string // what checks find
		simple     string // of .1 and .2 alone
		steered    string // beside .3, which is up
	}{
		{"nothing", "", "", 0, "", "192.0.2.1 192.0.2.2 up", "192.0.2.1 192.0.2.2 up | 192.0.2.3 up"},
		{"a check", "", "", 0, "192.0.2.2", "192.0.2.1 up", "192.0.2.1 up | 192.0.2.3 up"},
		{"Programmed before checks", "", "", api.ConditionFalse, "", "192.0.2.1 192.0.2.2 down", "192.0.2.3 up"},
		{"an annotation before Programmed", "", "up", api.ConditionFalse, "", "192.0.2.1 192.0.2.2 up", "192.0.2.1 192.0.2.2 up | 192.0.2.3 up"},
		{"an annotation before checks", "", "up", 0, "192.0.2.2", "192.0.2.1 192.0.2.2 up", "192.0.2.1 192.0.2.2 up | 192.0.2.3 up"},
		{"the file before an annotation", "gateway n/a up", "down", 0, "", "192.0.2.1 192.0.2.2 up", "192.0.2.1 192.0.2.2 up | 192.0.2.3 up"},
		{"the file's down before an annotation", "gateway n/a down", "up", 0, "", "192.0.2.1 192.0.2.2 forced-down", "192.0.2.3 up"},
		{"a Gateway before its cluster", "cluster c down\ngateway n/a up", "", 0, "", "192.0.2.1 192.0.2.2 up", "192.0.2.1 192.0.2.2 up"},
		{"a target before Programmed", "target 192.0.2.1 up", "", api.ConditionFalse, "", "192.0.2.1 up", "192.0.2.1 up | 192.0.2.3 up"},
		{"a target before an annotation", "target 192.0.2.1 up", "down", 0, "", "192.0.2.1 up", "192.0.2.1 up | 192.0.2.3 up"},
		{"a target before its Gateway", "target 192.0.2.1 down\ngateway n/a up", "", 0, "", "192.0.2.2 up", "192.0.2.2 up | 192.0.2.3 up"},
		{"a target before its check", "target 192.0.2.2 up", "", 0, "192.0.2.2", "192.0.2.1 192.0.2.2 up", "192.0.2.1 192.0.2.2 up | 192.0.2.3 up"},
		{"a drain stays with targets that are up", "target 192.0.2.1 up", "drain", 0, "", "192.0.2.1 192.0.2.2 drained", "192.0.2.3 up"},
		{"all of a member's targets forced down", "target 192.0.2.1 down\ntarget 192.0.2.2 down", "", 0, "192.0.2.3", "192.0.2.1 192.0.2.2 forced-down", "192.0.2.3 down"},
		{"a target forced down behind one that is down", "target 192.0.2.1 down", "", 0, "192.0.2.2 192.0.2.3", "192.0.2.2 down", "192.0.2.2 down | 192.0.2.3 down"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld("c")
			w.checkedHost("a", "g.example.com", "IE", "192.0.2.1", "192.0.2.2")
			w.checkedHost("b", "g.example.com", "IE", "192.0.2.3")
			g, _ := w.clusters[0].Gateways.Get("n/a")
			g.Listeners = append(g.Listeners, api.Listener{Name: "s", Hostname: "s.example.com", AttachedRoutes: -1})
			g.Programmed = c.programmed
			if c.annotation != "" {
				g.Annotations = map[string]string{annotationOverride: c.annotation}
			}
			p, _ := w.clusters[0].Policies.Get("n/a")
			simple := *p
			simple.Strategy, simple.Target.Section = api.Simple, "s"
			w.setPolicy(0, "n/s", &simple)
			var err error
			if w.overrides, err = api.ParseOverrides("o", []byte(c.overrides)); err != nil {
				t.Fatal(err)
			}
			snap := Compile(nil, w.objects(), opt, testTime)
			for address := range strings.FieldsSeq(c.down) {
				find(snap, address, health.Down)
			}
			if got := answered(snap, "s.example.com."); got != c.simple {
				t.Errorf("simple: %s, want %s", got, c.simple)
			}
			if got := answered(snap, "g.example.com."); got != c.steered {
				t.Errorf("weightedGeo: %s, want %s", got, c.steered)
			}
		})
	}
}

// TestTwoClustersOneAddress: an address or a hostname that two clusters publish is as
// good as the better Gateway, and all checks of it count.
func TestTwoClustersOneAddress(t *testing.T) {
	opt := &Options{Zones: []ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300}}}
	build := func(overrides string, strategy api.Strategy, ofA, ofB []api.Address) *Snapshot {
		t.Helper()
		w := newWorld("a", "b")
		for i, addresses := range [][]api.Address{ofA, ofB} {
			g := &api.Gateway{Listeners: []api.Listener{{Name: "l", Hostname: "h.example.com", AttachedRoutes: -1}}, Addresses: addresses}
			p := &api.DNSPolicy{Target: api.Target{Name: "g"}, Strategy: strategy, DefaultWeight: 1}
			if i == 1 {
				p.HealthCheck = someChecks[0]
			}
			w.setGateway(i, "n/g", g)
			w.setPolicy(i, "n/p", p)
		}
		var err error
		if w.overrides, err = api.ParseOverrides("o", []byte(overrides)); err != nil {
			t.Fatal(err)
		}
		return Compile(nil, w.objects(), opt, testTime)
	}
	ip := func(all ...string) (list []api.Address) {
		for _, a := range all {
			list = append(list, api.Address{Type: api.IPAddress, Value: a})
		}
		return list
	}
	host := func(all ...string) (list []api.Address) {
		for _, a := range all {
			list = append(list, api.Address{Type: api.HostnameAddress, Value: a})
		}
		return list
	}
	snap := build("", api.Simple, ip("192.0.2.1", "192.0.2.2"), ip("192.0.2.2", "192.0.2.3"))
	find(snap, "192.0.2.2", health.Down)
	if got := answered(snap, "h.example.com."); got != "192.0.2.1 192.0.2.3 up" {
		t.Errorf("an address that the other cluster checks: %s", got)
	}
	snap = build("cluster a down", api.Simple, ip("192.0.2.1", "192.0.2.2"), ip("192.0.2.2"))
	if got := answered(snap, "h.example.com."); got != "192.0.2.2 up" {
		t.Errorf("an address of which one cluster is forced down: %s", got)
	}
	snap = build("cluster a down", api.WeightedGeo, host("lb2.example.net"), host("lb2.example.net"))
	if got := answered(snap, "h.example.com."); got != "lb2.example.net. up" {
		t.Errorf("a hostname of which one cluster is forced down: %s", got)
	}
	snap = build("", api.WeightedGeo, host("lb1.example.net", "lb2.example.net"), host("lb2.example.net"))
	find(snap, "lb2.example.net", health.Down)
	if got := answered(snap, "h.example.com."); got != "lb1.example.net. up" {
		t.Errorf("a hostname that the other cluster checks: %s", got)
	}
	snap = build("", api.Simple, nil, host("lb2.example.net"))
	find(snap, "lb2.example.net", health.Down)
	if got := answered(snap, "h.example.com."); got != "lb2.example.net. down" || snap.FailsOpen("h.example.com") != allClients {
		t.Errorf("one hostname, which is down: %s, fails open for %q", got, snap.FailsOpen("h.example.com"))
	}
}

// TestDrainedByWeight: members that the operator has drained are chosen by weight.
func TestDrainedByWeight(t *testing.T) {
	opt := &Options{Zones: []ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300}}}
	w := newWorld("c")
	for name, weight := range map[string]int64{"a": 10, "b": 90} {
		w.checkedHost(name, "g.example.com", "IE", "192.0.2."+fmt.Sprint(weight))
		p, _ := w.clusters[0].Policies.Get("n/" + name)
		p.DefaultWeight = weight
		p.Annotations = map[string]string{annotationOverride: "drain"}
	}
	snap := Compile(nil, w.objects(), opt, testTime)
	seen := 0
	for random := range uint64(2000) {
		q := Query{Name: "g.example.com.", Owner: "g.example.com.", Type: dns.TypeA, Random: nextRandom(random)}
		var a Answer
		snap.Lookup(snap.Zone(q.Name), &q, &a)
		if a.Answer[len(a.Answer)-1].(*dns.A).A.String() == "192.0.2.10" {
			seen++
		}
	}
	if seen < 140 || seen > 260 {
		t.Errorf("%d of 2000 for a tenth of the weight", seen)
	}
}

// TestTTLWhereAProbeChecks: the upper CNAMEs of a chain live no longer than failover
// may take where a probe alone checks.
func TestTTLWhereAProbeChecks(t *testing.T) {
	opt := &Options{Zones: []ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300}}}
	w := newWorld("c")
	w.checkedHost("a", "g.example.com", "IE", "192.0.2.1")
	p, _ := w.clusters[0].Policies.Get("n/a")
	p.HealthCheck = nil
	for _, want := range []uint32{300, 60} {
		snap := Compile(nil, w.objects(), opt, testTime)
		n, _ := snap.Zone("g.example.com.").names.Get("g.example.com.")
		if ttl := n.steered.view.pool.members[0].answers[famA][0].Header().Ttl; ttl != want {
			t.Errorf("TTL %d, want %d", ttl, want)
		}
		w.setProbe(0, "n/p", &api.HealthCheckProbe{Address: "192.0.2.1", Check: tcpCheck})
	}
}
