package records

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"
)

// checkedHost puts a Gateway with a checked policy into the first cluster.
func (w *world) checkedHost(name, host, geo string, addresses ...string) {
	g := &api.Gateway{Listeners: []api.Listener{{Name: "l", Hostname: host, AttachedRoutes: -1}}}
	for _, a := range addresses {
		g.Addresses = append(g.Addresses, api.Address{Type: api.IPAddress, Value: a})
	}
	p := &api.DNSPolicy{Target: api.Target{Name: name}, HealthCheck: someChecks[0]}
	if geo != "" {
		p.Strategy, p.DefaultWeight, p.Geo, p.DefaultGeo = api.WeightedGeo, 1, geo, "IE"
	}
	w.setGateway(0, "n/"+name, g)
	w.setPolicy(0, "n/"+name, p)
}

// find sets what checks have found of the targets at an address.
func find(s *Snapshot, address string, state health.State) {
	for _, t := range s.Checks().All() {
		if t.Address == address {
			t.Cell.Set(state)
		}
	}
}

// status writes down what there is to say about health.
func status(s *Snapshot, policy string) string {
	v := s.StatusNow("c", policy)
	var lines []string
	for _, c := range v.Conditions {
		if c.Type == conditionSubResources {
			lines = append(lines, c.Status.String()+" "+c.Reason+": "+c.Message)
		}
	}
	for _, r := range v.Records {
		for _, c := range r.Conditions {
			lines = append(lines, r.Host+" "+c.Type+" "+c.Status.String()+" "+c.Reason+": "+c.Message)
		}
	}
	return strings.Join(lines, "\n")
}

// TestStatusNow: what a policy's status says of its targets (rule 4.8, cases I3, I4,
// I6, I7 and I9).
func TestStatusNow(t *testing.T) {
	opt := &Options{Zones: []ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300}}}
	w := newWorld("c")
	w.checkedHost("s", "s.example.com", "", "172.32.200.1", "172.32.200.2")
	w.checkedHost("ie", "g.example.com", "IE", "172.32.200.3")
	w.checkedHost("us", "g.example.com", "US", "172.32.200.4")
	snap := Compile(nil, w.objects(), opt, testTime)
	const (
		good   = "True SubResourcesHealthy: All sub-resources are healthy"
		issues = "False Unknown: DNSPolicy has encountered some issues: not all sub-resources of policy are passing the policy defined health check. Not healthy DNSRecords are: "
		open   = "; none is left that is healthy, so answers hold these (fail-open)"
	)
	for _, step := range []struct {
		address      string
		state        health.State
		policy, want string
		failing      string // hosts that fail open
	}{
		{"172.32.200.9", health.Up, "n/s", good, ""},
		{"172.32.200.1", health.Unknown, "n/s", good, ""},
		{"172.32.200.1", health.Down, "n/s", issues + "s-l \ns.example.com Healthy False SomeChecksPassed: Not healthy addresses: [172.32.200.1]", ""},
		{"172.32.200.2", health.Down, "n/s", issues + "s-l \ns.example.com Healthy False HealthChecksFailed: Not healthy addresses: [172.32.200.1 172.32.200.2]" + open, "s.example.com"},
		{"172.32.200.1", health.Up, "n/s", issues + "s-l \ns.example.com Healthy False SomeChecksPassed: Not healthy addresses: [172.32.200.2]", ""},
		{"172.32.200.2", health.Up, "n/s", good, ""},
		{"172.32.200.3", health.Down, "n/ie", issues + "ie-l \ng.example.com Healthy False HealthChecksFailed: Not healthy addresses: [172.32.200.3]", ""},
		{"172.32.200.3", health.Down, "n/us", good, ""},
		{"172.32.200.4", health.Down, "n/us", issues + "us-l \ng.example.com Healthy False HealthChecksFailed: Not healthy addresses: [172.32.200.4]" + open, "g.example.com"},
	} {
		find(snap, step.address, step.state)
		if got := status(snap, step.policy); got != step.want {
			t.Errorf("%s is %v: %s says\n%s\nwant\n%s", step.address, step.state, step.policy, got, step.want)
		}
		for _, host := range []string{"s.example.com", "g.example.com", "no.example.com", "elsewhere.org"} {
			want := ""
			if host == step.failing {
				want = "all clients"
			}
			if got := snap.FailsOpen(host); got != want {
				t.Errorf("%s is %v: %s fails open for %q", step.address, step.state, host, got)
			}
		}
	}
	p, _ := w.clusters[0].Policies.Get("n/s")
	unchecked := *p
	unchecked.HealthCheck = nil
	w.setPolicy(0, "n/s", &unchecked)
	snap = Compile(snap, w.objects(), opt, testTime)
	if got := status(snap, "n/s"); got != "" {
		t.Errorf("without a check the status says %s", got)
	}
	if v := snap.StatusNow("c", "n/none"); v != nil {
		t.Errorf("a policy that is not there has the status %+v", v)
	}
}

