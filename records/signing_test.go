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
	dns.TypeA, dns.TypeAAAA, dns.TypeNS, dns.TypeSOA, dns.TypeMX, dns.TypeTXT, dns.TypeSRV, dns.TypeDS, dns.TypeDNAME, dns.TypeCNAME,
	dns.TypeCAA, dns.TypeHTTPS, dns.TypePTR, dns.TypeRRSIG, dns.TypeNSEC, dns.TypeANY,
}

// TestSigned asks for all names of random worlds with and without signing: the answer is the same but for what signing asks for, and each
// denial has an NSEC record with the types that the name is found to have, whoever asks (rule 7.6).
func TestSigned(t *testing.T) {
	proven, chains, missing := 0, 0, 0
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
				nsec := checkSigned(t, s, name, qtype)
				if nsec == nil {
					continue
				}
				proven++
				if nsec.Hdr.Name != name {
					chains++
				}
				if slices.Contains(nsec.TypeBitMap, dns.TypeNXNAME) {
					missing++
				}
			}
		}
	}
	if proven < 1000 || chains < 100 || missing < 100 {
		t.Errorf("%d denials, %d of them after a chain and %d of missing names, are too few to show anything", proven, chains, missing)
	}
}

// lookUp asks the zone that has authority over the name.
func lookUp(s *records.Snapshot, name string, qtype uint16, signed bool) *records.Answer {
	return lookUpFrom(s, name, qtype, signed, "10.1.0.7", uint64(qtype))
}

func lookUpFrom(s *records.Snapshot, name string, qtype uint16, signed bool, client string, draw uint64) *records.Answer {
	z, a := s.ZoneOf(name, qtype), new(records.Answer)
	s.Lookup(z, &records.Query{
		Name: name, Owner: name, Type: qtype, Signed: signed, Client: netip.MustParseAddr(client), Locator: recordstest.Network, Random: draw,
	}, a)
	return a
}

// checkSigned compares an answer to be signed with the same one that is not; it returns the NSEC record of a denial.
func checkSigned(t *testing.T, s *records.Snapshot, name string, qtype uint16) *dns.NSEC {
	t.Helper()
	plain, signed := lookUp(s, name, qtype, false), lookUp(s, name, qtype, true)
	what := name + " " + dns.TypeToString[qtype]
	for _, rr := range signed.Extra {
		same := func(o dns.RR) bool { return o.String() == rr.String() } // a wildcard's records are made for each answer
		if !slices.ContainsFunc(plain.Extra, same) || !signed.Referral && lookUp(s, rr.Header().Name, dns.TypeA, false).Referral {
			t.Errorf("%s: additional record %v", what, rr)
		}
	}
	if signed.Rcode != plain.Rcode || len(signed.Answer) != len(plain.Answer) || signed.Referral != plain.Referral ||
		cap(signed.Ns) > len(signed.Ns) || cap(signed.Extra) > len(signed.Extra) {
		t.Fatalf("%s: signed, or a slice that an append would write into:\n%+v\nunsigned:\n%+v", what, signed, plain)
	}
	var nsec *dns.NSEC
	ns := slices.DeleteFunc(slices.Clone(signed.Ns), func(rr dns.RR) bool {
		if made, ok := rr.(*dns.NSEC); ok {
			nsec = made
		}
		return rr.Header().Rrtype == dns.TypeNSEC || rr.Header().Rrtype == dns.TypeDS
	})
	if len(plain.Answer) > 0 && len(plain.Ns) > 0 && plain.Ns[0].Header().Rrtype == dns.TypeNS { // the chain ends with a referral
		if len(signed.Ns) > 0 || len(signed.Extra) > 0 {
			t.Errorf("%s: a chain that ends with a referral to be signed: %+v", what, signed)
		}
		return nil
	}
	if !slices.Equal(ns, plain.Ns) || len(plain.Ns) > 0 && len(signed.Ns) == len(plain.Ns) {
		t.Fatalf("%s: signed:\n%+v\nunsigned:\n%+v", what, signed, plain)
	}
	if nsec == nil {
		return nil
	}
	last := name
	switch {
	case plain.Referral:
		last = plain.Ns[0].Header().Name
	case len(plain.Answer) > 0:
		last = plain.Answer[len(plain.Answer)-1].(*dns.CNAME).Target
	}
	ttl, origin := plain.Ns[0].Header().Ttl, plain.Ns[0].Header().Name
	if plain.Referral {
		z := s.ZoneOf(last, dns.TypeDS)
		ttl, origin, qtype = z.Negative[0].Header().Ttl, z.Origin(), dns.TypeDS
	}
	if nsec.Hdr.Name != last || nsec.NextDomain != "\\000."+last || nsec.Hdr.Ttl != ttl {
		t.Fatalf("%s: no NSEC for %s: %+v", what, last, signed)
	}
	types, missing := nsec.TypeBitMap, plain.Rcode == dns.RcodeNameError
	if slices.Contains(types, dns.TypeNXNAME) != missing || missing && len(types) > 3 {
		t.Errorf("%s: %s, NSEC %v", what, dns.RcodeToString[plain.Rcode], nsec)
	}
	checkTypes(t, s, nsec, origin, qtype)
	return nsec
}

// clients are in several networks.
var clients = []string{"10.1.0.7", "10.2.0.7", "192.0.2.7"}

// has reports whether name has data of a type for some client, apart from a CNAME.
func has(s *records.Snapshot, name string, qtype uint16) bool {
	for _, client := range clients {
		for draw := range uint64(4) {
			a := lookUpFrom(s, name, qtype, false, client, draw*0x9e3779b97f4a7c15)
			if len(a.Answer) > 0 && !a.Referral && a.Answer[0].Header().Rrtype == qtype {
				return true
			}
		}
	}
	return false
}

// checkTypes asks for all types at the NSEC record's name, which lies in a zone.
func checkTypes(t *testing.T, s *records.Snapshot, nsec *dns.NSEC, origin string, denied uint16) {
	t.Helper()
	types, name := nsec.TypeBitMap, nsec.Hdr.Name
	if !slices.IsSorted(types) || !slices.Contains(types, dns.TypeNSEC) ||
		slices.Contains(types, dns.TypeRRSIG) != (denied != dns.TypeRRSIG) || slices.Contains(types, dns.TypeDNSKEY) != (name == origin) {
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
	steered := ok && tree.Owner != nil // not every client gets all that it may have
	for _, qtype := range deniable {
		listed := slices.Contains(types, qtype)
		switch {
		case qtype == dns.TypeNSEC || qtype == dns.TypeANY || qtype == dns.TypeRRSIG:
		case qtype == dns.TypeDS && name == origin: // it is the parent's
		case qtype == denied || qtype == dns.TypeCNAME:
			if listed {
				t.Errorf("%s: NSEC %v does not deny %s", dns.TypeToString[denied], nsec, dns.TypeToString[qtype])
			}
		case !listed && has(s, name, qtype):
			t.Errorf("NSEC %v denies %s, which is there", nsec, dns.TypeToString[qtype])
		case listed && !steered && !has(s, name, qtype):
			t.Errorf("NSEC %v has %s, which is not there", nsec, dns.TypeToString[qtype])
		}
	}
}
