package records

import (
	"sync"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/status"
)

// report renews the verdicts on policies that a change concerns.
func (c *compiler) report() {
	zones := sync.OnceValue(c.next.Opt.ZoneNames)
	for _, e := range c.clusters {
		for _, name := range e.order {
			t := e.unsettled[name]
			var verdict, old *api.Verdict
			if p, ok := e.in.Policies.Get(name); ok && t != nil && !p.Deleting {
				verdict = status.VerdictOf(t, p, &c.next.View, zones, e.state.Offspring)
			}
			if c.prev != nil {
				old, _ = e.verdicts.Get(name)
			}
			e.settle(name, old, verdict)
			if !c.anew() {
				c.changed(e.in.Name, name, old, verdict, t)
			}
		}
		if c.anew() {
			c.reportPolicies(e)
		}
	}
}

// reportPolicies adds the policies of a cluster to the list that have other verdicts than before, whatever has changed.
func (c *compiler) reportPolicies(e *clusterEdit) {
	before := c.verdictsBefore(e.in.Name)
	for name, verdict := range e.verdicts.From("") {
		old, _ := before.Get(name)
		p, _ := e.in.Policies.Get(name)
		t, _ := e.targets.Get(p.TargetName())
		c.changed(e.in.Name, name, old, verdict, t)
	}
	for name, old := range before.All() {
		if _, kept := e.verdicts.Get(name); !kept {
			c.changed(e.in.Name, name, old, nil, nil)
		}
	}
}

// verdictsBefore returns the verdicts of a cluster in the snapshot before.
func (c *compiler) verdictsBefore(cluster string) tree.Map[*api.Verdict] {
	if c.old != nil {
		for _, s := range c.old.Clusters {
			if s.Name == cluster {
				return s.Verdicts
			}
		}
	}
	return tree.Map[*api.Verdict]{}
}

// settle keeps the verdict of a policy in place of old; either is nil where there
// is none.
func (e *clusterEdit) settle(policy string, old, v *api.Verdict) {
	e.state.Count(old, -1)
	e.state.Count(v, 1)
	switch {
	case v == nil:
		e.verdicts.Delete(policy)
	case old == nil || !old.Equal(v):
		e.verdicts.Set(policy, v)
	}
}

// changed adds to the list of changed verdicts where old and v differ, or what is added to
// them does. The policy is one of t.
func (c *compiler) changed(cluster, policy string, old, v *api.Verdict, t *endpoint.Target) {
	if old == nil && v == nil || old != nil && v != nil && old.Equal(v) && !c.otherProviders(cluster, policy, t) {
		return
	}
	c.next.changed = append(c.next.changed, Reported{
		Cluster: cluster, Ref: api.Ref{Kind: api.KindDNSPolicy, Name: policy}, Verdict: v,
	})
}

// otherProviders tells whether a policy, of t now, publishes through other Secrets than
// before.
func (c *compiler) otherProviders(cluster, policy string, t *endpoint.Target) bool {
	if c.old == nil {
		return false
	}
	var was, is string
	for i, s := range c.old.Clusters {
		if s.Name != cluster {
			continue
		}
		if p, ok := c.old.In.Clusters[i].Policies.Get(policy); ok {
			before, _ := s.Targets.Get(p.TargetName())
			was = before.PublishedVia(p)
		}
	}
	if t != nil {
		for _, p := range t.Policies {
			if p.Name == policy {
				is = t.PublishedVia(p)
			}
		}
	}
	return was != is
}
