package zone

import (
	"slices"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// Search finds what answers for name, in lower case, which lies in the zone: its own node, or the
// wildcard that covers it (RFC 4592 §3.3.1); nil if the name does not exist. turn is not nil if the
// search ends above it, at a zone cut or a DNAME (RFC 1034 §4.3.2, RFC 6672 §3.2).
func (z *Zone) Search(name string, qtype uint16) (n, turn *Node) {
	if z.Turns > 0 {
		if turn = z.TurnOf(name, qtype); turn != nil {
			return nil, turn
		}
	}
	if n, ok := z.Nodes.Get(name); ok && !n.Unserved {
		return n, nil
	}
	for off, end := dns.NextLabel(name, 0); !end; off, end = dns.NextLabel(name, off) {
		if n, ok := z.Nodes.Get(name[off:]); ok && !n.Unserved {
			return z.covering(n, name), nil // of the closest encloser
		}
	}
	if n, _ := z.Nodes.Get("."); n != nil {
		return z.covering(n, name), nil
	}
	return nil, nil
}

// covering returns the wildcard below a node that answers for a missing name. It is nil for names that name the owners of hosts, since only
// the server puts records there (rule 5.8), for the name of the active groups, which counts as written alone (rule 9.5), and, if the
// label below the node begins with _, where the wildcard is foreign (rule 5.9).
func (z *Zone) covering(n *Node, name string) *Node {
	switch {
	case n.wild == nil, z.TellsOwner(name), z.NamesGroups(name):
		return nil
	case z.foreign.Len() > 0:
		below := name[:len(name)-len(n.Name)]
		if at, _ := dns.PrevLabel(below, 1); below[at] == '_' {
			if _, foreign := z.foreign.Get(n.wild.Name); foreign {
				return nil
			}
		}
	}
	return n.wild
}

// TurnOf returns the first node on the way from the apex to name that ends a search for it; nil for
// none.
func (z *Zone) TurnOf(name string, qtype uint16) (turn *Node) {
	if n, ok := z.Nodes.Get(name); ok && n.Cut {
		return nil // the DS of a zone below: nothing of this zone hides it
	}
	for at := range rdata.Ancestors(name) {
		n, exists := z.Nodes.Get(at)
		if exists && n.Turn && (at != name || qtype != dns.TypeDS && OfType(n.Static, dns.TypeNS) != nil && at != z.Origin()) {
			turn = n
		}
		if at == z.Origin() {
			break
		}
	}
	return turn
}

// GlueOf returns the zone's addresses for the name servers of a cut: first of those at or below it,
// all of which the client needs (RFC 9471 §3.1), then of others.
func (z *Zone) GlueOf(cut string, ns []dns.RR) []dns.RR {
	within := func(server string) bool { return rdata.IsSubdomain(cut, server) }
	needed := z.appendGlue(nil, ns, maxGlue, within)
	beside := func(server string) bool { return !within(server) }
	return slices.Clip(z.appendGlue(needed, ns[:min(len(ns), MaxTargets)], MaxAdditional, beside))
}

// appendGlue appends the zone's addresses, as in a transfer, of the servers for which of is true, until there are most, or a few more.
func (z *Zone) appendGlue(glue, ns []dns.RR, most int, of func(server string) bool) []dns.RR {
	for _, rr := range ns {
		if server := rr.(*dns.NS).Ns; len(glue) < most && of(server) {
			n, _ := z.Nodes.Get(server)
			n.transfer(func(rrs []dns.RR) bool {
				if t := rrs[0].Header().Rrtype; t == dns.TypeA || t == dns.TypeAAAA {
					glue = append(glue, rrs...)
				}
				return true
			})
		}
	}
	return glue
}

// maxGlue bounds the work: no message holds this many addresses of 16 octets, and TC says so.
const maxGlue = dns.MaxMsgSize / 16

// How many targets of one answer are looked up for addresses, and how many such records are added:
// they are optional, and the work has a bound.
const (
	MaxTargets    = 32
	MaxAdditional = 128
)

// AppendBindings appends the service bindings of a type at name.
func (z *Zone) AppendBindings(rrs []dns.RR, name string, rtype uint16) []dns.RR {
	n, turn := z.Search(name, rtype)
	if turn != nil || n == nil {
		return rrs
	}
	bindings := OfType(n.Static, rtype)
	if n.Name != name { // from a wildcard
		bindings = rdata.WithOwner(bindings, n.Name, name)
	}
	return append(rrs, bindings...)
}

// AppendKnown appends the addresses at name that do not depend on the client.
func (z *Zone) AppendKnown(rrs []dns.RR, name string) []dns.RR {
	n, turn := z.Search(name, dns.TypeA)
	if turn != nil {
		n, _ = z.Nodes.Get(name) // glue
	}
	switch {
	case n == nil:
		return rrs
	case n.Name != name:
		return append(rrs, rdata.WithOwner(n.appendKnown(nil), n.Name, name)...)
	}
	return n.appendKnown(rrs)
}

// appendKnown appends the addresses of the node that do not depend on the client.
func (n *Node) appendKnown(rrs []dns.RR) []dns.RR {
	rrs = append(append(rrs, OfType(n.Static, dns.TypeA)...), OfType(n.Static, dns.TypeAAAA)...)
	if n.Steered.Data != nil {
		rrs = n.Steered.Data.AppendKnown(rrs)
	}
	return rrs
}
