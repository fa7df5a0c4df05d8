package records

import (
	"cmp"
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/status"
	"github.com/coredns-kuadrant/kuadrant/records/zone"
)

// restated names an object whose verdict may differ from that before.
type restated struct {
	cluster string
	ref     api.Ref
}

// restateObject marks an object as one whose verdict may differ from that before.
func (c *compiler) restateObject(cluster string, kind api.Kind, name string) {
	c.restated = append(c.restated, restated{cluster, api.Ref{Kind: kind, Name: name}})
}

func compareRestated(a, b restated) int {
	return cmp.Or(strings.Compare(a.cluster, b.cluster), cmp.Compare(a.ref.Kind, b.ref.Kind), strings.Compare(a.ref.Name, b.ref.Name))
}

// reportZones adds the other objects whose verdicts have changed to the list, and puts it in order.
func (c *compiler) reportZones() {
	s := c.next
	if c.anew() {
		c.restateAll()
	} else {
		for i, e := range c.edits {
			if e == nil {
				continue
			}
			z := c.zones[i]
			if z.Object != nil {
				c.restateObject(z.Object.Cluster, api.KindZone, z.Object.Name)
			}
			if c.recorded {
				c.followServers(e, z)
			}
			for _, name := range e.Contended {
				c.restate(z, name)
			}
			c.restateHidden(e, z)
		}
	}
	slices.SortFunc(c.restated, compareRestated)
	for _, r := range slices.Compact(c.restated) {
		c.compare(r.cluster, r.ref)
	}
	slices.SortFunc(s.changed, func(a, b Reported) int {
		return compareRestated(restated{a.Cluster, a.Ref}, restated{b.Cluster, b.Ref})
	})
}

// restate marks the Records at a name of which something else is to be said now than
// before.
func (c *compiler) restate(z *zone.Zone, name string) {
	var before map[*endpoint.Record]*endpoint.Problem
	if c.old != nil {
		if i, ok := c.old.Table.Index[z.Origin()]; ok {
			before = c.losses.Losses(c.old.Served[i], name)
		}
	}
	if n := z.Node(name); n != nil && n.Cut { // the zone below may have other name servers now
		for _, e := range n.Records {
			c.restateObject(e.Record.Cluster, e.ObjectKind(), e.Record.Name)
		}
	}
	now := c.losses.Losses(z, name)
	for e, p := range now {
		if !p.Equal(before[e]) {
			c.restateObject(e.Record.Cluster, e.ObjectKind(), e.Record.Name)
		}
	}
	for e := range before {
		if now[e] == nil {
			c.restateObject(e.Record.Cluster, e.ObjectKind(), e.Record.Name)
		}
	}
}

// restateAll marks all objects of which something else may be to be said than before, whatever has changed.
func (c *compiler) restateAll() {
	for _, s := range [...]*Snapshot{c.old, c.next} {
		if s == nil {
			continue
		}
		for i, in := range s.In.Clusters {
			for name := range s.Table.Admissions[i] {
				c.restateObject(in.Name, api.KindZone, name)
			}
			for _, kind := range endpoint.PublisherKinds {
				for name := range in.Names(kind, "") {
					c.restateObject(in.Name, kind, name)
				}
			}
		}
		for e := range s.Spoken(c.losses.Losses) {
			c.restateObject(e.Record.Cluster, api.KindRecord, e.Record.Name)
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
		for name, e := range now.Records.All() {
			was, ok := before.Records.Get(name)
			if !ok || was.Name != e.Name || was.Zone() != e.Zone() || c.old.ParentOf(was) != c.next.ParentOf(e) {
				c.restateObject(before.Name, api.KindRecord, name)
			}
		}
		for name := range before.Records.All() {
			if _, ok := now.Records.Get(name); !ok {
				c.restateObject(before.Name, api.KindRecord, name)
			}
		}
	}
}

// compare adds an object to the list where its verdict is not what it was.
func (c *compiler) compare(cluster string, ref api.Ref) {
	var old *api.Verdict
	if c.old != nil {
		old = c.old.VerdictWith(cluster, ref, c.losses.Losses)
	}
	now := c.next.VerdictWith(cluster, ref, c.losses.Losses)
	if old == nil && now == nil || old != nil && now != nil && old.Equal(now) {
		return
	}
	c.next.changed = append(c.next.changed, Reported{Cluster: cluster, Ref: ref, Verdict: now})
}
