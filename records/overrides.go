package records

import "github.com/coredns-kuadrant/kuadrant/records/status"

// override marks what changed overrides apply to. All overrides of targets share one pass over what
// is published.
func (c *compiler) override() {
	if c.prev == nil {
		return
	}
	addresses := make(map[string]bool)
	for o := range c.next.In.Overrides.Changed(c.prev.In.Overrides) {
		if o.Target != "" {
			addresses[o.Target] = true
			continue
		}
		for _, s := range c.prev.Clusters {
			if o.Cluster != "" && o.Cluster != s.Name {
				continue
			}
			if o.Gateway != "" {
				if t, ok := s.Targets.Get(o.Gateway); ok {
					c.mark(t)
				}
				continue
			}
			for _, t := range s.Targets.All() {
				c.mark(t)
			}
		}
	}
	if len(addresses) == 0 {
		return
	}
	set := status.NewTargetSet(addresses)
	for _, s := range c.prev.Clusters {
		for _, t := range s.Targets.All() {
			c.markAt(t, set)
		}
	}
}
