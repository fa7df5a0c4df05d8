package records

import (
	"iter"
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// elsewhereUser begins the name of who has targets checked for the policies of one Gateway whose
// provider is another controller's: its cluster and its namespace/name follow. No group has such
// a key.
const elsewhereUser = "@/"

// checkElsewhere has the targets checked that policies of t, the target of a Gateway, publish through
// another controller, and no longer those that it had checked before: their DNSRecords say how they
// are (rules 4.1 and 4.8). t is nil where there are no policies any more.
func (c *compiler) checkElsewhere(e *clusterEdit, gateway string, t *target) {
	before, had := e.elsewhere.Get(gateway)
	var used []string
	if t.leavesSome() {
		c.checks.begin(elsewhereUser + e.in.Name + "/" + gateway)
		for cl := range t.allElsewhere() {
			for _, address := range cl.addresses() {
				c.builder.vital(cl, address, nil)
			}
		}
		used = c.checks.used
	}
	if had {
		c.checks.release(elsewhereUser+e.in.Name+"/"+gateway, before)
	}
	switch {
	case len(used) > 0:
		e.elsewhere.Set(gateway, used)
	case had:
		e.elsewhere.Delete(gateway)
	}
}

// leavesSome tells whether a policy of the target is left to another controller.
func (t *target) leavesSome() bool {
	return t != nil && t.gateway != nil && slices.ContainsFunc(t.policies, func(p *api.DNSPolicy) bool { return !p.Provider.ServedHere() })
}

// claimedElsewhere yields what a policy would claim whose provider is another controller's; nothing
// for any other policy.
func (t *target) claimedElsewhere(p *api.DNSPolicy) iter.Seq[*claim] {
	return func(yield func(*claim) bool) {
		if p.Provider.ServedHere() || t.gateway == nil || t.acceptance(p) != nil {
			return
		}
		for _, cl := range t.elsewhere(p) {
			if !yield(cl) {
				return
			}
		}
	}
}

// allElsewhere is claimedElsewhere for all policies of the target.
func (t *target) allElsewhere() iter.Seq[*claim] {
	return func(yield func(*claim) bool) {
		for _, p := range t.policies {
			for cl := range t.claimedElsewhere(p) {
				if !yield(cl) {
					return
				}
			}
		}
	}
}

// allClaims yields the claims of the target, and what its policies would claim that are left to other
// controllers.
func (t *target) allClaims() iter.Seq[*claim] {
	return func(yield func(*claim) bool) {
		for _, cl := range t.claims {
			if !yield(cl) {
				return
			}
		}
		t.allElsewhere()(yield)
	}
}

// publishesElsewhere tells whether another controller publishes one of some targets for a policy.
func (t *target) publishesElsewhere(at targetSet) bool {
	for cl := range t.allElsewhere() {
		if at.meets(cl.targets) {
			return true
		}
	}
	return false
}

// addresses returns the addresses and hostnames of a claim, each once, without final dots.
func (c *claim) addresses() (all []string) {
	for _, l := range c.targets.leaves {
		for _, a := range slices.Concat(l.v4, l.v6) {
			all = appendText(all, a.String())
		}
		for _, h := range l.hostnames {
			all = appendText(all, trimDot(h))
		}
	}
	return all
}

// elsewhereOf yields what a policy would claim whose provider is another controller's; nothing for any
// other, and for one that is not accepted.
func (s *Snapshot) elsewhereOf(cluster, policy string) iter.Seq[*claim] {
	return func(yield func(*claim) bool) {
		for i, state := range s.clusters {
			p, ok := s.in.Clusters[i].Policies.Get(policy)
			if state.name != cluster || !ok {
				continue
			}
			if t, ok := state.targets.Get(p.TargetName()); ok {
				t.claimedElsewhere(p)(yield)
			}
		}
	}
}

// followersElsewhere yields the policies of a Gateway, as elsewhereUser names it, that are left to
// another controller, with their children; it returns false where yield does.
func (s *Snapshot) followersElsewhere(user string, yield func(string, api.Ref) bool) bool {
	cluster, gateway, _ := strings.Cut(user, "/")
	for _, state := range s.clusters {
		t, ok := state.targets.Get(gateway)
		if state.name != cluster || !ok {
			continue
		}
		for _, p := range t.policies {
			of := api.Ref{Kind: api.KindDNSPolicy, Name: p.Name}
			if p.Provider.ServedHere() {
				continue
			}
			if !yield(cluster, of) {
				return false
			}
			for _, child := range s.Existing(cluster, of) {
				if !yield(cluster, child) {
					return false
				}
			}
		}
	}
	return true
}

// lookAgain has a Gateway looked at again, where it has policies that are left to other controllers:
// no name of a group tells of those.
func (c *compiler) lookAgain(t *target) {
	if !t.leavesSome() {
		return
	}
	if e := c.cluster(t.gateway.Cluster); e != nil {
		e.again = append(e.again, t.gateway.Name)
	}
}
