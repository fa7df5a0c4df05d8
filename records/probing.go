package records

import (
	"iter"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/pool"
	"github.com/coredns-kuadrant/kuadrant/records/status"
)

// probeStage indexes the probes of clusters, and has those checked that may be without a published name.
type probeStage struct {
	opt     *endpoint.Options
	checks  *pool.CheckEdit
	builder *pool.Builder
}

// indexProbes renews the index of probes of each cluster, and marks the groups whose contenders changed probes, or changed headers of
// theirs, are meant for. New contenders are marked anyway.
func indexProbes(clusters clusterSet, opt *endpoint.Options, checks *pool.CheckEdit, builder *pool.Builder, dirty *dirty) {
	s := &probeStage{opt, checks, builder}
	for i, e := range clusters {
		index := e.state.Probes.Edit()
		if e.before == nil {
			for _, p := range e.in.Probes.All() {
				if pool.UsableProbe(p, opt) {
					index.Set(pool.ProbeKey(p), p)
					s.beginAlone(p)
				}
			}
			e.state.Probes = index.Map()
			continue
		}
		var with concerned
		for _, ref := range e.in.Changed {
			if ref.Kind == api.KindProbe {
				old, _ := e.before.Probes.Get(ref.Name)
				p, _ := e.in.Probes.Get(ref.Name)
				s.renew(index, &with, old, p)
			}
		}
		for _, namespace := range dirty.secrets[i] {
			for _, p := range e.in.Probes.Beginning(namespace + "/") {
				if pool.HeadersOf(&p.Check, &p.Meta) != "" && pool.UsableProbe(p, opt) {
					s.endAlone(p)
					s.beginAlone(p)
					with.add(p)
				}
			}
		}
		e.state.Probes = index.Map()
		for who := range with.among(e.state, builder) {
			dirty.contender(who)
		}
	}
}

// renew replaces the probe old; one of them is nil if the probe came or went. A probe that
// says nothing, or the same as before, affects nothing.
func (s *probeStage) renew(index *tree.Edit[*api.HealthCheckProbe], with *concerned, old, p *api.HealthCheckProbe) {
	b, before, after := s.builder, "", ""
	if old != nil && pool.UsableProbe(old, s.opt) {
		before = pool.ProbeKey(old)
	}
	if p != nil && pool.UsableProbe(p, s.opt) {
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
		s.endAlone(old)
		with.add(old)
	}
	if after == "" {
		return
	}
	index.Set(after, p)
	if !same {
		s.beginAlone(p)
		with.add(p)
	}
}

// beginAlone begins a probe's own check if the operator allows it without a published name (rule
// 4.10).
func (s *probeStage) beginAlone(p *api.HealthCheckProbe) {
	if pool.Alone(p, s.opt) {
		s.checks.Begin(pool.ProbeUser(p))
		s.builder.Watch(s.builder.ProbeTarget(p), func() *health.Target { return s.builder.ProbeTargetBefore(p) })
	}
}

// endAlone ends what beginAlone began.
func (s *probeStage) endAlone(p *api.HealthCheckProbe) {
	if pool.Alone(p, s.opt) {
		s.checks.Release(pool.ProbeUser(p), []string{s.builder.ProbeTarget(p).Key()})
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

// concerned has the subjects of probes that came, went or changed, by namespace; nil for none.
type concerned map[string]*subjects

// add notes that a probe came, went or changed.
func (all *concerned) add(p *api.HealthCheckProbe) {
	s := (*all)[p.Namespace()]
	if s == nil {
		s = &subjects{make(map[string]bool), make(map[string]bool)}
		if *all == nil {
			*all = make(concerned)
		}
		(*all)[p.Namespace()] = s
	}
	s.addresses[p.Address], s.about[p.Address+"/"+pool.About(p)] = true, true
}

// among yields the contenders of a cluster that the probes are meant for, in one pass over each namespace.
func (all concerned) among(state *status.Cluster, b *pool.Builder) iter.Seq[*endpoint.Contender] {
	return func(yield func(*endpoint.Contender) bool) {
		for namespace, s := range all {
			at := status.NewTargetSet(s.addresses)
			for who := range state.Contenders(namespace) {
				if at.Meets(who.Targets) && s.meet(who, at, b.Meant(who)) && !yield(who) {
					return
				}
			}
		}
	}
}
