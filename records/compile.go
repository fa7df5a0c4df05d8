package records

import (
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/owner"
	"github.com/coredns-kuadrant/kuadrant/records/pool"
	"github.com/coredns-kuadrant/kuadrant/records/status"
	"github.com/coredns-kuadrant/kuadrant/records/zone"
)

// Compile makes the snapshot of in under opt.
//
// prev is the snapshot before; nil for none. Serials continue from it. If in has its structure (see Next.Fits), Compile looks only at what
// in.Clusters[i].Changed names: the result equals that of compiling from nothing, at the cost of the change. now dates serials.
//
// Compile never fails: it leaves out what cannot be served, and the verdict of the object says why (rule 8.1). One goroutine at a time may
// continue from a snapshot and its successors; others may read them meanwhile, or compile from nothing after one of them.
func Compile(prev *Snapshot, in api.Objects, opt *endpoint.Options, now time.Time) *Snapshot {
	return prev.Next(in, opt).Compile(now)
}

// compile makes the snapshot of in from base, which has its structure, with the zones of set; a nil base compiles from nothing, and a
// nil set resolves the zones. The result comes after last.
func compile(base, last *Snapshot, set *endpoint.Zones, in api.Objects, opt *endpoint.Options, now time.Time) *Snapshot {
	c := newCompiler(base, last, set, in, opt)
	c.children()
	c.probes()
	c.markProbed()
	c.override()
	c.markAcquired()
	c.attach()
	c.publish()
	c.contendUnread()
	c.place()
	for _, e := range c.edits {
		if e != nil {
			e.Sweep()
		}
	}
	c.activate()
	c.resolve()
	s := c.finish(now)
	s.In.Incumbents, s.input.Incumbents = nil, nil // a snapshot must not keep the one before
	return s
}

// compiler is one compile under way. It looks at what has changed, drafts the next version of each part of a snapshot, resolves the marked
// groups (contest), and renews the verdicts of marked objects (reporter).
type compiler struct {
	*contest
	around endpoint.Surroundings
}

func newCompiler(base, last *Snapshot, set *endpoint.Zones, in api.Objects, opt *endpoint.Options) *compiler {
	next := &Snapshot{View: status.View{In: in, Opt: opt}, input: in, generation: 1, complete: !in.Expecting}
	c := &compiler{contest: &contest{reporter: &reporter{draft: &draft{prev: base, old: last, next: next}}}}
	for _, s := range [...]*Snapshot{base, last} {
		if s != nil {
			next.generation = max(next.generation, s.generation+1)
		}
	}
	if next.allRead = owner.AllRead(&next.In); base == nil {
		next.unread = owner.FindLines(&next.In)
	} else {
		next.unread, c.reread = base.unread.After(&next.In)
	}
	c.registry = owner.Registry{In: &next.In, RecordOf: c.recordOf, Unread: next.unread}
	if next.Table = set; set == nil {
		next.Table = endpoint.ResolveZones(in, next.unread.Zones, opt)
	}
	c.openZones()
	expected := c.openClusters()
	if c.prev != nil {
		c.groups = c.prev.NameGroups.Edit()
	} else {
		c.groups = tree.Map[*status.NameGroup]{}.Edit()
	}
	c.losses = make(zone.LossMemo)
	var from, known pool.Checks
	if base != nil {
		from = base.Checked
	}
	if last != nil {
		known = last.Checked
	}
	c.checks = from.Edit(known, next.generation, opt.Health)
	c.dirty = make(map[string]*groupChange, expected)
	c.order = make([]*groupChange, 0, expected)
	next.changed, c.looked = make([]Reported, 0, expected), make([]object, 0, expected)
	c.builder = c.newBuilder()
	c.around = endpoint.Surroundings{Place: c.placeOf, MayPublish: c.mayPublish, Zone: c.optionsAt, Taken: c.taken} // the cluster adds the rest
	return c
}

// openClusters begins the next version of each cluster, and returns roughly how many objects
// change.
func (c *compiler) openClusters() (expected int) {
	for i, cluster := range c.next.In.Clusters {
		c.next.complete = c.next.complete && cluster.Complete()
		e := &clusterEdit{in: cluster, state: &status.Cluster{Name: cluster.Name, UID: cluster.UID}}
		n := len(cluster.Changed)
		if c.prev == nil {
			n = cluster.Policies.Len()
		}
		expected += n
		if c.prev != nil {
			*e.state = *c.prev.Clusters[i]
			c.findAgain(e)
		}
		e.targets, e.verdicts, e.records = e.state.Targets.Edit(), e.state.Verdicts.Edit(), e.state.Records.Edit()
		c.clusters = append(c.clusters, e)
	}
	return expected
}

// finish puts the parts together and gives every zone its serial.
func (c *compiler) finish(now time.Time) *Snapshot {
	s := c.next
	s.made = now.Unix()
	s.NameGroups, s.Checked = c.groups.Map(), c.checks.Finish(c.anew())
	if !c.anew() {
		s.renewed = make([]string, len(c.order))
		for i, change := range c.order {
			s.renewed[i] = change.key
		}
	}
	c.settle()
	for i, e := range c.edits {
		if e == nil {
			continue
		}
		before, origin := (*zone.Zone)(nil), e.Zone.Origin()
		p := zone.Past{Gated: s.In.SerialWriter != "", Listed: s.denies(origin) && e.Zone.Unread == nil && e.UnreadNames == 0}
		p.Kept, p.Beside = c.keptOf(&e.Zone.Zone)
		if c.old != nil {
			p.Retired = c.old.retired[origin]
			if j, ok := c.old.Table.Index[origin]; ok {
				before = c.old.Served[j]
			}
		}
		p.Published = s.Opt.Published[origin].Newer(s.In.Former[origin])
		c.zones[i] = e.Finish(before, p, now)
	}
	s.Served = c.zones
	c.report(c.order)
	return s
}
