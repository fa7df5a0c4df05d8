package records

import (
	"maps"
	"slices"
	"time"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
)

// Compile makes the snapshot of in under opt.
//
// prev is the snapshot before it, nil for none. Serials go on from there. Where
// it was compiled under the same *Options from the same clusters, only what
// in.Clusters[i].Changed names is looked at: the result equals that of
// compiling from nothing, at the cost of the change. now dates serials.
//
// Compile never fails: what cannot be served is left out, and the verdict of
// its object says why (rule 8.1). Only one goroutine at a time may compile from
// snapshots that descend from one another; reading them meanwhile is fine.
func Compile(prev *Snapshot, in api.Objects, opt *Options, now time.Time) *Snapshot {
	c := newCompiler(prev, in, opt)
	c.attach()
	c.resolve()
	c.report()
	return c.finish(now)
}

// compiler is one compile under way.
type compiler struct {
	prev *Snapshot // nil where everything is compiled anew
	old  *Snapshot // the snapshot before, for serials; nil for none
	next *Snapshot

	// zones are those of the snapshot before, or new ones; edits are the next
	// versions of those that change.
	zones    []*Zone
	edits    []*zoneEdit // nil for a zone that has not changed
	clusters []*clusterEdit
	groups   *tree.Edit[*nameGroup]
	// dirty is what has to be resolved again, by group key.
	dirty map[string]*groupChange
}

// clusterEdit is the next version of a clusterState.
type clusterEdit struct {
	in       *api.Cluster
	state    *clusterState
	targets  *tree.Edit[*target]
	verdicts *tree.Edit[*api.Verdict]
	// unsettled is the policies whose verdict may differ now.
	unsettled map[string]*target
}

// groupChange is what one compile takes from a group and adds to it.
type groupChange struct {
	drop map[*claim]struct{}
	add  []*claim
}

func newCompiler(prev *Snapshot, in api.Objects, opt *Options) *compiler {
	next := &Snapshot{in: in, opt: opt, generation: 1, complete: true}
	c := &compiler{old: prev, next: next, dirty: make(map[string]*groupChange)}
	if prev != nil {
		next.generation = prev.generation + 1
		if prev.opt == opt && sameClusters(prev, in) {
			c.prev = prev
		}
	}
	c.openZones()
	for i, cluster := range in.Clusters {
		next.complete = next.complete && cluster.Complete()
		e := &clusterEdit{
			in: cluster, state: &clusterState{name: cluster.Name, uid: cluster.UID},
			unsettled: make(map[string]*target),
		}
		if c.prev != nil {
			*e.state = *c.prev.clusters[i]
		}
		e.targets, e.verdicts = e.state.targets.Edit(), e.state.verdicts.Edit()
		c.clusters = append(c.clusters, e)
	}
	if c.prev != nil {
		c.groups = c.prev.groups.Edit()
	} else {
		c.groups = tree.Map[*nameGroup]{}.Edit()
	}
	return c
}

// sameClusters tells whether what changed in each cluster counts from what prev
// was compiled from.
func sameClusters(prev *Snapshot, in api.Objects) bool {
	return slices.EqualFunc(prev.in.Clusters, in.Clusters, func(p, c *api.Cluster) bool {
		return p.Name == c.Name && p.UID == c.UID && p.Epoch == c.Epoch
	})
}

func (c *compiler) openZones() {
	if c.prev != nil {
		c.next.index = c.prev.index
		c.zones = slices.Clone(c.prev.zones)
		c.edits = make([]*zoneEdit, len(c.zones))
		return
	}
	c.next.index = make(map[string]int, len(c.next.opt.Zones))
	for i := range c.next.opt.Zones {
		opt := &c.next.opt.Zones[i]
		c.next.index[opt.Origin] = i
		z := newZone(opt)
		c.zones = append(c.zones, z)
		c.edits = append(c.edits, z.edit(c.next.generation))
	}
}

// edit returns the next version of a zone.
func (c *compiler) edit(zone int) *zoneEdit {
	if c.edits[zone] == nil {
		c.edits[zone] = c.zones[zone].edit(c.next.generation)
	}
	return c.edits[zone]
}

// zoneOf returns the place of the zone that name lies in, -1 for none.
func (c *compiler) zoneOf(name string) int {
	for off, end := 0, false; !end; off, end = dns.NextLabel(name, off) {
		if i, ok := c.next.index[name[off:]]; ok {
			return i
		}
	}
	if i, ok := c.next.index["."]; ok {
		return i
	}
	return -1
}

// place tells where a host lies (rule 1.6).
func (c *compiler) place(host string) placement {
	i := c.zoneOf(base(host))
	if i < 0 {
		return outside
	}
	if z := c.zones[i]; host != z.origin && len(z.static[host]) > 0 {
		return reserved
	}
	return inZone
}

// policyChange is what happens to the policies of one target.
type policyChange struct {
	drop []string // names
	add  []*api.DNSPolicy
}

// attach renews the targets that a change concerns (rule 1).
func (c *compiler) attach() {
	for i, e := range c.clusters {
		var before *api.Cluster
		if c.prev != nil {
			before = c.prev.in.Clusters[i]
		}
		for name, change := range e.changes(before) {
			c.renew(e, name, change)
		}
	}
}

