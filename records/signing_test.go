package records

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// deniable are the types that answers to be signed are asked for.
var deniable = []uint16{
	dns.TypeA, dns.TypeAAAA, dns.TypeNS, dns.TypeSOA, dns.TypeMX, dns.TypeTXT, dns.TypeSRV, dns.TypeDS, dns.TypeDNAME, dns.TypeCNAME, dns.TypeNSEC, dns.TypeANY,
}

// TestSigned makes worlds at random, and asks for all their names with and without
// signing: the answer is the same but for what signing asks for, and an NSEC record has
// the types that the name is found to have (rule 7.6).
func TestSigned(t *testing.T) {
	proven := 0
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 21))
		w := newWorld("c1", "c2")
		w.zoned = true
		opt := &Options{Zones: []ZoneOptions{
			{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300, Nameservers: []Nameserver{{Name: "ns1.example.com.", Addresses: addressesOf("192.0.2.53")}}},
			{Origin: "example.org.", TTL: 60, LoadBalancedTTL: 300},
			{Origin: "example.net.", TTL: 60, LoadBalancedTTL: 300},
		}}
		for range 60 {
			w.mutate(r)
			w.randomRecord(r)
		}
		for range 5 {
			w.randomZone(r)
		}
		s := Compile(nil, w.objects(), opt, testTime)
		for _, z := range s.Zones() {
			for name := range z.names.All() {
				for _, name := range []string{name, "x." + name} {
					if s.Zone(name) == z {
						for _, qtype := range deniable {
							proven += checkSigned(t, s, name, qtype)
						}
					}
				}
			}
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if proven < 200 {
		t.Errorf("%d chains that end negative are too few to show anything", proven)
	}
}

func addressesOf(text ...string) (all []netip.Addr) {
	for _, a := range text {
		all = append(all, netip.MustParseAddr(a))
	}
	return all
}

// lookupSigned asks the zone that has authority over the name.
func lookupSigned(s *Snapshot, name string, qtype uint16, signed bool) *Answer {
	z := s.Zone(name)
	if up, ok := rdata.Parent(name); ok && qtype == dns.TypeDS && z.origin == name && s.Zone(up) != nil {
		z = s.Zone(up)
	}
	a := new(Answer)
	s.Lookup(z, &Query{
		Name: name, Owner: name, Type: qtype, Signed: signed,
		Client: netip.MustParseAddr("192.0.2.77"), Locator: nobody{}, Random: uint64(qtype),
	}, a)
	return a
}

// checkSigned compares an answer to be signed with the same one that is not; it returns
// how many denials it has proven.
func checkSigned(t *testing.T, s *Snapshot, name string, qtype uint16) (proven int) {
	t.Helper()
	plain, signed := lookupSigned(s, name, qtype, false), lookupSigned(s, name, qtype, true)
	what := name + " " + dns.TypeToString[qtype]
	for _, rr := range signed.Extra {
		// A wildcard's records are made for each answer.
		same := func(o dns.RR) bool { return o.String() == rr.String() }
		if !slices.ContainsFunc(plain.Extra, same) || !signed.Referral && lookupSigned(s, rr.Header().Name, dns.TypeA, false).Referral {
			t.Errorf("%s: additional record %v", what, rr)
		}
	}
	chain := len(plain.Answer) > 0 && len(plain.Ns) > 0
	if !chain {
		ns := slices.DeleteFunc(slices.Clone(signed.Ns), func(rr dns.RR) bool { return rr.Header().Rrtype == dns.TypeDS })
		if signed.Rcode != plain.Rcode || len(signed.Answer) != len(plain.Answer) || !slices.Equal(ns, plain.Ns) || signed.Referral != plain.Referral {
			t.Errorf("%s: signed:\n%+v\nunsigned:\n%+v", what, signed, plain)
		}
		return 0
	}
	if plain.Ns[0].Header().Rrtype == dns.TypeNS {
		if len(signed.Ns) > 0 || len(signed.Extra) > 0 || len(signed.Answer) != len(plain.Answer) {
			t.Errorf("%s: a chain that ends with a referral to be signed: %+v", what, signed)
		}
		return 0
	}
	last := plain.Answer[len(plain.Answer)-1].(*dns.CNAME).Target
	if signed.Rcode != dns.RcodeSuccess {
		t.Errorf("%s: rcode %s", what, dns.RcodeToString[signed.Rcode])
	}
	var nsec *dns.NSEC
	if qtype == dns.TypeNSEC {
		nsec, _ = signed.Answer[len(signed.Answer)-1].(*dns.NSEC)
	} else if len(signed.Ns) == 2 && signed.Ns[0] == plain.Ns[0] {
		nsec, _ = signed.Ns[1].(*dns.NSEC)
	}
	if cap(signed.Ns) > len(signed.Ns) || cap(signed.Extra) > len(signed.Extra) {
		t.Errorf("%s: a slice that an append would write into: %+v", what, signed)
	}
	if nsec == nil || nsec.Hdr.Name != last || nsec.NextDomain != "\\000."+last || nsec.Hdr.Ttl != plain.Ns[0].Header().Ttl {
		t.Fatalf("%s: no NSEC for %s: %+v", what, last, signed)
	}
	s.checkTypes(t, nsec, plain.Ns[0].Header().Name, qtype)
	return 1
}

// checkTypes asks for all types at the NSEC record's name, which lies in a zone.
func (s *Snapshot) checkTypes(t *testing.T, nsec *dns.NSEC, origin string, denied uint16) {
	t.Helper()
	types := nsec.TypeBitMap
	if !slices.IsSorted(types) || !slices.Contains(types, dns.TypeNSEC) || !slices.Contains(types, dns.TypeRRSIG) {
		t.Errorf("NSEC %v", nsec)
	}
	if apex := nsec.Hdr.Name == origin; slices.Contains(types, dns.TypeDNSKEY) != apex {
		t.Errorf("%s: apex is %v, NSEC %v", origin, apex, nsec)
	}
	n, _ := s.Zone(origin).search(nsec.Hdr.Name, dns.TypeDS)
	if s.Zone(origin).Delegates(nsec.Hdr.Name) {
		if want := []uint16{dns.TypeNS, dns.TypeRRSIG, dns.TypeNSEC}; denied != dns.TypeDS || !slices.Equal(types, want) {
			t.Errorf("at a cut, NSEC %v", nsec)
		}
		return
	}
	for _, qtype := range deniable {
		a := lookupSigned(s, nsec.Hdr.Name, qtype, false)
		exists := len(a.Answer) > 0 && !a.Referral && (a.Answer[0].Header().Rrtype == qtype || n.steered.owner != nil && qtype != dns.TypeCNAME)
		switch has := slices.Contains(types, qtype); {
		case qtype == dns.TypeNSEC || qtype == dns.TypeANY:
		case qtype == dns.TypeDS && nsec.Hdr.Name == origin: // it is the parent's
		case qtype == denied || qtype == dns.TypeCNAME:
			if has {
				t.Errorf("%s: NSEC %v does not deny %s", dns.TypeToString[denied], nsec, dns.TypeToString[qtype])
			}
		case exists && !has:
			t.Errorf("NSEC %v denies %s, which is %v", nsec, dns.TypeToString[qtype], a.Answer)
		case has && !exists && (n == nil || n.steered.owner == nil):
			t.Errorf("NSEC %v has %s, which is not there", nsec, dns.TypeToString[qtype])
		}
	}
}
