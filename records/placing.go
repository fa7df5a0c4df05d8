package records

import (
	"slices"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/owner"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
	"github.com/coredns-kuadrant/kuadrant/records/zone"
)

// place puts the changed Records at their names (rule 6.3).
func (c *compiler) place() {
	c.recorded = haveRecords(c.next.In.Clusters)
	for _, e := range c.clusters {
		if c.prev == nil {
			for name, rec := range e.in.Records.All() {
				c.placeAt(e, name, rec)
			}
			continue
		}
		for _, ref := range e.in.Changed {
			if ref.Kind == api.KindRecord {
				rec, _ := e.in.Records.Get(ref.Name)
				c.placeAt(e, ref.Name, rec)
			}
		}
	}
}

// placeAt replaces the Record of that namespace/name by rec; nil removes it.
func (c *compiler) placeAt(e *clusterEdit, name string, rec *api.Record) {
	if c.prev != nil {
		if old, ok := e.records.Get(name); ok && old.RR != nil {
			c.dropRecord(old)
		} else if ok {
			e.state.Unplaced--
		}
		c.look(e.in.Name, api.KindRecord, name)
	}
	if rec == nil {
		e.records.Delete(name)
		return
	}
	placed := endpoint.PlaceRecord(c.next.Table, rec, c.next.Opt)
	e.records.Set(rec.Name, placed)
	if placed.RR == nil {
		e.state.Unplaced++
		return
	}
	c.edit(c.zoneOfRecord(placed)).Add(placed)
	c.touch(placed)
}

// dropRecord removes a Record from its name, in the zone where it was.
func (c *compiler) dropRecord(old *endpoint.Record) {
	c.edit(c.zoneOfRecord(old)).Drop(old)
	c.touch(old)
}

// zoneOfRecord returns the index of the zone that a Record lies in.
func (d *draft) zoneOfRecord(r *endpoint.Record) int { return d.next.Table.Index[r.Zone()] }

// touch has the group of steered names that a Record's name may affect made anew, if there is one.
func (c *compiler) touch(r *endpoint.Record) {
	name := r.Name
	if n := c.nodeAt(name); n != nil && owner.Meets(n.Records, r) || c.registry.MeetsReserved(r) {
		c.contend(name)
	}
	if c.prev == nil {
		return // all are made anew
	}
	c.changeKnown(endpoint.GroupKey(name))
	c.noteMoved(r)
	if r.Origin == 0 && r.RR.Header().Rrtype == dns.TypeNS {
		c.changeKnown(endpoint.GroupKey(c.zones[c.zoneOfRecord(r)].Nameservers()[0].Name)) // it becomes the placeholder, or ceases to be
	}
}

// changeKnown has the group of that key made anew if it exists, or may exist for a reservation.
func (c *contest) changeKnown(key string) {
	if _, ok := c.groups.Get(key); ok || c.registry.Keeps(key) || c.registry.Keeps(rdata.WildcardOf(key)) {
		c.changeOf(key)
	}
}

// withRecords adds to a group's contenders those of the records at their hosts, and at names where several namespaces have, or had, records
// (rules 5.3 and 5.4), older first.
func (c *contest) withRecords(contenders []*endpoint.Contender, names []string) []*endpoint.Contender {
	if !c.recorded {
		return contenders
	}
	all, looked := slices.Clip(contenders), make(map[string]bool, len(contenders)+len(names))
	look := func(host string, contended bool) {
		if looked[host] || c.zoneOf(host) < 0 { // its zone has gone
			return
		}
		looked[host] = true
		if n := c.nodeAt(host); n != nil {
			at := c.zoneOf(host)
			served := slices.DeleteFunc(slices.Clone(contenders), func(who *endpoint.Contender) bool {
				return who.Host != host || c.keptOutByData(who, c.zones[at].Origin()) != nil
			})
			on := owner.Contenders(n.Name, n.Records, c.edit(at).Out(n, served))
			if contended || len(on) > 1 || len(on) == 1 && c.registry.Reserved(host, on) != nil {
				all = append(all, on...)
			}
		}
	}
	for _, who := range contenders {
		look(who.Host, true)
	}
	for _, name := range names {
		look(name, false)
	}
	if len(all) > len(contenders) {
		slices.SortStableFunc(all, (*endpoint.Contender).Older)
	}
	return all
}

// settle makes the RRsets of all changed names. A zone changes too if it copies from a changed zone
// below it: the deepest zones come first (rule 6.6).
func (c *compiler) settle() {
	var byDepth [rdata.MaxWireName][]int
	for i, e := range c.edits {
		if e != nil {
			d := zone.Depth(c.zones[i].Origin())
			byDepth[d] = append(byDepth[d], i)
		}
	}
	for d := len(byDepth) - 1; d >= 0; d-- {
		for _, i := range byDepth[d] {
			c.edits[i].Settle()
			up := c.next.Table.Above(c.zones[i].Origin())
			if up == nil {
				continue
			}
			above := c.next.Table.Index[up.Origin]
			known := c.edits[above] != nil
			c.edit(above).Delegate(c.zones[i].Origin(), c.edits[i].Delegation(c.nodeAt))
			if !known {
				byDepth[zone.Depth(up.Origin)] = append(byDepth[zone.Depth(up.Origin)], above)
			}
		}
	}
}
