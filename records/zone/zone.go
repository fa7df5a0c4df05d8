package zone

import (
	"iter"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/boolean"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/pool"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// Zone is one served zone. It is immutable.
type Zone struct {
	endpoint.Zone
	// Fixed is what the Corefile puts into the zone, by owner name.
	Fixed map[string][]RRset
	// Nodes are the names of the zone, by owner name in lower case.
	Nodes tree.Map[*Node]
	trees
	sums
	// hash is the digest of the whole zone, including the SOA without its serial (rule 6.7).
	hash   digest
	serial uint32
	// made is the generation of the snapshot that gave the zone its content.
	made uint32
	// SOASet is the SOA RRset; Negative is the same with the TTL of negative answers (RFC 2308 §3);
	// Glue has the addresses of the zone's own name servers. All are shared and clipped. Versions
	// have the same SOA record if and only if they have the same content.
	SOASet, Negative, Glue []dns.RR
	// journal is how the zone became what it is.
	journal journal
	// publisher has the published version if a writer keeps serials; nil if none does: then the zone
	// itself is published.
	publisher *publisher
}

// trees are a zone's data beside its nodes.
type trees struct {
	// delegations are the zone's data about zones below it that are served here, by origin; copied
	// is the same by owner name.
	delegations edited[*delegation]
	copied      edited[[]RRset]
	// ownerTXTs name the owners of hosts, by owner name (rule 5.8).
	ownerTXTs edited[[]RRset]
	// owned has the owners of names whose Records belong to other objects.
	owned edited[Ownership]
	// dnames are the owner names of DNAMEs.
	dnames edited[struct{}]
	// deep are the names with Records or an owner that lie below another name of the zone than its origin, each
	// with its last label first.
	deep edited[struct{}]
	// bound are the names with something that the claims of others may keep out, each with its last label first: see Edit.NoteGroup.
	// refused has the Records that they do keep out, by owner name.
	bound   edited[uint8]
	refused edited[[]Refusal]
	// foreign are the wildcards that do not answer for names with labels that begin with _ directly below their parents, as _acme-challenge
	// there is not for their own namespaces (rule 5.9). Each has the name beside it for which that is so, "" for another reason.
	foreign edited[string]
}

// edited is a tree; in an Edit, from the first change on, its next version.
type edited[V any] struct {
	tree.Map[V]
	next *tree.Edit[V]
}

// Get returns the value at key as edited so far.
func (t edited[V]) Get(key string) (V, bool) {
	if t.next != nil {
		return t.next.Get(key)
	}
	return t.Map.Get(key)
}

// from yields the entries as edited so far whose keys are at or after key, in order. The body must not edit.
func (t edited[V]) from(key string) iter.Seq2[string, V] {
	if t.next != nil {
		return t.next.From(key)
	}
	return t.Map.From(key)
}

// edit returns the next version.
func (t *edited[V]) edit() *tree.Edit[V] {
	if t.next == nil {
		t.next = t.Map.Edit()
	}
	return t.next
}

// end makes the next version the tree.
func (t *edited[V]) end() {
	if t.next != nil {
		t.Map, t.next = t.next.Map(), nil
	}
}

// sums are the counts over a zone's names.
type sums struct {
	// content is the digest of all names.
	content digest
	// Conflicts counts the contenders on hosts of the zone that are not served because of another object's.
	Conflicts int
	// Turns counts the names at which a search leaves the zone or goes elsewhere: cuts
	// to zones that are not served here, and DNAMEs.
	Turns int
	// unserved counts the nodes of names that do not exist, Listed those that Snapshot.Names yields.
	unserved, Listed int
	// UnreadNames counts the names whose owners cannot be read now, those of zones below among them.
	UnreadNames int
	// delegating counts the NS Records below the apex, served or not. wildcards counts the names with a wildcard below them.
	delegating, wildcards int
}

// Origin returns the zone's name, in lower case with a final dot.
func (z *Zone) Origin() string { return z.Zone.Origin }

// Serial returns the serial of the SOA record in answers.
func (z *Zone) Serial() uint32 { return z.serial }

// Names returns the number of names in the zone, empty non-terminals included.
func (z *Zone) Names() int { return z.Nodes.Len() - z.unserved }

// Node is one name of a zone with its data. It is immutable once Finish has
// returned its zone.
type Node struct {
	Name string // the owner name, in lower case with a final dot
	// Static is its RRsets without the steered data, by type: those of its Records, of
	// the Corefile, and copies from zones below. It is not nil if the name exists because
	// of one of these.
	Static []RRset
	// Records are the records of objects that lie here, served or not. Steered is chosen
	// for each query.
	Records []*endpoint.Record
	Steered pool.Steered
	// digest covers all of the node's data.
	digest digest
	// wild is the node of *.name, nil for none (RFC 4592 §2.2).
	wild *Node
	// Children counts the existing names one label below, so that a name which
	// has only those is an empty non-terminal.
	Children int32
	// edit is the edit that made the node and may still change it.
	edit uint32
	// Lost counts the Records that are not served because of other data at the name.
	Lost int32
	// Cut is true if another zone served here begins: the name exists, and
	// this zone answers for DS alone at it (RFC 4035 §3.1.4.1).
	Cut bool
	// Turn is true if a search ends its way through the zone: NS records at a cut to
	// a zone that is not served here, or a DNAME.
	Turn bool
	// Unserved is true if the name does not exist: all that it has are Records that are
	// not served.
	Unserved bool
	// stale is true while Static is to be made anew.
	stale bool
}

// empty reports whether nothing stands at the node, nor below it, that is served.
func (n *Node) empty() bool {
	return n.Children == 0 && n.Static == nil && n.Steered.Owner == nil && !n.Cut
}

// Edit is the next version of a Zone while it is being made. Nodes made by
// one edit are changed in place by it; older ones are copied first.
type Edit struct {
	Zone *Zone // the version before, which stays as it is
	// names, and what is embedded, are the next versions of the zone's.
	names *tree.Edit[*Node]
	trees
	sums
	// id tells apart what this edit made.
	id uint32
	// stale are the nodes whose RRsets are to be made anew.
	stale []*Node
	// Settled are the names whose RRsets were: nothing else differs from the zone before.
	Settled []string
	// several are the names that had several Records, one of which is gone.
	several map[string]struct{}
	// gone are the Records that Sweep takes away, by name.
	gone map[string][]*endpoint.Record
	// Turned are the names that end, or ended, a search's way through the zone, and whose
	// RRsets may have changed.
	Turned []string
	// Contended are the names at which the verdicts of several Records may have changed.
	Contended []string
	// redirected are the names that dnames differs at.
	redirected []string
	// above is the name that make was last at on its way up, and its node, which
	// this edit may change: most names of a zone have one parent.
	above     string
	aboveNode *Node
	// Since returns since when a namespace has a name, as owner.Claimant has it, with a host or with Records alone; nil for the age of its
	// object.
	Since func(name string, m *api.Meta, host bool) int64
	// Options say who may publish what; nil for everybody everything.
	Options *endpoint.Options
	// reach is what is claimed below reachName, if reachable: most names of a zone have one parent.
	reach     reach
	reachName string
	reachable bool
}

// NewZone returns a zone with only the Corefile's data.
// cuts are the origins of the zones served here that begin below it.
func NewZone(at endpoint.Zone, cuts []string) *Zone {
	z := &Zone{Zone: at, Fixed: fixedSets(&at)}
	e := z.Edit(0)
	for name := range z.Fixed {
		e.renew(e.make(name))
	}
	e.renew(e.make(z.Origin()))
	for _, origin := range cuts {
		e.setCut(e.make(origin), true)
	}
	e.Settle()
	z.Nodes, z.content = e.names.Map(), e.content // the Corefile has no DNAMEs
	for _, n := range z.Nodes.All() {             // the edit did not know the cuts
		z.Listed += boolean.Int(n.Listed(z))
	}
	return z
}

// Edit begins the next version of the zone. id is that of its snapshot: no earlier edit had it.
func (z *Zone) Edit(id uint32) *Edit {
	return &Edit{Zone: z, names: z.Nodes.Edit(), trees: z.trees, sums: z.sums, id: id}
}

// Set puts steered data at name; data without an owner removes them.
func (e *Edit) Set(name string, data pool.Steered) {
	if data.Owner == nil {
		if _, ok := e.names.Get(name); !ok {
			return
		}
	}
	n := e.make(name)
	e.list(n, -1)
	e.UnreadNames -= boolean.Int(n.Unread())
	n.Steered = data
	e.UnreadNames += boolean.Int(n.Unread())
	e.list(n, 1)
	e.noteDeep(name)
	e.reachable = false
	if !e.served() && data.Owner != nil && n.Records == nil && !n.stale && !strings.HasPrefix(name, rdata.Wildcard) {
		e.settleAt(n) // the usual case: at once, while the node is in the cache
		return
	}
	e.renew(n)
}

// served reports whether a version of the zone has been served.
func (e *Edit) served() bool { return e.Zone.SOASet != nil }

// Add puts a Record at its name.
func (e *Edit) Add(r *endpoint.Record) {
	n := e.make(r.Name)
	n.Records = append(n.Records, r)
	if len(n.Records) == 1 {
		e.noteDeep(n.Name)
	}
	if r.Bound {
		e.noteBound(n.Name, boundRecords, true)
	}
	e.delegating += boolean.Int(r.IsDelegation())
	e.reachable = false
	e.renew(n)
}

// Drop marks a Record for removal from its name by Sweep.
func (e *Edit) Drop(r *endpoint.Record) {
	n := e.make(r.Name)
	if len(n.Records) > 1 {
		if e.several == nil {
			e.several = make(map[string]struct{})
		}
		e.several[n.Name] = struct{}{}
	}
	if e.gone == nil {
		e.gone = make(map[string][]*endpoint.Record)
	}
	e.gone[n.Name] = append(e.gone[n.Name], r)
	e.delegating -= boolean.Int(r.IsDelegation())
	e.renew(n)
}

// Sweep removes everything that was dropped. It looks at each name once: one object can have very many
// records there.
func (e *Edit) Sweep() {
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
		n.Records = slices.DeleteFunc(slices.Clone(n.Records), out)
		if len(n.Records) == 0 {
			n.Records = nil
			e.noteDeep(n.Name)
		}
		e.noteBound(n.Name, boundRecords, slices.ContainsFunc(n.Records, func(r *endpoint.Record) bool { return r.Bound }))
	}
	e.gone, e.reachable = nil, false
}

