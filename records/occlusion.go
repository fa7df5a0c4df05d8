package records

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/miekg/dns"
)

// occlusion is what the NS and DNAME records at one name are to the steered names that
// they would hide: a cut takes its name and all below it, a DNAME all below it. What is
// older stays, as with any other claim (rule 5.3): else whoever may write such a record
// could take names away from others.
type occlusion struct {
	// first is the oldest of the records.
	first *entry
	// ns is true where there are NS records among them, foreign where one of them is no
	// Record: it would hide Records too.
	ns, foreign bool
	// outdone is the oldest claim on a name that they would hide, where that is older than
	// they are: they are not served. nil where they are.
	outdone *claim
}

// hidesNames tells whether records of e's type hide names at its place.
func (e *entry) hidesNames() bool {
	switch e.rr.Header().Rrtype {
	case dns.TypeDNAME:
		return true
	case dns.TypeNS:
		return e.origin > 0 // else it is a name server of its own zone
	}
	return false
}

// hides tells whether the records at a name hide one of a claim's.
func (o *occlusion) hides(name string, cl *claim) bool { return o.ns || name != cl.host || cl.steers() }

// occlude decides anew about all names at which records that hide others have changed,
// or below which claims have.
func (c *compiler) occlude() {
	names := c.occluding()
	if len(names) == 0 {
		return
	}
	found := c.claimsBelow(names)
	for name := range names {
		before, _ := c.occlusions.Get(name)
		now := c.occlusionAt(name)
		if now != nil {
			for _, cl := range found[name] {
				if now.hides(name, cl) && (now.first.record.Older(cl.by) >= 0 || c.holds(cl)) && (now.outdone == nil || cl.older(now.outdone) < 0) {
					now.outdone = cl
				}
			}
		}
		if now != nil && now.foreign {
			c.outdoneByEntry(name, now)
		}
		if before == nil && now == nil {
			continue
		}
		for _, cl := range found[name] {
			c.change(cl)
		}
		if now == nil {
			c.occlusions.Delete(name)
		} else {
			c.occlusions.Set(name, now)
		}
		if c.nodeAt(name) != nil {
			c.edit(c.zoneOf(name)).hide(name, now)
		}
	}
}

// outdoneByEntry looks for a Record, or data of an object with endpoints, that records of
// other objects at a name would hide, and that is older than they are: one look at all.
func (c *compiler) outdoneByEntry(name string, o *occlusion) {
	look := func(e *entry) {
		if e.rr == nil || !IsSubdomain(name, e.name) || !IsSubdomain(e.zone(), name) || e.sameOwner(o.first) ||
			!o.ns && e.name == name || e.record.Older(&o.first.record.Meta) >= 0 && !c.holdsEntry(e) {
			return
		}
		cl := &claim{by: &e.record.Meta, kind: e.objectKind(), host: e.name, rtype: e.rr.Header().Rrtype}
		if o.outdone == nil || cl.older(o.outdone) < 0 {
			o.outdone = cl
		}
	}
	for _, e := range c.clusters {
		for _, r := range e.records.From("") {
			look(r)
		}
		for _, t := range e.targets.From("") {
			if t.publisher != nil {
				for _, r := range t.publisher.entries {
					look(r)
				}
			}
		}
	}
}

// occluding returns the names to decide about.
func (c *compiler) occluding() map[string]struct{} {
	names := c.hiding
	if c.occlusions.Len() == 0 {
		return names
	}
	for _, change := range c.order {
		for cl := range change.drop {
			c.addOccluding(names, cl)
		}
		for _, cl := range change.add {
			c.addOccluding(names, cl)
		}
	}
	return names
}

// upwards yields the host of a claim and the names above it, up to the origin of its
// zone.
func (c *compiler) upwards(cl *claim) iter.Seq[string] {
	return func(yield func(string) bool) {
		origin := c.zones[c.zoneOf(base(cl.host))].origin
		for at, ok := cl.host, true; ok && yield(at) && at != origin; {
			at, ok = parent(at)
		}
	}
}