// TestFailsOpenFor: a bound on how far a spill may go makes a host fail open for the
// geographies that may not spill, and a wider geography stands in for a narrower one.
func TestFailsOpenFor(t *testing.T) {
	opt := &Options{Zones: []ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300}}}
	for _, c := range []struct {
		codes, bound, down, forced string
		want                       string
	}{
		{"IE US DE", "any", "US", "", ""},
		{"IE US DE", "any", "IE", "", ""},
		{"IE US DE", "any", "US IE DE", "", "all clients"},
		{"IE US DE", "default", "US", "", ""},
		{"IE US DE", "default", "IE", "", "clients in IE, other places"},
		{"IE US DE", "default", "US DE", "", ""},
		{"IE US DE", "none", "US", "", "clients in US"},
		{"IE US DE", "none", "IE", "", "clients in IE, other places"},
		{"IE US DE", "none", "", "", ""},
		{"IE US DE", "none", "", "US", ""}, // a member that is forced down is none
		{"IE GEO-EU US", "none", "IE", "", "clients in other places"},
		{"IE GEO-EU US", "none", "GEO-EU", "", "clients in GEO-EU"},
	} {
		w := newWorld("c")
		addresses := make(map[string]string)
		for i, code := range strings.Fields(c.codes) {
			name := strings.ToLower(code)
			addresses[code] = fmt.Sprintf("192.0.2.%d", i)
			w.checkedHost(name, "g.example.com", code, addresses[code])
			p, _ := w.clusters[0].Policies.Get("n/" + name)
			p.Annotations = map[string]string{annotationFallback: c.bound}
			if code == c.forced {
				p.Annotations[annotationOverride] = "down"
			}
		}
		snap := Compile(nil, w.objects(), opt, testTime)
		for code := range strings.FieldsSeq(c.down) {
			find(snap, addresses[code], health.Down)
		}
		if got := snap.FailsOpen("g.example.com"); got != c.want {
			t.Errorf("%s, %q down, %q forced down: fails open for %q, want %q", c.bound, c.down, c.forced, got, c.want)
		}
	}
}

// tcpCheck is another check than that of checkedHost.
var tcpCheck = api.HealthCheck{Protocol: api.TCP, Port: 443, Interval: time.Second, FailureThreshold: 1, SuccessThreshold: 1}

