package records

import (
	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/pool"
	"github.com/coredns-kuadrant/kuadrant/records/status"
)

// probes renews the index of probes, and notes what changed in them.
func (c *compiler) probes() {
	for i, e := range c.clusters {
		index := e.state.Probes.Edit()
		if c.prev == nil {
			for _, p := range e.in.Probes.All() {
				if pool.UsableProbe(p, c.next.Opt) {
					index.Set(pool.ProbeKey(p), p)
					c.beginAlone(p)
				}
			}
			e.state.Probes = index.Map()
			continue
		}
		before := c.prev.In.Clusters[i]
		for _, ref := range e.in.Changed {
			if ref.Kind == api.KindProbe {
				old, _ := before.Probes.Get(ref.Name)
				p, _ := e.in.Probes.Get(ref.Name)
				c.renewProbe(e, index, old, p)
			}
		}
		for _, namespace := range e.again {
			for _, p := range e.in.Probes.Beginning(namespace + "/") {
				if pool.HeadersOf(&p.Check, &p.Meta) != "" && pool.UsableProbe(p, c.next.Opt) {
					c.endAlone(p)
					c.beginAlone(p)
					e.concerns(p)
				}
			}
		}
		e.state.Probes = index.Map()
	}
}

// renewProbe replaces the probe old; one of them is nil if the probe came or went. A probe that
// says nothing, or the same as before, affects nothing.
func (c *compiler) renewProbe(e *clusterEdit, index *tree.Edit[*api.HealthCheckProbe], old, p *api.HealthCheckProbe) {
	b, before, after := &c.builder, "", ""
	if old != nil && pool.UsableProbe(old, c.next.Opt) {
		before = pool.ProbeKey(old)
	}
	if p != nil && pool.UsableProbe(p, c.next.Opt) {
		after = pool.ProbeKey(p)
	}
	same := before == after
	switch {
	case same && before == "":
		return
	case same && b.ProbesOff:
		same = b.ProbeCell(old) == b.ProbeCell(p)
	case same:
		same = b.ProbeTarget(old).Key() == b.ProbeTarget(p).Key()
	}
	if before != "" && !same {
		index.Delete(before)
		c.endAlone(old)
		e.concerns(old)
	}
	if after == "" {
		return
	}
	index.Set(after, p)
	if !same {
		c.beginAlone(p)
		e.concerns(p)
	}
}

// beginAlone begins a probe's own check if the operator allows it without a published name (rule
// 4.10).
func (c *compiler) beginAlone(p *api.HealthCheckProbe) {
	if pool.Alone(p, c.next.Opt) {
		c.checks.Begin(pool.ProbeUser(p))
		c.builder.Watch(c.builder.ProbeTarget(p), func() *health.Target { return c.builder.ProbeTargetBefore(p) })
	}
}

// endAlone ends what beginAlone began.
func (c *compiler) endAlone(p *api.HealthCheckProbe) {
	if pool.Alone(p, c.next.Opt) {
		c.checks.Release(pool.ProbeUser(p), []string{c.builder.ProbeTarget(p).Key()})
	}
}

// subjects are what the probes of one namespace check.
type subjects struct {
	addresses map[string]bool
	about     map[string]bool // an address, a slash, and what pool.About returns
}

// meet reports whether one of the probes is meant for a contender. at are the addresses of s; meant is what Builder.Meant returns for the
// contender.
func (s *subjects) meet(c *endpoint.Contender, at status.TargetSet, meant []string) bool {
	for address := range at.In(c.Targets) {
		for _, about := range meant {
			if s.about[address+"/"+about] {
				return true
			}
		}
	}
	return false
}

// concerns notes that a probe came, went or changed. What it does to names is marked later, in one
// pass over each namespace.
func (e *clusterEdit) concerns(p *api.HealthCheckProbe) {
	s := e.concerned[p.Namespace()]
	if s == nil {
		s = &subjects{make(map[string]bool), make(map[string]bool)}
		if e.concerned == nil {
			e.concerned = make(map[string]*subjects)
		}
		e.concerned[p.Namespace()] = s
	}
	s.addresses[p.Address], s.about[p.Address+"/"+pool.About(p)] = true, true
}

// markProbed marks the subjects of probes that changed, or whose headers did. New contenders are
// marked anyway.
func (c *compiler) markProbed() {
	for i, e := range c.clusters {
		for namespace, s := range e.concerned {
			at := status.NewTargetSet(s.addresses)
			for who := range c.prev.Clusters[i].Contenders(namespace) {
				if at.Meets(who.Targets) && s.meet(who, at, c.builder.Meant(who)) {
					c.change(who)
				}
			}
		}
	}
}

// mark marks everything that a Gateway publishes; markAt, what it publishes at one of the targets.
func (c *compiler) mark(t *endpoint.Target) {
	for _, who := range t.Contenders {
		c.change(who)
	}
}

func (c *compiler) markAt(t *endpoint.Target, at status.TargetSet) {
	for _, who := range t.Contenders {
		if at.Meets(who.Targets) {
			c.change(who)
		}
	}
}
