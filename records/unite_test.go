package records

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
)

// compiles compiles w and asks for everything that depends on health, and fails where
// that panics (rule 8.4).
func compiles(t *testing.T, w *world, opt *Options, hosts ...string) (snap *Snapshot) {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("panic: %v", r)
		}
	}()
	s := Compile(nil, w.objects(), opt, testTime)
	for _, h := range hosts {
		for _, qtype := range []uint16{dns.TypeA, dns.TypeAAAA, dns.TypeCNAME} {
			var a Answer
			s.Lookup(s.Zone(h), &Query{Name: h, Owner: h, Type: qtype}, &a)
		}
		s.FailsOpen(trimDot(h))
	}
	return s
}

func steeringPolicy(gateway, section string, check *api.HealthCheck) *api.DNSPolicy {
	return &api.DNSPolicy{Target: api.Target{Name: gateway, Section: section}, Strategy: api.WeightedGeo, DefaultWeight: 1, HealthCheck: check}
}

// TestOneLeafOfTwoSizes: several claims, or one Gateway, may come to the same leaf
// with different addresses. Nothing panics (rule 8.4).
func TestOneLeafOfTwoSizes(t *testing.T) {
	opt := &Options{Zones: []ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300}}}
	grpc := someChecks[4] // names a host: a wildcard is checked too
	multi := func(values ...string) (all []api.Address) {
		for _, v := range values {
			all = append(all, api.Address{Type: api.MultiClusterIPAddress, Value: v})
		}
		return all
	}
	single := func(values ...string) (all []api.Address) {
		for _, v := range values {
			all = append(all, api.Address{Type: api.IPAddress, Value: v})
		}
		return all
	}
	listeners := []api.Listener{{Name: "h", Hostname: "h.example.com", AttachedRoutes: -1}}
	both := append(listeners[:1:1], api.Listener{Name: "w", Hostname: "*.h.example.com", AttachedRoutes: -1})

	t.Run("the local cluster by its UID and bare", func(t *testing.T) {
		w := newWorld("c")
		w.setGateway(0, "n/g", &api.Gateway{Listeners: listeners, Addresses: multi("uid-c/192.0.2.1", "192.0.2.2", "192.0.2.3")})
		w.setPolicy(0, "n/p", steeringPolicy("g", "", grpc))
		compiles(t, w, opt, "h.example.com.")
	})
	t.Run("two clusters list one member differently", func(t *testing.T) {
		w := newWorld("a", "b")
		for i, all := range [][]api.Address{multi("east/192.0.2.1", "east/192.0.2.2"), multi("east/192.0.2.1")} {
			w.setGateway(i, "n/g", &api.Gateway{Listeners: listeners, Addresses: all})
			w.setPolicy(i, "n/p", steeringPolicy("g", "", grpc))
		}
		compiles(t, w, opt, "h.example.com.")
	})
	t.Run("the first of two clusters is not checked", func(t *testing.T) {
		w := newWorld("a", "b")
		for i, all := range [][]api.Address{multi("east/192.0.2.1", "east/192.0.2.2"), multi("east/192.0.2.1")} {
			w.setGateway(i, "n/g", &api.Gateway{Listeners: listeners, Addresses: all})
			w.setPolicy(i, "n/p", steeringPolicy("g", "", []*api.HealthCheck{nil, grpc}[i]))
		}
		compiles(t, w, opt, "h.example.com.")
	})
	t.Run("a host and its wildcard exclude different addresses", func(t *testing.T) {
		w := newWorld("c")
		w.setGateway(0, "n/g", &api.Gateway{Listeners: both, Addresses: single("192.0.2.1", "192.0.2.2")})
		w.setPolicy(0, "n/p", steeringPolicy("g", "", grpc))
		q := steeringPolicy("g", "w", grpc)
		q.Exclude = []api.Exclusion{{Prefix: netip.MustParsePrefix("192.0.2.2/32")}}
		w.setPolicy(0, "n/q", q)
		compiles(t, w, opt, "h.example.com.", "*.h.example.com.", "klb.h.example.com.")
	})
	t.Run("two Gateways whose names have one hash", func(t *testing.T) {
		seen := make(map[string]string)
		one, two := "", ""
		for i := 0; two == ""; i++ {
			name := fmt.Sprintf("g%d", i)
			h := endpoint.Hash(name + "-n")
			if one = seen[h]; one != "" {
				two = name
			}
			seen[h] = name
		}
		w := newWorld("c")
		for i, name := range []string{one, two} {
			w.setGateway(0, "n/"+name, &api.Gateway{Listeners: listeners, Addresses: [][]api.Address{single("192.0.2.1"), single("192.0.2.2", "192.0.2.3")}[i]})
			w.setPolicy(0, "n/"+name, steeringPolicy(name, "", grpc))
		}
		compiles(t, w, opt, "h.example.com.")
	})
}

// TestOneLeafOfTwoAddresses: what checks find of one address says nothing of another
// that stands in its place in the same leaf, and no address is lost.
func TestOneLeafOfTwoAddresses(t *testing.T) {
	opt := &Options{Zones: []ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300}}}
	w := newWorld("c")
	var all []api.Address
	for _, v := range []string{"uid-c/192.0.2.1", "192.0.2.2"} {
		all = append(all, api.Address{Type: api.MultiClusterIPAddress, Value: v})
	}
	w.setGateway(0, "n/g", &api.Gateway{Listeners: []api.Listener{{Name: "h", Hostname: "h.example.com", AttachedRoutes: -1}}, Addresses: all})
	w.setPolicy(0, "n/p", steeringPolicy("g", "", someChecks[0]))
	snap := compiles(t, w, opt)
	if got := answered(snap, "h.example.com."); got != "192.0.2.1 192.0.2.2 up" {
		t.Errorf("answer %s, want both addresses", got)
	}
	find(snap, "192.0.2.2", health.Down)
	if got := answered(snap, "h.example.com."); got != "192.0.2.1 up" {
		t.Errorf("with 192.0.2.2 down: answer %s, want 192.0.2.1 up", got)
	}
}