// TestJoined: probes by hand join the checks of their namespace's names, and begin
// none elsewhere unless they may (rule 4.10).
func TestJoined(t *testing.T) {
	opt := &Options{Zones: []ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300}}}
	probe := func(address, host string) *api.HealthCheckProbe {
		return &api.HealthCheckProbe{Address: address, Host: host, Check: tcpCheck}
	}
	w := newWorld("c")
	w.checkedHost("s", "s.example.com", "", "192.0.2.1", "192.0.2.2")
	snap := Compile(nil, w.objects(), opt, testTime)
	count := func(want int) {
		t.Helper()
		if got := snap.Checks().Len(); got != want {
			t.Errorf("%d targets, want %d", got, want)
		}
	}
	up := func(want string) {
		t.Helper()
		n, _ := snap.Zone("s.example.com.").names.Get("s.example.com.")
		rrs, _ := n.steered.set.answer(famA, nil)
		var all []string
		for _, rr := range rrs {
			all = append(all, strings.Fields(rr.String())[4])
		}
		if got := strings.Join(all, " "); got != want {
			t.Errorf("answer %s, want %s", got, want)
		}
	}
	compile := func() {
		snap = Compile(snap, w.objects(), opt, testTime)
	}
	count(2)
	w.setProbe(0, "n/p", probe("192.0.2.1", ""))
	w.setProbe(0, "other/p", probe("192.0.2.2", "")) // whose addresses are another's
	w.setProbe(0, "n/q", probe("192.0.2.9", ""))     // that nobody publishes
	compile()
	count(3)
	up("192.0.2.1 192.0.2.2")
	joins := func(address string, state health.State) {
		for _, target := range snap.Checks().All() {
			if target.Address == address && target.Protocol == health.TCP {
				target.Cell.Set(state)
			}
		}
	}
	joins("192.0.2.1", health.Down)
	up("192.0.2.2")
	if got := status(snap, "n/s"); !strings.Contains(got, "Not healthy addresses: [192.0.2.1]") {
		t.Errorf("status %s", got)
	}
	for host, want := range map[string]int{"a.example.com": 2, "s.example.com": 3, "internal.test": 3} {
		w.setProbe(0, "n/p", probe("192.0.2.1", host))
		compile()
		if count(want); want == 2 {
			up("192.0.2.1 192.0.2.2")
		}
	}
	own := probe("192.0.2.1", "")
	own.Controlled = true
	w.setProbe(0, "n/p", own)
	compile()
	count(2)
	w.setProbe(0, "n/p", nil)
	compile()
	count(2)
	up("192.0.2.1 192.0.2.2")

	// Without a check of its own the name is as its probe says.
	unchecked := *someChecks[0]
	p, _ := w.clusters[0].Policies.Get("n/s")
	without := *p
	without.HealthCheck = nil
	w.setPolicy(0, "n/s", &without)
	w.setProbe(0, "n/p", &api.HealthCheckProbe{Address: "192.0.2.2", Check: unchecked})
	compile()
	count(1)
	find(snap, "192.0.2.2", health.Down)
	up("192.0.2.1")

	// What the operator allows is checked whoever publishes it.
	opt = &Options{Zones: opt.Zones, ProbeAllow: mustPrefixes("192.0.2.8/29")}
	compile()
	count(2)
	up("192.0.2.1")
	w.setProbe(0, "n/q", nil)
	compile()
	count(1)
}

func mustPrefixes(texts ...string) (all []netip.Prefix) {
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

// TestForeignTerms: what another tenant, or another policy, makes of the same check
// says nothing about mine, and an edit of my own interval keeps what I know.
func TestForeignTerms(t *testing.T) {
	opt := &Options{Zones: []ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300}}}
	check := func(interval time.Duration, expected int) *api.HealthCheck {
		h := *someChecks[0]
		h.Host, h.Interval, h.Expected = "s.example.com", interval, []int{expected}
		return &h
	}
	w := newWorld("c")
	w.checkedHost("a", "a.example.com", "", "192.0.2.1")
	w.checkedHost("s", "s.example.com", "", "192.0.2.1")
	edit := func(name string, h *api.HealthCheck) {
		p, _ := w.clusters[0].Policies.Get("n/" + name)
		next := *p
		next.HealthCheck = h
		w.setPolicy(0, "n/"+name, &next)
	}
	edit("a", check(time.Second, 599))
	edit("s", nil)
	snap := Compile(nil, w.objects(), opt, testTime)
	find(snap, "192.0.2.1", health.Down)
	state := func() health.State {
		t.Helper()
		n, _ := snap.Zone("s.example.com.").names.Get("s.example.com.")
		return n.steered.set.vitals[0].check.Load().State()
	}
	for _, step := range []struct {
		check *api.HealthCheck
		find  health.State
		want  health.State
	}{
		{check(time.Minute, 200), health.Up, health.Up}, // with a's word, it would be down
		{check(time.Hour, 200), health.Down, health.Up}, // an edit keeps what is known
		{check(time.Minute, 200), health.Up, health.Down},
		{check(time.Minute, 201), health.Down, health.Up}, // it asks for something else
	} {
		edit("s", step.check)
		snap = Compile(snap, w.objects(), opt, testTime)
		if got := state(); got != step.want {
			t.Errorf("every %s for %v: begins %v, want %v", step.check.Interval, step.check.Expected, got, step.want)
		}
		n, _ := snap.Zone("s.example.com.").names.Get("s.example.com.")
		n.steered.set.vitals[0].check.Set(step.find)
	}
}

