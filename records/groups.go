package records

import (
	"slices"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/owner"
	"github.com/coredns-kuadrant/kuadrant/records/pool"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
	"github.com/coredns-kuadrant/kuadrant/records/status"
	"github.com/coredns-kuadrant/kuadrant/records/zone"
)

// resolver decides who owns the names of groups, and what their data are.
type resolver struct {
	snap     *Snapshot // the next one
	zones    *zoneSet
	dirty    *dirty
	registry owner.Registry
	groups   *tree.Edit[*status.NameGroup]
	anew     bool // all groups are made from nothing
	// recorded is true if names may have Records, recordedBefore if they could in the snapshot before.
	recorded, recordedBefore bool
	// checks and builder are reused for each group.
	checks  *pool.CheckEdit
	builder pool.Builder
	// ownerships are those of the group being built, by host; nil if there are no Records. settled is its key, if the owner there was set
	// before the wildcard was decided.
	ownerships map[string]zone.Ownership
	settled    string
}

// newResolver returns a resolver of the groups of s, which is made from base, or from nothing if that is nil, and comes after last.
func newResolver(s, base, last *Snapshot, zones *zoneSet, clusters clusterSet, checks *pool.CheckEdit) *resolver {
	r := &resolver{snap: s, zones: zones, checks: checks, anew: base == nil, recorded: haveRecords(s.In.Clusters)}
	if base == nil {
		r.groups = tree.Map[*status.NameGroup]{}.Edit()
	} else {
		r.groups, r.recordedBefore = base.NameGroups.Edit(), haveRecords(base.In.Clusters)
	}
	r.registry = owner.Registry{In: &s.In, RecordOf: clusters.record, Unread: s.unread}
	r.dirty = newDirty(clusters.expected(), r.exists)
	r.builder = r.newBuilder(last, clusters)
	return r
}

// exists reports whether there is a group of that key, or may be one because its names are reserved.
func (r *resolver) exists(key string) bool {
	_, ok := r.groups.Get(key)
	return ok || r.registry.Keeps(key) || r.registry.Keeps(rdata.WildcardOf(key))
}

// resolve renews the marked groups, and with them the groups on which they have claims.
func (r *resolver) resolve() {
	r.markClaimed()
	for batch := range r.dirty.turns() {
		for _, change := range batch {
			if change.group == nil {
				r.renewGroup(change)
			}
		}
	}
}

// resolveFirst renews the marked groups whose keys are first's, before others are marked.
func (r *resolver) resolveFirst(first func(key string) bool) {
	for _, change := range r.dirty.order {
		if first(change.key) {
			r.renewGroup(change)
		}
	}
}

// renewGroup renews a changed group.
func (r *resolver) renewGroup(change *groupChange) {
	var old *status.NameGroup
	if !r.anew {
		old, _ = r.groups.Get(change.key)
	}
	g := &status.NameGroup{Group: owner.Group{Contenders: change.add}}
	if old != nil {
		for _, who := range old.Contenders {
			if _, gone := change.drop[who]; !gone {
				g.Contenders = append(g.Contenders, who)
				r.dirty.objectOf(who) // it may win or lose now
			}
		}
	}
	slices.SortFunc(g.Contenders, (*endpoint.Contender).Older)
	names := change.names
	if old != nil {
		names = append(slices.Clip(names), old.Owned...)
	}
	r.buildGroup(change.key, g, names)
	if old != nil {
		r.checks.Release(change.key, old.Checks)
	}
	r.countConflicts(g, 1)
	r.putNames(old, g)
	r.putOwners(old, g)
	r.setOwners(old, g)
	r.dirty.resolved(change, g)
	if !r.anew {
		r.markBelow(change.key)
		r.markBelow(rdata.WildcardOf(change.key))
	}
	r.noteGroup(change.key, g)
	if len(g.Contenders)+len(g.Owned) == 0 && !r.registry.Keeps(change.key) {
		r.groups.Delete(change.key)
		return
	}
	r.groups.Set(change.key, g)
}

