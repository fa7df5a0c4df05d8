package records

import (
	"maps"
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// resolve renews the groups that a change concerns, in the order of their keys,
// which is about that of the names in the trees.
func (c *compiler) resolve() {
	slices.SortFunc(c.order, func(a, b *groupChange) int { return strings.Compare(a.key, b.key) })
	for _, change := range c.order {
		var old *nameGroup
		if c.prev != nil {
			old, _ = c.groups.Get(change.key)
		}
		g := &nameGroup{claims: change.add}
		change.group = g
		if old != nil {
			for _, cl := range old.claims {
				if _, gone := change.drop[cl]; !gone {
					g.claims = append(g.claims, cl)
					c.unsettle(cl) // it may win or lose now
				}
			}
		}
		slices.SortFunc(g.claims, (*claim).older)
		c.buildGroup(change.key, g)
		if old != nil {
			c.checks.release(change.key, old.checks)
		}
		c.countConflicts(g, 1, c.zoneOf)
		c.putNames(old, g)
		c.putOwners(old, g)
		c.bar(old, g)
		if len(g.claims) == 0 {
			c.groups.Delete(change.key)
			continue
		}
		c.groups.Set(change.key, g)
	}
}

// putNames puts the names of a group that was built into their zones, and takes
// away those that old had and it has not.
func (c *compiler) putNames(old, g *nameGroup) {
	names := c.builder.names
	if old != nil {
		c.countConflicts(old, -1, c.zoneBefore)
		for _, name := range old.names {
			before := c.zoneBefore(name)
			if _, kept := names[name]; before >= 0 && (!kept || before != c.zoneOf(name)) {
				c.edit(before).set(name, steered{})
			}
		}
	}
	g.names = make([]string, 0, len(names))
	for name, data := range names {
		g.names = append(g.names, name)
		c.edit(c.zoneOf(name)).set(name, data)
	}
}

// bar keeps the Records from being served that lost in a group, or lie where it has all
// names, and no longer those that it kept before.
func (c *compiler) bar(old, g *nameGroup) {
	if old != nil {
		for _, name := range old.barred {
			if zone := c.zoneBefore(name); zone >= 0 {
				c.edit(zone).bar(name, bar{})
			}
		}
	}
	if !c.recorded {
		return
	}
	barred := make(map[string]bar)
	for _, l := range c.outdone {
		if c.nodeAt(l.claim.host).steered.owner == nil {
			barred[l.claim.host] = c.keeperOf(l.claim.host)
		}
	}
	for name, data := range c.builder.names {
		if n := c.nodeAt(name); n != nil && len(n.entries) > 0 {
			barred[name] = c.keeperOf(name)
		}
		if !data.owner.steers() || name != klbLabel+rdata.Base(data.owner.host) {
			continue
		}
		for _, below := range c.klbBelow(rdata.Base(data.owner.host)) { // a chain has all names at and below klb.H'
			if c.nodeAt(below).steered.owner == nil {
				barred[below] = c.keeperOf(below)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(barred)) {
		c.edit(c.zoneOf(name)).bar(name, barred[name])
		g.barred = append(g.barred, name)
	}
}

// keepers are who have the names of the group that is being built.
type keepers struct {
	claims []*claim // those that are served, older first
	// hosts is by host, chains by H' of those that have names below klb.H'; nil until one
	// is asked for.
	hosts, chains map[string]bar
}

// keeperOf returns who has a name of the group that is being built: of the claims on the
// host, or of those on H' for names at and below klb.H', the oldest. One that has the name
// on record for its namespace alone keeps it for all that share it (rule 5.6).
func (c *compiler) keeperOf(name string) bar {
	k := &c.keepers
	if k.hosts == nil {
		k.hosts, k.chains = make(map[string]bar), make(map[string]bar)
		for _, on := range byKey(k.claims, func(cl *claim) string { return cl.host }) {
			k.hosts[on[0].host] = bar{owner: on[0], alias: firstAlias(on), kept: slices.ContainsFunc(on, c.holdsAlone)}
		}
		for _, cl := range k.claims {
			if h := rdata.Base(cl.host); cl.steers() && k.chains[h].owner == nil {
				k.chains[h] = bar{owner: cl}
			}
		}
		for _, cl := range k.claims {
			h := rdata.Base(cl.host)
			if by := k.chains[h]; by.owner != nil && !by.kept && c.holdsChain(cl) && (cl.steers() || share(cl, by.owner)) {
				by.kept = true
				k.chains[h] = by
			}
		}
	}
	if by, ok := k.hosts[name]; ok {
		return by
	}
	for _, h := range c.next.zoneSet.chainsAt(name) {
		if by, ok := k.chains[h]; ok {
			return by
		}
	}
	return bar{}
}

// countConflicts adds n for each claim that lost in g to the count of its zone, where
// that is known.
func (c *compiler) countConflicts(g *nameGroup, n int, zoneOf func(string) int) {
	for _, l := range g.lost {
		if zone := zoneOf(rdata.Base(l.claim.host)); zone >= 0 {
			c.edit(zone).conflicts += n
		}
	}
}

// buildGroup decides who owns what in g and leaves the names with their data in
// c.builder.names.
func (c *compiler) buildGroup(key string, g *nameGroup) {
	clear(c.builder.names)
	c.klbUnder = nil
	c.builder.notes, c.builder.dropped, c.outdone = nil, nil, c.outdone[:0]
	c.checks.begin(key)
	if len(g.claims) == 0 {
		return
	}
	claims, hidden := c.hidden(key, g.claims)
	of := c.recordClaims(key, claims)
	var won []*claim
	if len(of) > 0 {
		won, g.lost = resolveOwners(c.holdersFirst(of), c.next.zoneSet.chainsAt)
		slices.SortFunc(won, (*claim).older)
	}
	if len(of) > len(claims) {
		won, g.lost = c.besideRecords(won, g.lost)
	}
	g.lost = append(g.lost, hidden...)
	slices.SortFunc(g.lost, func(a, b loss) int { return a.claim.older(b.claim) })
	c.keepers = keepers{claims: won}
	c.builder.build(won)
	if c.next.withholds {
		c.keepBack(won, c.holdersOf(claims))
	}
	g.chains = chainsOf(won)
	g.notes, g.dropped, g.checks = c.builder.notes, c.builder.dropped, c.checks.used
}

// unsettle marks the policy of a claim as one whose verdict may differ now.
func (c *compiler) unsettle(cl *claim) {
	if cl.offers != nil {
		c.restateObject(cl.by.Cluster, cl.kind, cl.by.Name)
		return
	}
	e := c.cluster(cl.policy.Cluster)
	if t, ok := e.targets.Get(cl.gateway.Name); ok {
		e.unsettle(cl.policy.Name, t)
	}
}
