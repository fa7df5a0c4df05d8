package records

import (
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/owner"
	"github.com/coredns-kuadrant/kuadrant/records/pool"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
	"github.com/coredns-kuadrant/kuadrant/records/status"
	"github.com/coredns-kuadrant/kuadrant/records/zone"
)

// contest decides who owns the names of groups, and what their data are.
type contest struct {
	*reporter
	groups *tree.Edit[*status.NameGroup]
	// dirty has the groups to resolve again, by group key; order has them in the order in which
	// they were found.
	dirty map[string]*groupChange
	order []*groupChange
	// reread are the contenders of owners that cannot be read, if they differ from those before.
	reread   []owner.Reread
	registry owner.Registry
	// checks and builder are reused for each group.
	checks  *pool.CheckEdit
	builder pool.Builder

	// ownerships are those of the group being built, by host; nil if there are no Records.
	ownerships map[string]zone.Ownership
	// due are the groups to resolve, by turn: see turnOf. Names claim what lies below them, so that a group is resolved after those above,
	// and those of names with labels that begin with _ after all others.
	due [2 * maxDepth][]*groupChange
	// moved are the names of Records that came or went, and so may have another owner; cut are those of NS records. lined are the names
	// whose lines in the registry differ.
	moved, cut, lined map[string]struct{}
}

// maxDepth is more than the labels of any name.
const maxDepth = 128

// turnOf returns when a group is resolved: the index of contest.due.
func turnOf(key string) int {
	n := dns.CountLabel(key)
	if endpoint.Underscored(key) {
		n += maxDepth
	}
	return n
}

// resolve renews the changed groups, and with them the groups on which they have claims.
func (c *contest) resolve() {
	c.markClaimed()
	for turn := range c.due {
		batch := c.due[turn] // nothing is added to it: claims are on names below
		slices.SortFunc(batch, func(a, b *groupChange) int { return strings.Compare(a.key, b.key) })
		for _, change := range batch {
			if change.group == nil {
				c.renewGroup(change)
			}
		}
	}
	slices.SortFunc(c.order, func(a, b *groupChange) int { return strings.Compare(a.key, b.key) })
}

// renewGroup renews a changed group.
func (c *contest) renewGroup(change *groupChange) {
	var old *status.NameGroup
	if c.prev != nil {
		old, _ = c.groups.Get(change.key)
	}
	g := &status.NameGroup{Group: owner.Group{Contenders: change.add}}
	if old != nil {
		for _, who := range old.Contenders {
			if _, gone := change.drop[who]; !gone {
				g.Contenders = append(g.Contenders, who)
				c.lookBy(who) // it may win or lose now
			}
		}
	}
	slices.SortFunc(g.Contenders, (*endpoint.Contender).Older)
	names := change.names
	if old != nil {
		names = append(slices.Clip(names), old.Owned...)
	}
	wildcard := rdata.WildcardOf(change.key)
	was := c.ownerBeside(change.key, wildcard)
	c.putGroup(change.key, old, g, names)
	if !sameClaimant(was, c.ownerBeside(change.key, wildcard)) {
		old, g = g, &status.NameGroup{Group: owner.Group{Contenders: g.Contenders}} // whether the wildcard is covered depends on the owner
		c.putGroup(change.key, old, g, names)
	}
	change.group = g
	if c.prev != nil {
		c.markBelow(change.key)
		c.markBelow(wildcard)
	}
	c.noteGroup(change.key, g)
	if len(g.Contenders)+len(g.Owned) == 0 && !c.registry.Keeps(change.key) {
		c.groups.Delete(change.key)
		return
	}
	c.groups.Set(change.key, g)
}

// putGroup builds a group and puts it in the place of old, which may be nil.
func (c *contest) putGroup(key string, old, g *status.NameGroup, names []string) {
	c.buildGroup(key, g, names)
	if old != nil {
		c.checks.Release(key, old.Checks)
	}
	c.countConflicts(g, 1)
	c.putNames(old, g)
	c.putOwners(old, g)
	c.setOwners(old, g)
}

// ownerBeside returns the owner of a name, if there may be Records at the wildcard below; nil for none.
func (c *contest) ownerBeside(name, wildcard string) *endpoint.Contender {
	if endpoint.Underscored(name) || c.zoneOf(name) < 0 || c.nodeAt(wildcard) == nil {
		return nil
	}
	return c.edit(c.zoneOf(name)).OwnerOf(name)
}