// TestManyProbesOfOneAddress: no more of them join than a query can look at.
func TestManyProbesOfOneAddress(t *testing.T) {
	opt := &Options{Zones: []ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300}}}
	w := newWorld("c")
	w.checkedHost("s", "s.example.com", "", "192.0.2.1")
	for i := range 100 {
		check := tcpCheck
		check.Port = uint16(2000 + i)
		w.setProbe(0, fmt.Sprintf("n/p%02d", i), &api.HealthCheckProbe{Address: "192.0.2.1", Check: check})
	}
	snap := Compile(nil, w.objects(), opt, testTime)
	if got := snap.Checks().Len(); got != 1+maxJoined {
		t.Errorf("%d checks", got)
	}
	w.setProbe(0, "n/p00", nil) // the next one takes its place
	snap = Compile(snap, w.objects(), opt, testTime)
	if got := snap.Checks().Len(); got != 1+maxJoined {
		t.Errorf("%d checks after one is gone", got)
	}
}

// TestChainOfCheckedHost: where a host is checked and its wildcard is not, the names
// below klb, which they share, are answered by what is known of the host.
func TestChainOfCheckedHost(t *testing.T) {
	opt := &Options{Zones: []ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300}}}
	w := newWorld("c")
	for i, name := range []string{"one", "two"} {
		w.checkedHost(name, "h.example.com", "IE", fmt.Sprintf("192.0.2.%d", i+1))
		g, _ := w.clusters[0].Gateways.Get("n/" + name)
		g.Listeners = append(g.Listeners, api.Listener{Name: "w", Hostname: "*.h.example.com", AttachedRoutes: -1})
	}
	snap := Compile(nil, w.objects(), opt, testTime)
	find(snap, "192.0.2.2", health.Down)
	for _, name := range []string{"h.example.com.", "klb.h.example.com.", "ie.klb.h.example.com."} {
		seen := make(map[string]int)
		for random := range uint64(50) {
			q := Query{Name: name, Owner: name, Type: dns.TypeA, Random: random}
			var a Answer
			snap.Lookup(snap.Zone(name), &q, &a)
			seen[a.Answer[len(a.Answer)-1].(*dns.A).A.String()]++
		}
		if seen["192.0.2.1"] != 50 {
			t.Errorf("%s: %v", name, seen)
		}
	}
}

// TestStatusBeforeAnEdit: with probes off, a status that is about another generation
// of a probe says nothing.
func TestStatusBeforeAnEdit(t *testing.T) {
	opt := &Options{Zones: []ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300}}, ProbesOff: true}
	for observed, want := range map[int64]health.State{0: health.Down, 1: health.Up, 2: health.Down} {
		w := newWorld("c")
		w.checkedHost("s", "s.example.com", "", "192.0.2.1")
		w.setProbe(0, "n/p", &api.HealthCheckProbe{
			Meta: api.Meta{Generation: 2}, Address: "192.0.2.1", Check: tcpCheck, Healthy: api.ConditionFalse, ObservedGeneration: observed,
		})
		snap := Compile(nil, w.objects(), opt, testTime)
		n, _ := snap.Zone("s.example.com.").names.Get("s.example.com.")
		state := health.Up
		if vitals := n.steered.set.vitals; vitals != nil {
			state, _ = vitals[0].state()
		}
		if state != want {
			t.Errorf("observed generation %d of 2: %v, want %v", observed, state, want)
		}
	}
}

// TestHistoryOfANamesake: a DNSRecord does not begin with what the check of a DNSPolicy
// of its namespace and name has found (rule 4.7): that is another object.
func TestHistoryOfANamesake(t *testing.T) {
	opt := &Options{Zones: []ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300}}}
	w := newWorld("c")
	w.checkedHost("s", "s.example.com", "", "192.0.2.1")
	snap := Compile(nil, w.objects(), opt, testTime)
	find(snap, "192.0.2.1", health.Down)
	w.setPolicy(0, "n/s", nil)
	h := *someChecks[0]
	h.Interval *= 2
	w.setDNSRecord(0, "n/s", &api.DNSRecord{Meta: api.Meta{Labels: map[string]string{api.LabelZoneName: "example.com"}}, RootHost: "s.example.com.", HealthCheck: &h, Endpoints: []api.Endpoint{
		{DNSName: "s.example.com.", Type: "A", TTL: api.NoTTL, Targets: []string{"192.0.2.1"}},
	}})
	snap = Compile(snap, w.objects(), opt, testTime)
	if n := snap.Checks().Len(); n != 1 {
		t.Fatalf("%d targets are checked: %s", n, verdictText(snap, api.KindDNSRecord, "n/s"))
	}
	for _, target := range snap.Checks().All() {
		if got := target.Cell.Load().State(); got != health.Up {
			t.Errorf("begins %v", got)
		}
	}
}
