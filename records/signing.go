package records

import (
	"slices"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records/rdata"
	"github.com/coredns-kuadrant/kuadrant/records/zone"
)

// seal makes the complete answer a signable RRset by RRset: it proves what the chain denies, and
// drops what the zones signed together do not vouch for.
func (s *Snapshot) seal(q *Query, a *Answer) {
	chain := len(a.Answer) > 0
	switch {
	case a.Referral:
		return // its NS records and glue are not signed (RFC 4035 §2.2)
	case chain && len(a.Ns) > 0 && a.Ns[0].Header().Rrtype == dns.TypeNS:
		// The signer of the answer would sign the referral at its end, too. The client's resolver
		// goes on, and gets the referral then.
		a.Ns, a.Extra = nil, nil
	case chain && len(a.Ns) > 0:
		s.prove(q, a)
	}
	a.Extra = s.vouched(q, a.Extra)
}

// prove adds the NSEC record for the last name of a's negative chain (rule 7.6). It has the form of
// "black lies", which online signers use: the name exists, without any types if it does not, and
// the next name is its immediate successor. So the rcode is NOERROR.
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
		a.Ns = nil // no label fits before so long a name: the client's resolver goes on
		return
	}
	soa := a.Ns[0].Header()
	z := s.Zone(soa.Name)
	nsec := &dns.NSEC{
		// RFC 9077 §3: the denial's TTL.
		Hdr: rdata.Header(last.Target, dns.TypeNSEC, soa.Ttl), NextDomain: next, TypeBitMap: z.TypesAt(last.Target, q.Type),
	}
	if q.Type == dns.TypeNSEC {
		a.Answer, a.Ns = slices.Clip(append(slices.Clip(a.Answer), nsec)), nil // the type asked for exists
		return
	}
	a.Ns = []dns.RR{a.Ns[0], nsec}
}

// vouched returns the additional records for which the zones signed together are authoritative:
// glue is not signed (RFC 4035 §2.2).
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
