package zone

import (
	"iter"
	"slices"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// HiderOf returns what hides the zone's data of a type at a name from queries: NS records at or
// above the name, or a DNAME above, lead elsewhere (RFC 1034 §4.3.2, RFC 6672 §2.4); nil for
// nothing. The addresses of a referral's own name servers are not hidden.
func (z *Zone) HiderOf(name string, rtype uint16) *endpoint.Problem {
	if z.Turns == 0 {
		return nil // almost always
	}
	turn := z.TurnOf(name, rtype)
	switch {
	case turn == nil, turn.Name == name && rtype == dns.TypeNS:
		return nil
	case OfType(turn.Static, dns.TypeNS) == nil || turn.Name == z.Origin():
		return endpoint.Problemf(endpoint.ReasonHidden,
			"the DNAME record at %s redirects all names below it; this one is hidden", endpoint.TrimDot(turn.Name))
	}
	isServer := func(rr dns.RR) bool { return rr.(*dns.NS).Ns == name }
	if (rtype == dns.TypeA || rtype == dns.TypeAAAA) && slices.ContainsFunc(OfType(turn.Static, dns.TypeNS), isServer) {
		return nil
	}
	return endpoint.Problemf(endpoint.ReasonHidden,
		"the NS records at %s delegate it and all names below it; this one is hidden",
		endpoint.TrimDot(turn.Name))
}

// DeepBelow yields the names below one of the zone's that have Records or an owner; for the origin it yields
// all names of the zone.
func (z *Zone) DeepBelow(name string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if name == z.Origin() {
			for below := range z.Nodes.All() {
				if !yield(below) {
					return
				}
			}
			return
		}
		for key := range z.deep.Beginning(rdata.FromRoot(name)) {
			if !yield(rdata.FromRoot(key)) {
				return
			}
		}
	}
}
