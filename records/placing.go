package records

import (
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// place puts the Records that have changed at their names (rule 6.3).
func (c *compiler) place() {
	for i, e := range c.clusters {
		c.recorded = c.recorded || e.in.Records.Len()+e.in.DNSRecords.Len()+e.in.DNSEndpoints.Len() > 0
		if c.prev == nil {
			for name, rec := range e.in.Records.All() {
				c.placeAt(e, name, rec)
			}
			continue
		}
		changed := e.in.Changed
		if c.rezoning != nil {
			changed = append(c.rezoning.records(e.in.Name, c.prev.clusters[i].records.All()), changed...)
		}
		c.once(changed, []api.Kind{api.KindRecord}, func(ref api.Ref) {
			rec, _ := e.in.Records.Get(ref.Name)
			c.placeAt(e, ref.Name, rec)
		})
	}
}

// placeAt makes rec the Record of that namespace/name; nil for none.
func (c *compiler) placeAt(e *clusterEdit, name string, rec *api.Record) {
	if c.prev != nil {
		if old, ok := e.records.Get(name); ok && old.rr != nil {
			c.dropEntry(old)
		} else if ok {
			e.state.unplaced--
		}
		c.restateObject(e.in.Name, api.KindRecord, name)
	}
	if rec == nil {
		e.records.Delete(name)
		return
	}
	placed := c.next.zoneSet.placeRecord(rec, c.next.opt)
	e.records.Set(rec.Name, placed)
	if placed.rr == nil {
		e.state.unplaced++
	}
	if c.prev == nil && (placed.rr == nil || placed.speaks()) {
		c.restateObject(e.in.Name, api.KindRecord, name)
	}
	if placed.rr != nil {
		c.edit(c.zoneOfEntry(placed)).add(placed)
		c.touch(placed, 1)
	}
}

// dropEntry takes an entry away from its name, in the zone that it was in.
func (c *compiler) dropEntry(old *entry) {
	if i := c.keptZone(old.zone()); i >= 0 {
		c.edit(i).drop(old)
	}
	c.touch(old, -1)
}

func (c *compiler) zoneOfEntry(e *entry) int { return c.next.zoneSet.index[e.zone()] }

// touch has the group of steered names that a Record's name may concern made anew,
// where there is one. n Records come to the name: one, or -1 for one that goes.
func (c *compiler) touch(r *entry, n int) {
	c.noteServer(r, n)
	name := r.name
	if c.prev == nil {
		return // all are made anew
	}
	c.changeKnown(groupKey(name))
	if i := c.keptZone(r.zone()); i >= 0 && r.origin == 0 && r.rr.Header().Rrtype == dns.TypeNS {
		c.changeKnown(groupKey(c.zones[i].nameservers()[0].Name)) // it stands in, or does not any more
	}
}

// changeKnown has the group of that key made anew, where there is one.
func (c *compiler) changeKnown(key string) {
	if _, ok := c.groups.Get(key); ok {
		c.changeOf(key)
	}
}

// fromRoot returns the labels of a name with the last one first. Called again with what it
// returned, it returns the name.
func fromRoot(name string) string {
	var b strings.Builder
	b.Grow(len(name))
	end := len(name)
	for _, off := range slices.Backward(dns.Split(name)) {
		b.WriteString(name[off:end])
		end = off
	}
	return b.String()
}

// recordClaims returns the claims of a group together with those of the Records that
// want steered data at their hosts (rule 5.3), older first.
func (c *compiler) recordClaims(claims []*claim) []*claim {
	if !c.recorded {
		return claims
	}
	all := claims
	for _, on := range byKey(claims, func(cl *claim) string { return cl.host }) {
		if r := c.recordClaim(on[0].host); r != nil {
			all = append(slices.Clip(all), r)
		}
	}
	if len(all) > len(claims) {
		slices.SortFunc(all, (*claim).older)
	}
	return all
}

// recordClaim returns the claim of the Records at name; nil where they want no steered
// data.
func (c *compiler) recordClaim(name string) *claim {
	n := c.nodeAt(name)
	if n == nil {
		return nil
	}
	first := n.firstSteered(c.above(name))
	if first == nil {
		return nil
	}
	return &claim{
		by: &first.record.Meta, kind: api.KindRecord, host: name, rtype: first.rr.Header().Rrtype,
		zone: c.zones[c.zoneOfEntry(first)].object, gone: !slices.ContainsFunc(n.entries, (*entry).liveSteered),
	}
}

// firstSteered returns the oldest Record at n that wants steered data, and may stand there, where above is the owner of the
// name above labels that begin with _ (rule 5.9); nil for none.
func (n *node) firstSteered(above *claim) (first *entry) {
	for _, e := range n.entries {
		if !(e.bound && strange(above, &e.record.Meta)) && steeredType(e.rr.Header().Rrtype) && (first == nil || e.record.Older(&first.record.Meta) < 0) {
			first = e
		}
	}
	return first
}

// settle makes the RRsets of all names that have changed. What a zone copies from one
// below it changes it too: the deepest come first (rule 6.6).
func (c *compiler) settle() {
	var byDepth [rdata.MaxWireName][]int
	for i, e := range c.edits {
		if e != nil {
			d := depth(c.zones[i].origin)
			byDepth[d] = append(byDepth[d], i)
		}
	}
	for d := len(byDepth) - 1; d >= 0; d-- {
		for _, i := range byDepth[d] {
			c.edits[i].settle()
			up := c.next.zoneSet.above(c.zones[i].origin)
			if up == nil {
				continue
			}
			above := c.next.zoneSet.index[up.origin]
			known := c.edits[above] != nil
			c.edit(above).delegate(c.zones[i].origin, c.edits[i].delegation())
			if !known {
				byDepth[depth(up.origin)] = append(byDepth[depth(up.origin)], above)
			}
		}
	}
}
