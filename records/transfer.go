package records

import (
	"iter"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// SOA returns the zone's SOA record. Nobody may change it.
func (z *Zone) SOA() *dns.SOA { return z.soa[0].(*dns.SOA) }

// CorefileZone returns the origin of the zone of the Corefile that z is, or of the closest one above it.
func (z *Zone) CorefileZone() string { return z.Corefile.Origin }

// Lists tells whether every source that could hold names of z, one of s's zones, has been listed, and no host of it waits
// for Secrets: nothing is missing from it (rule 7.4).
func (s *Snapshot) Lists(z *Zone) bool {
	return s.denies(z.Origin()) && z.Unread == nil && z.unreadNames == 0
}

// Transfer yields the RRsets of the zone but for its SOA, each record once: those of its own name first, those hidden below
// cuts among them (RFC 5936 §3.5), and nothing below a DNAME, where nothing may be: there are secondaries that refuse such
// a zone (RFC 6672 §2.4). They depend neither on a client nor on what is found of any target (rule 7.5). Nobody may change
// them.
func (z *Zone) Transfer() iter.Seq[[]dns.RR] {
	return func(yield func([]dns.RR) bool) {
		apex, _ := z.names.Get(z.Origin())
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
	for name != z.Origin() {
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

// transferred returns what a transfer has of the steered data of n, at most two RRsets: the addresses that its policies
// mean, or a CNAME to the first hostname where there are no addresses and nothing else is at the name. The names below klb
// have nothing (rule 7.5).
func (n *node) transferred() (sets [2][]dns.RR) {
	if n.steered.data == nil {
		return sets
	}
	return n.beside(n.steered.data.Transferred(n.name, n.static == nil))
}

// beside returns those of the sets that may stand beside the static data of n: what hides them from queries hides them
// here.
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
