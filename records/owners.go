package records

import (
	"slices"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// loss is a claim that another object's claim keeps from being served.
type loss struct {
	claim, owner *claim
	// crowded is set where owner would share the host, but too many do already.
	crowded bool
}

// maxSharing is how many claims share a host at most: a query looks at the members of
// each.
const maxSharing = 500

// loses tells whether one of the claims of g is among those that lost.
func (g *nameGroup) loses(c *claim) bool {
	_, lost := g.loss(c)
	return lost
}

// loss returns how one of the claims of g has lost; ok is false where it has not. The
// losses are in the order of claim.older.
func (g *nameGroup) loss(c *claim) (l loss, ok bool) {
	i, ok := slices.BinarySearchFunc(g.lost, c, func(l loss, c *claim) int { return l.claim.older(c) })
	if !ok {
		return loss{}, false
	}
	return g.lost[i], true
}

// resolveOwners decides which claims are served: a host belongs to the namespace of the first claim on it, and its
// addresses to the first one of these that has any, with those that share the host with it. The others lose as a whole
// (rules 5.3 to 5.6). Claims of records neither win nor lose.
func resolveOwners(claims []*claim) (won []*claim, lost []loss) {
	won = make([]*claim, 0, len(claims))
	for _, on := range byKey(claims, func(c *claim) string { return c.host }) {
		first, sharing := on[0], 0
		var owner *claim
		for _, c := range on {
			switch own := c.by.SameNamespace(first.by); {
			case own && owner == nil && (!c.static || c.addresses):
				owner = c
			case c.static:
				continue
			case !own:
				lost = append(lost, loss{claim: c, owner: first})
				continue
			case !share(owner, c):
				lost = append(lost, loss{claim: c, owner: owner})
				continue
			case sharing == maxSharing:
				lost = append(lost, loss{claim: c, owner: owner, crowded: true})
				continue
			}
			if !c.static {
				sharing++
				won = append(won, c)
			}
		}
	}
	return won, lost
}

// share reports whether two claims on one host may be served together: consent
// is the same namespace for weightedGeo, and the same namespace and name in
// another cluster for either strategy, as far as the clusters pool in it (rule 5.6).
func share(a, b *claim) bool {
	switch {
	case a.kind != b.kind || a.static || a.kind == api.KindRecord:
		return false
	case !a.by.SameNamespace(b.by):
		return false
	case a.registered || b.registered: // whether it pools is not known
		return a.pools() || b.pools() || a.by.Name == b.by.Name && a.by.Cluster != b.by.Cluster
	case a.pools() != b.pools():
		return false
	}
	return a.pools() || a.by.Name == b.by.Name && a.by.Cluster != b.by.Cluster
}
