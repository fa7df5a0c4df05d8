package records

import (
	"cmp"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/internal/tree"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
)

// renew has the RRsets of a node, which this edit may change, made anew.
func (e *zoneEdit) renew(n *node) {
	if !n.stale {
		n.stale = true
		e.stale = append(e.stale, n)
	}
}

// settle makes the RRsets of the nodes that have changed, and takes away the names that
// nothing is left of.
func (e *zoneEdit) settle() {
	for i := 0; i < len(e.stale); i++ { // the apex may add one
		n := e.stale[i]
		n.stale = false
		if n.name == e.zone.Origin() && len(e.zone.Corefile.Nameservers) == 0 && !e.zone.StandsFor(n.name) {
			e.renew(e.make(e.zone.Nameservers()[0].Name)) // it stands in, or does not any more
		}
		e.settleAt(n)
	}
	for _, n := range e.stale {
		switch {
		case n.empty():
			e.remove(n)
		case n.void:
			e.attach(n)
		}
	}
	e.stale = nil
}

// settleAt makes the RRsets of a node, and counts it as it is now.
func (e *zoneEdit) settleAt(n *node) {
	turn, lost := n.turn, n.lost
	e.list(n, -1)
	n.static = e.setsAt(n)
	e.list(n, 1)
	e.conflicts += int(n.lost - lost)
	if _, several := e.several[n.name]; several || len(n.entries) > 1 || lost+n.lost > 0 || n.cut && len(n.entries) > 0 {
		e.contended = append(e.contended, n.name)
	}
	n.turn = e.zone.turnsAt(n)
	if turn != n.turn {
		e.turns += btoi(n.turn) - btoi(turn)
	}
	if turn || n.turn {
		e.turned = append(e.turned, n.name)
		e.redirect(n)
	}
	e.content = e.content.minus(n.digest)
	n.digest = n.sum()
	e.content = e.content.plus(n.digest)
	if e.served() { // and will be compared with
		e.settled = append(e.settled, n.name)
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// setsAt returns the RRsets of a name but for the steered data.
func (e *zoneEdit) setsAt(n *node) []rrset {
	fixed, known := e.zone.fixed[n.name]
	if known && e.zone.StandsFor(n.name) {
		known = standsIn(&e.zone.Zone, e.node(e.zone.Origin()))
	}
	n.lost = 0
	sets := rrsetsOf(n.entries, e.others(n), func(_ *endpoint.Record, p *endpoint.Problem) {
		if p.Reason == endpoint.ReasonConflicted {
			n.lost++
		}
	})
	if known {
		if n.name == e.zone.Origin() && ofType(sets, dns.TypeNS) != nil {
			fixed = fixed[1:] // the Zone has name servers of its own (rule 6.8)
		}
		sets = merge(sets, fixed)
		if sets == nil {
			sets = []rrset{}
		}
	}
	copies, _ := current(e.copied, e.zone.copied).Get(n.name)
	told, _ := current(e.told, e.zone.told).Get(n.name)
	return merge(merge(sets, copies), told) // nobody else has TXT or a CNAME there: see endpoint.Zone
}

// getter is a tree.Map, or an edit of one.
type getter[V any] interface{ Get(key string) (V, bool) }

// current returns what an edit, which may be nil, has made of a map so far.
func current[V any](edit *tree.Edit[V], m tree.Map[V]) getter[V] {
	if edit != nil {
		return edit
	}
	return m
}

// others returns what a name holds apart from its Records.
func (e *zoneEdit) others(n *node) others {
	return e.zone.othersBy(n, e.names, current(e.barred, e.zone.barred), current(e.copied, e.zone.copied))
}

// others is the same in a zone that is not edited.
func (z *Zone) others(n *node) others { return z.othersBy(n, z.names, z.barred, z.copied) }

func (z *Zone) othersBy(n *node, names getter[*node], barred getter[bar], copied getter[[]rrset]) others {
	by, _ := barred.Get(n.name)
	copies, _ := copied.Get(n.name)
	return others{owner: cmp.Or(by.owner, n.steered.owner), by: cmp.Or(by.by, n.steered.owner), above: aboveOf(n, names, barred), alias: by.alias, fixed: z.fixed[n.name], copied: copies}
}

// bar says whose a name is; the fields are those of others.
type bar struct {
	owner *endpoint.Claim
	by    *endpoint.Claim
	alias bool
}

// bar keeps the Records at name, where there are any, from what belongs to an owner; none
// ends that.
func (e *zoneEdit) bar(name string, by bar) {
	if e.barred == nil {
		e.barred = e.zone.barred.Edit()
	}
	if by.by == nil {
		e.barred.Delete(name)
	} else {
		e.barred.Set(name, by)
	}
	if e.node(name) != nil {
		e.renew(e.make(name))
	}
	e.renewBelow(name)
}

// turnsAt tells whether a search ends its way through the zone at n.
func (z *Zone) turnsAt(n *node) bool {
	for i := range n.static {
		switch n.static[i].rtype {
		case dns.TypeDNAME:
			return true
		case dns.TypeNS:
			if !n.cut && n.name != z.Origin() {
				return true
			}
		}
	}
	return false
}
