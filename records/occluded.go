package records

import (
	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// outdo finds, for the records at each of the names, the oldest that they would hide: a
// claim, a Record, data of a DNSRecord or DNSEndpoint, or a Zone. It looks at everything
// once, however many names there are.
func (c *compiler) outdo(found map[string]*occlusion) {
	if len(found) == 0 {
		return
	}
	near, foreign := nearby{chains: make(map[string][]*claim), hosts: make(map[string][]*claim)}, false
	for name, o := range found {
		foreign = foreign || o.foreign
		for _, h := range c.next.zoneSet.chainsAt(name) {
			near.chains[h] = nil
		}
		if o.dname != nil {
			near.hosts[name] = nil
		}
	}
	for _, e := range c.clusters {
		for _, t := range e.targets.From("") {
			for _, cl := range t.claims {
				c.outdoByClaim(found, cl)
				near.note(cl)
			}
			if t.publisher != nil {
				for _, r := range t.publisher.entries {
					c.outdoByEntry(found, r)
				}
			}
		}
		if foreign {
			for _, r := range e.records.From("") {
				c.outdoByEntry(found, r)
			}
		}
	}
	c.outdoByChains(found, near.chains)
	for name, claims := range near.hosts {
		c.outdoBeside(found[name].dname, name, claims)
	}
	c.outdoByZones(found)
}

// nearby are the claims that the records at some names have to do with, but for those whose
// hosts they would hide: those with names below some klb.H', or that share a host with
// one, by H'; and those at the names of DNAMEs, by host.
type nearby struct{ chains, hosts map[string][]*claim }

func (n *nearby) note(cl *claim) {
	if len(n.chains) > 0 && cl.pools() {
		h := rdata.Base(cl.host)
		if on, known := n.chains[h]; known {
			n.chains[h] = append(on, cl)
		}
	}
	if len(n.hosts) > 0 {
		if on, known := n.hosts[cl.host]; known {
			n.hosts[cl.host] = append(on, cl)
		}
	}
}

// onRecord says how far it is on record that an object has what records would hide.
type onRecord int

const (
	notOnRecord onRecord = iota
	// onRecordInPart is that of an object that stands before what is not on record itself.
	onRecordInPart
	onRecordWhole
)

// losesTo tells whether the records lose to an object with a name that they would hide: it
// has the name on record, or neither has, and it is older. What an object has on record in
// part stands before records that are not.
func (h *hiding) losesTo(m *api.Meta, held onRecord) bool {
	return held == onRecordWhole || !h.kept && (held == onRecordInPart || h.first.record.Older(m) >= 0)
}

// contest holds a claim on a name that the records would hide against them; each may be
// nil. The oldest that they lose to counts.
func (h *hiding) contest(cl *claim, held onRecord) {
	if h != nil && cl != nil && h.losesTo(cl.by, held) && (h.outdone == nil || cl.older(h.outdone) < 0) {
		h.outdone = cl
	}
}

// whole tells of a claim whether it is on record that its object has a name.
func whole(held bool) onRecord {
	if held {
		return onRecordWhole
	}
	return notOnRecord
}

// outdoByChains holds the claims that have klb names, by H', against the records below
// these. Of each H' the oldest counts, and the oldest that has them on record, wholly or in
// part: one of these is the oldest that records anywhere below klb.H' lose to, if any is.
func (c *compiler) outdoByChains(found map[string]*occlusion, chains map[string][]*claim) {
	elders := make(map[string][3]*claim, len(chains))
	for h, claims := range chains {
		holders, oldest := c.holdersOf(claims), [3]*claim{}
		for _, cl := range claims {
			if !cl.steers() {
				continue
			}
			for _, i := range []onRecord{notOnRecord, c.chainOnRecord(holders[cl.host], cl)} {
				if oldest[i] == nil || cl.older(oldest[i]) < 0 {
					oldest[i] = cl
				}
			}
		}
		elders[h] = oldest
	}
	for name, o := range found {
		for _, h := range c.next.zoneSet.chainsAt(name) {
			for i, cl := range elders[h] {
				for _, side := range o.sides() {
					side.contest(cl, onRecord(i))
				}
			}
		}
	}
}

// outdoBeside holds the claims on the name of a DNAME against it. It does not hide that
// name, but those that a chain has below it; and there are names at which neither can stand
// beside the other: there the one that comes first has the name.
func (c *compiler) outdoBeside(h *hiding, name string, claims []*claim) {
	holder := c.holdersOf(claims)[name]
	type ref struct {
		api.Ref
		realm string
	}
	addressed := make(map[ref]bool) // its addresses win (rule 1.7), in whichever cluster
	refOf := func(cl *claim) ref { return ref{api.Ref{Kind: cl.kind, Name: cl.by.Name}, cl.by.Realm()} }
	for _, cl := range claims {
		if addresses, _ := cl.leadsTo(); addresses && !cl.pools() {
			addressed[refOf(cl)] = true
		}
	}
	for _, cl := range claims {
		if cl.steers() {
			h.contest(cl, c.chainOnRecord(holder, cl))
		}
		_, alias := cl.leadsTo()
		alias = alias && h.first.origin > 0 && (cl.pools() || !addressed[refOf(cl)])
		if alias || h.foreign && !cl.by.SameNamespace(&h.first.record.Meta) {
			h.contest(cl, whole(c.aloneOnRecord(holder, cl)))
		}
	}
}

// outdoByClaim holds a claim against the records at and above its host.
func (c *compiler) outdoByClaim(found map[string]*occlusion, cl *claim) {
	origin := ""
	for at := range rdata.Ancestors(cl.host) {
		o := found[at]
		if o == nil {
			continue
		}
		if origin == "" { // of few claims it has to be known
			origin = c.zones[c.zoneOf(rdata.Base(cl.host))].origin
		}
		if !rdata.IsSubdomain(origin, at) {
			break
		}
		for _, h := range o.sides() {
			if h != nil && (h.cut || at != cl.host) {
				h.contest(cl, whole(c.holds(cl)))
			}
		}
	}
}

// outdoByEntry holds a record against those of other owners at and above its name. Records
// are hidden by Records whatever their age: these have one owner (rule 5.3).
func (c *compiler) outdoByEntry(found map[string]*occlusion, e *entry) {
	if e.rr == nil {
		return
	}
	origin := e.zone()
	for at := range rdata.Ancestors(e.name) {
		if !rdata.IsSubdomain(origin, at) {
			break
		}
		for _, h := range found[at].sides() {
			if h == nil || e.kind == 0 && !h.foreign || e.sameOwner(h.first) || !h.hidesEntry(at, e) ||
				h.outdone != nil && e.record.Older(h.outdone.by) > 0 {
				continue
			}
			if held := c.entryOnRecord(e, h.cut || at != e.name); h.losesTo(&e.record.Meta, held) {
				h.contest(e.claim(), held)
			}
		}
	}
}

// entryOnRecord tells how far it is on record that the owner of e has what records would
// hide: e's name, where they hide that, or in part, as for a Zone, what e hides itself.
func (c *compiler) entryOnRecord(e *entry, name bool) onRecord {
	switch {
	case name && c.holdsEntry(e):
		return onRecordWhole
	case name && e.hidesNames() && c.keeps(e):
		return onRecordInPart
	}
	return notOnRecord
}

// hidesEntry tells whether the records at a name, which e lies at or below, hide e, or
// cannot stand beside it. The DS records at a cut are answered from above it (RFC 4035
// §3.1.4.1).
func (h *hiding) hidesEntry(name string, e *entry) bool {
	switch {
	case name != e.name:
		return true
	case h.cut:
		return e.rr.Header().Rrtype != dns.TypeDS
	}
	return h.foreign && !e.record.SameNamespace(&h.first.record.Meta)
}

// hiddenBy says that an entry, which hides names, is not served for what a claim stands for.
func (c *claim) hiddenBy(e *entry) *problem {
	if c.host == e.name && e.rr.Header().Rrtype == dns.TypeDNAME && !c.steers() {
		return ownedBy(c, e)
	}
	return problemf(reasonConflicted, "the record would hide %s, which belongs to %s %s", trimDot(c.host), c.kind, inCluster(c.by, &e.record.Meta))
}

// outdoByZones holds the Zones that are served against records above them: who follows
// these from above never gets to the Zone. The Zone's own namespace may do so. A Zone is
// served, and comes to be on record, below records that it loses to: it takes nothing from
// those that are on record themselves (rule 5.4).
func (c *compiler) outdoByZones(found map[string]*occlusion) {
	for i := range c.next.zoneSet.sites {
		z := &c.next.zoneSet.sites[i]
		if z.object == nil {
			continue
		}
		for at, ok := rdata.Parent(z.origin); ok; at, ok = rdata.Parent(at) {
			for _, h := range found[at].sides() {
				if h == nil || h.first.record.SameNamespace(&z.object.Meta) {
					continue
				}
				held := notOnRecord
				if servedBefore(c.next.in.Acquired, z.origin, z.object) {
					held = onRecordInPart
				}
				h.contest(&claim{by: &z.object.Meta, kind: api.KindZone, host: z.origin}, held)
			}
		}
	}
}

// changeBelow has the groups made anew of all claims with names that the records at names
// hide, or have hidden: one look at all.
func (c *compiler) changeBelow(names map[string]struct{}) {
	if c.prev == nil || len(names) == 0 {
		return // all are made anew
	}
	chains := make(map[string]struct{})
	for name := range names {
		for _, h := range c.next.zoneSet.chainsAt(name) {
			chains[h] = struct{}{}
		}
	}
	for _, e := range c.clusters {
		for _, t := range e.targets.From("") {
			for _, cl := range t.claims {
				if _, below := chains[rdata.Base(cl.host)]; below && cl.steers() {
					c.change(cl)
					continue
				}
				for at := range c.upwards(cl) {
					if _, differs := names[at]; differs {
						c.change(cl)
						break
					}
				}
			}
		}
	}
}
