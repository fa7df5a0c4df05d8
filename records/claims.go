package records

import (
	"slices"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/owner"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
	"github.com/coredns-kuadrant/kuadrant/records/status"
)

// Names claim others: a wildcard what it covers, a name those below it with labels that begin with _, NS records all names below them
// (package owner). This file finds what a change of an owner concerns by that.

// markClaimed has the groups made anew on which changed Records have claims and, if all is made from nothing, or the first Records came,
// those of names that are reserved.
func (c *contest) markClaimed() {
	if c.prev == nil || !haveRecords(c.prev.In.Clusters) {
		c.markReserved()
	}
	if c.prev == nil {
		return
	}
	for _, names := range [...]map[string]struct{}{c.moved, c.lined} {
		for name := range names {
			c.markBelow(name)
		}
	}
	for name := range c.cut {
		c.markCut(name)
	}
}

// markReserved has the groups made of registered hosts that nobody wants: their names are kept for a while, and claim others.
func (c *contest) markReserved() {
	if !c.recorded {
		return
	}
	for host := range c.next.In.Acquired.All() {
		key := endpoint.GroupKey(host)
		if _, zone := api.OfZoneKey(host); zone || c.dirty[key] != nil || c.zoneOf(key) < 0 {
			continue
		}
		if g, ok := c.groups.Get(key); ok && slices.ContainsFunc(g.Contenders, func(who *endpoint.Contender) bool { return who.Host == host }) {
			continue
		}
		if n := c.nodeAt(host); (n == nil || !slices.ContainsFunc(n.Records, (*endpoint.Record).Owns)) && c.registry.Keeps(host) {
			c.changeOf(key)
		}
	}
}

// noteMoved notes that a Record came or went.
func (c *contest) noteMoved(r *endpoint.Record) {
	if c.moved == nil {
		c.moved, c.cut = make(map[string]struct{}), make(map[string]struct{})
	}
	if r.Owns() {
		c.moved[r.Name] = struct{}{}
	}
	if r.IsDelegation() {
		c.cut[r.Name] = struct{}{}
	}
}

// noteLine notes that a name has another line of the registry: its owner is the same for longer or shorter.
func (c *contest) noteLine(name string) {
	if c.lined == nil {
		c.lined = make(map[string]struct{})
	}
	c.lined[name] = struct{}{}
}

// markBelow has decided anew what a name claims, if its owner differs from before.
func (c *contest) markBelow(name string) {
	i := c.zoneOf(rdata.Base(name))
	if i < 0 {
		return
	}
	e := c.edit(i)
	_, lined := c.lined[name]
	if endpoint.Underscored(name) { // it claims nothing
		if lined {
			e.Renew(name) // its Records have been there for longer or shorter
		}
		return
	}
	if !lined {
		was, recordsBefore := c.zones[i].OwnedBy(name)
		is, recordsNow := e.OwnedBy(name)
		if sameClaimant(was, is) && sameClaims(recordsBefore, recordsNow) {
			return
		}
	}
	below := e.ConcernedBelow(rdata.Base(name))
	if up, ok := rdata.Parent(name); ok {
		below = append(below, endpoint.Challenge+up)
		e.RenewForeign(name)
	}
	if name != rdata.Base(name) {
		below = append(below, endpoint.Challenge+rdata.Base(name))
	} else {
		e.Renew(rdata.WildcardOf(name)) // it may answer for more names, or fewer
	}
	e.Renew(name)
	for _, at := range below {
		c.markClaim(at, name)
	}
}

// markClaim has decided anew who may publish at a name, if that is resolved after by.
func (c *contest) markClaim(name, by string) {
	if name == by || c.zoneOf(rdata.Base(name)) < 0 {
		return
	}
	if key := endpoint.GroupKey(name); turnOf(key) > turnOf(endpoint.GroupKey(by)) {
		if _, ok := c.groups.Get(key); ok {
			c.changeOf(key)
		}
		meets := func(r *endpoint.Record) bool {
			return owner.Meets(c.nodeAt(name).Records, r) || c.registry.MeetsReserved(r)
		}
		if n := c.nodeAt(name); n != nil && slices.ContainsFunc(n.Records, meets) {
			c.contend(name)
		}
	}
	c.edit(c.zoneOf(name)).Renew(name)
}

// markCut has decided anew all at and below a name whose NS records came, went or changed.
func (c *contest) markCut(name string) {
	e := c.edit(c.zoneOf(name))
	below := append(e.BoundBelow(name), name)
	for at := range e.Below(name) {
		below = append(below, at)
	}
	c.changeKnown(endpoint.GroupKey(name))
	for _, at := range below {
		c.markClaim(at, "")
	}
}

// contend has decided who has a name at which several namespaces have Records.
func (c *contest) contend(name string) {
	ch := c.changeOf(endpoint.GroupKey(name))
	ch.names = append(ch.names, name)
}

// noteGroup notes whether a group has contenders that claims keep out, or may.
func (c *contest) noteGroup(key string, g *status.NameGroup) {
	i := c.zoneOf(key)
	if i < 0 {
		return
	}
	claimed := func(l owner.Loss) bool { return l.Claim != nil }
	underscored := endpoint.Underscored(key) && (len(g.Contenders) > 0 || c.registry.Keeps(key))
	c.edit(i).NoteGroup(key, underscored || slices.ContainsFunc(g.Lost, claimed))
}

// sameClaims reports whether Records of a name, before and now, claim the same, whichever of them other claims keep out: as far as namespaces,
// ages, and addresses or CNAMEs go.
func sameClaims(before, now []*endpoint.Record) bool {
	for _, steered := range []bool{true, false} {
		others := func(r *endpoint.Record) bool { return endpoint.Steered(r.RR.Header().Rrtype) != steered }
		a, b := owner.Contenders("", before, others), owner.Contenders("", now, others)
		slices.SortFunc(a, (*endpoint.Contender).Older)
		slices.SortFunc(b, (*endpoint.Contender).Older)
		if !slices.EqualFunc(a, b, sameClaimant) {
			return false
		}
	}
	return true
}

// sameClaimant reports whether two owners of a name, nil for none, claim the same.
func sameClaimant(a, b *endpoint.Contender) bool {
	if a == b || a == nil || b == nil {
		return a == b
	}
	return a.Kind == b.Kind && a.By.Name == b.By.Name && a.By.Cluster == b.By.Cluster && a.By.Created == b.By.Created &&
		a.By.Apart == b.By.Apart && a.Static == b.Static && a.Addresses == b.Addresses && a.Registered == b.Registered
}