// putNames puts a built group's names into their zones, and removes those that only old had.
func (r *resolver) putNames(old, g *status.NameGroup) {
	names := r.builder.Names
	if old != nil {
		r.countConflicts(old, -1)
		for _, name := range old.Names {
			if _, kept := names[name]; !kept {
				r.zones.edit(r.zones.indexOf(name)).Set(name, pool.Steered{})
			}
		}
	}
	g.Names = make([]string, 0, len(names))
	for name, data := range names {
		g.Names = append(g.Names, name)
		r.zones.edit(r.zones.indexOf(name)).Set(name, data)
	}
}

// setOwners keeps Records that lost to a contender of the group from being served, and releases those that only old blocked.
func (r *resolver) setOwners(old, g *status.NameGroup) {
	if old != nil {
		for _, name := range old.Owned {
			r.zones.edit(r.zones.indexOf(name)).SetOwner(name, zone.Ownership{})
		}
	}
	for name, by := range r.ownerships {
		if n := r.zones.node(name); n != nil && len(n.Records) > 0 || by.By.Reserved() || name == r.settled {
			r.zones.edit(r.zones.indexOf(name)).SetOwner(name, by)
			g.Owned = append(g.Owned, name)
		}
	}
	slices.Sort(g.Owned)
}

// countConflicts adds n to a zone's count for each contender of the zone that lost in g.
func (r *resolver) countConflicts(g *status.NameGroup, n int) {
	for _, l := range g.Lost {
		r.zones.edit(r.zones.indexOf(rdata.Base(l.Contender.Host))).Conflicts += n
	}
}

// buildGroup decides who owns what in g and leaves the names with their data in r.builder.Names.
func (r *resolver) buildGroup(key string, g *status.NameGroup, names []string) {
	clear(r.builder.Names)
	r.builder.Notes, r.builder.Dropped, r.ownerships, r.settled = nil, nil, nil, ""
	r.checks.Begin(key)
	won := r.resolveGroup(key, g, names)
	slices.SortFunc(g.Lost, func(a, b owner.Loss) int { return a.Contender.Older(b.Contender) })
	r.builder.Build(won)
	g.Notes, g.Dropped, g.Checks = r.builder.Notes, r.builder.Dropped, r.checks.Used
}

// resolveGroup decides on the contenders of g. names are those at which several namespaces have records. The host of the key comes before its
// wildcard: whether one further up covers the wildcard depends on the host's owner.
func (r *resolver) resolveGroup(key string, g *status.NameGroup, names []string) (won []*endpoint.Contender) {
	if r.recorded {
		r.ownerships = make(map[string]zone.Ownership)
	}
	wildcard := rdata.WildcardOf(key)
	on := [...][]*endpoint.Contender{contendersAt(key, g.Contenders), contendersAt(wildcard, g.Contenders)}
	for i, host := range [...]string{key, wildcard} {
		var contenders, served []*endpoint.Contender
		if contended := slices.Contains(names, host); contended || len(on[i]) > 0 {
			var lost []owner.Loss
			contenders, served, lost = r.decide(host, on[i], contended)
			g.Lost = append(g.Lost, lost...)
			if won == nil {
				won = served
			} else {
				won = append(won, served...)
			}
		}
		if !r.recorded {
			continue
		}
		if by := r.ownershipOf(host, contenders, served); by.By != nil {
			r.ownerships[host] = by
		}
		if at := r.zones.indexOf(key); host == key && at >= 0 && (len(on[1]) > 0 || r.zones.node(wildcard) != nil) {
			e := r.zones.edit(at)
			if n := e.Node(key); n != nil && n.Steered.Owner != nil && endpoint.GroupKey(n.Steered.Owner.Host) == key {
				e.Set(key, pool.Steered{}) // until putNames
			}
			e.SetOwner(key, r.ownerships[key])
			r.settled = key
		}
	}
	return won
}

