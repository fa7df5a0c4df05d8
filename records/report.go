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

// look has an object looked at once more: what is to be said of it may differ from before.
func (c *compiler) look(cluster string, kind api.Kind, name string) {
	c.looked = append(c.looked, object{cluster, api.Ref{Kind: kind, Name: name}})
}

// lookAt has those looked at that have Records at n.
func (c *compiler) lookAt(n *zone.Node) {
	for _, r := range n.Records {
		c.look(r.Record.Cluster, r.ObjectKind(), r.Record.Name)
	}
}

// sortLooked puts what is looked at in order, each once.
func (c *compiler) sortLooked() {
	slices.SortFunc(c.looked, object.compare)
	c.looked = slices.Compact(c.looked)
}

// report compares what is said of the objects that are looked at with what was said before. Verdicts of policies are kept; all
// others are made where somebody asks.
func (c *compiler) report() {
	c.lookHidden()
	c.sortLooked()
	zones := sync.OnceValue(c.next.Opt.ZoneNames)
	for _, o := range c.looked {
		if e := c.cluster(o.cluster); e != nil && o.ref.Kind == api.KindDNSPolicy {
			c.renewVerdict(e, o.ref.Name, zones)
		}
	}
	c.next.parents = c.parents()
	for _, e := range c.clusters {
		e.state.Targets, e.state.Verdicts, e.state.Records = e.targets.Map(), e.verdicts.Map(), e.records.Map()
		c.next.Clusters = append(c.next.Clusters, e.state)
	}
	if c.anew() {
		c.lookAll()
	} else {
		c.lookInZones()
	}
	c.sortLooked()
	for _, o := range c.looked {
		c.compare(o)
	}
}

// renewVerdict makes the verdict of a policy anew.
func (c *compiler) renewVerdict(e *clusterEdit, policy string, zones func() string) {
	var v, old *api.Verdict
	if p, ok := e.in.Policies.Get(policy); ok && !p.Deleting {
		if t, ok := e.targets.Get(p.TargetName()); ok {
			v = status.VerdictOf(t, p, &c.next.View, zones, e.state.Offspring)
		}
	}
	if c.prev != nil {
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

// lookInZones has the objects looked at which what has changed in zones concerns.
func (c *compiler) lookInZones() {
	for i, e := range c.edits {
		if e == nil {
			continue
		}
		z := c.zones[i]
		if z.Object != nil {
			c.look(z.Object.Cluster, api.KindZone, z.Object.Name)
		}
		if c.recorded {
			c.lookForServers(e, z)
		}
		for _, name := range e.Contended {
			c.lookAtLosses(z, name)
		}
	}
}

// lookAtLosses has the Records at a name looked at of which something else is to be said than before.
func (c *compiler) lookAtLosses(z *zone.Zone, name string) {
	var before map[*endpoint.Record]*endpoint.Problem
	if i, ok := c.old.Table.Index[z.Origin()]; ok {
		before = c.losses.Losses(c.old.Served[i], name)
	}
	if n := z.Node(name); n != nil && n.Cut { // the zone below may have other name servers now
		c.lookAt(n)
	}
	now := c.losses.Losses(z, name)
	for r, p := range now {
		if !p.Equal(before[r]) {
			c.look(r.Record.Cluster, r.ObjectKind(), r.Record.Name)
		}
	}
	for r := range before {
		if now[r] == nil {
			c.look(r.Record.Cluster, r.ObjectKind(), r.Record.Name)
		}
	}
}

// lookAll has all objects looked at of which something else may be to be said than before, whatever has changed.
func (c *compiler) lookAll() {
	for _, s := range [...]*Snapshot{c.old, c.next} {
		if s == nil {
			continue
		}
		for i, in := range s.In.Clusters {
			for name := range s.Table.Admissions[i] {
				c.look(in.Name, api.KindZone, name)
			}
			for _, p := range endpoint.Publishers {
				for name := range in.Names(p.Kind, "") {
					c.look(in.Name, p.Kind, name)
				}
			}
			if c.old != nil { // else all are
				for name := range s.Clusters[i].Verdicts.All() {
					c.look(in.Name, api.KindDNSPolicy, name)
				}
			}
		}
		for r := range s.Spoken(c.losses.Losses) {
			c.look(r.Record.Cluster, api.KindRecord, r.Record.Name)
		}
	}
	if c.old == nil {
		return
	}
	for _, before := range c.old.Clusters {
		now := new(status.Cluster)
		if i := slices.IndexFunc(c.next.Clusters, func(c *status.Cluster) bool { return c.Name == before.Name }); i >= 0 {
			now = c.next.Clusters[i]
		}
		for name, r := range now.Records.All() {
			was, ok := before.Records.Get(name)
			if !ok || was.Name != r.Name || was.Zone() != r.Zone() || c.old.ParentOf(was) != c.next.ParentOf(r) {
				c.look(before.Name, api.KindRecord, name)
			}
		}
		for name := range before.Records.All() {
			if _, ok := now.Records.Get(name); !ok {
				c.look(before.Name, api.KindRecord, name)
			}
		}
	}
}

// compare adds an object to what has changed where its verdict is not what it was.
func (c *compiler) compare(o object) {
	var old, now *api.Verdict
	policy := o.ref.Kind == api.KindDNSPolicy
	if c.old != nil {
		old = c.old.VerdictWith(o.cluster, o.ref, c.losses.Losses)
	}
	if c.old != nil || !policy {
		now = c.next.VerdictWith(o.cluster, o.ref, c.losses.Losses)
		if old == nil && now == nil || old != nil && now != nil && old.Equal(now) {
			return
		}
	}
	if e := c.cluster(o.cluster); e != nil && policy {
		if now, _ = e.state.Verdicts.Get(o.ref.Name); now == nil && old == nil { // without what it says of providers
			return
		}
	}
	c.next.changed = append(c.next.changed, Reported{Cluster: o.cluster, Ref: o.ref, Verdict: now})
}
