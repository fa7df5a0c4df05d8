package records

import (
	"net/netip"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// host puts a weightedGeo host with the given targets, IP addresses and
// hostnames, into w.
func (w *world) host(host string, targets ...string) {
	g := &api.Gateway{Listeners: []api.Listener{{Name: "l", Hostname: host, AttachedRoutes: 1}}}
	for _, t := range targets {
		a := api.Address{Type: api.HostnameAddress, Value: t}
		if _, err := netip.ParseAddr(t); err == nil {
			a.Type = api.IPAddress
		}
		g.Addresses = append(g.Addresses, a)
	}
	w.setGateway(0, "n/"+host, g)
	w.setPolicy(0, "n/"+host, &api.DNSPolicy{Target: api.Target{Name: host}, Strategy: api.WeightedGeo, DefaultWeight: 1})
}

// TestLoopWithWayOut: hosts that lead to each other and elsewhere give an answer
// in which every name has one CNAME, or none.
func TestLoopWithWayOut(t *testing.T) {
	w := newWorld("c")
	w.host("a.example.com", "b.example.com", "192.0.2.1")
	w.host("b.example.com", "a.example.com")
	s := Compile(nil, w.objects(), &Options{Zones: []ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300}}}, testTime)
	out, loops := 0, 0
	for random := range uint64(200) {
		q := Query{Name: "a.example.com.", Owner: "A.example.com.", Type: dns.TypeA, Random: random}
		var a Answer
		s.Lookup(s.Zone(q.Name), &q, &a)
		if a.Rcode == dns.RcodeServerFailure {
			loops++
			continue
		}
		out++
		if last := a.Answer[len(a.Answer)-1]; last.Header().Rrtype != dns.TypeA {
			t.Fatalf("random %d: ends with %v", random, last)
		}
		seen := make(map[string]bool)
		for _, rr := range a.Answer {
			name := dns.CanonicalName(rr.Header().Name)
			if seen[name] {
				t.Fatalf("random %d: two records at %s:\n%v", random, name, a.Answer)
			}
			seen[name] = true
		}
	}
	if out == 0 || loops == 0 {
		t.Errorf("%d answers, %d loops", out, loops)
	}
}

// TestAnyKeepsCase: an answer to ANY spells the name as the query does (rule
// 7.2), also where the members are asked once more because none may be a CNAME.
func TestAnyKeepsCase(t *testing.T) {
	w := newWorld("c")
	w.host("ns.example.com", "a.example.com", "192.0.2.1")
	w.host("a.example.com", "192.0.2.2")
	s := Compile(nil, w.objects(), &Options{Zones: []ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300}}}, testTime)
	for random := range uint64(50) {
		q := Query{Name: "ns.example.com.", Owner: "NS.example.com.", Type: dns.TypeANY, Random: random}
		var a Answer
		s.Lookup(s.Zone(q.Name), &q, &a)
		if len(a.Answer) != 1 || a.Answer[0].Header().Name != q.Owner || a.Answer[0].Header().Rrtype != dns.TypeA {
			t.Fatalf("random %d: %v", random, a.Answer)
		}
	}
}

// TestZoneComesBack: a zone that was not served for a while goes on from its last
// serial (rule 6.7), and the snapshots between keep it.
func TestZoneComesBack(t *testing.T) {
	options := func(origins ...string) *Options {
		o := new(Options)
		for _, origin := range origins {
			o.Zones = append(o.Zones, ZoneOptions{Origin: origin, TTL: 60, LoadBalancedTTL: 300})
		}
		return o
	}
	both, other := options("example.com.", "example.org."), options("example.org.")
	w := newWorld("c")
	var s *Snapshot
	last := uint32(0)
	for i := range byte(150) {
		w.host("a.example.com", netip.AddrFrom4([4]byte{192, 0, 2, i}).String())
		s = Compile(s, w.objects(), both, testTime)
		last = s.Zone("example.com.").Serial()
	}
	for range 3 {
		w.host("a.example.org", "192.0.2.1")
		s = Compile(s, w.objects(), other, testTime)
	}
	s = Compile(s, w.objects(), both, testTime)
	if now := s.Zone("example.com.").Serial(); now != last+1 {
		t.Errorf("serial %d after %d", now, last)
	}
}
