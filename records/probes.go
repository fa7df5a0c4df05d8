package records

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
)

// probeIndex is a cluster's probes that can be used, by probeKey.
type probeIndex = tree.Map[*api.HealthCheckProbe]

// probeKey is the key of a probe. Those of one namespace and address begin alike.
func probeKey(p *api.HealthCheckProbe) string {
	return probePrefix(p.Namespace(), p.Address) + p.BareName()
}

// probePrefix is how the keys of a namespace's probes of an address begin. None of
// the parts holds a slash.
func probePrefix(namespace, address string) string { return namespace + "/" + address + "/" }

// usableProbe tells whether a probe says what to probe; where others probe, whether
// it says of what its status is.
func usableProbe(p *api.HealthCheckProbe, opt *Options) bool {
	return p.Address != "" && !p.Deleting && (opt.ProbesOff || p.Fault == "" && p.Invalid == "")
}

// probed tells whether anything may say how the claim's targets are.
func (b *builder) probed(c *claim) bool {
	return c.checked() || b.overrides.Targets() || b.probes(c.policy.Cluster).Len() > 0
}

// maxJoined is how many probes of a namespace can join at one address: each costs
// every query for it.
const maxJoined = 16

// join returns the cells of the probes that join the checks of one address or
// hostname of the claim, less own, which it has anyway; nil where none does (rule
// 4.10).
func (b *builder) join(c *claim, address string, own *health.Cell) *joined {
	index := b.probes(c.policy.Cluster)
	if index.Len() == 0 {
		return nil
	}
	var all *joined
	prefix, n := probePrefix(c.policy.Namespace(), address), 0
	for key, p := range index.From(prefix) {
		if !strings.HasPrefix(key, prefix) || n == maxJoined {
			break
		}
		if !b.meant(p, c) {
			continue
		}
		n++
		if all == nil {
			all = new(joined)
		}
		cell := words[health.NoOverride][1]
		switch {
		case !b.probesOff:
			cell = b.watch(b.probeTarget(p))
		case p.Healthy != api.ConditionFalse || p.ObservedGeneration != 0 && p.ObservedGeneration != p.Generation:
			cell = nil // not probed yet, or as it was before an edit: up
		}
		if cell != nil && cell != own && !slices.Contains(all.cells, cell) {
			all.cells = append(all.cells, cell)
		}
	}
	return all
}

// meant tells whether a probe of the claim's namespace and of one of its addresses
// is about the claim. One that names a host of a served zone is about that host
// alone: others at the address may do well without it. What a controller writes
// repeats the check of a policy, and says nothing where we check ourselves.
func (b *builder) meant(p *api.HealthCheckProbe, c *claim) bool {
	if p.Controlled && (!b.probesOff || !c.checked()) {
		return false
	}
	host := trimDot(c.host)
	switch {
	case p.Host == "" || p.Host == host || b.zone(p.Host+".") == nil:
		return true
	case c.policy.HealthCheck != nil && p.Host == c.policy.HealthCheck.Host:
		return true
	}
	below, wild := strings.CutPrefix(host, "*")
	return wild && strings.HasSuffix(p.Host, below)
}

// probeTarget returns what a probe has checked, without its cell.
func (b *builder) probeTarget(p *api.HealthCheckProbe) *health.Target {
	return b.target(&p.Check, &p.Meta, p.Address, p.Host, p.Check.Port == securePort)
}

// probes renews the index of probes, and marks what depends on those that changed.
func (c *compiler) probes() {
	for i, e := range c.clusters {
		index := e.state.probes.Edit()
		var before *api.Cluster
		if c.prev == nil {
			for _, p := range e.in.Probes.All() {
				c.addProbe(index, p)
			}
		} else {
			before = c.prev.in.Clusters[i]
		}
		for _, ref := range e.in.Changed {
			if before == nil || ref.Kind != api.KindProbe {
				continue
			}
			if p, ok := before.Probes.Get(ref.Name); ok && usableProbe(p, c.next.opt) {
				index.Delete(probeKey(p))
				c.endAlone(p)
				c.markAddress(c.prev.clusters[i], p.Namespace(), p.Address)
			}
			if p, ok := e.in.Probes.Get(ref.Name); ok {
				c.addProbe(index, p)
				c.markAddress(c.prev.clusters[i], p.Namespace(), p.Address)
			}
		}
		e.state.probes = index.Map()
	}
}

