package records

import (
	"slices"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// override marks what the operator's words concern that have changed.
func (c *compiler) override() {
	if c.prev == nil {
		return
	}
	for o := range c.next.in.Overrides.Changed(c.prev.in.Overrides) {
		for _, s := range c.prev.clusters {
			switch {
			case o.Cluster != "" && o.Cluster != s.name:
			case o.Gateway != "":
				if t, ok := s.targets.Get(o.Gateway); ok {
					c.mark(t, "")
				}
			default:
				for _, t := range s.targets.All() {
					c.mark(t, o.Target)
				}
			}
		}
	}
}

// Concerns tells whether there is anything that an override is about: a cluster, a
// Gateway, or a target of what a policy publishes.
func (s *Snapshot) Concerns(o *api.Override) bool {
	for i, c := range s.clusters {
		if o.Cluster != "" && o.Cluster != c.name {
			continue
		}
		switch {
		case o.Gateway != "":
			if _, ok := s.in.Clusters[i].Gateways.Get(o.Gateway); ok {
				return true
			}
		case o.Target == "":
			return true
		default:
			for _, t := range c.targets.All() {
				if slices.ContainsFunc(t.claims, func(cl *claim) bool { return cl.targets.has(o.Target) }) {
					return true
				}
			}
		}
	}
	return false
}
