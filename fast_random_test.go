package kuadrant

import (
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/coredns/coredns/plugin"
	"github.com/coredns/coredns/plugin/bufsize"
	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/records/recordstest"
)

// TestFastRandom compares the fast path with the handler for random queries to random worlds. KUADRANT_SEEDS chooses the seeds.
func TestFastRandom(t *testing.T) {
	seen, asked := make(map[string]int), 0
	for seed := range recordstest.Seeds(t, 48) {
		r := rand.New(rand.NewPCG(seed, 42))
		draw := uint64(0)
		c, names := randomComparison(t, seed, &draw)
		for range 1000 {
			draw = r.Uint64()
			message, from := randomQuery(t, r, names), randomClient(r).String()
			reply, err := c.compare(message, from)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			asked++
			seen[replyKind(reply)]++
		}
	}
	for kind, part := range map[string]int{"data": 20, "NODATA": 10, "NXDOMAIN": 10, "referral": 20, "truncated": 1000} {
		if seen[kind] < asked/part {
			t.Errorf("%d of %d replies of the fast path are %s, want one in %d: %v", seen[kind], asked, kind, part, seen)
		}
	}
	t.Log(asked, seen)
}

// replyKind says what a reply is; nil is one that the fast path leaves to the handler.
func replyKind(m *dns.Msg) string {
	switch {
	case m == nil:
		return "left"
	case m.Truncated:
		return "truncated"
	case m.Rcode != dns.RcodeSuccess:
		return dns.RcodeToString[m.Rcode]
	case len(m.Answer) > 0:
		return "data"
	case m.Authoritative:
		return "NODATA"
	}
	return "referral"
}

// randomComparison returns a comparison for a random world in which members are drawn by *draw, and names to ask for.
func randomComparison(t *testing.T, seed uint64, draw *uint64) (c *comparison, names []string) {
	k := newPlugin(t, []string{
		"kuadrant example.com {\nzone-namespaces n1\n}",
		"kuadrant example.com a.example.com {\nzone-namespaces n1\nanswer flatten\nowner-txt _owner-\n}",
		"kuadrant . {\nzone-namespaces n1\nfallthrough b.a.example.com\nnameserver ns1.example.com 192.0.2.53\n}",
	}[seed%3], "10.1.0.0/16 IE\n10.2.0.0/16 US-CA\n10.3.0.0/16 GEO-AS\n2001:db8:1::/48 IE\n2001:db8:2::/48 US-CA\n")
	k.engine.Random = func() uint64 { return *draw }
	w := recordstest.New(t, k.engine.Options(), "record n1/large large.example.com. TXT"+strings.Repeat(` "`+strings.Repeat("x", 150)+`"`, 4),
		"record n1/quoted quoted.example.com. TXT"+strings.Repeat(` "`+strings.Repeat(`\"\200`, 30)+`"`, 3), // one octet, which CoreDNS counts as 2 or 4
		"record n1/cut cut.example.com. NS ns.cut.example.com.", "record n1/glue ns.cut.example.com. A 192.0.2.54")
	m := recordstest.NewMutator(seed)
	for range 4 {
		for range 30 {
			m.Mutate(t, w)
		}
		w.Snapshot = records.Compile(w.Snapshot, w.Objects(), w.Options, w.Now)
	}
	k.engine.Publish(w.Snapshot)
	chain, size := plugin.Handler(k), int(seed%2)*600
	if size > 0 {
		chain = bufsize.Bufsize{Next: k, Size: size}
	}
	return newComparison(k, chain, size), append(recordstest.Names(w.Snapshot), "elsewhere.net.")
}

// randomClient returns an address that the databases locate, or not.
func randomClient(r *rand.Rand) net.IP {
	if r.IntN(3) == 0 {
		return net.IP{0x20, 0x01, 0x0d, 0xb8, 0, byte(r.IntN(4)), byte(r.IntN(4)), 0, 0, 0, 0, 0, 0, 0, 0, byte(1 + r.IntN(4))}
	}
	return net.IP{10, byte(r.IntN(5)), byte(r.IntN(4)), byte(r.IntN(4))}
}

// randomQuery returns a message that asks for one of the names, mostly as the fast path can answer it.
func randomQuery(t *testing.T, r *rand.Rand, names []string) []byte {
	types := []uint16{
		dns.TypeA, dns.TypeA, dns.TypeA, dns.TypeAAAA, dns.TypeCNAME, dns.TypeTXT, dns.TypeNS, dns.TypeSOA, dns.TypeMX, dns.TypeSRV, dns.TypeSVCB,
		dns.TypeHTTPS, dns.TypeCAA, dns.TypeANY, dns.TypePTR, dns.TypeDS, 65280, uint16(r.Uint32()),
	}
	m := new(dns.Msg).SetQuestion(names[r.IntN(len(names))], types[r.IntN(len(types))])
	if r.IntN(4) == 0 {
		m.Question[0].Name = mixed(m.Question[0].Name)
	}
	m.Id, m.RecursionDesired, m.AuthenticatedData, m.CheckingDisabled = uint16(r.Uint32()), r.IntN(2) == 0, r.IntN(2) == 0, r.IntN(2) == 0
	if r.IntN(4) > 0 {
		m.SetEdns0([]uint16{0, 512, 1232, 4096}[r.IntN(4)], r.IntN(3) == 0)
		o := m.IsEdns0()
		if r.IntN(2) == 0 {
			o.Option = append(o.Option, randomSubnet(r))
		}
		if r.IntN(4) == 0 {
			o.Option = append(o.Option, &dns.EDNS0_COOKIE{Code: dns.EDNS0COOKIE, Cookie: fmt.Sprintf("%016x", r.Uint64())})
		}
		if r.IntN(2) == 0 {
			slices.Reverse(o.Option)
		}
	}
	message, err := m.Pack()
	if err != nil {
		t.Fatal(err)
	}
	return message
}

// randomSubnet returns a client subnet, most often one that is masked as it has to be.
func randomSubnet(r *rand.Rand) *dns.EDNS0_SUBNET {
	address := randomClient(r)
	s := &dns.EDNS0_SUBNET{Code: dns.EDNS0SUBNET, Family: familyIPv4, SourceNetmask: []uint8{0, 1, 8, 15, 16, 20, 24, 31, 32}[r.IntN(9)]}
	switch {
	case len(address) == net.IPv6len:
		s.Family, s.SourceNetmask = familyIPv6, 4*s.SourceNetmask
	case r.IntN(4) == 0:
		s.Family, s.SourceNetmask, address = familyIPv6, mappedBits+s.SourceNetmask, address.To16()
	}
	if s.Address = address; r.IntN(16) > 0 {
		s.Address = address.Mask(net.CIDRMask(int(s.SourceNetmask), 8*len(address)))
	}
	return s
}
