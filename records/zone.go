package records

import (
	"slices"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/internal/tree"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// Zone is one served zone. It is immutable.
type Zone struct {
	endpoint.Zone
	// fixed is what the Corefile puts into the zone, by owner name.
	fixed map[string][]rrset
	names tree.Map[*node] // by lower-case owner name
	// delegations is what the zone holds of the zones served here that begin below it, by
	// their origins; copied is the same by owner name.
	delegations tree.Map[*delegation]
	copied      tree.Map[[]rrset]
	// told is what is said of the owners of hosts, by owner name (rule 5.8).
	told tree.Map[[]rrset]
	// barred has whose the names are that have Records and belong to other objects.
	barred tree.Map[bar]
	// content is the digest of all names, hash that of the whole zone: the SOA
	// less its serial is in it too (rule 6.7).
	content, hash digest
	// conflicts counts the claims on hosts of the zone that lost.
	conflicts int
	// turns counts the names at which a search leaves the zone or goes elsewhere: cuts
	// to zones that are not served here, and DNAMEs.
	turns int
	// voids counts the nodes of names that do not exist, listed those that are listed.
	voids, listed int
	serial        uint32
	// made is the generation of the snapshot in which the zone got its content.
	made uint32
	// soa is the SOA RRset; negative is the same with the TTL of negative
	// answers (RFC 2308 §3); glue holds the addresses of the zone's own name
	// servers. All are shared and clipped. Versions with the same content have the same
	// SOA record, and no others have.
	soa, negative, glue []dns.RR
	// dnames are the owner names of DNAMEs.
	dnames tree.Map[struct{}]
	// deep are the names with Records that lie below another name of the zone than its
	// origin, each from the root.
	deep tree.Map[struct{}]
	// unreadNames counts the names whose owners cannot be read now.
	unreadNames int
	// journal is how the zone became what it is.
	journal journal
	// gate is what is shown of it where a writer keeps serials; nil where none does: the
	// zone itself.
	gate *gate
}

// Origin returns the zone's name, in lower case with a final dot.
func (z *Zone) Origin() string { return z.Zone.Origin }

// Serial returns the serial of the SOA record that is shown.
func (z *Zone) Serial() uint32 { return z.serial }

// Names returns the number of names in the zone, empty non-terminals included.
func (z *Zone) Names() int { return z.names.Len() - z.voids }

// Listed returns the number of those that Snapshot.Names yields.
func (z *Zone) Listed() int { return z.listed }

// Conflicts returns how many claims on hosts of the zone are kept from being
// served by another object's.
func (z *Zone) Conflicts() int { return z.conflicts }

// node is one existing name of a zone. It is immutable once its zone is
// published.
type node struct {
	name string
	// static is its RRsets but for the steered data, by type: those of its Records, of
	// the Corefile, and what is copied from zones below. It is not nil where the name
	// exists for one of these.
	static  []rrset
	entries []*endpoint.Record // the Records
	steered steered
	// digest is that of all that the node holds.
	digest digest
	// wild is the node of *.name, nil where there is none (RFC 4592 §2.2).
	wild *node
	// children counts the existing names one label below, so that a name which
	// has only those is an empty non-terminal.
	children int32
	// edit is the edit that made the node and may still change it.
	edit uint32
	// lost counts the Records that are not served for what else is at the name.
	lost int32
	// cut is true where another zone served here begins: the name exists, and
	// this zone answers for DS alone at it (RFC 4035 §3.1.4.1).
	cut bool
	// turn is true where a search ends its way through the zone: NS records at a cut to
	// a zone that is not served here, or a DNAME.
	turn bool
	// void is true where the name does not exist: all that it has are Records that are
	// not served.
	void bool
	// stale is true while static is to be made anew.
	stale bool
}

func (n *node) empty() bool {
	return n.children == 0 && n.static == nil && n.steered.owner == nil && !n.cut
}

// zoneEdit is the next version of a Zone while it is being made. Nodes made by
// one edit are changed in place by it; older ones are copied first.
type zoneEdit struct {
	zone      *Zone
	names     *tree.Edit[*node]
	content   digest
	conflicts int
	turns     int
	voids     int
	listed    int
	id        uint32
	// stale are the nodes whose RRsets are to be made anew.
	stale []*node
	// settled are the names that were: nothing else differs from the zone before.
	settled []string
	// several are the names that had several Records, one of which is gone.
	several map[string]struct{}
	// gone are the entries that sweep takes away, by name.
	gone map[string][]*endpoint.Record
	// turned are the names that end, or ended, a search's way through the zone, and whose
	// RRsets may have changed.
	turned []string
	// contended are the names at which the verdicts of several Records may have changed.
	contended []string
	// delegations and copied are the next versions of the zone's; nil for the same.
	delegations *tree.Edit[*delegation]
	copied      *tree.Edit[[]rrset]
	told        *tree.Edit[[]rrset] // the same
	barred      *tree.Edit[bar]     // the same
	// dnames is the next version of the zone's; nil for the same. redirected are the names
	// that it differs at.
	dnames     *tree.Edit[struct{}]
	redirected []string
	deep       *tree.Edit[struct{}] // the next version of the zone's; nil for the same
	// unreadNames is Zone.unreadNames.
	unreadNames int
	// above is the name that make was last at on its way up, and its node, which
	// this edit may change: most names of a zone have one parent.
	above     string
	aboveNode *node
}

// newZone returns a zone that holds what the Corefile puts there, and no more.
// cuts are the origins of the zones served here that begin below it.
func newZone(at endpoint.Zone, cuts []string) *Zone {
	z := &Zone{Zone: at, fixed: fixedSets(&at)}
	e := z.edit(0)
	for name := range z.fixed {
		e.renew(e.make(name))
	}
	e.renew(e.make(z.Origin()))
	for _, origin := range cuts {
		e.setCut(e.make(origin), true)
	}
	e.settle()
	z.names, z.content, z.listed = e.names.Map(), e.content, e.listed // the Corefile has no DNAMEs
	return z
}

func (z *Zone) edit(id uint32) *zoneEdit {
	return &zoneEdit{
		zone: z, names: z.names.Edit(), content: z.content, conflicts: z.conflicts, turns: z.turns,
		voids: z.voids, listed: z.listed, unreadNames: z.unreadNames, id: id,
	}
}

// set puts steered data at name, or takes it away where data has no owner.
func (e *zoneEdit) set(name string, data steered) {
	if data.owner == nil {
		if _, ok := e.names.Get(name); !ok {
			return
		}
	}
	n := e.make(name)
	e.list(n, -1)
	e.unreadNames -= btoi(n.unread())
	n.steered = data
	e.unreadNames += btoi(n.unread())
	e.list(n, 1)
	if !e.served() && data.owner != nil && n.entries == nil && !n.stale {
		e.settleAt(n) // by far the most: at once, while the processor has it at hand
		return
	}
	e.renew(n)
	e.renewBelow(name)
}

// served tells whether there is a version of the zone that has been served.
func (e *zoneEdit) served() bool { return e.zone.soa != nil }

// add puts a Record at its name.
func (e *zoneEdit) add(r *endpoint.Record) {
	n := e.make(r.Name)
	if len(n.entries) == 0 {
		e.noteDeep(n.name, true)
	}
	n.entries = append(n.entries, r)
	e.renew(n)
	e.renewBelow(n.name)
}

// drop takes a Record away from its name, when sweep is called.
func (e *zoneEdit) drop(r *endpoint.Record) {
	n := e.make(r.Name)
	if len(n.entries) > 1 {
		if e.several == nil {
			e.several = make(map[string]struct{})
		}
		e.several[n.name] = struct{}{}
	}
	if e.gone == nil {
		e.gone = make(map[string][]*endpoint.Record)
	}
	e.gone[n.name] = append(e.gone[n.name], r)
	e.renew(n)
	e.renewBelow(n.name)
}

// sweep takes away all that has been dropped. It looks at each name once: one object can have very many
// records there.
func (e *zoneEdit) sweep() {
	for name, list := range e.gone {
		n := e.make(name)
		out := func(r *endpoint.Record) bool { return r == list[0] }
		if len(list) > 1 {
			all := make(map[*endpoint.Record]struct{}, len(list))
			for _, r := range list {
				all[r] = struct{}{}
			}
			out = func(r *endpoint.Record) bool { _, is := all[r]; return is }
		}
		n.entries = slices.DeleteFunc(slices.Clone(n.entries), out)
		if len(n.entries) == 0 {
			n.entries = nil
			e.noteDeep(n.name, false)
		}
	}
	e.gone = nil
}

// list adds by to how many names are listed, where n is one: -1 before n changes, and 1 after it.
func (e *zoneEdit) list(n *node, by int) {
	if n.listed(e.zone) {
		e.listed += by
	}
}

// setCut says whether another zone served here begins at n.
func (e *zoneEdit) setCut(n *node, cut bool) {
	e.list(n, -1)
	n.cut = cut
	e.list(n, 1)
}

// node returns what there is at name as edited so far; nil for nothing.
func (e *zoneEdit) node(name string) *node {
	n, _ := e.names.Get(name)
	return n
}

// make returns the node at name for changing, adding it and the empty
// non-terminals above it where they are missing.
func (e *zoneEdit) make(name string) *node {
	n, ok := e.names.Get(name)
	if ok {
		return e.own(n)
	}
	n = &node{name: name, edit: e.id}
	e.names.Set(name, n)
	if name == e.zone.Origin() {
		e.list(n, 1)
		return n
	}
	up, _ := rdata.Parent(name)
	if e.aboveNode == nil || e.above != up {
		e.above, e.aboveNode = up, e.make(up)
	}
	e.attachTo(n, e.aboveNode)
	return n
}

// attachTo makes n, which did not exist, a name below above.
func (e *zoneEdit) attachTo(n, above *node) {
	if above.void {
		e.attach(above)
	}
	above.children++
	if isWildcardOf(n.name, above.name) {
		above.wild = n
	}
}

// attach makes a void node a name that exists.
func (e *zoneEdit) attach(n *node) {
	n.void = false
	e.list(n, 1)
	e.voids--
	up, _ := rdata.Parent(n.name)
	e.attachTo(n, e.make(up))
}

// own returns a node that this edit may change in place of n.
func (e *zoneEdit) own(n *node) *node {
	if n.edit == e.id {
		return n
	}
	c := *n
	c.edit, c.entries = e.id, slices.Clip(n.entries)
	e.names.Set(c.name, &c)
	if up, ok := rdata.Parent(c.name); ok && !c.void && isWildcardOf(c.name, up) && c.name != e.zone.Origin() {
		e.make(up).wild = &c
	}
	return &c
}

// remove takes an empty node away, and the names above it that become empty. One that
// has Records stays as a void node.
func (e *zoneEdit) remove(n *node) {
	if here := e.node(n.name); here != n {
		return // it went with a name below it
	}
	for n.name != e.zone.Origin() && n.empty() {
		was := n.void
		if len(n.entries) == 0 {
			e.names.Delete(n.name)
			e.voids -= btoi(was)
			e.aboveNode = nil
		} else {
			n.void = true
			e.voids += 1 - btoi(was)
		}
		if was {
			return // the names above know
		}
		up, _ := rdata.Parent(n.name)
		above := e.make(up)
		above.children--
		if isWildcardOf(n.name, up) {
			above.wild = nil
		}
		n = above
	}
}

// isWildcardOf tells whether name is *.up.
func isWildcardOf(name, up string) bool {
	return len(name) == len(up)+len(rdata.Wildcard) && name[:len(rdata.Wildcard)] == rdata.Wildcard ||
		up == "." && name == rdata.Wildcard
}
