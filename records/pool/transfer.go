package pool

import (
	"math"
	"net/netip"
	"slices"
	"sort"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// meant collects what a name's policies publish regardless of checks: the addresses of the lowest rank, and such hostnames.
type meant struct {
	addrs ranked[netip.Addr]
	alias ranked[string] // hostnames
}

// ranked holds the values of the lowest rank added; last if there are none.
type ranked[T any] struct {
	rank   rank
	values []T
}

func (r *ranked[T]) add(v T, of rank) {
	switch {
	case of > r.rank:
		return
	case of < r.rank:
		r.values = r.values[:0]
	}
	r.rank, r.values = of, append(r.values, v)
}

// Transferred implements Data.
func (s *Set) Transferred(name string, alone bool) (sets [2][]dns.RR) {
	switch {
	case s.part:
		return sets
	case s.Cells == nil:
		return [2][]dns.RR{s.RRs[:s.V4:s.V4], s.RRs[s.V4:]}
	}
	m := newMeant()
	for i, rr := range s.RRs {
		at := (*Pool)(nil).transferRank(nil, s.Cells[i].meant(false))
		if alias, is := rr.(*dns.CNAME); is {
			m.alias.add(alias.Target, at)
		} else {
			m.addrs.add(addressOf(rr), at)
		}
	}
	return m.rrsets(name, alone, s.RRs[0].Header().Ttl)
}

// Transferred implements Data: the addresses of all members, whatever their geography.
func (v *View) Transferred(name string, alone bool) (sets [2][]dns.RR) {
	if v.part {
		return sets
	}
	m, ttl := newMeant(), uint32(math.MaxUint32)
	for i := range v.Pool.Members {
		o := &v.Pool.Members[i]
		for _, rrs := range o.answers {
			for _, rr := range rrs {
				ttl = min(ttl, rr.Header().Ttl)
			}
		}
		at := func(i int) rank { return v.Pool.transferRank(o, o.CellsOf(i).meant(o.Weight == 0)) }
		if o.leaf == nil {
			// Without an answer, it cannot be resolved here.
			if len(o.answers[CNAME]) > 0 {
				m.alias.add(o.ID, at(0))
			}
			continue
		}
		for j, rr := range o.leaf.rrs {
			m.addrs.add(addressOf(rr), at(j))
		}
	}
	return m.rrsets(name, alone, ttl)
}

func newMeant() *meant {
	m := new(meant)
	m.addrs.rank, m.alias.rank = last, last
	return m
}

// rrsets returns the result as RRsets at a name: the addresses or, if there are none as good and nothing else is at the name, a CNAME to
// the first hostname.
func (m *meant) rrsets(name string, alone bool, ttl uint32) (sets [2][]dns.RR) {
	if alone && m.alias.rank < m.addrs.rank {
		return [2][]dns.RR{{rdata.CNAME(name, ttl, m.alias.values[0])}}
	}
	slices.SortFunc(m.addrs.values, netip.Addr.Compare) // IPv4 before IPv6
	all := slices.Compact(m.addrs.values)
	n := sort.Search(len(all), func(i int) bool { return all[i].Is6() })
	return [2][]dns.RR{rdata.Addresses(name, ttl, all[:n]), rdata.Addresses(name, ttl, all[n:])}
}