// addProbe puts a probe into the index, and begins its check where it needs no
// name for that: where the operator allows it (rule 4.10).
func (c *compiler) addProbe(index *tree.Edit[*api.HealthCheckProbe], p *api.HealthCheckProbe) {
	if !usableProbe(p, c.next.opt) {
		return
	}
	index.Set(probeKey(p), p)
	c.beginAlone(p)
}

// beginAlone begins the check that a probe has by itself, if it may have one.
func (c *compiler) beginAlone(p *api.HealthCheckProbe) {
	if alone(p, c.next.opt) {
		c.checks.begin(probeUser(p))
		c.builder.watch(c.builder.probeTarget(p))
	}
}

// endAlone ends what beginAlone began.
func (c *compiler) endAlone(p *api.HealthCheckProbe) {
	if alone(p, c.next.opt) {
		c.checks.release(probeUser(p), []string{c.builder.probeTarget(p).Key()})
	}
}

// alone tells whether a probe is checked whether or not a name publishes its
// address.
func alone(p *api.HealthCheckProbe, opt *Options) bool {
	if opt.ProbesOff || p.Controlled {
		return false
	}
	addr, err := netip.ParseAddr(p.Address)
	return err == nil && slices.ContainsFunc(opt.ProbeAllow, func(allowed netip.Prefix) bool { return allowed.Contains(addr) })
}

// probeUser is the user of a check that a probe has begun by itself. No group has
// such a key.
func probeUser(p *api.HealthCheckProbe) string { return "/" + p.Cluster + "/" + p.Name }

// markAddress marks what a namespace publishes at an address. Claims that are new
// are marked anyway.
func (c *compiler) markAddress(s *clusterState, namespace, address string) {
	at := newTargetSet(map[string]bool{address: true})
	for name, t := range s.targets.From(namespace + "/") {
		if !strings.HasPrefix(name, namespace+"/") {
			break
		}
		c.markAt(t, at)
	}
}

// mark marks all that a Gateway publishes, markAt what it publishes at one of the
// targets.
func (c *compiler) mark(t *target) {
	for _, cl := range t.claims {
		c.change(cl)
	}
}

func (c *compiler) markAt(t *target, at targetSet) {
	for _, cl := range t.claims {
		if at.meets(cl.targets) {
			c.change(cl)
		}
	}
}

// ProbeProblem says why a probe has no effect, in a sentence for its owner; "" where
// it has one, or what could give it one is not listed.
func (s *Snapshot) ProbeProblem(p *api.HealthCheckProbe) string {
	switch {
	case p.Fault != "":
		return p.Fault
	case p.Invalid != "":
		return p.Invalid
	case p.Controlled || p.Deleting || alone(p, s.opt):
		return ""
	}
	for i, c := range s.clusters {
		if c.name != p.Cluster {
			continue
		}
		if !s.in.Clusters[i].Complete() || c.publishes(p) {
			return ""
		}
	}
	return "no name of its namespace publishes " + p.Address + ", and probe-allow does not cover it: it counts for nothing"
}

// publishes tells whether a name of the probe's namespace publishes its address.
func (c *clusterState) publishes(p *api.HealthCheckProbe) bool {
	prefix, at := p.Namespace()+"/", newTargetSet(map[string]bool{p.Address: true})
	for name, t := range c.targets.From(prefix) {
		if !strings.HasPrefix(name, prefix) {
			return false
		}
		if slices.ContainsFunc(t.claims, func(cl *claim) bool { return at.meets(cl.targets) }) {
			return true
		}
	}
	return false
}
