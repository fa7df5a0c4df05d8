package records

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// nobody is a Locator that places every client in Ireland.
type nobody struct{}

func (nobody) Locate(addr netip.Addr, _ geo.Need) (*geo.Codes, int) {
	return &geo.Codes{"AS64500", "US-CA", "IE", "GEO-EU"}, min(8, addr.BitLen())
}

// FuzzCompile compiles a Gateway and a policy made of any strings, and asks for
// every name that comes of them and for some others: nothing panics, and every
// answer can be packed and unpacked.
func FuzzCompile(f *testing.F) {
	f.Add("a.example.com", "192.0.2.1", "IPAddress", "IE", "IE", "x.example.com.", uint8(0), int64(1))
	f.Add("*.example.com", "lb.example.net", "Hostname", "", "", "*.*.example.com.", uint8(3), int64(0))
	f.Add("klb.a.example.com", "c/192.0.2.1", "kuadrant.io/MultiClusterIPAddress", "*", "US-CA", "klb.klb.a.example.com.", uint8(255), int64(-1))
	f.Add("a.example.com", "192.0.2.1", "kuadrant.io/MultiClusterIPAddress", "", "", "klb.a.example.com.", uint8(28), int64(1))
	f.Add(strings.Repeat("a.", 120)+"example.com", "::1", "", strings.Repeat("x", 80), "a.b", ".", uint8(9), int64(1)<<62)
	f.Fuzz(func(t *testing.T, host, address, addressType, code, deflt, name string, flags uint8, weight int64) {
		opt := &Options{Zones: []ZoneOptions{
			{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300, Flatten: flags&1 > 0},
			{Origin: "b.example.com.", TTL: 0, LoadBalancedTTL: 0},
		}}
		w := newWorld("c")
		w.setGateway(0, "ns/g", &api.Gateway{
			Listeners: []api.Listener{{Name: "a", Hostname: host, AttachedRoutes: 1}, {Name: "b", Hostname: "*." + host, AttachedRoutes: -1}, {Name: "c", Hostname: "b.example.com"}},
			Addresses: []api.Address{{Type: api.AddressType(addressType), Value: address}, {Type: api.IPAddress, Value: "192.0.2.9"}}[:1+flags>>1&1],
		})
		p := &api.DNSPolicy{Target: api.Target{Name: "g"}, Geo: strings.ToUpper(code), DefaultGeo: strings.ToUpper(deflt), DefaultWeight: weight}
		if flags&4 > 0 {
			p.Strategy = api.WeightedGeo
		}
		if flags&8 > 0 {
			p.HealthCheck = someChecks[flags>>4%4]
		}
		w.setPolicy(0, "ns/p", p)
		if flags&16 > 0 { // the same leaf once more, with other addresses
			g, _ := w.clusters[0].Gateways.Get("ns/g")
			other := *g
			for _, value := range []string{"uid-c/192.0.2.7", "uid-c/192.0.2.8"} {
				other.Addresses = append(slices.Clip(other.Addresses), api.Address{Type: api.AddressType(addressType), Value: value})
			}
			w.setGateway(0, "ns/g", &other)
		}
		s := Compile(nil, w.objects(), opt, testTime)
		for _, z := range s.Zones() {
			for owner := range z.names.All() {
				askAll(t, s, owner)
			}
		}
		if n := strings.ToLower(dns.Fqdn(name)); s.Zone(n) != nil {
			if _, ok := dns.IsDomainName(n); ok {
				askAll(t, s, n)
			}
		}
	})
}

func askAll(t *testing.T, s *Snapshot, name string) {
	t.Helper()
	for _, qtype := range []uint16{dns.TypeA, dns.TypeAAAA, dns.TypeCNAME, dns.TypeANY, dns.TypeNS, dns.TypeSOA, dns.TypeTXT, 65280} {
		z := s.Zone(name)
		for _, signed := range []bool{false, true} {
			q := Query{Name: name, Owner: name, Type: qtype, Client: netip.MustParseAddr("192.0.2.77"), Locator: nobody{}, Random: uint64(qtype), Signed: signed}
			askOne(t, s, z, &q)
		}
	}
}

func askOne(t *testing.T, s *Snapshot, z *Zone, q *Query) {
	t.Helper()
	name, qtype := q.Name, q.Type
	var a Answer
	s.Lookup(z, q, &a)
	m := new(dns.Msg).SetQuestion(name, qtype)
	m.Answer, m.Ns, m.Extra, m.Rcode = a.Answer, a.Ns, a.Extra, a.Rcode
	wire, err := m.Pack()
	if err != nil {
		t.Fatalf("%s %s: %v in %v", name, dns.TypeToString[qtype], err, m)
	}
	if err := new(dns.Msg).Unpack(wire); err != nil {
		t.Fatalf("%s %s: %v", name, dns.TypeToString[qtype], err)
	}
	checkAnswer(t, q, &a)
}

// checkAnswer checks what holds for every answer.
func checkAnswer(t *testing.T, q *Query, a *Answer) {
	t.Helper()
	if a.Referral {
		if len(a.Answer) > 0 || a.Rcode != dns.RcodeSuccess || len(a.Ns) == 0 || a.Ns[0].Header().Rrtype != dns.TypeNS {
			t.Fatalf("%s: a referral without name servers: %+v", q.Name, a)
		}
	} else if len(a.Answer) == 0 && a.Rcode != dns.RcodeServerFailure && (len(a.Ns) != 1 || a.Ns[0].Header().Rrtype != dns.TypeSOA) {
		t.Fatalf("%s: a negative answer without SOA: %+v", q.Name, a)
	}
	owner := q.Owner
	for i, rr := range a.Answer {
		if rr.Header().Rrtype == dns.TypeDNAME && q.Type != dns.TypeDNAME && rdata.IsSubdomain(rr.Header().Name, strings.ToLower(owner)) {
			continue // the CNAME that it makes comes next
		}
		if rr.Header().Name != owner {
			t.Fatalf("%s: record %d is %v, want the owner %s", q.Name, i, rr, owner)
		}
		if c, ok := rr.(*dns.CNAME); ok {
			owner = c.Target
			if i+1 < len(a.Answer) && q.Type == dns.TypeCNAME {
				t.Fatalf("%s: two CNAMEs for one question: %v", q.Name, a.Answer)
			}
		}
	}
	for _, rrs := range [][]dns.RR{a.Answer, a.Ns, a.Extra} {
		if len(rrs) != cap(rrs) {
			t.Fatalf("%s: a slice that an append would write into: %v", q.Name, rrs)
		}
	}
}
