package records

import (
	"slices"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// ownerAt returns the owner of a name that has steered data of a claim, as it is to be on record: has tells
// whether it has its chain, as hasChain does. Whether it has its name alone is as on record where that is not
// known now.
func (s *Snapshot) ownerAt(z *Zone, n *node, has func(*claim) bool) api.Owner {
	owner := n.steered.owner
	kind, m := owner.object()
	o := s.lineOf(owner)
	o.Chain = has(owner)
	if s.asOnRecord(owner) {
		was, ok := s.in.Registered(n.name)
		o.Alone = ok && was.Is(kind, m) && was.Alone
	} else {
		o.Alone = !z.shared(n, owner)
	}
	return o
}

// asOnRecord tells whether an owner has alone what is on record that it has alone, and nothing else: it is not
// known what stands there, as not everything has been read that may, or its claim is kept back.
func (s *Snapshot) asOnRecord(*claim) bool {
	return !s.knowsBeside
}

// hadChain tells whether it is on record that an owner has klb.H' and all below it alone, where it may
// have that still.
func (s *Snapshot) hadChain(owner *claim) bool {
	kind, m := owner.object()
	was, ok := s.in.Registered(owner.host)
	return ok && was.Is(kind, m) && was.Chain && owner.pools()
}

// knowsBeside tells whether all has been read that may stand beside others' names, or allow or forbid it.
func knowsBeside(in *api.Objects) bool {
	return hasRead(in, func(k api.Kind) bool { return k.HoldsNames() && k != api.KindGateway && k != api.KindDNSPolicy })
}

// hasChain tells whether the owner of a host has klb.H' and all below it, and no other
// namespace has data that stand there: who acquires such a host acquires those names too
// (decision 23).
func (s *Snapshot) hasChain(owner *claim) bool {
	if s.asOnRecord(owner) {
		return s.hadChain(owner)
	}
	h := rdata.Base(owner.host)
	if !owner.steers() && !s.sharesChain(owner) {
		return false
	}
	for at := range klbRecords(s.klb, groupKey(h), klbLabel+h) {
		if in := s.Zone(rdata.Base(at)); in != nil && !rdata.IsSubdomain(klbLabel+h, in.origin) {
			if below, _ := in.names.Get(at); below != nil && in.shared(below, owner) {
				return false
			}
		}
	}
	return true
}

// sharesChain tells whether an owner shares its host with one that has klb.H'.
func (s *Snapshot) sharesChain(owner *claim) bool {
	h := rdata.Base(owner.host)
	g, _ := s.groups.Get(groupKey(h))
	return g != nil && g.chains[h] != nil && share(owner, g.chains[h])
}

// chainsOf returns nameGroup.chains of the claims that are served, older first.
func chainsOf(won []*claim) map[string]*claim {
	if !slices.ContainsFunc(won, func(cl *claim) bool { return cl.pools() && !cl.steers() }) {
		return nil // by far the most
	}
	first := make(map[string]*claim)
	for _, cl := range won {
		if h := rdata.Base(cl.host); cl.steers() && first[h] == nil {
			first[h] = cl
		}
	}
	return first
}

// shared tells whether entries of other namespaces than the owner's stand at a node.
func (z *Zone) shared(n *node, owner *claim) bool {
	if len(n.entries) == 0 {
		return false // by far the most
	}
	beside := standingBeside(n.entries, z.standing(n), func(*entry, *problem) {})
	return slices.ContainsFunc(beside, func(e *entry) bool {
		return !owner.by.SameNamespace(&e.record.Meta)
	})
}

// holdsChain reports whether it is on record that the object of a claim has klb.H' and all below it.
func (c *compiler) holdsChain(cl *claim) bool {
	owner, _ := c.next.in.Acquired.Get(cl.host)
	return owner.Chain && c.holds(cl)
}