// TestAnnotationOfOneOfTwoHosts: the operator's word on a policy holds for its host,
// also where another policy publishes the wildcard of the host (rule 4.5).
func TestAnnotationOfOneOfTwoHosts(t *testing.T) {
	opt := &Options{Zones: []ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300}}}
	for _, word := range []string{"down", "drain"} {
		for _, wildcard := range []bool{false, true} {
			w := newWorld("c")
			for i, name := range []string{"one", "two"} {
				g := &api.Gateway{
					Listeners: []api.Listener{{Name: "h", Hostname: "h.example.com", AttachedRoutes: -1}},
					Addresses: []api.Address{{Type: api.IPAddress, Value: fmt.Sprintf("192.0.2.%d", i+1)}},
				}
				if wildcard {
					g.Listeners = append(g.Listeners, api.Listener{Name: "w", Hostname: "*.h.example.com", AttachedRoutes: -1})
				}
				w.setGateway(0, "n/"+name, g)
				w.setPolicy(0, "n/"+name, steeringPolicy(name, "", nil))
			}
			p := steeringPolicy("one", "h", nil)
			p.Annotations = map[string]string{annotationOverride: word}
			w.setPolicy(0, "n/own", p)
			snap := compiles(t, w, opt)
			if got := answered(snap, "h.example.com."); got != "192.0.2.2 up" {
				t.Errorf("%s, wildcard %v: h.example.com is answered by %s, want 192.0.2.2 up", word, wildcard, got)
			}
		}
	}
}

// TestHostAndWildcard: a host and its wildcard share a chain where their members are
// chosen alike; what else differs, such as the check of another policy, makes both
// flat, and stays with its own host (rules 2.3 and 4.7).
func TestHostAndWildcard(t *testing.T) {
	opt := &Options{Zones: []ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300}}}
	unnamed, named := someChecks[0], someChecks[4]
	bounded := func(p *api.DNSPolicy) { p.Annotations = map[string]string{annotationFallback: "none"} }
	lighter := func(p *api.DNSPolicy) { p.DefaultWeight = 2 }
	for _, c := range []struct {
		name           string
		host, wildcard *api.HealthCheck
		own            bool // the wildcard has policies of its own
		edit           func(*api.DNSPolicy)
		// answers where 192.0.2.1 is down for whoever checks it
		hostAnswer, wildcardAnswer string
	}{
		{"one policy, check without a host", unnamed, unnamed, false, nil, "192.0.2.2 up", "192.0.2.2 up"},
		{"one policy, check with a host", named, named, false, nil, "192.0.2.2 up", "192.0.2.2 up"},
		{"two policies, one check", named, named, true, nil, "192.0.2.2 up", "192.0.2.2 up"},
		{"the wildcard's policy checks nothing", unnamed, nil, true, nil, "192.0.2.2 up", "192.0.2.1 up | 192.0.2.2 up"},
		{"the host's policy checks nothing", nil, named, true, nil, "192.0.2.1 up | 192.0.2.2 up", "192.0.2.2 up"},
		{"two policies without checks", nil, nil, true, nil, "192.0.2.1 up | 192.0.2.2 up", "192.0.2.1 up | 192.0.2.2 up"},
		{"two policies with other weights", nil, nil, true, lighter, "192.0.2.1 up | 192.0.2.2 up", "192.0.2.1 up | 192.0.2.2 up"},
		{"two policies with other bounds", nil, nil, true, bounded, "192.0.2.1 up | 192.0.2.2 up", "192.0.2.1 up | 192.0.2.2 up"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld("c")
			for i, name := range []string{"one", "two"} {
				w.setGateway(0, "n/"+name, &api.Gateway{
					Listeners: []api.Listener{{Name: "h", Hostname: "h.example.com", AttachedRoutes: -1}, {Name: "w", Hostname: "*.h.example.com", AttachedRoutes: -1}},
					Addresses: []api.Address{{Type: api.IPAddress, Value: fmt.Sprintf("192.0.2.%d", i+1)}},
				})
				w.setPolicy(0, "n/"+name, steeringPolicy(name, "", c.host))
				if c.own {
					p := steeringPolicy(name, "w", c.wildcard)
					if c.edit != nil {
						c.edit(p)
					}
					w.setPolicy(0, "n/w-"+name, p)
				}
			}
			snap := compiles(t, w, opt)
			for _, target := range snap.Checks().All() {
				if target.Address == "192.0.2.1" {
					target.Cell.Set(health.Down)
				}
			}
			for host, want := range map[string]string{"h.example.com.": c.hostAnswer, "*.h.example.com.": c.wildcardAnswer} {
				if got := answered(snap, host); got != want {
					t.Errorf("%s is answered by %s, want %s", host, got, want)
				}
				var a Answer
				snap.Lookup(snap.Zone(host), &Query{Name: host, Owner: host, Type: dns.TypeA}, &a)
				if got, chain := len(a.Answer) > 1, host == "h.example.com." || !c.own; got != chain { // rule 2.8
					t.Errorf("%s: a chain %v, want %v", host, got, chain)
				}
			}
		})
	}
}