// changes returns, by Gateway, the policies that come and go. A Gateway that
// changed itself has an entry too. before is nil where everything is new.
func (e *clusterEdit) changes(before *api.Cluster) map[string]*policyChange {
	changes := make(map[string]*policyChange)
	at := func(name string) *policyChange {
		ch := changes[name]
		if ch == nil {
			ch = &policyChange{}
			changes[name] = ch
		}
		return ch
	}
	if before == nil {
		for _, p := range e.in.Policies.All() {
			ch := at(p.TargetName())
			ch.add = append(ch.add, p)
		}
		return changes
	}
	for _, ref := range e.in.Changed {
		switch ref.Kind {
		case api.KindGateway:
			at(ref.Name)
		case api.KindDNSPolicy:
			if p, ok := before.Policies.Get(ref.Name); ok {
				ch := at(p.TargetName())
				ch.drop = append(ch.drop, ref.Name)
				e.unsettled[ref.Name] = nil
			}
			if p, ok := e.in.Policies.Get(ref.Name); ok {
				ch := at(p.TargetName())
				ch.add = append(ch.add, p)
			}
		}
	}
	return changes
}

// renew makes the target of one Gateway anew and marks what depends on it.
func (c *compiler) renew(e *clusterEdit, gateway string, change *policyChange) {
	t := &target{}
	if g, ok := e.in.Gateways.Get(gateway); ok && !g.Deleting {
		t.gateway = g
	}
	old, _ := e.targets.Get(gateway)
	if old != nil {
		t.policies = slices.DeleteFunc(slices.Clone(old.policies), func(p *api.DNSPolicy) bool {
			return slices.Contains(change.drop, p.Name)
		})
		for _, cl := range old.claims {
			c.change(cl).drop[cl] = struct{}{}
		}
	}
	for _, p := range change.add {
		if !p.Deleting {
			t.policies = append(t.policies, p)
		}
	}
	if len(t.policies) == 0 {
		e.targets.Delete(gateway)
		return
	}
	slices.SortFunc(t.policies, func(a, b *api.DNSPolicy) int { return a.Older(&b.Meta) })
	t.attach(e.state.uid, c.place)
	for _, cl := range t.claims {
		ch := c.change(cl)
		ch.add = append(ch.add, cl)
	}
	for _, p := range t.policies {
		e.unsettled[p.Name] = t
	}
	e.targets.Set(gateway, t)
}

// change returns the change of the group that cl belongs to.
func (c *compiler) change(cl *claim) *groupChange {
	key := groupKey(cl.host)
	ch := c.dirty[key]
	if ch == nil {
		ch = &groupChange{drop: make(map[*claim]struct{})}
		c.dirty[key] = ch
	}
	return ch
}

// resolve renews the groups that a change concerns.
func (c *compiler) resolve() {
	for key, change := range c.dirty {
		old, _ := c.groups.Get(key)
		g := &nameGroup{}
		if old != nil {
			for _, cl := range old.claims {
				if _, gone := change.drop[cl]; !gone {
					g.claims = append(g.claims, cl)
					c.unsettle(cl) // it may win or lose now
				}
			}
		}
		g.claims = append(g.claims, change.add...)
		slices.SortFunc(g.claims, (*claim).older)
		names := c.buildGroup(g)
		c.countConflicts(g, 1)
		if old != nil {
			c.countConflicts(old, -1)
			for _, name := range old.names {
				if _, kept := names[name]; !kept {
					c.edit(c.zoneOf(name)).set(name, steered{})
				}
			}
		}
		for name, data := range names {
			c.edit(c.zoneOf(name)).set(name, data)
		}
		if len(g.claims) == 0 {
			c.groups.Delete(key)
			continue
		}
		g.names = slices.Collect(maps.Keys(names))
		c.groups.Set(key, g)
	}
}

// countConflicts adds n for each claim that lost in g to the count of its zone.
func (c *compiler) countConflicts(g *nameGroup, n int) {
	for _, l := range g.lost {
		c.edit(c.zoneOf(base(l.claim.host))).conflicts += n
	}
}

// buildGroup decides who owns what in g and returns the names with their data.
func (c *compiler) buildGroup(g *nameGroup) map[string]steered {
	if len(g.claims) == 0 {
		return nil
	}
	var won []*claim
	won, g.lost = resolveOwners(g.claims)
	b := builder{
		zone: func(name string) *ZoneOptions {
			if i := c.zoneOf(name); i >= 0 {
				return c.zones[i].opt
			}
			return nil
		},
		static: func(name string) bool { return c.zones[c.zoneOf(name)].static[name] != nil },
		names:  make(map[string]steered, len(won)),
	}
	b.build(won)
	g.notes = b.notes
	return b.names
}

// unsettle marks the policy of a claim as one whose verdict may differ now.
func (c *compiler) unsettle(cl *claim) {
	for _, e := range c.clusters {
		if e.in.Name == cl.policy.Cluster {
			if t, ok := e.targets.Get(cl.gateway.Name); ok {
				e.unsettled[cl.policy.Name] = t
			}
			return
		}
	}
}

// finish puts the parts together and gives every zone its serial.
func (c *compiler) finish(now time.Time) *Snapshot {
	s := c.next
	s.groups = c.groups.Map()
	for _, e := range c.clusters {
		e.state.targets, e.state.verdicts = e.targets.Map(), e.verdicts.Map()
		s.clusters = append(s.clusters, e.state)
	}
	for i, e := range c.edits {
		if e == nil {
			continue
		}
		var before *Zone
		if c.old != nil {
			if j, ok := c.old.index[e.zone.origin]; ok {
				before = c.old.zones[j]
			}
		}
		c.zones[i] = e.finish(before, now)
	}
	s.zones = c.zones
	return s
}
