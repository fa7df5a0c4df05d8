package records

import (
	"iter"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// keepBack notes on the claims that are served of the group that is being built that they are not
// answered with. A claim which has klb.H' is kept back as a whole, and those that share with it (rule 5.7).
func (c *compiler) keepBack(won []*claim, holders map[string]*claim) {
	a := c.standingIn(holders)
	chains := make(map[string]chainKept)
	for _, cl := range won {
		h := rdata.Base(cl.host)
		if _, known := chains[h]; !known && cl.steers() {
			chains[h] = chainKept{cl, a.keptChain(cl, c.unreadBelow(klbLabel+h))}
		}
	}
	for _, cl := range won {
		if cl.kind == api.KindRecord {
			continue
		}
		p := a.keptBy(cl)
		if by := chains[rdata.Base(cl.host)]; p == nil && by.why != nil && (by.first == cl || share(by.first, cl)) {
			p = by.why
		}
		if p != nil {
			c.builder.note(cl, p.reason, "%s", p.message)
		}
	}
}

// chainKept is why the claims that have klb.H' are not answered with, which are of one namespace: nil where they
// are.
type chainKept struct {
	first *claim
	why   *problem
}

// keptChain says why a claim that has klb.H' is kept back as a whole, besides what is said of its host; nil where it
// is not. below are the names at and below klb.H' whose owners may be absent.
func (a *standingIn) keptChain(cl *claim, below iter.Seq[string]) *problem {
	key, o, kept := a.chainKeeper(cl, below)
	if !kept {
		return nil
	}
	return &problem{reasonOwnerUnread, unreadMessage(trimDot(klbLabel+rdata.Base(cl.host)), key, o)}
}

// chainKeeper returns the owner on record that may have klb.H' instead of a claim, or a part of what lies below it: it
// cannot be read. One of the two would lose when it can, by its age.
func (a *standingIn) chainKeeper(cl *claim, below iter.Seq[string]) (key string, o api.Owner, kept bool) {
	h := rdata.Base(cl.host)
	hosts := [...]string{h, rdata.Wildcard + h}
	for _, host := range hosts {
		o, ok := a.in.Registered(host)
		if kind, m := cl.object(); ok && o.Chain && (o.Is(kind, m) || a.shares(cl, h, o)) {
			return "", api.Owner{}, false // it has the chain on record itself
		}
	}
	for _, host := range hosts {
		if o, ok := a.absentee(host); ok && o.Chain {
			return host, o, true
		}
	}
	for name := range below {
		if rdata.IsSubdomain(klbLabel+h, a.zoneSet.closest(rdata.Base(name)).origin) {
			continue // not the host's to have
		}
		for _, key := range [...]string{name, api.ZoneKey(name)} {
			if o, ok := a.absentee(key); ok && !(key == name && a.shares(cl, rdata.Base(name), o)) {
				return key, o, true
			}
		}
	}
	return "", api.Owner{}, false
}

// unreadBelow yields the names at and below klb.H' that are on record as those of owners which cannot be read, or
// which wait for Secrets.
func (c *compiler) unreadBelow(klb string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, owners := range [...]unreadOwners{c.next.unread, c.next.stalled} {
			for name := range klbRecords(owners.klb, groupKey(klb), klb) {
				if !yield(name) {
					return
				}
			}
		}
	}
}

// isChained tells whether an owner has a name on record as one of the chain of H': it has H' too.
func (a *standingIn) isChained(h, name string, o api.Owner) bool {
	if !rdata.IsSubdomain(klbLabel+h, name) {
		return false
	}
	for _, host := range [...]string{h, rdata.Wildcard + h} {
		if has, ok := a.in.Registered(host); ok && has.Kind == o.Kind && has.Cluster == o.Cluster && has.Name == o.Name {
			return true
		}
	}
	return false
}
