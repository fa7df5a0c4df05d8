package records

import (
	"slices"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// loss is a claim that another object's claim keeps from being served.
type loss struct {
	claim, owner *claim
}

// resolveOwners decides which of the claims that can contend are served. Older
// claims go first; a claim any part of which is another's loses as a whole
// (rule 5.7). claims must be sorted by claim.older; the result keeps the order.
func resolveOwners(claims []*claim) (won []*claim, lost []loss) {
	if len(claims) == 1 {
		return claims, nil // by far the most
	}
	for _, c := range claims {
		owner := c.loser(won)
		if owner != nil {
			lost = append(lost, loss{claim: c, owner: owner})
			continue
		}
		won = append(won, c)
	}
	return won, lost
}

// loser returns the first of the served claims that c may not stand beside.
func (c *claim) loser(won []*claim) *claim {
	i := slices.IndexFunc(won, func(w *claim) bool {
		return contend(w, c) && !share(w, c)
	})
	if i < 0 {
		return nil
	}
	return won[i]
}

// contend tells whether two claims want the same part of the name space: the
// same host, the same klb names, or a host inside the other's klb names.
func contend(a, b *claim) bool {
	return a.host == b.host || inSteering(a, b) || inSteering(b, a) ||
		base(a.host) == base(b.host) && a.steers() && b.steers()
}

// inSteering tells whether host of b lies at or below klb.H' of a.
func inSteering(a, b *claim) bool {
	return a.steers() && IsSubdomain(klbLabel+base(a.host), base(b.host))
}

// steers tells whether the claim takes klb names below its host.
func (c *claim) steers() bool { return c.policy.Strategy == api.WeightedGeo }

// share tells whether two claims that contend may be served together: consent
// is the same namespace for weightedGeo, and the same namespace and name in
// another cluster for either strategy (rule 5.6).
func share(a, b *claim) bool {
	switch {
	case a.policy.Strategy != b.policy.Strategy, base(a.host) != base(b.host):
		return false
	case a.steers():
		return a.policy.Namespace() == b.policy.Namespace()
	}
	return a.policy.Name == b.policy.Name && a.policy.Cluster != b.policy.Cluster
}
