package records

import (
	"slices"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
)

// loss is a claim that another object's claim keeps from being served.
type loss struct {
	claim, owner *endpoint.Claim
	// crowded is set where owner would share the host, but too many do already.
	crowded bool
}

// maxSharing is how many claims share a host at most: a query looks at the members of
// each.
const maxSharing = 500

// loses tells whether one of the claims of g is among those that lost.
func (g *nameGroup) loses(c *endpoint.Claim) bool {
	_, lost := g.loss(c)
	return lost
}

// loss returns how one of the claims of g has lost; ok is false where it has not. The
// losses are in the order of claim.older.
func (g *nameGroup) loss(c *endpoint.Claim) (l loss, ok bool) {
	i, ok := slices.BinarySearchFunc(g.lost, c, func(l loss, c *endpoint.Claim) int { return l.claim.Older(c) })
	if !ok {
		return loss{}, false
	}
	return g.lost[i], true
}

// resolveOwners decides which claims are served: a host belongs to the namespace of the first claim on it, and its
// addresses to the first one of these that has any, with those that share the host with it. The others lose as a whole
// (rules 5.3 to 5.6). Claims of records neither win nor lose.
func resolveOwners(claims []*endpoint.Claim) (won []*endpoint.Claim, lost []loss) {
	won = make([]*endpoint.Claim, 0, len(claims))
	for _, on := range byKey(claims, func(c *endpoint.Claim) string { return c.Host }) {
		first, sharing := on[0], 0
		var owner *endpoint.Claim
		for _, c := range on {
			switch own := c.By.SameNamespace(first.By); {
			case own && owner == nil && (!c.Static || c.Addresses):
				owner = c
			case c.Static:
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
			if !c.Static {
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
func share(a, b *endpoint.Claim) bool {
	switch {
	case a.Kind != b.Kind || a.Static || a.Kind == api.KindRecord:
		return false
	case !a.By.SameNamespace(b.By):
		return false
	case a.Registered || b.Registered: // whether it pools is not known
		return a.Pools() || b.Pools() || a.By.Name == b.By.Name && a.By.Cluster != b.By.Cluster
	case a.Pools() != b.Pools():
		return false
	}
	return a.Pools() || a.By.Name == b.By.Name && a.By.Cluster != b.By.Cluster
}
