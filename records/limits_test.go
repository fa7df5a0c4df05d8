package records

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

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

// TestApexTriesAreBounded asks for a family that none of very many hostnames at
// an apex has: the work for one query has a bound.
func TestApexTriesAreBounded(t *testing.T) {
	w := newWorld("c1")
	for i := range 300 {
		name := fmt.Sprintf("ns/g%d", i)
		gateway := func(name, host string, a api.Address) {
			w.setGateway(0, name, &api.Gateway{
				Listeners: []api.Listener{{Name: "l", Hostname: host, AttachedRoutes: 1}}, Addresses: []api.Address{a},
			})
		}
		gateway(name, "apex.example.com", api.Address{Type: api.HostnameAddress, Value: fmt.Sprintf("t%d.example.com", i)})
		w.setPolicy(0, name, &api.DNSPolicy{Target: api.Target{Name: name[3:]}, Strategy: api.WeightedGeo, DefaultWeight: 1})
		gateway(name+"t", fmt.Sprintf("t%d.example.com", i), api.Address{Type: api.IPAddress, Value: "192.0.2.1"})
		w.setPolicy(0, name+"t", &api.DNSPolicy{Target: api.Target{Name: name[3:] + "t"}})
	}
	s := Compile(nil, w.objects(), &Options{Zones: []ZoneOptions{
		{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300}, {Origin: "apex.example.com.", TTL: 60, LoadBalancedTTL: 300},
	}}, time.Now())
	q := Query{Name: "apex.example.com.", Owner: "apex.example.com.", Type: dns.TypeAAAA}
	z := s.Zone(q.Name)
	var a Answer
	allocated := testing.AllocsPerRun(100, func() {
		q.Random++
		a = Answer{}
		s.Lookup(z, &q, &a)
	})
	if a.Rcode != dns.RcodeServerFailure || len(a.Answer) != 0 {
		t.Errorf("want SERVFAIL, since not all were tried, got %+v", a)
	}
	if allocated > 20*maxTries {
		t.Errorf("%v allocations for one query", allocated)
	}
	q.Type = dns.TypeA
	a = Answer{}
	if s.Lookup(z, &q, &a); len(a.Answer) != 1 {
		t.Errorf("want one address, got %+v", a)
	}
}

// TestApexWithManyDead: where a member of an apex has an address and more than
// are tried have none, nobody is told that there is none.
func TestApexWithManyDead(t *testing.T) {
	for _, dead := range []int{maxTries - 1, maxTries, maxTries + 1, maxTries + 8} {
		w := newWorld("c1")
		targets := []string{"live.example.com"}
		for i := range dead {
			targets = append(targets, fmt.Sprintf("dead%d.example.com", i))
		}
		w.host("example.com", targets...)
		w.host("ns.example.com", append([]string{"192.0.2.2"}, targets[1:]...)...)
		w.host("live.example.com", "192.0.2.1")
		s := Compile(nil, w.objects(), &Options{Zones: []ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300}}}, testTime)
		q := Query{Name: "example.com.", Owner: "example.com.", Type: dns.TypeAAAA}
		var none Answer
		if s.Lookup(s.zones[0], &q, &none); dead < maxTries-1 && (none.Rcode != dns.RcodeSuccess || len(none.Ns) != 1) {
			t.Errorf("%d dead: want a denial of AAAA, got %+v", dead, none)
		}
		for random := range uint64(200) { // an address is known, whatever the rest leads to
			for _, qtype := range []uint16{dns.TypeA, dns.TypeANY} {
				q := Query{Name: "ns.example.com.", Owner: "ns.example.com.", Type: qtype, Random: random}
				var a Answer
				if s.Lookup(s.zones[0], &q, &a); len(a.Answer) == 0 && a.Rcode != dns.RcodeServerFailure {
					t.Fatalf("%d dead, random %d: %s is denied", dead, random, dns.TypeToString[qtype])
				}
			}
		}
		answered := 0
		for random := range uint64(200) {
			q := Query{Name: "example.com.", Owner: "example.com.", Type: dns.TypeA, Random: random}
			var a Answer
			s.Lookup(s.zones[0], &q, &a)
			switch {
			case len(a.Answer) == 1:
				answered++
			case a.Rcode != dns.RcodeServerFailure:
				t.Fatalf("%d dead, random %d: %+v", dead, random, a)
			}
		}
		if answered == 0 || dead < maxTries && answered < 200 {
			t.Errorf("%d dead: %d of 200 answered", dead, answered)
		}
	}
}

// TestPolicyMembersHaveABound pools policies with more members than a query looks at: those
// of the older policies are served, and the owner of the others is told (rule 8.4).
func TestPolicyMembersHaveABound(t *testing.T) {
	w := newWorld("c1")
	const each = 200
	for i := range maxMembers/each + 1 {
		g := &api.Gateway{Listeners: []api.Listener{{Name: "l", Hostname: "a.example.com", AttachedRoutes: 1}}}
		for j := range each {
			g.Addresses = append(g.Addresses, api.Address{Type: api.MultiClusterIPAddress, Value: fmt.Sprintf("cluster%d/192.0.2.%d", j, j)})
		}
		name := fmt.Sprintf("ns/g%d", i)
		w.setGateway(0, name, g)
		w.setPolicy(0, name, &api.DNSPolicy{Meta: api.Meta{Created: int64(i)}, Target: api.Target{Name: name[3:]}, Strategy: api.WeightedGeo, DefaultWeight: 1})
	}
	s := Compile(nil, w.objects(), openZone(), testTime)
	if n := len(s.zones[0].find("a.example.com.").steered.view.pool.members); n != maxMembers {
		t.Errorf("%d members, want %d", n, maxMembers)
	}
	for i := range maxMembers/each + 1 {
		v := fmt.Sprintf("%+v", s.Verdict("c1", api.Ref{Kind: api.KindDNSPolicy, Name: fmt.Sprintf("ns/g%d", i)}))
		if told := strings.Contains(v, "leads to too many targets"); told != (i == maxMembers/each) {
			t.Errorf("policy %d is told of it: %v\n%s", i, told, v)
		}
	}
}
