package records

import (
	"slices"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records/zone"
)

// seal makes the complete answer a signable RRset by RRset: it proves what it denies, and drops what
// the zones signed together do not vouch for.
func (s *Snapshot) seal(q *Query, a *Answer) {
	switch {
	case a.Referral:
		return // its NS records and glue are not signed (RFC 4035 §2.2)
	case len(a.Ns) > 0 && a.Ns[0].Header().Rrtype == dns.TypeNS:
		// The signer of the answer would sign the referral at its end, too. The client's resolver
		// goes on, and gets the referral then.
		a.Ns, a.Extra = nil, nil
	case len(a.Ns) > 0:
		s.prove(q, a)
	}
	a.Extra = s.vouched(q, a.Extra)
}

// prove adds the NSEC record of the name that has no data: the last one of the chain, if there is one (rule 7.6).
func (s *Snapshot) prove(q *Query, a *Answer) {
	name := q.Name
	if n := len(a.Answer); n > 0 {
		if last, ok := a.Answer[n-1].(*dns.CNAME); ok {
			name = last.Target
		}
	}
	soa := a.Ns[0].Header() // RFC 9077 §3: the denial's TTL
	a.Ns = []dns.RR{a.Ns[0], s.Zone(soa.Name).Denial(name, q.Type, soa.Ttl)}
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
