package records

import (
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
	"github.com/coredns-kuadrant/kuadrant/records/zone"
)

// unsettleHidden marks the objects with hosts at or below names where NS records or a DNAME
// have come, gone or changed.
func (c *compiler) unsettleHidden() {
	turned := make(map[string]struct{})
	for _, e := range c.edits {
		if e != nil {
			for _, name := range e.Turned {
				turned[name] = struct{}{}
			}
		}
	}
	if c.prev == nil || len(turned) == 0 {
		return // all are told of
	}
	for _, e := range c.clusters {
		for _, t := range e.targets.From("") {
			for _, who := range t.Contenders {
				for at, ok := who.Host, true; ok; at, ok = rdata.Parent(at) {
					if _, is := turned[at]; is {
						c.unsettle(who)
						break
					}
				}
			}
		}
	}
}

// restateHidden marks the objects that have data at or below names of the zone where NS
// records or a DNAME have come, gone or changed.
func (c *compiler) restateHidden(e *zone.Edit, z *zone.Zone) {
	for _, name := range e.Turned {
		n := z.Node(name)
		if n == nil {
			continue // nothing is below it
		}
		c.restateEntries(n)
		if n.Children == 0 {
			continue
		}
		for below := range z.DeepBelow(name) {
			if n := z.Node(below); n != nil {
				c.restateEntries(n)
			}
		}
	}
}

// restateEntries marks the objects that have Records at n.
func (c *compiler) restateEntries(n *zone.Node) {
	for _, r := range n.Records {
		c.restateObject(r.Record.Cluster, r.ObjectKind(), r.Record.Name)
	}
}
