package records

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"github.com/miekg/dns"

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

func checkScope(t *testing.T, s *Snapshot, q Query, r *rand.Rand) {
	t.Helper()
	var a Answer
	s.Lookup(s.zones[0], &q, &a)
	network := netip.PrefixFrom(q.Client, a.Scope).Masked()
	for range 16 {
		other := q
		b := network.Addr().As4()
		for bit := a.Scope; bit < 32; bit++ {
			b[bit/8] |= byte(r.IntN(2)) << (7 - bit%8)
		}
		other.Client = netip.AddrFrom4(b)
		var o Answer
		s.Lookup(s.zones[0], &other, &o)
		if o.Scope != a.Scope || fmt.Sprint(o.Answer, o.Rcode) != fmt.Sprint(a.Answer, a.Rcode) {
			t.Fatalf("%s %s: %s gets %v scope %d, and %s gets %v scope %d",
				q.Name, dns.TypeToString[q.Type], q.Client, a.Answer, a.Scope, other.Client, o.Answer, o.Scope)
		}
	}
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
