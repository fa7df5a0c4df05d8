package records

import (
	"slices"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records/rdata"
	"github.com/coredns-kuadrant/kuadrant/records/zone"
)

// seal makes a, which is found, one that can be signed RRset by RRset: it proves what its
// chain denies, and has nothing left that the zones signed together do not vouch for.
func (s *Snapshot) seal(q *Query, a *Answer) {
	chain := len(a.Answer) > 0
	switch {
	case a.Referral:
		return // its NS records and glue are not signed (RFC 4035 §2.2)
	case chain && len(a.Ns) > 0 && a.Ns[0].Header().Rrtype == dns.TypeNS:
		// Whoever signs the answer would sign the referral at its end, too. The
		// client's resolver goes on, and is referred then.
		a.Ns, a.Extra = nil, nil
	case chain && len(a.Ns) > 0:
		s.prove(q, a)
	}
	a.Extra = s.vouched(q, a.Extra)
}

// prove adds the NSEC record that says what there is at the last name of a's chain, which
// ends negative (rule 7.6). The form is that of "black lies", the one that signers on the
// fly use: the name is said to exist, without any type where it does not, and without
// any name right behind it. So the rcode is NOERROR.
func (s *Snapshot) prove(q *Query, a *Answer) {
	last, ok := a.Answer[len(a.Answer)-1].(*dns.CNAME)
	if !ok {
		return
	}
	a.Rcode = dns.RcodeSuccess
	next := "\\000."
	if last.Target != "." {
		next += last.Target
	}
	next, err := rdata.Canonical(next)
	if err != nil {
		a.Ns = nil // no label fits in front of a name that long: the client's resolver goes on
		return
	}
	soa := a.Ns[0].Header()
	z := s.Zone(soa.Name)
	nsec := &dns.NSEC{
		// RFC 9077 §3: the TTL is that of the denial.
		Hdr: rdata.Header(last.Target, dns.TypeNSEC, soa.Ttl), NextDomain: next, TypeBitMap: z.TypesAt(last.Target, q.Type),
	}
	if q.Type == dns.TypeNSEC {
		a.Answer, a.Ns = slices.Clip(append(slices.Clip(a.Answer), nsec)), nil // what is asked for exists
		return
	}
	a.Ns = []dns.RR{a.Ns[0], nsec}
}

// vouched returns those of the additional records that the zones signed together have
// authority over: glue is not to be signed (RFC 4035 §2.2).
func (s *Snapshot) vouched(q *Query, rrs []dns.RR) []dns.RR {
	if len(rrs) == 0 {
		return nil
	}
	return slices.Clip(slices.DeleteFunc(slices.Clone(rrs), func(rr dns.RR) bool {
		name := rr.Header().Name
		z := s.Zone(name)
		if z == nil || !q.within(z) {
			return true
		}
		_, turn := z.Search(name, dns.TypeA)
		return turn != nil
	}))
}

// within reports whether the answer may hold records of z.
func (q *Query) within(z *zone.Zone) bool { return q.Within == nil || q.Within(z.Origin()) }
