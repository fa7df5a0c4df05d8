package records_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/records/recordstest"
)

// deniable are the types that answers to be signed are asked for.
var deniable = []uint16{
	dns.TypeA, dns.TypeAAAA, dns.TypeNS, dns.TypeSOA, dns.TypeMX, dns.TypeTXT, dns.TypeSRV, dns.TypeDS, dns.TypeDNAME, dns.TypeCNAME, dns.TypeNSEC, dns.TypeANY,
}

// TestSigned asks for all names of random worlds with and without signing: the answer is the same but for what signing asks for, and an NSEC
// record has the types that the name is found to have (rule 7.6).
func TestSigned(t *testing.T) {
	proven := 0
	for seed := range recordstest.Seeds(t, 12) {
		opt := recordstest.Zones("example.com.", "example.org.", "example.net.")
		opt.Zones[0].Nameservers = []records.Nameserver{{Name: "ns1.example.com.", Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.53")}}}
		w, m := recordstest.New(t, opt), recordstest.NewMutator(2*seed)
		for range 100 {
			m.Mutate(t, w)
		}
		s := w.Step(t)
		for _, name := range recordstest.Names(s) {
			for _, qtype := range deniable {
				if checkSigned(t, s, name, qtype) {
					proven++
				}
			}
		}
	}
	if proven < 100 {
		t.Errorf("%d chains that end negative are too few to show anything", proven)
	}
}

// lookUp asks the zone that has authority over the name.
func lookUp(s *records.Snapshot, name string, qtype uint16, signed bool) *records.Answer {
	z, a := s.ZoneOf(name, qtype), new(records.Answer)
	s.Lookup(z, &records.Query{Name: name, Owner: name, Type: qtype, Signed: signed, Client: netip.MustParseAddr("10.1.0.7"), Locator: recordstest.Network, Random: uint64(qtype)}, a)
	return a
}

// checkSigned compares an answer to be signed with the same one that is not; it reports whether that has proven a denial.
func checkSigned(t *testing.T, s *records.Snapshot, name string, qtype uint16) (proven bool) {
	t.Helper()
	plain, signed := lookUp(s, name, qtype, false), lookUp(s, name, qtype, true)
	what := name + " " + dns.TypeToString[qtype]
	for _, rr := range signed.Extra {
		same := func(o dns.RR) bool { return o.String() == rr.String() } // a wildcard's records are made for each answer
		if !slices.ContainsFunc(plain.Extra, same) || !signed.Referral && lookUp(s, rr.Header().Name, dns.TypeA, false).Referral {
			t.Errorf("%s: additional record %v", what, rr)
		}
	}
	if len(plain.Answer) == 0 || len(plain.Ns) == 0 {
		ns := slices.DeleteFunc(slices.Clone(signed.Ns), func(rr dns.RR) bool { return rr.Header().Rrtype == dns.TypeDS })
		if signed.Rcode != plain.Rcode || len(signed.Answer) != len(plain.Answer) || !slices.Equal(ns, plain.Ns) || signed.Referral != plain.Referral {
			t.Errorf("%s: signed:\n%+v\nunsigned:\n%+v", what, signed, plain)
		}
		return false
	}
	if plain.Ns[0].Header().Rrtype == dns.TypeNS { // the chain ends with a referral
		if len(signed.Ns) > 0 || len(signed.Extra) > 0 || len(signed.Answer) != len(plain.Answer) {
			t.Errorf("%s: a chain that ends with a referral to be signed: %+v", what, signed)
		}
		return false
	}
	last := plain.Answer[len(plain.Answer)-1].(*dns.CNAME).Target
	var nsec *dns.NSEC
	if qtype == dns.TypeNSEC {
		nsec, _ = signed.Answer[len(signed.Answer)-1].(*dns.NSEC)
	} else if len(signed.Ns) == 2 && signed.Ns[0] == plain.Ns[0] {
		nsec, _ = signed.Ns[1].(*dns.NSEC)
	}
	if signed.Rcode != dns.RcodeSuccess || cap(signed.Ns) > len(signed.Ns) || cap(signed.Extra) > len(signed.Extra) || nsec == nil || nsec.Hdr.Name != last ||
		nsec.NextDomain != "\\000."+last || nsec.Hdr.Ttl != plain.Ns[0].Header().Ttl {
		t.Fatalf("%s: no NSEC for %s, or a slice that an append would write into: %+v", what, last, signed)
	}
	checkTypes(t, s, nsec, plain.Ns[0].Header().Name, qtype)
	return true
}

// checkTypes asks for all types at the NSEC record's name, which lies in a zone.
func checkTypes(t *testing.T, s *records.Snapshot, nsec *dns.NSEC, origin string, denied uint16) {
	t.Helper()
	types, name := nsec.TypeBitMap, nsec.Hdr.Name
	if !slices.IsSorted(types) || !slices.Contains(types, dns.TypeNSEC) || !slices.Contains(types, dns.TypeRRSIG) || slices.Contains(types, dns.TypeDNSKEY) != (name == origin) {
		t.Errorf("at the origin %s: NSEC %v", origin, nsec)
	}
	if s.Zone(origin).Delegates(name) {
		if want := []uint16{dns.TypeNS, dns.TypeRRSIG, dns.TypeNSEC}; denied != dns.TypeDS || !slices.Equal(types, want) {
			t.Errorf("at a cut, NSEC %v", nsec)
		}
		return
	}
	tree, ok := s.Tree(name)
	if !ok { // a wildcard's?
		_, rest, _ := strings.Cut(name, ".")
		tree, ok = s.Tree("*." + rest)
	}
	steered := ok && tree.Owner != nil && tree.Answer != "" // by one draw or the next it has other types
	for _, qtype := range deniable {
		a := lookUp(s, name, qtype, false)
		exists := len(a.Answer) > 0 && !a.Referral && (a.Answer[0].Header().Rrtype == qtype || steered && qtype != dns.TypeCNAME)
		switch has := slices.Contains(types, qtype); {
		case qtype == dns.TypeNSEC || qtype == dns.TypeANY:
		case qtype == dns.TypeDS && name == origin: // it is the parent's
		case qtype == denied || qtype == dns.TypeCNAME:
			if has {
				t.Errorf("%s: NSEC %v does not deny %s", dns.TypeToString[denied], nsec, dns.TypeToString[qtype])
			}
		case exists && !has:
			t.Errorf("NSEC %v denies %s, which is %v", nsec, dns.TypeToString[qtype], a.Answer)
		case has && !exists && !steered:
			t.Errorf("NSEC %v has %s, which is not there", nsec, dns.TypeToString[qtype])
		}
	}
}
