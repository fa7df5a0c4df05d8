package records

import (
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/status"
)

// parents returns the objects whose children may have changed: those that the compile looked at,
// and those related to objects that are children, or whose names children want.
func (rep *reporter) parents() []ParentRef {
	all := make([]ParentRef, 0, len(rep.clusters))
	for _, e := range rep.clusters {
		// An object may have thousands of children, and each leads to it.
		known := make(map[api.Ref]struct{})
		add := func(of api.Ref) {
			if _, twice := known[of]; !twice {
				known[of] = struct{}{}
				all = append(all, ParentRef{e.in.Name, of})
			}
		}
		for _, o := range rep.dirty.objects {
			if o.cluster == e.in.Name && o.ref.Kind == api.KindDNSPolicy {
				add(o.ref)
				e.wanting(o.ref, add)
			}
		}
		for name := range rep.probedRecords(e) {
			of := api.Ref{Kind: api.KindDNSRecord, Name: name}
			add(of)
			e.wanting(of, add)
		}
		for _, ref := range e.in.Changed {
			if ref.Kind != api.KindDNSRecord && ref.Kind != api.KindProbe {
				continue
			}
			for _, in := range [...]*api.Cluster{e.before, e.in} {
				if of := childParent(in, ref); of.Name != "" {
					add(of)
				}
			}
			e.wantingName(ref.Name, add)
		}
	}
	return all
}

// childParent returns the parent of an object of a cluster; a Ref without a name for none.
func childParent(in *api.Cluster, ref api.Ref) api.Ref {
	if ref.Kind == api.KindProbe {
		if p, ok := in.Probes.Get(ref.Name); ok {
			return endpoint.ProbeParent(p)
		}
		return api.Ref{}
	}
	if r, ok := in.DNSRecords.Get(ref.Name); ok {
		return endpoint.RecordParent(r)
	}
	return api.Ref{}
}

// probedRecords returns the cluster's DNSRecords that the compile looked at, and that have or had
// probes.
func (rep *reporter) probedRecords(e *clusterEdit) map[string]struct{} {
	var all map[string]struct{}
	add := func(name string) {
		was, _ := e.before.DNSRecords.Get(name)
		is, _ := e.in.DNSRecords.Get(name)
		if was != nil && status.HasProbes(was) || is != nil && status.HasProbes(is) {
			if all == nil {
				all = make(map[string]struct{})
			}
			all[name] = struct{}{}
		}
	}
	for _, o := range rep.dirty.objects {
		if o.cluster == e.in.Name && o.ref.Kind == api.KindDNSRecord {
			add(o.ref.Name)
		}
	}
	for _, change := range rep.dirty.order {
		for _, who := range change.group.Contenders {
			if who.Kind == api.KindDNSRecord && who.By.Cluster == e.in.Name {
				add(who.By.Name)
			}
		}
	}
	return all
}

// wanting adds the objects that may want, or no longer want, the names of an object's children.
func (e *clusterEdit) wanting(of api.Ref, add func(of api.Ref)) {
	if of.Kind == api.KindDNSPolicy {
		for _, r := range e.state.Offspring.Records(of.Name) {
			e.wantingName(r.Name, add)
		}
	}
	for _, p := range e.state.Offspring.Probes(of) {
		e.wantingName(p.Name, add)
	}
}

// wantingName adds the objects that may want a child of that namespace/name, which begins with the
// name of a Gateway or a DNSRecord.
func (e *clusterEdit) wantingName(name string, add func(of api.Ref)) {
	slash := strings.IndexByte(name, '/')
	for i := slash + 1; i < len(name); i++ {
		if name[i] != '-' && name[i] != '.' {
			continue
		}
		if t, ok := e.targets.Get(name[:i]); ok {
			for _, p := range t.Policies {
				add(api.Ref{Kind: api.KindDNSPolicy, Name: p.Name})
			}
		}
		if r, ok := e.in.DNSRecords.Get(name[:i]); ok && status.HasProbes(r) {
			add(api.Ref{Kind: api.KindDNSRecord, Name: r.Name})
		}
	}
}

// ChildrenChanged returns the objects whose Children or Existing may differ from those of the
// snapshot that this one was compiled from, each once; nil means any. The caller must not change
// the slice.
func (s *Snapshot) ChildrenChanged() []ParentRef { return s.parents }