// list adds by to the number of listed names if n is one: -1 before n changes, and 1 after it.
func (e *Edit) list(n *Node, by int) {
	if n.Listed(e.Zone) {
		e.Listed += by
	}
}

// setCut sets whether another zone served here begins at n.
func (e *Edit) setCut(n *Node, cut bool) {
	e.list(n, -1)
	n.Cut = cut
	e.list(n, 1)
}

// Node returns the node at name as edited so far; nil for none.
func (e *Edit) Node(name string) *Node {
	n, _ := e.names.Get(name)
	return n
}

// make returns the node at name for changing. It adds missing nodes: this one, and empty
// non-terminals above it.
func (e *Edit) make(name string) *Node {
	n, ok := e.names.Get(name)
	if ok {
		return e.own(n)
	}
	n = &Node{Name: name, edit: e.id}
	e.names.Set(name, n)
	if name == e.Zone.Origin() {
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

// attachTo makes n a new name below above.
func (e *Edit) attachTo(n, above *Node) {
	if above.Unserved {
		e.attach(above)
	}
	above.Children++
	if isWildcardOf(n.Name, above.Name) {
		above.wild = n
		e.wildcards++
	}
}

// attach makes a node without served data an existing name.
func (e *Edit) attach(n *Node) {
	n.Unserved = false
	e.list(n, 1)
	e.unserved--
	up, _ := rdata.Parent(n.Name)
	e.attachTo(n, e.make(up))
}

// own returns a version of n that this edit may change.
func (e *Edit) own(n *Node) *Node {
	if n.edit == e.id {
		return n
	}
	c := *n
	c.edit, c.Records = e.id, slices.Clip(n.Records)
	e.names.Set(c.Name, &c)
	if up, ok := rdata.Parent(c.Name); ok && !c.Unserved && isWildcardOf(c.Name, up) && c.Name != e.Zone.Origin() {
		e.make(up).wild = &c
	}
	return &c
}

// remove removes an empty node, and the names above it that become empty. One with
// Records stays as a node without served data.
func (e *Edit) remove(n *Node) {
	if here := e.Node(n.Name); here != n {
		return // it was removed with a name below it
	}
	for n.Name != e.Zone.Origin() && n.empty() {
		was := n.Unserved
		if len(n.Records) == 0 {
			e.names.Delete(n.Name)
			e.unserved -= boolean.Int(was)
			e.aboveNode = nil
		} else {
			n.Unserved = true
			e.unserved += 1 - boolean.Int(was)
		}
		if was {
			return // the names above know
		}
		up, _ := rdata.Parent(n.Name)
		above := e.make(up)
		above.Children--
		if isWildcardOf(n.Name, up) {
			above.wild = nil
			e.wildcards--
		}
		n = above
	}
}

// isWildcardOf reports whether name is *.up.
func isWildcardOf(name, up string) bool {
	return len(name) == len(up)+len(rdata.Wildcard) && name[:len(rdata.Wildcard)] == rdata.Wildcard ||
		up == "." && name == rdata.Wildcard
}
