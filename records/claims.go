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
func (r *resolver) markClaimed() {
	if !r.recordedBefore {
		r.markReserved()
	}
	if r.anew {
		return
	}
	for _, names := range [...]map[string]struct{}{r.dirty.moved, r.dirty.lined} {
		for name := range names {
			r.markBelow(name)
		}
	}
	for name := range r.dirty.cut {
		r.markCut(name)
	}
}

// markReserved has the groups made of registered hosts that nobody wants: their names are kept for a while, and claim others.
func (r *resolver) markReserved() {
	if !r.recorded {
		return
	}
	for host := range r.snap.In.Acquired.All() {
		key := endpoint.GroupKey(host)
		if _, zone := api.OfZoneKey(host); zone || r.dirty.groups[key] != nil || r.zones.indexOf(key) < 0 {
			continue
		}
		if g, ok := r.groups.Get(key); ok && slices.ContainsFunc(g.Contenders, func(who *endpoint.Contender) bool { return who.Host == host }) {
			continue
		}
		if n := r.zones.node(host); (n == nil || !slices.ContainsFunc(n.Records, (*endpoint.Record).Owns)) && r.registry.Keeps(host) {
			r.dirty.group(key)
		}
	}
}

// markBelow has decided anew what a name claims, if its owner differs from before.
func (r *resolver) markBelow(name string) {
	i := r.zones.indexOf(rdata.Base(name))
	if i < 0 {
		return
	}
	e := r.zones.edit(i)
	_, lined := r.dirty.lined[name]
	if endpoint.Underscored(name) { // it claims nothing
		if lined {
			e.Renew(name) // its Records have been there for longer or shorter
		}
		return
	}
	if !lined {
		was, recordsBefore := r.zones.served[i].OwnedBy(name)
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
		r.markClaim(at, name)
	}
}

// markClaim has decided anew who may publish at a name, if that is resolved after by.
func (r *resolver) markClaim(name, by string) {
	if name == by || r.zones.indexOf(rdata.Base(name)) < 0 {
		return
	}
	if key := endpoint.GroupKey(name); turnOf(key) > turnOf(endpoint.GroupKey(by)) {
		if _, ok := r.groups.Get(key); ok {
			r.dirty.group(key)
		}
		meets := func(rec *endpoint.Record) bool {
			return owner.Meets(r.zones.node(name).Records, rec) || r.registry.MeetsReserved(rec)
		}
		if n := r.zones.node(name); n != nil && slices.ContainsFunc(n.Records, meets) {
			r.dirty.contend(name)
		}
	}
	r.zones.edit(r.zones.indexOf(name)).Renew(name)
}

// markCut has decided anew all at and below a name whose NS records came, went or changed.
func (r *resolver) markCut(name string) {
	e := r.zones.edit(r.zones.indexOf(name))
	below := append(e.BoundBelow(name), name)
	for at := range e.Below(name) {
		below = append(below, at)
	}
	r.dirty.knownGroup(endpoint.GroupKey(name))
	for _, at := range below {
		r.markClaim(at, "")
	}
}

// noteGroup notes whether a group has contenders that claims keep out, or may.
func (r *resolver) noteGroup(key string, g *status.NameGroup) {
	i := r.zones.indexOf(key)
	if i < 0 {
		return
	}
	claimed := func(l owner.Loss) bool { return l.Claim != nil }
	underscored := endpoint.Underscored(key) && (len(g.Contenders) > 0 || r.registry.Keeps(key))
	r.zones.edit(i).NoteGroup(key, underscored || slices.ContainsFunc(g.Lost, claimed))
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
