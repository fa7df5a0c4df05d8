package zone

import (
	"iter"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// SOA returns the zone's SOA record. Nobody may change it.
func (z *Zone) SOA() *dns.SOA { return z.SOASet[0].(*dns.SOA) }

// CorefileZone returns the origin of z if it is a zone of the Corefile, else of the closest one above it.
func (z *Zone) CorefileZone() string { return z.Corefile.Origin }

// Transfer yields the zone's RRsets without its SOA, each record once: those at its origin first. It includes those hidden below cuts (RFC
// 5936 §3.5), and nothing below a DNAME, where nothing may be: some secondaries refuse such a zone (RFC 6672 §2.4). They depend neither on
// a client nor on check results (rule 7.5). They are read-only.
func (z *Zone) Transfer() iter.Seq[[]dns.RR] {
	return func(yield func([]dns.RR) bool) {
		apex, _ := z.Nodes.Get(z.Origin())
		if !apex.transfer(yield) {
			return
		}
		for _, n := range z.Nodes.All() {
			if n != apex && !z.redirects(n.Name) && !n.transfer(yield) {
				return
			}
		}
	}
}

// redirects reports whether name lies below a DNAME of the zone.
func (z *Zone) redirects(name string) bool {
	if z.dnames.Len() == 0 {
		return false // almost always
	}
	for name != z.Origin() {
		name, _ = rdata.Parent(name)
		if _, ok := z.dnames.Get(name); ok {
			return true
		}
	}
	return false
}

// transfer yields a name's RRsets; none if n is nil. It reports whether to go on.
func (n *Node) transfer(yield func([]dns.RR) bool) bool {
	if n == nil {
		return true
	}
	for _, s := range n.Static {
		if len(s.RRs) > 0 && !yield(s.RRs) {
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

// transferred returns a transfer's data for n's steered data, at most two RRsets: the addresses that its policies mean or, if there are
// none and nothing else is at the name, a CNAME to the first hostname. Names below klb have none (rule 7.5).
func (n *Node) transferred() (sets [2][]dns.RR) {
	if n.Steered.Data == nil {
		return sets
	}
	return n.beside(n.Steered.Data.Transferred(n.Name, n.Static == nil))
}

// beside returns the sets that may stand beside n's static data: what hides them from queries hides them here.
func (n *Node) beside(sets [2][]dns.RR) [2][]dns.RR {
	if n.Static == nil {
		return sets
	}
	for i, rrs := range sets {
		if len(rrs) > 0 && (rdata.IsCNAME(rrs[0]) || OfType(n.Static, rrs[0].Header().Rrtype) != nil) {
			sets[i] = nil
		}
	}
	return sets
}
