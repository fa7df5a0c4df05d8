package records

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
)

// report renews the verdicts that a change concerns.
func (c *compiler) report() {
	zones := sync.OnceValue(c.next.opt.zoneNames)
	lookup := func(cl *claim) *nameGroup {
		g, _ := c.groups.Get(groupKey(cl.host))
		return g
	}
	for _, e := range c.clusters {
		before := c.verdictsBefore(e.in.Name)
		for name, t := range e.unsettled {
			var verdict *api.Verdict
			if p, ok := e.in.Policies.Get(name); ok && t != nil && !p.Deleting {
				verdict = t.verdict(p, lookup, zones)
			}
			e.settle(name, verdict)
			old, _ := before.Get(name)
			c.changed(e.in.Name, name, old, verdict)
		}
		if c.prev != nil {
			continue
		}
		for name, old := range before.All() {
			if _, kept := e.unsettled[name]; !kept {
				c.changed(e.in.Name, name, old, nil)
			}
		}
	}
	slices.SortFunc(c.next.changed, func(a, b Reported) int {
		return cmp.Or(strings.Compare(a.Cluster, b.Cluster), strings.Compare(a.Ref.Name, b.Ref.Name))
	})
}

// verdictsBefore returns the verdicts of a cluster in the snapshot before.
func (c *compiler) verdictsBefore(cluster string) tree.Map[*api.Verdict] {
	if c.old != nil {
		for _, s := range c.old.clusters {
			if s.name == cluster {
				return s.verdicts
			}
		}
	}
	return tree.Map[*api.Verdict]{}
}

// settle keeps the verdict of a policy, nil where it is gone.
func (e *clusterEdit) settle(policy string, v *api.Verdict) {
	old, _ := e.verdicts.Get(policy)
	e.state.count(old, -1)
	e.state.count(v, 1)
	switch {
	case v == nil:
		e.verdicts.Delete(policy)
	case old == nil || !old.Equal(v):
		e.verdicts.Set(policy, v)
	}
}

func (s *clusterState) count(v *api.Verdict, n int) {
	switch {
	case v == nil:
	case v.Accepted():
		s.accepted += n
	default:
		s.refused += n
	}
}

// changed adds to the list of changed verdicts where old and v differ.
func (c *compiler) changed(cluster, policy string, old, v *api.Verdict) {
	if old == nil && v == nil || old != nil && v != nil && old.Equal(v) {
		return
	}
	c.next.changed = append(c.next.changed, Reported{
		Cluster: cluster, Ref: api.Ref{Kind: api.KindDNSPolicy, Name: policy}, Verdict: v,
	})
}
