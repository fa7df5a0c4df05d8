package records

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/geo"
)

// TestScope: an answer holds for every client in the network that its scope
// names (rule 3.6), whatever the name and the type.
func TestScope(t *testing.T) {
	opt := &Options{Zones: []ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300}}}
	asked := 0
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 2))
		nets := randomNets(t, r)
		w := newWorld("c1", "c2", "c3")
		for range 40 {
			w.mutate(r)
		}
		s := Compile(nil, w.objects(), opt, testTime)
		for name := range s.zones[0].names.All() {
			for _, qtype := range []uint16{dns.TypeA, dns.TypeAAAA, dns.TypeCNAME, dns.TypeTXT} {
				q := Query{Name: name, Owner: name, Type: qtype, Locator: nets, Random: r.Uint64()}
				q.Client = netip.AddrFrom4([4]byte{10, byte(r.IntN(4)), byte(r.IntN(256)), byte(r.IntN(256))})
				checkScope(t, s, q, r)
				asked++
			}
		}
	}
	if asked < 1000 {
		t.Fatalf("only %d questions: the worlds hold too little", asked)
	}
}

// TestScopeOfChains: the same holds where hosts have hostnames that are other
// hosts, which lead here and there by geography, above all at an apex.
func TestScopeOfChains(t *testing.T) {
	opt := &Options{Zones: []ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300}}}
	hosts := []string{"example.com", "a.example.com", "b.example.com", "*.example.com"}
	names := []string{"example.com.", "a.example.com.", "b.example.com.", "x.example.com.", "klb.a.example.com."}
	dependent := 0
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 3))
		nets := randomNets(t, r)
		w := newWorld("c1")
		for i := range 6 {
			g := &api.Gateway{
				Listeners: []api.Listener{{Name: "l", Hostname: pick(r, hosts), AttachedRoutes: 1}},
				Addresses: []api.Address{{Type: api.HostnameAddress, Value: pick(r, append(hosts[:3:3], "x.example.com", "lb.example.net"))}},
			}
			if r.IntN(3) == 0 {
				g.Addresses = []api.Address{{Type: api.IPAddress, Value: fmt.Sprintf("192.0.2.%d", i)}}
			}
			name := fmt.Sprintf("g%d", i)
			w.setGateway(0, "n/"+name, g)
			w.setPolicy(0, "n/"+name, &api.DNSPolicy{
				Target: api.Target{Name: name}, Strategy: pick(r, []api.Strategy{api.Simple, api.WeightedGeo, api.WeightedGeo}),
				DefaultWeight: 1, Geo: pick(r, []string{"", "IE", "US", "AS64500"}), DefaultGeo: pick(r, []string{"", "IE", "US"}),
			})
		}
		s := Compile(nil, w.objects(), opt, testTime)
		for _, name := range names {
			for _, qtype := range []uint16{dns.TypeA, dns.TypeTXT} {
				q := Query{Name: name, Owner: name, Type: qtype, Locator: nets, Random: r.Uint64()}
				q.Client = netip.AddrFrom4([4]byte{10, byte(r.IntN(4)), byte(r.IntN(256)), byte(r.IntN(256))})
				if checkScope(t, s, q, r) > 0 {
					dependent++
				}
			}
		}
	}
	if dependent < 100 {
		t.Fatalf("only %d answers depend on the client", dependent)
	}
}

// checkScope asks q for other clients in the network that the answer is for. It
// returns the answer's scope.
func checkScope(t *testing.T, s *Snapshot, q Query, r *rand.Rand) (scope int) {
	t.Helper()
	var a Answer
	s.Lookup(s.zones[0], &q, &a)
	network := netip.PrefixFrom(q.Client, a.Scope).Masked()
	for range 16 {
		other := q
		b := network.Addr().As4()
		if a.Scope < 8 && r.IntN(2) == 0 {
			b = [4]byte{10, byte(r.IntN(4)), byte(r.IntN(256)), byte(r.IntN(256))} // where the networks are
		}
		for bit := a.Scope; bit < 32; bit++ {
			b[bit/8] |= byte(r.IntN(2)) << (7 - bit%8)
		}
		if other.Client = netip.AddrFrom4(b); !network.Contains(other.Client) {
			continue
		}
		var o Answer
		s.Lookup(s.zones[0], &other, &o)
		if o.Scope != a.Scope || fmt.Sprint(o.Answer, o.Rcode) != fmt.Sprint(a.Answer, a.Rcode) {
			t.Fatalf("%s %s: %s gets %s %v scope %d, and %s gets %s %v scope %d",
				q.Name, dns.TypeToString[q.Type], q.Client, dns.RcodeToString[a.Rcode], a.Answer, a.Scope, other.Client, dns.RcodeToString[o.Rcode], o.Answer, o.Scope)
		}
	}
	return a.Scope
}

func randomNets(t *testing.T, r *rand.Rand) *geo.Nets {
	t.Helper()
	var text strings.Builder
	seen := make(map[netip.Prefix]bool)
	for range 1 + r.IntN(20) {
		addr := netip.AddrFrom4([4]byte{10, byte(r.IntN(4)), byte(r.IntN(256)), byte(r.IntN(256))})
		p := netip.PrefixFrom(addr, 8+r.IntN(25)).Masked()
		if !seen[p] {
			seen[p] = true
			fmt.Fprintf(&text, "%s %s\n", p, pick(r, []string{"IE", "GEO-EU", "US-CA", "US", "AS64500", "DE"}))
		}
	}
	nets, err := geo.ParseNets("nets", strings.NewReader(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	return nets
}
