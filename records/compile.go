package records

import (
	"slices"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/owner"
	"github.com/coredns-kuadrant/kuadrant/records/pool"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
	"github.com/coredns-kuadrant/kuadrant/records/status"
	"github.com/coredns-kuadrant/kuadrant/records/zone"
)

// Compile makes the snapshot of in under opt.
//
// prev is the snapshot before it, nil for none. Serials go on from there. Where
// in has its structure (see Fits), only what in.Clusters[i].Changed names is looked at: the
// result equals that of compiling from nothing, at the cost of the change. now dates serials.
//
// Compile never fails: what cannot be served is left out, and the verdict of
// its object says why (rule 8.1). Only one goroutine at a time may compile from
// snapshots that descend from one another; reading them meanwhile is fine.
func Compile(prev *Snapshot, in api.Objects, opt *endpoint.Options, now time.Time) *Snapshot {
	if prev != nil && !prev.behind {
		if set := prev.fits(&in, opt); set != nil {
			return compile(prev, prev, set, in, opt, now)
		}
	}
	return compile(nil, prev, nil, in, opt, now)
}

// compile makes the snapshot of in from base, which has its structure, with the zones of set; nil is from nothing. It comes
// after last.
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
	c.resolve()
	return c.finish(now)
}

// compiler is one compile under way.
type compiler struct {
	prev *Snapshot // what the changes are made to; nil where everything is compiled from nothing
	old  *Snapshot // the snapshot before, for serials and what is said to have changed; nil for none
	next *Snapshot

	// zones are those of the snapshot before, or new ones; edits are the next
	// versions of those that change.
	zones    []*zone.Zone
	edits    []*zone.Edit // nil for a zone that has not changed
	clusters []*clusterEdit
	groups   *tree.Edit[*status.NameGroup]
	// dirty is what has to be resolved again, by group key; order is the same, in
	// the order in which it was found.
	dirty  map[string]*groupChange
	order  []*groupChange
	checks *pool.CheckEdit
	around endpoint.Surroundings
	// reread are the contenders of owners that cannot be read, as far as they differ from those before.
	reread   []owner.Reread
	registry owner.Registry
	// losses has what keeps Records from being served, by the names that have been looked at for verdicts.
	losses zone.LossMemo
	// looked are the objects of which something else may be to be said than before.
	looked []object
	// recorded is true where names may have Records: there are some, or objects with endpoints.
	recorded bool
	// servers counts the NS Records that name a server, by the server's name from the root and by object: see noteServer.
	servers *tree.Edit[int]
	// bars are those of the group that is being built, by host; nil where there are no Records.
	bars map[string]zone.Bar
	// base is the key of that group; baseOwner owns the name, nil for nobody.
	base      string
	baseOwner *endpoint.Contender
	// builder is used for one group after the other.
	builder pool.Builder
}

func newCompiler(base, last *Snapshot, set *endpoint.Zones, in api.Objects, opt *endpoint.Options) *compiler {
	next := &Snapshot{View: status.View{In: in, Opt: opt}, input: in, generation: 1, complete: !in.Expecting}
	c := &compiler{prev: base, old: last, next: next}
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
		c.groups, c.servers = c.prev.NameGroups.Edit(), c.prev.servers.Edit()
	} else {
		c.groups, c.servers = tree.Map[*status.NameGroup]{}.Edit(), tree.Map[int]{}.Edit()
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
	c.around = endpoint.Surroundings{Place: c.placeOf, MayPublish: c.mayPublish, Zone: c.optionsAt, Taken: c.taken} // the cluster says the rest
	return c
}

// openClusters begins the next version of each cluster, and returns about how many
// objects change.
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

// newBuilder returns a builder that looks into the compile under way.
func (c *compiler) newBuilder() pool.Builder {
	return pool.Builder{
		Zone: c.optionsAt,
		Static: func(name string) bool {
			z := c.zones[c.zoneOf(name)]
			fixed := z.Fixed[name] != nil && (!z.StandsFor(name) || zone.StandsIn(&z.Zone, c.nodeAt(z.Origin())))
			return fixed || z.TellsOwner(name) || c.hasOther(name)
		},
		Names: make(map[string]pool.Steered),
		Watch: c.checks.Watch, Before: c.before, ProbesOff: c.next.Opt.ProbesOff, Overrides: c.next.In.Overrides,
		Probes: func(cluster string) pool.ProbeIndex {
			if e := c.cluster(cluster); e != nil {
				return e.state.Probes
			}
			return pool.ProbeIndex{}
		},
		Secret: c.next.In.Secret,
		NoSecrets: func(cluster string) bool {
			e := c.cluster(cluster)
			return e != nil && e.in.Listings[api.KindSecret] == api.NotWatched
		},
	}
}

// optionsAt returns the options of the zone that a name lies in; nil for none.
func (c *compiler) optionsAt(name string) *endpoint.ZoneOptions {
	if i := c.zoneOf(rdata.Base(name)); i >= 0 {
		return c.zones[i].Corefile
	}
	return nil
}

// taken returns a name of the Corefile's at or below one, a zone or a name server; "" for none.
func (c *compiler) taken(name string) string {
	under := func(taken string) bool { return rdata.IsSubdomain(name, taken) }
	if i := slices.IndexFunc(c.next.Table.Reserved, under); i >= 0 {
		return c.next.Table.Reserved[i]
	}
	for _, ns := range c.zones[c.zoneOf(name)].Corefile.Nameservers {
		if under(ns.Name) {
			return ns.Name
		}
	}
	return ""
}

