package records

import (
	"slices"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records/pool"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
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
		Hdr: rdata.Header(last.Target, dns.TypeNSEC, soa.Ttl), NextDomain: next, TypeBitMap: z.typesAt(last.Target, q.Type),
	}
	if q.Type == dns.TypeNSEC {
		a.Answer, a.Ns = slices.Clip(append(slices.Clip(a.Answer), nsec)), nil // what is asked for exists
		return
	}
	a.Ns = []dns.RR{a.Ns[0], nsec}
}

// typesAt returns the types that exist at name, for whatever client, in order, as an
// NSEC record has them that denies the type asked. CNAME is not among them: the chain
// would go on, and for a name with other data for other types of question it would void
// the denial (RFC 6840 §4.3).
func (z *Zone) typesAt(name string, denied uint16) []uint16 {
	types := []uint16{dns.TypeRRSIG, dns.TypeNSEC}
	if n, _ := z.search(name, dns.TypeDS); n != nil {
		types = append(types, slices.DeleteFunc(z.nodeTypes(n, name), func(t uint16) bool { return t == denied })...)
	}
	slices.Sort(types)
	return slices.Compact(types)
}

// nodeTypes returns the types at name, which n answers for, but for those that signing
// adds.
func (z *Zone) nodeTypes(n *node, name string) (types []uint16) {
	apex := name == z.Origin()
	if n.name == name && z.begins(n) {
		// A cut: of the data at it these two are the parent's (RFC 4035 §2.3).
		if ofType(n.static, dns.TypeDS) != nil {
			types = append(types, dns.TypeDS)
		}
		return append(types, dns.TypeNS)
	}
	for _, set := range n.static {
		types = append(types, set.rtype)
	}
	if apex {
		types = append(types, dns.TypeSOA, dns.TypeDNSKEY)
	}
	if data := n.steered.data; data != nil {
		for fam, rtype := range [...]uint16{pool.A: dns.TypeA, pool.AAAA: dns.TypeAAAA} {
			if data.Has(pool.Family(fam)) {
				types = append(types, rtype)
			}
		}
	}
	return types
}

// begins tells whether another zone begins at n, whoever serves it.
func (z *Zone) begins(n *node) bool {
	return n.name != z.Origin() && (n.cut || ofType(n.static, dns.TypeNS) != nil)
}

// Delegates tells whether another zone begins at name, which lies in z, whoever serves
// it.
func (z *Zone) Delegates(name string) bool {
	n, ok := z.names.Get(name)
	return ok && z.begins(n)
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
		_, turn := z.search(name, dns.TypeA)
		return turn != nil
	}))
}

// within tells whether the answer may hold records of z.
func (q *Query) within(z *Zone) bool { return q.Within == nil || q.Within(z.Origin()) }