// putNames puts a built group's names into their zones, and removes those that only old had.
func (c *contest) putNames(old, g *status.NameGroup) {
	names := c.builder.Names
	if old != nil {
		c.countConflicts(old, -1)
		for _, name := range old.Names {
			if _, kept := names[name]; !kept {
				c.edit(c.zoneOf(name)).Set(name, pool.Steered{})
			}
		}
	}
	g.Names = make([]string, 0, len(names))
	for name, data := range names {
		g.Names = append(g.Names, name)
		c.edit(c.zoneOf(name)).Set(name, data)
	}
}

// setOwners keeps Records that lost to a contender of the group from being served, and releases those that only old blocked.
func (c *contest) setOwners(old, g *status.NameGroup) {
	if old != nil {
		for _, name := range old.Owned {
			c.edit(c.zoneOf(name)).SetOwner(name, zone.Ownership{})
		}
	}
	if !c.recorded {
		return
	}
	for name, by := range c.ownerships {
		if n := c.nodeAt(name); n != nil && len(n.Records) > 0 || by.By.Reserved() {
			c.edit(c.zoneOf(name)).SetOwner(name, by)
			g.Owned = append(g.Owned, name)
		}
	}
	slices.Sort(g.Owned)
}

// ownershipsOf returns the ownership of the contenders' hosts, by host. The contenders are in the order of precedence; won are those
// served.
func ownershipsOf(contenders, won []*endpoint.Contender) map[string]zone.Ownership {
	ownerships := make(map[string]zone.Ownership)
	for _, on := range owner.ByHost(contenders) {
		ownerships[on[0].Host] = zone.Ownership{By: on[0]}
	}
	for _, on := range owner.ByHost(won) {
		by := ownerships[on[0].Host]
		by.Owner, by.Alias = on[0], zone.HasAlias(on)
		ownerships[on[0].Host] = by
	}
	return ownerships
}

// countConflicts adds n to a zone's count for each contender of the zone that lost in g.
func (c *contest) countConflicts(g *status.NameGroup, n int) {
	for _, l := range g.Lost {
		c.edit(c.zoneOf(rdata.Base(l.Contender.Host))).Conflicts += n
	}
}

// buildGroup decides who owns what in g and leaves the names with their data in c.builder.Names.
func (c *contest) buildGroup(key string, g *status.NameGroup, names []string) {
	clear(c.builder.Names)
	c.builder.Notes, c.builder.Dropped, c.ownerships = nil, nil, nil
	c.checks.Begin(key)
	won := c.resolveGroup(key, g, names)
	slices.SortFunc(g.Lost, func(a, b owner.Loss) int { return a.Contender.Older(b.Contender) })
	c.builder.Build(won)
	g.Notes, g.Dropped, g.Checks = c.builder.Notes, c.builder.Dropped, c.checks.Used
}

// resolveGroup decides on the contenders of g. names are those at which several namespaces have records.
func (c *contest) resolveGroup(key string, g *status.NameGroup, names []string) (won []*endpoint.Contender) {
	contenders, won, lost := c.decide(g.Contenders, names)
	if c.recorded {
		c.ownerships = ownershipsOf(contenders, won)
		for _, name := range [...]string{key, rdata.WildcardOf(key)} {
			if _, known := c.ownerships[name]; !known && c.zoneOf(key) >= 0 {
				c.reserve(name)
			}
		}
	}
	g.Lost = lost
	return won
}

// reserve keeps a name without contenders for the namespace of its deleted owner, and so what that name claims (rules 5.4 and 5.9).
func (c *contest) reserve(name string) {
	if n := c.nodeAt(name); n != nil && slices.ContainsFunc(n.Records, (*endpoint.Record).Owns) {
		return // touch sees to it
	}
	if v := c.registry.Reserved(name, nil); v != nil {
		c.ownerships[name] = zone.Ownership{By: v}
	}
}

// decide decides which contenders, of those given and of the records at their hosts and at names, are served. It returns the contenders
// that no claim keeps out, in the order of precedence.
func (c *contest) decide(of []*endpoint.Contender, names []string) (contenders, won []*endpoint.Contender, lost []owner.Loss) {
	var barred map[*endpoint.Contender]*owner.Claim
	contenders = slices.DeleteFunc(slices.Clone(c.registry.Order(c.withRecords(of, names))), func(who *endpoint.Contender) bool {
		claim := c.keptOutBy(who)
		switch {
		case claim == nil:
			return false
		case claim.Kind == owner.Data: // it has the host all the same
			if barred == nil {
				barred = make(map[*endpoint.Contender]*owner.Claim)
			}
			barred[who] = claim
			return false
		case !who.Reserved(): // a reservation: its line is void
			lost = append(lost, owner.Loss{Contender: who, Owner: claim.By, Claim: claim})
		}
		return true
	})
	won, lostHere := owner.Resolve(contenders, barred)
	return contenders, won, append(lost, lostHere...)
}

