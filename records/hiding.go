package records

import (
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// lookHidden has the objects looked at that have data at or below names whose NS records or DNAME came, went or changed.
func (rep *reporter) lookHidden() {
	turned := make(map[string]struct{})
	for i, e := range rep.zones.edits {
		if e == nil {
			continue
		}
		z := rep.zones.served[i]
		for _, name := range e.Turned {
			turned[name] = struct{}{}
			n := z.Node(name)
			if n == nil {
				continue // nothing is below it
			}
			rep.dirty.objectsAt(n)
			if n.Children == 0 {
				continue
			}
			for below := range z.DeepBelow(name) {
				if n := z.Node(below); n != nil {
					rep.dirty.objectsAt(n)
				}
			}
		}
	}
	if len(turned) == 0 {
		return
	}
	for _, e := range rep.clusters {
		for who := range e.contenders() {
			for at, ok := who.Host, true; ok; at, ok = rdata.Parent(at) {
				if _, is := turned[at]; is {
					rep.dirty.objectOf(who)
					break
				}
			}
		}
	}
}

// lookUncovered has the objects looked at that take names out of a wildcard since now, or until now.
func (rep *reporter) lookUncovered() {
	for i, e := range rep.zones.edits {
		if e == nil {
			continue
		}
		z := rep.zones.served[i]
		for _, name := range e.Settled {
			for at := range z.UncoveredBy(name, e.Zone) {
				if n := z.Node(at); n != nil {
					rep.dirty.objectsAt(n)
				}
				g, _ := rep.next.NameGroups.Get(endpoint.GroupKey(at))
				if g == nil {
					continue
				}
				for _, who := range g.Contenders {
					rep.dirty.objectOf(who)
				}
			}
		}
	}
}
