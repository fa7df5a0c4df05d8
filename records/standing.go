package records

import (
	"slices"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// aliveKey is the key of an entry, and the zone that holds its name: who may have that says
// whether it is void.
type aliveKey struct {
	key, origin string
	object      *api.Zone
}

// loses tells whether one of the given name in the zone in would come between a Zone and what
// lets that have its name. Those of the namespace that delegates it are no exception: others
// have names in them.
func (p *prior) loses(w *want, in *site, zone string) bool {
	over := p.over(w, in)
	return over != nil && (over.origin == in.origin || over.origin == zone) && p.mayHave(w, over)
}

// over returns the zone that holds what is wanted, where there is none yet in the zone in but
// those of the Corefile; nil for none. It does not walk along the name each time: names can be
// long, and lie in many zones.
func (p *prior) over(w *want, in *site) *site {
	if w.corefile == "" || !rdata.IsSubdomain(in.origin, rdata.Base(w.name)) {
		over := p.set.closest(rdata.Base(w.name))
		if w.kind == api.KindZone {
			over = p.set.above(w.name)
		}
		if over == nil {
			return nil
		}
		if w.corefile = over.corefile.Origin; !rdata.IsSubdomain(in.origin, rdata.Base(w.name)) {
			return over
		}
	}
	if w.corefile != in.origin && rdata.IsSubdomain(in.origin, w.corefile) {
		return &p.set.sites[p.set.index[w.corefile]]
	}
	return in
}

// mayHave tells whether an object may have the name that it wants, where the zone over holds
// that.
func (p *prior) mayHave(w *want, over *site) bool {
	if w.kind != api.KindZone {
		return w.permitted(over, p.opt)
	}
	at := p.set.siteAt(w.name, over)
	return !at.tellsOwner(w.name) && !at.tellsBelow(w.name) && w.permittedIn(over, func() bool { return p.set.lets(w.by, w.parent, w.name, over, p.opt) })
}

// standing tells whether it is on record that a want has its name, or that another object
// has it, which still wants it (rule 5.4).
func (p *prior) standing(w *want, in *site) (held, others bool) {
	if w.unread != nil {
		return true, true
	}
	for key, owner := range w.onRecord(p.acquired) {
		if p.isAlive(key, owner, in) {
			held, others = held || w.holds(owner, in), true
		}
	}
	return held, others
}

// isAlive tells whether the owner on record wants the name itself, and may have it: else the
// entry is void.
func (p *prior) isAlive(key string, owner api.Owner, in *site) bool {
	holders := p.holders[key]
	if holders == nil {
		return false
	}
	if slices.ContainsFunc(holders, func(w *want) bool { return w.unread != nil }) {
		return true // it may be
	}
	over := p.over(holders[0], in) // the others want the same name
	if over == nil {
		return false
	}
	known := aliveKey{key, over.origin, over.object}
	alive, ok := p.alive[known]
	if !ok {
		alive = slices.ContainsFunc(holders, func(w *want) bool { return w.holds(owner, over) && p.mayHave(w, over) })
		p.alive[known] = alive
	}
	return alive
}
