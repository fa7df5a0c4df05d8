package records

import (
	"iter"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
)

// offspring are the children of policies that there are in a cluster, by the namespace/name of
// the policy that controls them: DNSRecords by their host too.
type offspring struct {
	byHost tree.Map[*api.DNSRecord]
	probed tree.Map[*api.HealthCheckProbe]
}

// offspringEdit is its next version.
type offspringEdit struct {
	byHost *tree.Edit[*api.DNSRecord]
	probed *tree.Edit[*api.HealthCheckProbe]
}

func (o offspring) edit() offspringEdit { return offspringEdit{o.byHost.Edit(), o.probed.Edit()} }

func (e offspringEdit) offspring() offspring { return offspring{e.byHost.Map(), e.probed.Map()} }

// records yields the DNSRecords of a policy, those of one host together.
func (o offspring) records(policy string) iter.Seq2[string, *api.DNSRecord] {
	return beginning(o.byHost, policy+" ")
}

// of yields the DNSRecords of a policy for a host.
func (o offspring) of(policy, host string) iter.Seq2[string, *api.DNSRecord] {
	return beginning(o.byHost, policy+" "+host+" ")
}

// probes yields the probes of a policy.
func (o offspring) probes(policy string) iter.Seq2[string, *api.HealthCheckProbe] {
	return beginning(o.probed, policy+" ")
}

// beginning yields the entries of m whose keys begin so.
func beginning[V any](m tree.Map[V], prefix string) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		if m.Len() == 0 {
			return // by far the most
		}
		for key, v := range m.From(prefix) {
			if !strings.HasPrefix(key, prefix) || !yield(key, v) {
				return
			}
		}
	}
}

// parentName returns the namespace/name of the policy that controls an object; "" for none.
func parentName(m *api.Meta, by *api.Controller, own bool) string {
	if !own || by == nil || by.Kind != api.KindDNSPolicy.String() {
		return ""
	}
	return m.Namespace() + "/" + by.Name
}

// recordKey is where byHost has a record, "" where it is nobody's child. No name has a space.
func recordKey(r *api.DNSRecord) string {
	policy := parentName(&r.Meta, r.Controller, r.Own())
	if policy == "" {
		return ""
	}
	root, err := canonicalName(r.RootHost)
	if err != nil {
		root = ""
	}
	return policy + " " + root + " " + r.BareName()
}

func probeChildKey(p *api.HealthCheckProbe) string {
	policy := parentName(&p.Meta, p.Controller, p.Own())
	if policy == "" {
		return ""
	}
	return policy + " " + p.BareName()
}

// children renews what is known of the children of policies.
func (c *compiler) children() {
	for i, e := range c.clusters {
		if c.prev == nil {
			if e.in.DNSRecords.Len()+e.in.Probes.Len() == 0 {
				continue
			}
			edit := e.state.offspring.edit()
			for _, r := range e.in.DNSRecords.All() {
				edit.record(nil, r)
			}
			for _, p := range e.in.Probes.All() {
				edit.probe(nil, p)
			}
			e.state.offspring = edit.offspring()
			continue
		}
		before, edit := c.prev.in.Clusters[i], offspringEdit{}
		for _, ref := range e.in.Changed {
			if ref.Kind != api.KindDNSRecord && ref.Kind != api.KindProbe {
				continue
			}
			if edit.byHost == nil {
				edit = e.state.offspring.edit()
			}
			if ref.Kind == api.KindProbe {
				old, _ := before.Probes.Get(ref.Name)
				now, _ := e.in.Probes.Get(ref.Name)
				edit.probe(old, now)
				continue
			}
			old, _ := before.DNSRecords.Get(ref.Name)
			now, _ := e.in.DNSRecords.Get(ref.Name)
			edit.record(old, now)
		}
		if edit.byHost != nil {
			e.state.offspring = edit.offspring()
		}
	}
}

// record puts a DNSRecord in place of old, one of them nil where it has come or gone.
func (e offspringEdit) record(old, r *api.DNSRecord) {
	if old != nil {
		if key := recordKey(old); key != "" {
			e.byHost.Delete(key)
		}
	}
	if r != nil {
		if key := recordKey(r); key != "" {
			e.byHost.Set(key, r)
		}
	}
}

// probe is the same of a probe.
func (e offspringEdit) probe(old, p *api.HealthCheckProbe) {
	if old != nil {
		if key := probeChildKey(old); key != "" {
			e.probed.Delete(key)
		}
	}
	if p != nil {
		if key := probeChildKey(p); key != "" {
			e.probed.Set(key, p)
		}
	}
}

// parents returns the policies whose children may have changed: those that the compile has
// looked at, and those that have to do with objects which children are, or whose names
// children want.
func (c *compiler) parents() []ParentRef {
	if c.prev == nil {
		return nil
	}
	all := make([]ParentRef, 0, len(c.clusters))
	for i, e := range c.clusters {
		cluster := e.in.Name
		add := func(policy string) { all = append(all, ParentRef{cluster, policy}) }
		for _, name := range e.order {
			add(name)
			c.contenders(i, name, add)
		}
		before := c.prev.in.Clusters[i]
		for _, ref := range e.in.Changed {
			switch ref.Kind {
			case api.KindDNSRecord:
				for _, in := range [...]*api.Cluster{before, e.in} {
					if r, ok := in.DNSRecords.Get(ref.Name); ok {
						if of := parentName(&r.Meta, r.Controller, r.Own()); of != "" {
							add(of)
						}
					}
				}
				e.wantingName(ref.Name, add)
			case api.KindProbe:
				for _, in := range [...]*api.Cluster{before, e.in} {
					if p, ok := in.Probes.Get(ref.Name); ok {
						if of := parentName(&p.Meta, p.Controller, p.Own()); of != "" {
							add(of)
						}
					}
				}
				e.wantingName(ref.Name, add)
			}
		}
	}
	return all
}

// contenders adds the policies that may want the names of children which a policy has, and may
// want no more.
func (c *compiler) contenders(cluster int, policy string, add func(policy string)) {
	e := c.clusters[cluster]
	for _, r := range e.state.offspring.records(policy) {
		e.wantingName(r.Name, add)
	}
	for _, p := range e.state.offspring.probes(policy) {
		e.wantingName(p.Name, add)
	}
}

// wantingName adds the policies that may want a child of that namespace/name: such a name begins
// with that of a Gateway.
func (e *clusterEdit) wantingName(name string, add func(policy string)) {
	slash := strings.IndexByte(name, '/')
	for i := slash + 1; i < len(name); i++ {
		if name[i] != '-' && name[i] != '.' {
			continue
		}
		if t, ok := e.targets.Get(name[:i]); ok {
			for _, p := range t.policies {
				add(p.Name)
			}
		}
	}
}
