package records

import (
	"iter"
	"math"
	"net/netip"
	"slices"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// SOA returns the zone's SOA record. Nobody may change it.
func (z *Zone) SOA() *dns.SOA { return z.soa[0].(*dns.SOA) }

// CorefileZone returns the origin of the zone of the Corefile that z is, or of the closest
// one above it.
func (z *Zone) CorefileZone() string { return z.corefile.Origin }

// Lists tells whether every source that could hold names of z, one of s's zones, has been
// listed, and no host of it waits for Secrets: nothing is missing from it (rule 7.4).
func (s *Snapshot) Lists(z *Zone) bool {
	return s.denies(z.origin) && z.unread == nil && z.unreadNames == 0
}

// Transfer yields the RRsets of the zone but for its SOA, each record once: those of its
// own name first, those hidden below cuts among them (RFC 5936 §3.5), and nothing below a
// DNAME, where nothing may be: there are secondaries that refuse such a zone (RFC 6672
// §2.4). They depend neither on a client nor on what is found of any target (rule 7.5).
// Nobody may change them.
func (z *Zone) Transfer() iter.Seq[[]dns.RR] {
	return func(yield func([]dns.RR) bool) {
		apex, _ := z.names.Get(z.origin)
		if !apex.transfer(yield) {
			return
		}
		for _, n := range z.names.All() {
			if n != apex && !z.redirects(n.name) && !n.transfer(yield) {
				return
			}
		}
	}
}

// redirects tells whether name lies below a DNAME of the zone.
func (z *Zone) redirects(name string) bool {
	if z.dnames.Len() == 0 {
		return false // by far the most
	}
	for name != z.origin {
		name, _ = rdata.Parent(name)
		if _, ok := z.dnames.Get(name); ok {
			return true
		}
	}
	return false
}

// redirect notes whether n, which is settled, has a DNAME.
func (e *zoneEdit) redirect(n *node) {
	_, was := e.zone.dnames.Get(n.name)
	if e.dnames != nil {
		_, was = e.dnames.Get(n.name)
	}
	is := ofType(n.static, dns.TypeDNAME) != nil
	if was == is {
		return
	}
	if e.dnames == nil {
		e.dnames = e.zone.dnames.Edit()
	}
	if is {
		e.dnames.Set(n.name, struct{}{})
	} else {
		e.dnames.Delete(n.name)
	}
	e.redirected = append(e.redirected, n.name)
}

// transfer yields the RRsets of a name; nil has none. It tells whether to go on.
func (n *node) transfer(yield func([]dns.RR) bool) bool {
	if n == nil {
		return true
	}
	for _, s := range n.static {
		if len(s.rrs) > 0 && !yield(s.rrs) {
			return false
		}
	}
	for _, rrs := range n.transferred() {
		if len(rrs) > 0 && !yield(rrs) {
			return false
		}
	}
	return true
}

// transferred returns what a transfer has of the steered data of n, at most two RRsets:
// the addresses that its policies mean, or a CNAME to the first hostname where there are
// no addresses and nothing else is at the name. The names below klb have nothing (rule
// 7.5).
func (n *node) transferred() (sets [2][]dns.RR) {
	var m meant
	ttl := uint32(0)
	switch s := &n.steered; {
	case s.inner():
		return sets
	case s.set != nil && s.set.vitals == nil:
		sets = [2][]dns.RR{s.set.rrs[:s.set.v4:s.set.v4], s.set.rrs[s.set.v4:]}
		return n.beside(sets)
	case s.set != nil:
		m.addSet(s.set)
		ttl = s.set.rrs[0].Header().Ttl
	case s.view != nil:
		ttl = m.addPool(s.view.pool)
	default:
		return sets
	}
	return n.beside(m.rrsets(n, ttl))
}

// beside returns those of the sets that may stand beside the static data of n: what hides
// them from queries hides them here.
func (n *node) beside(sets [2][]dns.RR) [2][]dns.RR {
	if n.static == nil {
		return sets
	}
	for i, rrs := range sets {
		if len(rrs) > 0 && (isCNAME(rrs[0]) || ofType(n.static, rrs[0].Header().Rrtype) != nil) {
			sets[i] = nil
		}
	}
	return sets
}

// inner tells whether s belongs to a name below klb.
func (s *steered) inner() bool {
	switch {
	case s.set != nil:
		return s.set.leaf
	case s.view != nil:
		return s.view.inner
	}
	return true
}

// transferredAsAnswered tells whether a transfer has the records that s answers with, but
// for those that static data hides.
func (s *steered) transferredAsAnswered() bool {
	return s.inner() || s.set != nil && s.set.vitals == nil
}

// Ranks of what a name's policies publish, for transfers: what is drained counts where
// there is nothing else, and what is forced down where everything is (rules 2.6 and 4.6).
// They follow from the objects and the operator's words, never from checks, so that all
// servers transfer the same under one serial.
const (
	rankMeant = iota
	rankDrained
	rankForced
	rankNone
)

// meant gathers what a name's policies publish, by rank.
type meant struct {
	v4, v6 ranked[netip.Addr]
	alias  ranked[string] // hostnames
}

// ranked holds the values of the lowest rank that was added.
type ranked[T any] struct {
	rank   int
	values []T
}

func (r *ranked[T]) add(v T, rank int) {
	switch {
	case len(r.values) > 0 && rank > r.rank:
		return
	case len(r.values) > 0 && rank < r.rank:
		r.values = r.values[:0]
	}
	r.rank, r.values = rank, append(r.values, v)
}

// lowest is the rank of the values, rankNone where there are none.
func (r *ranked[T]) lowest() int {
	if len(r.values) == 0 {
		return rankNone
	}
	return r.rank
}

func (m *meant) addSet(s *addressSet) {
	for i, rr := range s.rrs {
		rank := s.vitals[i].transferRank(false)
		switch rr := rr.(type) {
		case *dns.A:
			m.v4.add(netip.AddrFrom4([4]byte(rr.A)), rank)
		case *dns.AAAA:
			m.v6.add(netip.AddrFrom16([16]byte(rr.AAAA)), rank)
		case *dns.CNAME:
			m.alias.add(rr.Target, rank)
		}
	}
}

// addPool adds the members of a pool, and returns the lowest TTL of its answers.
func (m *meant) addPool(p *Pool) (ttl uint32) {
	ttl = math.MaxUint32
	for i := range p.members {
		o := &p.members[i]
		for _, rrs := range o.answers {
			for _, rr := range rrs {
				ttl = min(ttl, rr.Header().Ttl)
			}
		}
		if o.leaf == nil {
			// Without an answer, nobody can resolve it here.
			if len(o.answers[famCNAME]) > 0 {
				m.alias.add(o.target, o.transferRank(famCNAME, 0))
			}
			continue
		}
		for j, a := range o.leaf.v4 {
			m.v4.add(a, o.transferRank(famA, j))
		}
		for j, a := range o.leaf.v6 {
			m.v6.add(a, o.transferRank(famAAAA, j))
		}
	}
	return ttl
}

// transferRank returns the rank of the i-th address of a family, or of the hostname.
func (m *member) transferRank(fam family, i int) int {
	v := vital{gateway: m.word}
	if vitals := m.vitalsOf(fam); len(vitals) > 0 {
		v = vitals[i]
	}
	return v.transferRank(m.weight == 0)
}

// transferRank returns the rank of an address, whatever checks have found. drained is true
// where its member has no weight.
func (v vital) transferRank(drained bool) int {
	switch _, forced := v.state(); {
	case forced:
		return rankForced
	case drained || v.gateway.Load().Drained():
		return rankDrained
	}
	return rankMeant
}

// rrsets returns what was gathered as RRsets at n.
func (m *meant) rrsets(n *node, ttl uint32) (sets [2][]dns.RR) {
	alias := m.alias.lowest() < min(m.v4.lowest(), m.v6.lowest())
	if alias && n.static == nil {
		return [2][]dns.RR{{cnameRR(n.name, ttl, m.alias.values[0])}}
	}
	for i, addrs := range [...][]netip.Addr{m.v4.values, m.v6.values} {
		slices.SortFunc(addrs, netip.Addr.Compare)
		sets[i] = addressRRs(n.name, ttl, slices.Compact(addrs))
	}
	return sets
}