// recordOf returns a Record of a cluster where it lies now; nil for none.
func (c *compiler) recordOf(cluster, name string) *endpoint.Record {
	e := c.cluster(cluster)
	if e == nil {
		return nil
	}
	r, _ := e.records.Get(name)
	return r
}

// cluster returns the next version of a cluster; nil for none of that name.
func (c *compiler) cluster(name string) *clusterEdit {
	for _, e := range c.clusters {
		if e.in.Name == name {
			return e
		}
	}
	return nil
}

// before returns the objects of a cluster that the snapshot before was made of, under
// whichever options; nil for none.
func (c *compiler) before(cluster string) *api.Cluster {
	if c.old != nil {
		for _, in := range c.old.In.Clusters {
			if in.Name == cluster {
				return in
			}
		}
	}
	return nil
}

// anew reports whether anything may differ from the snapshot before.
func (c *compiler) anew() bool { return c.prev == nil || c.prev != c.old }

// openZones begins the next versions of the zones: of those that may have another serial, or may be kept otherwise, at once.
func (c *compiler) openZones() {
	set := c.next.Table
	switch {
	case c.old == nil:
	case c.anew():
		c.next.retired = zone.Retire(set.Index, c.old.retired, c.old.Served)
	default:
		c.next.retired = c.prev.retired
	}
	if c.prev == nil {
		cuts := set.Cuts()
		for i, at := range set.Served {
			z := zone.NewZone(at, cuts[i])
			c.zones = append(c.zones, z)
			c.edits = append(c.edits, z.Edit(c.next.generation))
		}
		return
	}
	c.zones, c.edits = slices.Clone(c.prev.Served), make([]*zone.Edit, len(c.prev.Served))
	if c.anew() {
		for i := range c.zones {
			c.edit(i)
		}
	}
	for _, in := range c.next.In.Clusters {
		for _, ref := range in.Changed {
			if a := set.Admission(in.Name, ref.Name); ref.Kind == api.KindZone && a != nil && a.Problem == nil {
				c.edit(set.Index[a.FQDN]) // its status says something else
			}
		}
	}
	for _, origin := range c.next.In.SerialsChanged {
		if i, ok := set.Index[origin]; ok {
			c.edit(i)
		}
	}
}

// edit returns the next version of a zone.
func (c *compiler) edit(zone int) *zone.Edit {
	if c.edits[zone] == nil {
		c.edits[zone] = c.zones[zone].Edit(c.next.generation)
	}
	return c.edits[zone]
}

// zoneOf returns the place of the zone that name lies in, -1 for none.
func (c *compiler) zoneOf(name string) int { return endpoint.ClosestOrigin(c.next.Table.Index, name) }

// nodeAt returns what there is at name as edited so far; nil for nothing. It lies in a
// zone served here.
func (c *compiler) nodeAt(name string) *zone.Node {
	i := c.zoneOf(name)
	if e := c.edits[i]; e != nil {
		return e.Node(name)
	}
	return c.zones[i].Node(name)
}

// placeOf returns where a host lies (rule 1.6).
func (c *compiler) placeOf(host string) endpoint.Placement {
	i := c.zoneOf(rdata.Base(host))
	if i < 0 {
		return endpoint.Outside
	}
	switch z := c.zones[i]; {
	case z.ChainHost(host) != "":
		return endpoint.InChain
	case host != z.Origin() && len(z.Fixed[host]) > 0:
		return endpoint.Reserved
	}
	return endpoint.InZone
}

// mayPublish returns what keeps an object from publishing data of a type at a host, which
// lies in a zone; nil for nothing (rule 5.1).
func (c *compiler) mayPublish(m *api.Meta, host, rtype string) *endpoint.Problem {
	return c.next.Opt.MayPublish(&c.zones[c.zoneOf(rdata.Base(host))].Zone, m, host, rtype)
}

// finish puts the parts together and gives every zone its serial.
func (c *compiler) finish(now time.Time) *Snapshot {
	s := c.next
	s.NameGroups, s.Checked = c.groups.Map(), c.checks.Finish(c.anew())
	s.servers = c.servers.Map()
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
		p := zone.Past{Gated: s.In.Keeper != "", Listed: s.denies(origin) && e.Zone.Unread == nil && e.UnreadNames == 0}
		p.Kept, p.Beside = c.keptOf(&e.Zone.Zone)
		if c.old != nil {
			p.Retired = c.old.retired[origin]
			if j, ok := c.old.Table.Index[origin]; ok {
				before = c.old.Served[j]
			}
		}
		p.Published = s.Opt.Published[origin]
		c.zones[i] = e.Finish(before, p, now)
	}
	s.Served = c.zones
	c.report()
	return s
}

// hasOther reports whether the Records at a name of the group that is being built have data
// that stand beside what is steered there.
func (c *compiler) hasOther(name string) bool {
	i := c.zoneOf(name)
	n := c.nodeAt(name)
	if n == nil || len(n.Records) == 0 {
		return false
	}
	by := c.bars[name]
	at := zone.Others{Owner: by.Owner, By: by.By, Above: c.above(name), Alias: by.Alias, Fixed: c.zones[i].Fixed[name]}
	return slices.ContainsFunc(zone.RRsetsOf(n.Records, at, nil), func(s zone.RRset) bool { return !endpoint.Steered(s.Type) })
}
