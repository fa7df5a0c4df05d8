package records

import (
	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// outdo finds, for the records at each of the names, the oldest that they would hide: a
// claim, a Record, data of a DNSRecord or DNSEndpoint, or a Zone. It looks at everything
// once, however many names there are.
func (c *compiler) outdo(found map[string]*occlusion) {
	if len(found) == 0 {
		return
	}
	chains, foreign := make(map[string]*elders), false
	for name, o := range found {
		foreign = foreign || o.foreign
		for _, h := range steeringBases(name) {
			chains[h] = &elders{}
		}
	}
	for _, e := range c.clusters {
		for _, t := range e.targets.From("") {
			for _, cl := range t.claims {
				c.outdoByClaim(found, chains, cl)
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
	for name, o := range found {
		for _, h := range steeringBases(name) {
			for _, side := range o.sides() {
				side.contest(chains[h].first, false)
				side.contest(chains[h].held, true)
			}
		}
	}
	c.outdoByZones(found)
}

// elders are the oldest of the claims that have klb names below one H', and the oldest of
// those that have them on record (rule 5.4); nil for none. One of the two is the oldest
// that records anywhere below klb.H' lose to, if any is.
type elders struct{ first, held *claim }

// losesTo tells whether the records lose to an object with a name that they would hide: it
// has the name on record, or neither has, and it is older.
func (h *hiding) losesTo(m *api.Meta, held bool) bool {
	return held || !h.kept && h.first.record.Older(m) >= 0
}

// contest holds a claim on a name that the records would hide against them; each may be
// nil. The oldest that they lose to counts.
func (h *hiding) contest(cl *claim, held bool) {
	if h != nil && cl != nil && h.losesTo(cl.by, held) && (h.outdone == nil || cl.older(h.outdone) < 0) {
		h.outdone = cl
	}
}

// outdoByClaim holds a claim against the records at and above its host, and notes it for
// those below klb.
func (c *compiler) outdoByClaim(found map[string]*occlusion, chains map[string]*elders, cl *claim) {
	origin := ""
	for at, ok := cl.host, true; ok; at, ok = parent(at) {
		o := found[at]
		if o == nil {
			continue
		}
		if origin == "" { // of few claims it has to be known
			origin = c.zones[c.zoneOf(base(cl.host))].origin
		}
		if !IsSubdomain(origin, at) {
			break
		}
		for _, h := range o.sides() {
			if h != nil && h.hides(at, cl) {
				h.contest(cl, c.holds(cl))
			}
		}
	}
	if len(chains) == 0 || !cl.steers() {
		return
	}
	chain := chains[base(cl.host)]
	if chain == nil {
		return
	}
	if chain.first == nil || cl.older(chain.first) < 0 {
		chain.first = cl
	}
	if (chain.held == nil || cl.older(chain.held) < 0) && c.holds(cl) {
		chain.held = cl
	}
}

// outdoByEntry holds a record against those of other owners at and above its name. Records
// are hidden by Records whatever their age: these have one owner (rule 5.3).
func (c *compiler) outdoByEntry(found map[string]*occlusion, e *entry) {
	if e.rr == nil {
		return
	}
	origin := e.zone()
	for at, ok := e.name, true; ok && IsSubdomain(origin, at); at, ok = parent(at) {
		for _, h := range found[at].sides() {
			if h == nil || e.kind == 0 && !h.foreign || e.sameOwner(h.first) || !h.hidesEntry(at, e) ||
				h.outdone != nil && e.record.Older(h.outdone.by) > 0 {
				continue
			}
			if held := c.holdsEntry(e); h.losesTo(&e.record.Meta, held) {
				h.contest(e.claim(), held)
			}
		}
	}
}

// hidesEntry tells whether the records at a name, which e lies at or below, hide e. The DS
// records at a cut are answered from above it (RFC 4035 §3.1.4.1).
func (h *hiding) hidesEntry(name string, e *entry) bool {
	return name != e.name || h.cut && e.rr.Header().Rrtype != dns.TypeDS
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
		for at, ok := parent(z.origin); ok; at, ok = parent(at) {
			for _, h := range found[at].sides() {
				if h != nil && h.first.record.Namespace() != z.object.Namespace() {
					h.contest(&claim{by: &z.object.Meta, kind: api.KindZone, host: z.origin}, !h.kept && servedBefore(c.next.in.Acquired, z.origin, z.object))
				}
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
		for _, h := range steeringBases(name) {
			chains[h] = struct{}{}
		}
	}
	for _, e := range c.clusters {
		for _, t := range e.targets.From("") {
			for _, cl := range t.claims {
				if _, below := chains[base(cl.host)]; below && cl.steers() {
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
