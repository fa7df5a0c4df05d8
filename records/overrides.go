package records

import (
	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/status"
)

// overridden marks the groups that changed overrides apply to. clusters are what was published before. All overrides of targets share one
// pass over that.
func overridden(before, now *api.Objects, clusters []*status.Cluster, dirty *dirty) {
	addresses := make(map[string]bool)
	for o := range now.Overrides.Changed(before.Overrides) {
		if o.Target != "" {
			addresses[o.Target] = true
			continue
		}
		for _, s := range clusters {
			if o.Cluster != "" && o.Cluster != s.Name {
				continue
			}
			if o.Gateway != "" {
				if t, ok := s.Targets.Get(o.Gateway); ok {
					for _, who := range t.Contenders {
						dirty.contender(who)
					}
				}
				continue
			}
			for who := range s.Contenders("") {
				dirty.contender(who)
			}
		}
	}
	if len(addresses) == 0 {
		return
	}
	set := status.NewTargetSet(addresses)
	for _, s := range clusters {
		for who := range s.Contenders("") {
			if set.Meets(who.Targets) {
				dirty.contender(who)
			}
		}
	}
}