// addOccluding adds the names whose records would hide one of a claim's.
func (c *compiler) addOccluding(names map[string]struct{}, cl *claim) {
	for at := range c.upwards(cl) {
		if _, known := c.occlusions.Get(at); known {
			names[at] = struct{}{}
		}
	}
	if !cl.steers() {
		return
	}
	for at := range c.klbRecords(groupKey(cl.host)) {
		if _, known := c.occlusions.Get(at); known {
			names[at] = struct{}{}
		}
	}
}

// occlusionAt returns what the records at a name hide; nil for nothing.
func (c *compiler) occlusionAt(name string) *occlusion {
	n := c.nodeAt(name)
	if n == nil {
		return nil
	}
	var o *occlusion
	for _, e := range n.entries {
		if !e.hidesNames() {
			continue
		}
		if o == nil {
			o = &occlusion{first: e}
		}
		o.ns = o.ns || e.rr.Header().Rrtype == dns.TypeNS
		o.foreign = o.foreign || e.kind != 0
		if e.record.Older(&o.first.record.Meta) < 0 {
			o.first = e
		}
	}
	return o
}

// claimsBelow returns the claims on names at or below the given ones, and on names below
// klb that lie at or above them: one look at all claims.
func (c *compiler) claimsBelow(names map[string]struct{}) map[string][]*claim {
	found := make(map[string][]*claim)
	under := steeringNames(maps.Keys(names))
	for _, e := range c.clusters {
		for _, t := range e.targets.From("") {
			for _, cl := range t.claims {
				for at := range c.upwards(cl) {
					if _, wanted := names[at]; wanted {
						found[at] = append(found[at], cl)
					}
				}
				if !cl.steers() {
					continue
				}
				for _, name := range under[base(cl.host)] {
					found[name] = append(found[name], cl)
				}
			}
		}
	}
	return found
}

// hidden returns the losses of those claims of a group that records of others hide, and
// the other claims.
func (c *compiler) hidden(claims []*claim) (seen []*claim, lost []loss) {
	if c.occlusions.Len() == 0 {
		return claims, nil
	}
	seen = slices.DeleteFunc(slices.Clone(claims), func(cl *claim) bool {
		by := c.hiderOf(cl)
		if by == nil {
			return false
		}
		lost = append(lost, loss{claim: cl, owner: &claim{
			by: &by.record.Meta, kind: by.objectKind(), host: by.name, rtype: by.rr.Header().Rrtype,
		}})
		return true
	})
	return seen, lost
}

// hiderOf returns the record that hides a name of the claim; nil for none.
func (c *compiler) hiderOf(cl *claim) *entry {
	for at := range c.upwards(cl) {
		if o, known := c.occlusions.Get(at); known && o.outdone == nil && o.hides(at, cl) {
			return o.first
		}
	}
	if cl.steers() {
		for at := range c.klbRecords(groupKey(cl.host)) {
			if o, known := c.occlusions.Get(at); known && o.outdone == nil && IsSubdomain(klbLabel+base(cl.host), at) {
				return o.first
			}
		}
	}
	return nil
}

// hides tells whether a claim is that of records which hide names.
func (c *claim) hides() bool { return c.rtype == dns.TypeNS || c.rtype == dns.TypeDNAME }

// hiddenMessage says why a claim is not served below what hides it.
func hiddenMessage(l loss) string {
	owner := l.owner.kind.String() + " " + inCluster(l.owner.by, l.claim.by)
	where := "lies at or below "
	if !IsSubdomain(l.owner.host, strings.TrimPrefix(l.claim.host, wildcardPrefix)) && !IsSubdomain(l.owner.host, l.claim.host) {
		where = "needs the names at or above "
	}
	return "the host " + where + trimDot(l.owner.host) + ", where the " + dns.Type(l.owner.rtype).String() + " record of " + owner + " leads elsewhere"
}