// keptOutBy returns the claim that keeps a contender out of its host; nil for none. Those on Records are found one by one.
func (c *contest) keptOutBy(who *endpoint.Contender) *owner.Claim {
	if who.Static && !who.Reserved() {
		return nil
	}
	i := c.zoneOf(rdata.Base(who.Host))
	at, e := &c.zones[i].Zone, c.edit(i)
	by := owner.Claimant{By: who.By, Administrative: at.Administers(who.By), Bound: c.next.Opt.Bound(at, who.By, who.Host)}
	if by.Administrative {
		return nil
	}
	if by.Bound {
		by.Since = c.since(who.Host, who.By, true)
	}
	if by.Bound || e.Delegating() {
		claim := e.ClaimOf(who.Host, nil)
		if kept := e.ClaimFor(who.Host, &claim, &by); kept != nil {
			return kept
		}
	}
	return c.keptOutByData(who, at.Origin)
}

// keptOutByData returns the claim of the administering namespace's data at a host that is a hostname, if they were there before (rule 5.3);
// nil for none.
func (c *contest) keptOutByData(who *endpoint.Contender, origin string) *owner.Claim {
	n := c.nodeAt(who.Host)
	if n == nil || who.Host == origin || !zone.HasAlias([]*endpoint.Contender{who}) {
		return nil
	}
	since := c.since(who.Host, who.By, true)
	for _, r := range slices.SortedStableFunc(slices.Values(n.Records), (*endpoint.Record).Older) {
		if r.Beside && owner.Before(r.Record.Created, &r.Record.Meta, since, who.By) {
			claim := owner.ByRecord(owner.Data, who.Host, r)
			return &claim
		}
	}
	return nil
}

// putOwners sets the owners of a group's hosts, and removes those of old.
func (c *contest) putOwners(old, g *status.NameGroup) {
	if old != nil {
		for _, name := range old.OwnerTXTs {
			c.edit(c.zoneOf(name)).Tell(name, nil)
		}
	}
	for _, who := range g.Contenders {
		at := c.zoneOf(rdata.Base(who.Host))
		data, ok := c.builder.Names[who.Host]
		if !ok || c.zones[at].Corefile.OwnerTXT == "" || data.Owner.Unread {
			continue
		}
		for _, txt := range c.zones[at].OwnerTXTs(who.Host, &data) {
			if c.zoneOf(txt.Name) != at {
				continue // a zone below begins here
			}
			c.edit(at).Tell(txt.Name, []zone.RRset{txt.Set})
			g.OwnerTXTs = append(g.OwnerTXTs, txt.Name)
		}
	}
}

// newBuilder returns a builder that reads the compile under way.
func (c *contest) newBuilder() pool.Builder {
	return pool.Builder{
		Zone: c.optionsAt,
		Static: func(name string) bool {
			z := c.zones[c.zoneOf(name)]
			fixed := z.Fixed[name] != nil && (!z.StandsFor(name) || zone.StandsIn(&z.Zone, c.nodeAt(z.Origin())))
			return fixed || z.TellsOwner(name) || c.hasOther(name)
		},
		Names: make(map[string]pool.Steered),
		Watch: c.checks.Watch, Before: c.before, ProbesOff: c.next.Opt.ProbesOff, Unlocated: c.next.Opt.Unlocated, Overrides: c.next.In.Overrides,
		Probes: func(cluster string) pool.ProbeIndex {
			if e := c.cluster(cluster); e != nil {
				return e.state.Probes
			}
			return pool.ProbeIndex{}
		},
		Active: func(host string) *api.ActiveGroups {
			z := c.zones[c.zoneOf(rdata.Base(host))]
			if c.next.Activity == nil || z.NamesGroups(host) {
				return nil
			}
			return c.next.Activity[z.Origin()].Active
		},
		Group: func(cluster string) string {
			if e := c.cluster(cluster); e != nil {
				return e.in.Group
			}
			return ""
		},
		Complete: c.next.complete,
		Secret:   c.next.In.Secret,
		NoSecrets: func(cluster string) bool {
			e := c.cluster(cluster)
			return e != nil && e.in.Listings[api.KindSecret] == api.NotWatched
		},
	}
}

// hasOther reports whether the Records at a name of the group being built have data that stand
// beside the steered data there.
func (c *contest) hasOther(name string) bool {
	i := c.zoneOf(name)
	n := c.nodeAt(name)
	if n == nil || len(n.Records) == 0 {
		return false
	}
	by := c.ownerships[name]
	sets := c.edit(i).SetsBeside(n, zone.Ownership{Owner: by.Owner, By: by.By, Alias: by.Alias})
	return slices.ContainsFunc(sets, func(s zone.RRset) bool { return !endpoint.Steered(s.Type) })
}
