package records

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/zone"
)

// zoneVerdict says what became of a Zone; nil for none.
func (s *Snapshot) zoneVerdict(f *endpoint.Admission) *api.Verdict {
	if f == nil {
		return nil
	}
	v := &api.Verdict{FQDN: f.FQDN}
	if f.Parent != nil {
		v.Parent = f.Parent.Name
	}
	if f.Problem != nil {
		v.Conditions = s.ready(f.Problem)
		return v
	}
	z := s.zones[s.zoneSet.Index[f.FQDN]]
	v.Kept = z.Keep()
	v.TotalRecords = int32(min(z.Names(), 1<<31-1))
	var said *endpoint.Problem
	if f.Zone.Fault != "" {
		said = said.And(&endpoint.Problem{Reason: endpoint.ReasonServedInPart, Message: f.Zone.Fault})
	}
	said = said.And(z.Wraps(f.Zone.Kept))
	if z.StandsIn() {
		none := endpoint.Problemf(endpoint.ReasonNoNameservers, "no Record and no nameserver of the Corefile says who serves the zone: %s stands in", endpoint.TrimDot(z.MName()))
		v.Conditions = s.ready(none.And(said)) // what cannot be read may be what keeps its NS Records out
		return v
	}
	v.Conditions = served(v, said)
	return v
}

// recordVerdict says what became of a Record; nil for none.
func (s *Snapshot) recordVerdict(e *endpoint.Record, losses zone.LossFunc) *api.Verdict {
	if e == nil {
		return nil
	}
	v := &api.Verdict{FQDN: e.Name}
	if e.Problem != nil {
		v.Conditions = s.ready(e.Problem)
		return v
	}
	z := s.zones[s.zoneSet.Index[e.Zone()]]
	if z.Object != nil {
		v.Parent = z.Object.Name
	}
	said := s.lossOf(z, e, losses)
	if said.KeepsOut() {
		v.Conditions = s.ready(said)
		return v
	}
	if said == nil {
		said = e.Unquoted()
	}
	if said == nil {
		said = s.lacksAddress(e)
	}
	v.TotalRecords = 1
	v.Conditions = served(v, said)
	return v
}

// lossOf says what keeps an entry of a zone from being served as it is written, or from being
// answered with; nil for nothing.
func (s *Snapshot) lossOf(z *zone.Zone, e *endpoint.Record, losses zone.LossFunc) *endpoint.Problem {
	return z.LossOf(z.Node(e.Name), e, losses)
}

// ready returns the conditions of an object that is not served.
func (s *Snapshot) ready(p *endpoint.Problem) []api.Condition {
	message := p.Message
	if p.Reason == endpoint.ReasonNotServed && message == "" {
		message = "the name lies outside the zones served here: " + s.opt.ZoneNames()
	}
	return []api.Condition{{Type: endpoint.ConditionReady, Status: api.ConditionFalse, Reason: p.Reason, Message: api.Cut(message, endpoint.MaxMessage)}}
}

// served returns the conditions of an object that is served, of which there may be
// something to say.
func served(v *api.Verdict, said *endpoint.Problem) []api.Condition {
	c := api.Condition{Type: endpoint.ConditionReady, Status: api.ConditionTrue, Reason: endpoint.ReasonServed, Message: api.MessageServed}
	if v.Parent != "" && v.ParentLabel() == "" {
		c.Message += fmt.Sprintf("; the label kubi.zone/parent-zone cannot hold %s, as it has %d characters at the most: nothing else is wrong, and it is served all the same", v.Parent, api.MaxLabelValue)
	}
	if said != nil {
		c.Reason, c.Message = said.Reason, api.Cut(c.Message+"; "+said.Message, endpoint.MaxMessage)
	}
	return []api.Condition{c}
}

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
		if i, ok := c.old.zoneSet.Index[z.Origin()]; ok {
			before = c.losses.Losses(c.old.zones[i], name)
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
		for i, in := range s.in.Clusters {
			for name := range s.zoneSet.Admissions[i] {
				c.restateObject(in.Name, api.KindZone, name)
			}
			for _, kind := range endpoint.PublisherKinds {
				for name := range in.Names(kind, "") {
					c.restateObject(in.Name, kind, name)
				}
			}
		}
		for e := range s.spoken(c.losses.Losses) {
			c.restateObject(e.Record.Cluster, api.KindRecord, e.Record.Name)
		}
	}
	if c.old == nil {
		return
	}
	for _, before := range c.old.clusters {
		now := new(clusterState)
		if i := slices.IndexFunc(c.next.clusters, func(c *clusterState) bool { return c.name == before.name }); i >= 0 {
			now = c.next.clusters[i]
		}
		for name, e := range now.records.All() {
			was, ok := before.records.Get(name)
			if !ok || was.Name != e.Name || was.Zone() != e.Zone() || c.old.parentOf(was) != c.next.parentOf(e) {
				c.restateObject(before.name, api.KindRecord, name)
			}
		}
		for name := range before.records.All() {
			if _, ok := now.records.Get(name); !ok {
				c.restateObject(before.name, api.KindRecord, name)
			}
		}
	}
}

// spoken yields the Records of which something is to be said but that they are served.
func (s *Snapshot) spoken(losses zone.LossFunc) iter.Seq[*endpoint.Record] {
	return func(yield func(*endpoint.Record) bool) {
		for _, c := range s.clusters {
			for _, e := range c.records.All() {
				if c.unplaced == 0 {
					break
				}
				if e.RR == nil && !yield(e) {
					return
				}
			}
		}
		for _, z := range s.zones {
			for _, n := range z.Nodes.All() {
				quiet := len(n.Records) == 1 && n.Lost == 0 && !n.Cut && z.Turns == 0 // by far the most
				for _, e := range n.Records {
					if e.Kind != 0 || quiet && !e.Speaks() {
						continue
					}
					if (z.LossOf(n, e, losses) != nil || e.Unquoted() != nil || s.lacksAddress(e) != nil) && !yield(e) {
						return
					}
				}
			}
		}
	}
}

// parentOf returns the namespace/name of the Zone that an entry lies in; "" for none.
func (s *Snapshot) parentOf(e *endpoint.Record) string {
	if e.RR == nil {
		return ""
	}
	if at := &s.zoneSet.Served[s.zoneSet.Index[e.Zone()]]; at.Object != nil {
		return at.Object.Name
	}
	return ""
}

// compare adds an object to the list where its verdict is not what it was.
func (c *compiler) compare(cluster string, ref api.Ref) {
	var old *api.Verdict
	if c.old != nil {
		old = c.old.verdict(cluster, ref, c.losses.Losses)
	}
	now := c.next.verdict(cluster, ref, c.losses.Losses)
	if old == nil && now == nil || old != nil && now != nil && old.Equal(now) {
		return
	}
	c.next.changed = append(c.next.changed, Reported{Cluster: cluster, Ref: ref, Verdict: now})
}
