package records

import (
	"iter"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// offspring are the children that there are in a cluster, by the object that controls them:
// DNSRecords by the namespace/name of their policy and by their host, probes by parentKey.
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
	return o.byHost.Beginning(policy + " ")
}

// probes yields the probes of a policy or a DNSRecord.
func (o offspring) probes(of api.Ref) iter.Seq2[string, *api.HealthCheckProbe] {
	return o.probed.Beginning(parentKey(of))
}

// recordKey is where byHost has a record, "" where it is nobody's child. No name has a space.
func recordKey(r *api.DNSRecord) string {
	policy := endpoint.RecordParent(r).Name
	if policy == "" {
		return ""
	}
	root, err := rdata.Canonical(r.RootHost)
	if err != nil {
		root = ""
	}
	return policy + " " + root + " " + r.BareName()
}

// parentKey is how the keys of an object's probes begin.
func parentKey(of api.Ref) string { return of.Kind.String() + " " + of.Name + " " }

func probeChildKey(p *api.HealthCheckProbe) string {
	of := endpoint.ProbeParent(p)
	if of.Name == "" {
		return ""
	}
	return parentKey(of) + p.BareName()
}

// children renews what is known of the children that there are.
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
