package records

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/status"
	"github.com/coredns-kuadrant/kuadrant/records/zone"
)

// object names an object of a cluster.
type object struct {
	cluster string
	ref     api.Ref
}

func (o object) compare(p object) int {
	return cmp.Or(strings.Compare(o.cluster, p.cluster), cmp.Compare(o.ref.Kind, p.ref.Kind), strings.Compare(o.ref.Name, p.ref.Name))
}

// reporter finds the objects whose verdicts change.
type reporter struct {
	*draft
	// looked are the objects whose verdicts may change.
	looked []object
	// losses is why Records are not served, by the names that were looked at for verdicts.
	losses zone.LossMemo
}

// look has an object looked at again: its verdict may have changed.
func (rep *reporter) look(cluster string, kind api.Kind, name string) {
	rep.looked = append(rep.looked, object{cluster, api.Ref{Kind: kind, Name: name}})
}

// lookBy has the object of a contender looked at.
func (rep *reporter) lookBy(who *endpoint.Contender) { rep.look(who.By.Cluster, who.Kind, who.By.Name) }

// lookAt has the objects looked at that have Records at n.
func (rep *reporter) lookAt(n *zone.Node) {
	for _, r := range n.Records {
		rep.look(r.Record.Cluster, r.ObjectKind(), r.Record.Name)
	}
}

// sortLooked sorts the objects to look at, each once.
func (rep *reporter) sortLooked() {
	slices.SortFunc(rep.looked, object.compare)
	rep.looked = slices.Compact(rep.looked)
}

// report compares the verdicts of the objects looked at with those before. order are the groups that were resolved. Verdicts of policies
// are kept; all others are made on demand.
func (rep *reporter) report(order []*groupChange) {
	rep.lookHidden()
	rep.lookUncovered()
	rep.sortLooked()
	zones := sync.OnceValue(rep.next.Opt.ZoneNames)
	for _, o := range rep.looked {
		if e := rep.cluster(o.cluster); e != nil && o.ref.Kind == api.KindDNSPolicy {
			rep.renewVerdict(e, o.ref.Name, zones)
		}
	}
	rep.next.parents = rep.parents(order)
	for _, e := range rep.clusters {
		e.state.Targets, e.state.Verdicts, e.state.Records = e.targets.Map(), e.verdicts.Map(), e.records.Map()
		rep.next.Clusters = append(rep.next.Clusters, e.state)
	}
	if rep.anew() {
		rep.lookAll()
	} else {
		rep.lookInZones()
	}
	rep.sortLooked()
	for _, o := range rep.looked {
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
	if rep.prev != nil {
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
	for i, e := range rep.edits {
		if e == nil {
			continue
		}
		z := rep.zones[i]
		if z.Object != nil {
			rep.look(z.Object.Cluster, api.KindZone, z.Object.Name)
		}
		for _, name := range e.Contended {
			rep.lookAtLosses(z, name)
		}
	}
}

// lookAtLosses has the Records at a name looked at whose verdicts differ from before.
func (rep *reporter) lookAtLosses(z *zone.Zone, name string) {
	var before map[*endpoint.Record]*endpoint.Problem
	if i, ok := rep.old.Table.Index[z.Origin()]; ok {
		before = rep.losses.Losses(rep.old.Served[i], name)
	}
	if n := z.Node(name); n != nil && n.Cut { // the zone below may have other name servers now
		rep.lookAt(n)
	}
	now := rep.losses.Losses(z, name)
	for r, p := range now {
		if !p.Equal(before[r]) {
			rep.look(r.Record.Cluster, r.ObjectKind(), r.Record.Name)
		}
	}
	for r := range before {
		if now[r] == nil {
			rep.look(r.Record.Cluster, r.ObjectKind(), r.Record.Name)
		}
	}
}

// lookAll has every object looked at whose verdict may have changed.
func (rep *reporter) lookAll() {
	for _, s := range [...]*Snapshot{rep.old, rep.next} {
		if s == nil {
			continue
		}
		for i, in := range s.In.Clusters {
			for name := range s.Table.Admissions[i] {
				rep.look(in.Name, api.KindZone, name)
			}
			for _, p := range endpoint.Publishers {
				for name := range in.Names(p.Kind, "") {
					rep.look(in.Name, p.Kind, name)
				}
			}
			if rep.old != nil { // otherwise all are
				for name := range s.Clusters[i].Verdicts.All() {
					rep.look(in.Name, api.KindDNSPolicy, name)
				}
			}
		}
		for r := range s.Spoken(rep.losses.Losses) {
			rep.look(r.Record.Cluster, api.KindRecord, r.Record.Name)
		}
	}
	if rep.old == nil {
		return
	}
	for _, now := range rep.next.Clusters {
		before := rep.old.Cluster(now.Name)
		for name, r := range now.Records.All() {
			was, ok := before.Records.Get(name)
			if !ok || was.Name != r.Name || was.Zone() != r.Zone() || rep.old.ParentOf(was) != rep.next.ParentOf(r) {
				rep.look(now.Name, api.KindRecord, name)
			}
		}
	}
	for _, before := range rep.old.Clusters {
		now := rep.next.Cluster(before.Name)
		for name := range before.Records.All() {
			if _, ok := now.Records.Get(name); !ok {
				rep.look(before.Name, api.KindRecord, name)
			}
		}
	}
}

// compare reports an object as changed if its verdict is not what it was.
func (rep *reporter) compare(o object) {
	var old, now *api.Verdict
	policy := o.ref.Kind == api.KindDNSPolicy
	if rep.old != nil {
		old = rep.old.VerdictWith(o.cluster, o.ref, rep.losses.Losses)
	}
	if rep.old != nil || !policy {
		now = rep.next.VerdictWith(o.cluster, o.ref, rep.losses.Losses)
		if old == nil && now == nil || old != nil && now != nil && old.Equal(now) {
			return
		}
	}
	if e := rep.cluster(o.cluster); e != nil && policy {
		if now, _ = e.state.Verdicts.Get(o.ref.Name); now == nil && old == nil { // without the conditions of providers
			return
		}
	}
	rep.next.changed = append(rep.next.changed, Reported{Cluster: o.cluster, Ref: o.ref, Verdict: now})
}