// contendersAt returns those of a group's contenders that want a host.
func contendersAt(host string, all []*endpoint.Contender) []*endpoint.Contender {
	elsewhere := func(who *endpoint.Contender) bool { return who.Host != host }
	if !slices.ContainsFunc(all, elsewhere) {
		return all // almost always
	}
	return slices.DeleteFunc(slices.Clone(all), elsewhere)
}

// ownershipOf returns the ownership of a host. contenders are in the order of precedence, served are those of them that are served. Without
// contenders, a name is kept for the namespace of its deleted owner, and so what that name claims (rules 5.4 and 5.9).
func (r *resolver) ownershipOf(host string, contenders, served []*endpoint.Contender) (by zone.Ownership) {
	switch {
	case len(contenders) > 0:
		by.By = contenders[0]
	case r.zones.indexOf(host) < 0:
		return by
	default:
		if n := r.zones.node(host); n != nil && slices.ContainsFunc(n.Records, (*endpoint.Record).Owns) {
			return by // the placer sees to it
		}
		by.By = r.registry.Reserved(host, nil)
	}
	if len(served) > 0 {
		by.Owner, by.Alias = served[0], zone.HasAlias(served)
	}
	return by
}

// decide decides which contenders for a host, of those given and of the records there, are served. contended is true if several namespaces
// have records there. It returns the contenders that no claim keeps out, in the order of precedence.
func (r *resolver) decide(host string, on []*endpoint.Contender, contended bool) (contenders, won []*endpoint.Contender, lost []owner.Loss) {
	var barred map[*endpoint.Contender]*owner.Claim
	contenders = slices.DeleteFunc(slices.Clone(r.registry.Order(r.withRecords(host, on, contended))), func(who *endpoint.Contender) bool {
		claim := r.keptOutBy(who)
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

// withRecords adds to the contenders for a host those of the records there, older first, if there are contenders, or several namespaces
// have, or had, records (rules 5.3 and 5.4).
func (r *resolver) withRecords(host string, contenders []*endpoint.Contender, contended bool) []*endpoint.Contender {
	at := r.zones.indexOf(host)
	if !r.recorded || !contended && len(contenders) == 0 || at < 0 { // its zone has gone
		return contenders
	}
	n := r.zones.node(host)
	if n == nil {
		return contenders
	}
	served := slices.DeleteFunc(slices.Clone(contenders), func(who *endpoint.Contender) bool {
		return r.keptOutByData(who, r.zones.served[at].Origin()) != nil
	})
	on := owner.Contenders(n.Name, n.Records, r.zones.edit(at).Out(n, served))
	if len(on) == 0 || len(contenders) == 0 && len(on) == 1 && r.registry.Reserved(host, on) == nil {
		return contenders
	}
	all := append(slices.Clip(contenders), on...)
	slices.SortStableFunc(all, (*endpoint.Contender).Older)
	return all
}

// keptOutBy returns the claim that keeps a contender out of its host; nil for none. Those on Records are found one by one.
func (r *resolver) keptOutBy(who *endpoint.Contender) *owner.Claim {
	if who.Static && !who.Reserved() {
		return nil
	}
	i := r.zones.indexOf(rdata.Base(who.Host))
	at, e := &r.zones.served[i].Zone, r.zones.edit(i)
	by := owner.Claimant{By: who.By, Administrative: at.Administers(who.By), Bound: r.snap.Opt.Bound(at, who.By, who.Host)}
	if by.Administrative {
		return nil
	}
	if by.Bound {
		by.Since = r.zones.since(who.Host, who.By, true)
	}
	if by.Bound || e.Delegating() {
		claim := e.ClaimOf(who.Host, nil)
		if kept := e.ClaimFor(who.Host, &claim, &by); kept != nil {
			return kept
		}
	}
	return r.keptOutByData(who, at.Origin)
}

// keptOutByData returns the claim of the administering namespace's data at a host that is a hostname, if they were there before (rule 5.3);
// nil for none.
func (r *resolver) keptOutByData(who *endpoint.Contender, origin string) *owner.Claim {
	n := r.zones.node(who.Host)
	if n == nil || who.Host == origin || !zone.HasAlias([]*endpoint.Contender{who}) {
		return nil
	}
	since := r.zones.since(who.Host, who.By, true)
	for _, rec := range slices.SortedStableFunc(slices.Values(n.Records), (*endpoint.Record).Older) {
		if rec.Beside && owner.Before(rec.Record.Created, &rec.Record.Meta, since, who.By) {
			claim := owner.ByRecord(owner.Data, who.Host, rec)
			return &claim
		}
	}
	return nil
}

// putOwners sets the owners of a group's hosts, and removes those of old.
func (r *resolver) putOwners(old, g *status.NameGroup) {
	if old != nil {
		for _, name := range old.OwnerTXTs {
			r.zones.edit(r.zones.indexOf(name)).Tell(name, nil)
		}
	}
	for _, who := range g.Contenders {
		at := r.zones.indexOf(rdata.Base(who.Host))
		data, ok := r.builder.Names[who.Host]
		if !ok || r.zones.served[at].Corefile.OwnerTXT == "" || data.Owner.Unread {
			continue
		}
		for _, txt := range r.zones.served[at].OwnerTXTs(who.Host, &data) {
			if r.zones.indexOf(txt.Name) != at {
				continue // a zone below begins here
			}
			r.zones.edit(at).Tell(txt.Name, []zone.RRset{txt.Set})
			g.OwnerTXTs = append(g.OwnerTXTs, txt.Name)
		}
	}
}

// newBuilder returns a builder that reads the compile under way.
func (r *resolver) newBuilder(last *Snapshot, clusters clusterSet) pool.Builder {
	return pool.Builder{
		Zone: r.zones.optionsAt,
		Static: func(name string) bool {
			z := r.zones.served[r.zones.indexOf(name)]
			fixed := z.Fixed[name] != nil && (!z.StandsFor(name) || zone.StandsIn(&z.Zone, r.zones.node(z.Origin())))
			return fixed || z.TellsOwner(name) || r.hasOther(name)
		},
		Names: make(map[string]pool.Steered),
		Watch: r.checks.Watch, Before: last.ObjectsOf, ProbesOff: r.snap.Opt.ProbesOff, Unlocated: r.snap.Opt.Unlocated, Overrides: r.snap.In.Overrides,
		Probes: func(cluster string) pool.ProbeIndex {
			if e := clusters.of(cluster); e != nil {
				return e.state.Probes
			}
			return pool.ProbeIndex{}
		},
		Active: func(host string) *api.ActiveGroups {
			z := r.zones.served[r.zones.indexOf(rdata.Base(host))]
			if r.snap.Activity == nil || z.NamesGroups(host) {
				return nil
			}
			return r.snap.Activity[z.Origin()].Active
		},
		Group: func(cluster string) string {
			if e := clusters.of(cluster); e != nil {
				return e.in.Group
			}
			return ""
		},
		Complete: r.snap.complete,
		Secret:   r.snap.In.Secret,
		NoSecrets: func(cluster string) bool {
			e := clusters.of(cluster)
			return e != nil && e.in.Listings[api.KindSecret] == api.NotWatched
		},
	}
}

// hasOther reports whether the Records at a name of the group being built have data that stand
// beside the steered data there.
func (r *resolver) hasOther(name string) bool {
	i := r.zones.indexOf(name)
	n := r.zones.node(name)
	if n == nil || len(n.Records) == 0 {
		return false
	}
	by := r.ownerships[name]
	sets := r.zones.edit(i).SetsBeside(n, zone.Ownership{Owner: by.Owner, By: by.By, Alias: by.Alias})
	return slices.ContainsFunc(sets, func(s zone.RRset) bool { return !endpoint.Steered(s.Type) })
}
