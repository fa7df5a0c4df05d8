package records

import (
	"iter"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// occlusion is what the NS and DNAME records at one name are to the steered names that
// they would hide: a cut takes its name and all below it, a DNAME all below it. What is
// older stays, as with any other claim (rule 5.3): else whoever may write such a record
// could take names away from others. Each of the two has its own age, and is served or not
// by itself.
type occlusion struct {
	// cut are the NS records that would be served if nobody else had a name which they hide,
	// dname the DNAME; nil where there are none.
	cut, dname *hiding
	// foreign is true where one of all NS and DNAME records there is no Record.
	foreign bool
	// kept is one of the records of the owner whose records are on record as those that hide
	// what lies below the name: others' are not served (rule 5.4). nil where it has none.
	kept *entry
	// waits has the NS and DNAME records that could not stand there if nobody else had a name,
	// and why. They have not contended with what they would hide, and so are not served,
	// whatever becomes of what is before them.
	waits map[*entry]*problem
}

// hiding are the records of one type and owner that hide names.
type hiding struct {
	// first is the oldest of the records.
	first *entry
	// cut is true for NS records, foreign where they are no Records: they would hide Records
	// too.
	cut, foreign bool
	// kept is true where it is on record that their owner has had such records at the name:
	// what is older and comes later does not take them away (rule 5.4).
	kept bool
	// outdone stands for the oldest object with a name that they would hide, where that is
	// older than they are: they are not served. nil where they are.
	outdone *claim
}

// sides returns what the records of each type hide; nil where there are none.
func (o *occlusion) sides() [2]*hiding {
	if o == nil {
		return [2]*hiding{}
	}
	return [2]*hiding{o.cut, o.dname}
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
func (h *hiding) hides(name string, cl *claim) bool { return h.cut || name != cl.host || cl.steers() }

// hider returns the record that hides names; nil where none is served.
func (h *hiding) hider() *entry {
	if h == nil || h.outdone != nil {
		return nil
	}
	return h.first
}

// hidesAs tells whether the same records hide names in both.
func (o *occlusion) hidesAs(p *occlusion) bool {
	before, now := o.sides(), p.sides()
	return before[0].hider() == now[0].hider() && before[1].hider() == now[1].hider()
}

// occlude decides anew about all names at which records that hide others have changed,
// or below which something has that they would hide.
func (c *compiler) occlude() {
	names := c.occluding()
	c.occluded = names
	if len(names) == 0 {
		return
	}
	found := make(map[string]*occlusion, len(names))
	for name := range names {
		if now := c.occlusionAt(name); now != nil {
			found[name] = now
		}
	}
	c.outdo(found)
	for name, o := range found {
		c.stayBeside(name, o)
	}
	differing := make(map[string]struct{})
	for name := range names {
		before, _ := c.occlusions.Get(name)
		now := found[name]
		c.unhide(name)
		if before == nil && now == nil {
			continue
		}
		if !before.hidesAs(now) {
			differing[name] = struct{}{}
		}
		if now == nil {
			c.occlusions.Delete(name)
		} else {
			c.occlusions.Set(name, now)
		}
		known := before != nil && now != nil && before.overruled().tellsAs(now.overruled())
		if !known || c.rezoning != nil {
			c.edit(c.zoneOf(name)).hide(name, now.overruled())
		}
	}
	c.changeBelow(differing)
}

// unhide ends what the zone that a name was in before, where that is still served, held
// against NS and DNAME records there, where the name lies in another zone now: NS records
// that are left are the delegation to it.
func (c *compiler) unhide(name string) {
	if c.rezoning == nil {
		return
	}
	if was := c.zoneBefore(name); was >= 0 && was != c.zoneOf(name) {
		c.edit(was).hide(name, nil)
	}
}

// tellsAs tells whether both claims are of one version of an object, on one name; nil is
// no claim.
func (c *claim) tellsAs(o *claim) bool {
	return c == o || c != nil && o != nil && c.by == o.by && c.kind == o.kind && c.host == o.host
}

// occluding returns the names to decide about.
func (c *compiler) occluding() map[string]struct{} {
	names := c.hiding
	if c.occlusions.Len() == 0 {
		return names
	}
	for _, change := range c.order {
		if len(change.drop)+len(change.add) > 0 {
			c.addOccluding(names, change)
		}
	}
	return names
}

// stake is all of a claim that matters to records which would hide its names.
type stake struct {
	host, object, cluster, uid string
	created                    int64
	kind                       api.Kind
	steers, pools, apart       bool
	addresses, hostnames       bool
}

// stakes returns the stakes of the claims that a change takes from a group or adds to it,
// but for those that come again as they go: of most, only the addresses change.
func (ch *groupChange) stakes() map[stake]int {
	all := make(map[stake]int, len(ch.drop)+len(ch.add))
	count := func(cl *claim, n int) {
		s := stake{cl.host, cl.by.Name, cl.by.Cluster, cl.by.UID, cl.by.Created, cl.kind, cl.steers(), cl.pools(), cl.by.Apart, false, false}
		s.addresses, s.hostnames = cl.leadsTo()
		if all[s] += n; all[s] == 0 {
			delete(all, s)
		}
	}
	for cl := range ch.drop {
		count(cl, -1)
	}
	for _, cl := range ch.add {
		count(cl, 1)
	}
	return all
}

// addOccluding adds the names whose records would hide one of the claims that change.
func (c *compiler) addOccluding(names map[string]struct{}, change *groupChange) {
	hosts, pools := make(map[string]struct{}), false
	for s := range change.stakes() {
		hosts[s.host] = struct{}{}
		pools = pools || s.pools // it may share its host with one that has a chain
	}
	for host := range hosts {
		c.addAbove(names, host)
	}
	if pools {
		c.addBelowKlb(names, change.key)
	}
}

// upwards yields the host of a claim and the names above it, up to the origin of its
// zone.
func (c *compiler) upwards(cl *claim) iter.Seq[string] {
	return func(yield func(string) bool) {
		origin := c.zones[c.zoneOf(rdata.Base(cl.host))].origin
		for at, ok := cl.host, true; ok && yield(at) && at != origin; {
			at, ok = rdata.Parent(at)
		}
	}
}

// addAbove adds those of the names at and above host that have records which hide others.
func (c *compiler) addAbove(names map[string]struct{}, host string) {
	for at := range rdata.Ancestors(host) {
		if _, known := c.occlusions.Get(at); known {
			names[at] = struct{}{}
		}
	}
}

// addBelowKlb adds those of a group's names below klb that have records which hide others.
func (c *compiler) addBelowKlb(names map[string]struct{}, group string) {
	for at := range c.klbRecords(group) {
		if _, known := c.occlusions.Get(at); known {
			names[at] = struct{}{}
		}
	}
}

// occlusionAt returns what the records at a name hide; nil where none is of a type that
// does. What is not served for other data at the name hides nothing, and never is: it has
// contended with nobody.
func (c *compiler) occlusionAt(name string) *occlusion {
	n := c.nodeAt(name)
	if n == nil || !slices.ContainsFunc(n.entries, (*entry).hidesNames) {
		return nil
	}
	o := &occlusion{}
	for _, e := range n.entries {
		if !e.hidesNames() {
			continue
		}
		o.foreign = o.foreign || e.kind != 0
		if c.keeps(e) && (o.kept == nil || e.older(o.kept) < 0) {
			o.kept = e
		}
	}
	for _, e := range c.standingAlone(name, o) {
		switch {
		case !e.hidesNames():
		case e.rr.Header().Rrtype == dns.TypeNS:
			o.cut = o.cut.with(e, o.kept != nil)
		default:
			o.dname = o.dname.with(e, o.kept != nil)
		}
	}
	return o
}

// standingAlone returns the records that would stand at a name if nobody else had it, and
// notes of the others which hide names that they wait.
func (c *compiler) standingAlone(name string, o *occlusion) []*entry {
	at := standing{hider: o.overruled(), fixed: c.zones[c.zoneOf(name)].fixed[name]}
	return standingBeside(c.nodeAt(name).entries, at, func(e *entry, p *problem) {
		if e.hidesNames() && at.hider.against(e) == nil {
			o.wait(e, p)
		}
	})
}

// wait notes why a record that hides names could not stand at its name.
func (o *occlusion) wait(e *entry, p *problem) {
	if o.waits == nil {
		o.waits = make(map[*entry]*problem)
	}
	o.waits[e] = p
}

// stayBeside looks once more at a name where the records of one type lose to what they
// would hide, and those of the other do not: where they have kept something away that the
// others cannot stand beside, these wait too.
func (c *compiler) stayBeside(name string, o *occlusion) {
	if o.cut == nil || o.dname == nil || (o.cut.outdone == nil) == (o.dname.outdone == nil) {
		return
	}
	stays := &o.cut
	if o.cut.outdone != nil {
		stays = &o.dname
	}
	first, cut := (*stays).first, (*stays).cut
	stand := c.standingAlone(name, o)
	p := o.waits[first]
	if p == nil {
		return
	}
	for _, e := range stand {
		if e.hidesNames() && (e.rr.Header().Rrtype == dns.TypeNS) == cut {
			o.wait(e, p)
		}
	}
	*stays = nil
}

// with returns h, which may be nil, with one more record of its type and owner.
func (h *hiding) with(e *entry, kept bool) *hiding {
	if h == nil {
		return &hiding{first: e, cut: e.rr.Header().Rrtype == dns.TypeNS, foreign: e.kind != 0, kept: kept}
	}
	if e.older(h.first) < 0 {
		h.first = e
	}
	return h
}

// hidden returns the losses of those claims of a group that records of others hide, and
// the other claims.
func (c *compiler) hidden(group string, claims []*claim) (seen []*claim, lost []loss) {
	if c.occlusions.Len() == 0 {
		return claims, nil
	}
	var below map[string]*entry
	if slices.ContainsFunc(claims, (*claim).steers) {
		below = c.hidersBelowKlb(group)
	}
	seen = slices.DeleteFunc(slices.Clone(claims), func(cl *claim) bool {
		by := c.hiderOf(cl)
		if by == nil && cl.steers() {
			by = below[rdata.Base(cl.host)]
		}
		if by == nil {
			return false
		}
		lost = append(lost, loss{claim: cl, owner: by.claim()})
		return true
	})
	return seen, lost
}

// hiderOf returns the record at or above the host of a claim that hides it; nil for none.
func (c *compiler) hiderOf(cl *claim) *entry {
	for at := range c.upwards(cl) {
		o, _ := c.occlusions.Get(at)
		for _, h := range o.sides() { // a search meets the NS records first
			if by := h.hider(); by != nil && h.hides(at, cl) {
				return by
			}
		}
	}
	return nil
}

// hidersBelowKlb returns the oldest records of a group that hide names below klb.H', by
// H'.
func (c *compiler) hidersBelowKlb(group string) map[string]*entry {
	var oldest map[string]*entry
	for at := range c.klbRecords(group) {
		o, _ := c.occlusions.Get(at)
		for _, side := range o.sides() {
			by := side.hider()
			if by == nil {
				continue
			}
			if oldest == nil {
				oldest = make(map[string]*entry)
			}
			for _, h := range c.next.zoneSet.chainsAt(at) {
				if first := oldest[h]; first == nil || by.older(first) < 0 {
					oldest[h] = by
				}
			}
		}
	}
	return oldest
}

// claim returns what e stands for in a contest about its name.
func (e *entry) claim() *claim {
	return &claim{by: &e.record.Meta, kind: e.objectKind(), host: e.name, rtype: e.rr.Header().Rrtype}
}

// hides tells whether a claim is that of records which hide names.
func (c *claim) hides() bool { return c.rtype == dns.TypeNS || c.rtype == dns.TypeDNAME }

// hiddenMessage says why a claim is not served below what hides it.
func hiddenMessage(l loss) string {
	owner := l.owner.kind.String() + " " + inCluster(l.owner.by, l.claim.by)
	where := "lies at or below "
	if !rdata.IsSubdomain(l.owner.host, strings.TrimPrefix(l.claim.host, rdata.Wildcard)) && !rdata.IsSubdomain(l.owner.host, l.claim.host) {
		where = "needs the names at or above "
	}
	return "the host " + where + trimDot(l.owner.host) + ", where the " + dns.Type(l.owner.rtype).String() + " record of " + owner + " leads elsewhere"
}
