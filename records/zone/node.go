package zone

import (
	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records/pool"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// Flat reports whether n's steered data stand beside other data: a CNAME among them is no answer.
func (n *Node) Flat() bool { return n.Static != nil && n.Steered.Owner != nil }

// Node returns the zone's node at a name; nil for none.
func (z *Zone) Node(name string) *Node {
	n, _ := z.Nodes.Get(name)
	return n
}

// Listed reports whether lists show a node: it has data of its own, and is no part of a host's chain or of a zone below.
func (n *Node) Listed(z *Zone) bool {
	switch {
	case n.Unserved, n.Cut, n.Steered.Owner == nil && n.Static == nil && n.Name != z.Origin():
		return false
	case n.Static != nil:
		return !z.belowCut(n.Name)
	}
	s := &n.Steered
	if n.Unread() && s.Owner.Host != n.Name {
		return false // part of its host
	}
	return s.Data == nil || !s.Data.Inner()
}

// belowCut reports whether a name lies in a zone below that is served here: what z has there is glue.
func (z *Zone) belowCut(name string) bool {
	for at, _ := rdata.Parent(name); len(at) > len(z.Origin()); at, _ = rdata.Parent(at) {
		if n, ok := z.Nodes.Get(at); ok && n.Cut {
			return true
		}
	}
	return false
}

// HasData reports whether an object has data at the node: a host with an address or hostname, or served Records.
func (n *Node) HasData() bool {
	if n.Unserved {
		return false
	}
	if len(n.Records) > int(n.Lost) {
		return true
	}
	set, simple := n.Steered.Data.(*pool.Set)
	return !n.Steered.Inner() && !(simple && len(set.RRs) == 0)
}

// Unread reports whether the owner of the node cannot be read now.
func (n *Node) Unread() bool {
	return n.Steered.Data == nil && n.Steered.Owner != nil && n.Steered.Owner.Unread
}

// Withholds reports whether n, the result of a search for a type or nil, is not the answer because the registered owner cannot be read
// (rule 5.4).
func (z *Zone) Withholds(qtype uint16, n *Node) bool {
	switch {
	case z.Unread != nil:
		return true
	case n == nil || !n.Unread():
		return false
	}
	return OfType(n.Static, qtype) == nil && !(qtype == dns.TypeSOA && n.Name == z.Origin())
}
