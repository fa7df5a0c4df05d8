package records

import (
	"sync"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/status"
	"github.com/coredns-kuadrant/kuadrant/records/zone"
)

// reporter finds the objects whose verdicts change.
type reporter struct {
	// base is the snapshot that next is made from, nil if it is made from nothing; last comes before next, nil for none.
	base, last, next *Snapshot
	zones            *zoneSet
	clusters         clusterSet
	dirty            *dirty
	// losses is why Records are not served, by the names that were looked at for verdicts.
	losses zone.LossMemo
}

// report makes the verdicts of dirty objects for next, which is compiled apart from them, and compares them with those of last. Those of
// policies are kept; all others are made on demand.
func report(base, last, next *Snapshot, zones *zoneSet, clusters clusterSet, dirty *dirty) {
	rep := &reporter{base: base, last: last, next: next, zones: zones, clusters: clusters, dirty: dirty, losses: make(zone.LossMemo)}
	anywhere := base == nil || base != last
	if base != nil { // otherwise all are looked at
		rep.lookHidden()
		rep.lookUncovered()
	}
	names := sync.OnceValue(next.Opt.ZoneNames)
	for _, o := range dirty.sorted() {
		if e := clusters.of(o.cluster); e != nil && o.ref.Kind == api.KindDNSPolicy {
			rep.renewVerdict(e, o.ref.Name, names)
		}
	}
	if !anywhere {
		next.parents = rep.parents()
	}
	next.Clusters = clusters.finish()
	if anywhere {
		rep.lookAll()
	} else {
		rep.lookInZones()
	}
	for _, o := range dirty.sorted() {
		rep.compare(o)
	}
}

// renewVerdict makes a policy's verdict anew.
func (rep *reporter) renewVerdict(e *clusterEdit, policy string, zones func() string) {
	var v, old *api.Verdict
	if p, ok := e.in.Policies.Get(policy); ok && !p.Deleting {
		if t, ok := e.targets.Get(p.TargetName()); ok {
			v = status.VerdictOf(t, p, &rep.next.View, zones, e.state.Offspring)
		}
	}
	if e.before != nil {
		old, _ = e.verdicts.Get(policy)
	}
	e.state.Count(old, -1)
	e.state.Count(v, 1)
	switch {
	case v == nil:
		e.verdicts.Delete(policy)
	case old == nil || !old.Equal(v):
		e.verdicts.Set(policy, v)
	}
}

// lookInZones has the objects looked at that changes in zones affect.
func (rep *reporter) lookInZones() {
	for i, e := range rep.zones.edits {
		if e == nil {
			continue
		}
		z := rep.zones.served[i]
		if z.Object != nil {
			rep.dirty.object(z.Object.Cluster, api.KindZone, z.Object.Name)
		}
		for _, name := range e.Contended {
			rep.lookAtLosses(z, name)
		}
	}
}

// lookAtLosses has the Records at a name looked at whose verdicts differ from before.
func (rep *reporter) lookAtLosses(z *zone.Zone, name string) {
	var before map[*endpoint.Record]*endpoint.Problem
	if i, ok := rep.last.Table.Index[z.Origin()]; ok {
		before = rep.losses.Losses(rep.last.Served[i], name)
	}
	if n := z.Node(name); n != nil && n.Cut { // the zone below may have other name servers now
		rep.dirty.objectsAt(n)
	}
	now := rep.losses.Losses(z, name)
	for r, p := range now {
		if !p.Equal(before[r]) {
			rep.dirty.object(r.Record.Cluster, r.ObjectKind(), r.Record.Name)
		}
	}
	for r := range before {
		if now[r] == nil {
			rep.dirty.object(r.Record.Cluster, r.ObjectKind(), r.Record.Name)
		}
	}
}

// lookAll has every object looked at whose verdict may have changed.
func (rep *reporter) lookAll() {
	for _, s := range [...]*Snapshot{rep.last, rep.next} {
		if s == nil {
			continue
		}
		for i, in := range s.In.Clusters {
			for name := range s.Table.Admissions[i] {
				rep.dirty.object(in.Name, api.KindZone, name)
			}
			for _, p := range endpoint.Publishers {
				for name := range in.Names(p.Kind, "") {
					rep.dirty.object(in.Name, p.Kind, name)
				}
			}
			if rep.last != nil { // otherwise all are
				for name := range s.Clusters[i].Verdicts.All() {
					rep.dirty.object(in.Name, api.KindDNSPolicy, name)
				}
			}
		}
		for r := range s.Spoken(rep.losses.Losses) {
			rep.dirty.object(r.Record.Cluster, api.KindRecord, r.Record.Name)
		}
	}
	if rep.last == nil {
		return
	}
	for _, now := range rep.next.Clusters {
		before := rep.last.Cluster(now.Name)
		for name, r := range now.Records.All() {
			was, ok := before.Records.Get(name)
			if !ok || was.Name != r.Name || was.Zone() != r.Zone() || rep.last.ParentOf(was) != rep.next.ParentOf(r) {
				rep.dirty.object(now.Name, api.KindRecord, name)
			}
		}
	}
	for _, before := range rep.last.Clusters {
		now := rep.next.Cluster(before.Name)
		for name := range before.Records.All() {
			if _, ok := now.Records.Get(name); !ok {
				rep.dirty.object(before.Name, api.KindRecord, name)
			}
		}
	}
}

// compare reports an object as changed if its verdict is not what it was.
func (rep *reporter) compare(o object) {
	var old, now *api.Verdict
	policy := o.ref.Kind == api.KindDNSPolicy
	if rep.last != nil {
		old = rep.last.VerdictWith(o.cluster, o.ref, rep.losses.Losses)
	}
	if rep.last != nil || !policy {
		now = rep.next.VerdictWith(o.cluster, o.ref, rep.losses.Losses)
		if old == nil && now == nil || old != nil && now != nil && old.Equal(now) {
			return
		}
	}
	if e := rep.clusters.of(o.cluster); e != nil && policy {
		if now, _ = e.state.Verdicts.Get(o.ref.Name); now == nil && old == nil { // without the conditions of providers
			return
		}
	}
	rep.next.changed = append(rep.next.changed, Reported{Cluster: o.cluster, Ref: o.ref, Verdict: now})
}
