package records

import (
	"github.com/coredns-kuadrant/kuadrant/api"
)

// place puts the Records that have changed at their names (rule 6.3).
func (c *compiler) place() {
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

// placeAt makes rec the Record of that namespace/name; nil for none.
func (c *compiler) placeAt(e *clusterEdit, name string, rec *api.Record) {
	if c.prev != nil {
		if old, ok := e.records.Get(name); ok && old.rr != nil {
			c.edit(c.zoneOfEntry(old)).drop(old)
			c.touch(old.name)
		}
	}
	if rec == nil {
		e.records.Delete(name)
		return
	}
	placed := c.next.zoneSet.placeRecord(rec, c.next.opt)
	e.records.Set(rec.Name, placed)
	if placed.rr != nil {
		c.edit(c.zoneOfEntry(placed)).add(placed)
		c.touch(placed.name)
	}
}

func (c *compiler) zoneOfEntry(e *entry) int { return c.next.zoneSet.index[e.zone] }

// touch has the group of steered names that a Record's name may concern made anew,
// where there is one.
func (c *compiler) touch(name string) {
	if c.prev == nil {
		return // all are made anew
	}
	key := groupKey(name)
	if _, ok := c.groups.Get(key); ok {
		c.changeOf(key)
	}
}

// settle makes the RRsets of all names that have changed. What a zone copies from one
// below it changes it too: the deepest come first (rule 6.6).
func (c *compiler) settle() {
	var byDepth [maxWireName][]int
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
