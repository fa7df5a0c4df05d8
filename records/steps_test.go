package records_test

import (
	"math"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/records/recordstest"
)

// TestSteps changes worlds at random, and compiles them step by step: recordstest.World.Step says what holds.
func TestSteps(t *testing.T) {
	for seed := range recordstest.Seeds(t, 24) {
		opt := recordstest.Zones("example.com.", "klb.deep.example.com.:flatten")
		switch seed % 6 {
		case 1:
			opt.Zones[0].OwnerTXT = "_owner-"
			opt.ProbesOff = true
		case 2:
			opt.ZoneNamespaces = []string{"n1"}
		case 3:
			opt = recordstest.Zones(".", "a.example.com.")
		case 4:
			opt.Zones[0].Flatten = true
			opt.ProbeAllow = []netip.Prefix{netip.MustParsePrefix("192.0.2.2/31")}
		case 5:
			opt.Publish = []records.Publish{{Domain: "example.com.", Namespaces: []string{"n1"}}, {Domain: "a.example.com.", Namespaces: []string{"n2"}}}
			opt.Zones[0].Nameservers = []records.Nameserver{{Name: "ns1.example.com.", Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.53")}}}
		}
		w := recordstest.New(t, opt)
		w.Aside = seed%2 == 1
		if seed%3 > 0 {
			w.Apply(t, "incumbents")
		}
		m := recordstest.NewMutator(seed)
		m.Targets, m.Groups = m.Health, m.Clusters > 1
		for step := range 40 {
			for range 1 + m.IntN(3) {
				m.Mutate(t, w)
			}
			if step%16 == 15 { // a reload
				again := *opt
				w.Options = &again
			}
			w.Step(t)
		}
	}
}

// TestUselessProbes: nothing is answered otherwise without the probes that are said to have no effect, and the others are checked.
func TestUselessProbes(t *testing.T) {
	for seed := range recordstest.Seeds(t, 12) {
		w := recordstest.New(t, recordstest.Zones("example.com."))
		m := recordstest.Mutator{Rand: rand.New(rand.NewPCG(seed, 5)), Clusters: 1, Gateways: true, Health: true}
		for range 80 {
			m.Mutate(t, w)
		}
		s := w.Step(t)
		before, useless := recordstest.Facts(s), 0
		for p := range s.ProbeProblems(recordstest.Probes(s)) {
			w.Apply(t, "delete probe "+p.Name)
			useless++
		}
		for key, is := range recordstest.Facts(w.Step(t)) {
			if was := before[key]; strings.HasPrefix(key, "answer ") && is != was {
				t.Errorf("seed %d: %s was %s\nand is without %d probes that have no effect %s", seed, key, was, useless, is)
			}
		}
	}
}

// TestExplainShares compares the shares that an explanation gives with how often Lookup takes each member.
func TestExplainShares(t *testing.T) {
	const draws = 2000
	compared := 0
	for seed := uint64(0); compared < 40; seed++ {
		w := recordstest.New(t, recordstest.Zones("example.com."))
		m := recordstest.Mutator{Rand: rand.New(rand.NewPCG(seed, 78)), Clusters: 2, Gateways: true, Health: true, Crowded: seed%2 == 0}
		for range 60 {
			m.Mutate(t, w)
		}
		s := w.Step(t)
		for i, name := range recordstest.Names(s) {
			q := records.Query{Name: name, Owner: name, Type: dns.TypeA, Locator: recordstest.Network, Client: netip.AddrFrom4([4]byte{10, byte(i % 5), 0, 1})}
			var a records.Answer
			x := s.Explain(s.Zone(name), &q, &a)
			if n := len(x.Steps[0].Choices); len(x.Steps) > 1 || n == 0 || len(x.Steps[0].Choices[n-1].Members) < 2 || x.Steps[0].Choices[n-1].Class == "" {
				continue
			}
			compared++
			counts := make(map[string]int)
			for range draws {
				q.Random = m.Uint64()
				s.Lookup(s.Zone(name), &q, &a)
				counts[a.Member()+" "+a.Geo]++
			}
			c := x.Steps[0].Choices[len(x.Steps[0].Choices)-1]
			for _, member := range c.Members {
				got, want := float64(counts[member.Member+" "+member.Geo])/draws, member.Share
				// Five times the standard deviation of so many draws, and what one draw is.
				if math.Abs(got-want) > 5*math.Sqrt(want*(1-want)/draws)+1.0/draws {
					t.Errorf("seed %d, %s: member %s has %v of the draws, and a share of %v", seed, name, member.Member, got, want)
				}
			}
		}
	}
}

// TestOrderOfArrival: what comes first does not matter, where objects are of one second and one name, or a name server stands in.
func TestOrderOfArrival(t *testing.T) {
	for _, steps := range [][]string{
		{"record a/same x.example.org. at=1s TXT \"x\"", "dnsendpoint a/same at=1s x.example.org TXT '\"y\"'"},
		{"record a/same x.example.org. at=1s CNAME lb.example.net.", "dnsendpoint a/same at=1s x.example.org TXT '\"y\"'"},
		{"gateway a/g host=ns.example.org addr=lb.example.net\npolicy a/g", "record dns/ns example.org. NS ns.example.net."},
	} {
		opt := recordstest.Zones("example.org.")
		opt.ZoneNamespaces, opt.Zones[0].Nameservers = []string{"dns"}, nil
		w := recordstest.New(t, opt, "zone dns/z example.org. delegate=*")
		for _, text := range steps {
			w.Apply(t, text)
			w.Step(t)
		}
	}
	w := recordstest.New(t, recordstest.Zones("example.org."), "dnsendpoint a/e x.example.org TXT '\"y\"'", "record b/r x.example.org. CNAME lb.example.net.")
	if v := w.Step(t).Verdict("c1", api.Ref{Kind: api.KindRecord, Name: "b/r"}); !strings.Contains(v.Conditions[0].Message, "DNSEndpoint a/e") {
		t.Errorf("a Record that loses to a DNSEndpoint is told %q", v.Conditions[0].Message)
	}
}
