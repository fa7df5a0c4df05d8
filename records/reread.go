package records

import (
	"slices"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// markUnread has objects judged anew of whose names it has become known who has them, or
// is not known any more.
func (c *compiler) markUnread() {
	if c.prev == nil || !c.prev.withholds && !c.next.withholds {
		return // by far the most
	}
	c.rereadFound()
	below := make(map[string]bool)
	for _, key := range c.reread {
		if name := nameOf(key); name != key {
			below[name] = true
		} else {
			c.markName(key)
		}
	}
	if len(below) == 0 {
		return
	}
	lies := func(name string) bool {
		for at := range rdata.Ancestors(name) {
			if below[at] {
				return true
			}
		}
		return false
	}
	for key := range c.prev.groups.All() {
		if lies(key) {
			c.changeOf(key)
		}
	}
	for name := range below { // at names of a chain
		if _, ok := c.prev.groups.Get(groupKey(name)); ok {
			c.changeOf(groupKey(name))
		}
	}
	c.restateIn(lies)
}

// rereadFound adds those that cannot be read, and may have lost what they have on record, or have it again; and
// marks what may be on record now, or not any more.
func (c *compiler) rereadFound() {
	again := func(key string) {
		if _, ok := c.next.unread.by.Get(key); ok {
			c.reread = append(c.reread, key)
		}
	}
	for _, change := range c.order {
		claims := change.add
		if g, ok := c.prev.groups.Get(change.key); ok {
			claims = slices.Concat(g.claims, claims)
		}
		for _, cl := range claims {
			again(cl.host)
		}
	}
	for _, key := range c.next.in.AcquiredChanged {
		c.restateAt(nameOf(key))
	}
}

// restateIn marks the Records, Zones, DNSRecords and DNSEndpoints as ones whose verdicts may differ that
// have one of some names.
func (c *compiler) restateIn(names func(name string) bool) {
	for _, z := range c.prev.zones {
		if z.object != nil && names(z.origin) {
			c.restateObject(z.object.Cluster, api.KindZone, z.object.Name)
		}
	}
	for _, e := range c.prev.clusters {
		for record, at := range e.records.All() {
			if at.problem == nil && names(at.name) {
				c.restateObject(e.name, api.KindRecord, record)
			}
		}
		for _, t := range e.targets.All() {
			if t.publisher == nil {
				continue
			}
			for _, at := range t.publisher.entries {
				if names(at.name) {
					c.restateObject(e.name, at.kind, at.record.Name)
				}
			}
		}
	}
}

// markName has what is at a host, and at names of its chain, judged anew, and who wants it.
func (c *compiler) markName(host string) {
	key := groupKey(host)
	if _, ok := c.prev.groups.Get(key); ok {
		c.changeOf(key)
	}
	c.restateAt(host)
	for name := range klbRecords(c.prev.klb, key, klbLabel+rdata.Base(host)) {
		c.restateAt(name)
	}
}

// restateAt marks the Records at a name as ones whose verdicts may differ.
func (c *compiler) restateAt(name string) {
	z := c.prev.Zone(rdata.Base(name))
	if z == nil {
		return
	}
	if n, ok := z.names.Get(name); ok {
		for _, e := range n.entries {
			c.restateObject(e.record.Cluster, e.objectKind(), e.record.Name)
		}
	}
}

// restateFound marks what stands at the names of a zone that have changed: who is on record there may be gone.
func (c *compiler) restateFound(e *zoneEdit, z *Zone) {
	for _, name := range e.settled {
		if n, ok := z.names.Get(name); ok {
			c.restateEntries(z, n)
		}
	}
}
