package zone

import (
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/boolean"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/owner"
	"github.com/coredns-kuadrant/kuadrant/records/pool"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

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

// renew marks a node, which this edit may change, to have its RRsets made anew.
func (e *Edit) renew(n *Node) {
	if !n.stale {
		n.stale = true
		e.stale = append(e.stale, n)
	}
}

// noteDeep notes whether a name that lies deep in the zone has Records or an owner.
func (e *Edit) noteDeep(name string) {
	if up, ok := rdata.Parent(name); !ok || name == e.Zone.Origin() || up == e.Zone.Origin() {
		return
	}
	n := e.Node(name)
	_, owned := e.owned.Get(name)
	if owned || n != nil && (len(n.Records) > 0 || n.Steered.Owner != nil && (n.Steered.Data == nil || !n.Steered.Inner())) {
		e.deep.edit().Set(rdata.FromRoot(name), struct{}{})
	} else {
		e.deep.edit().Delete(rdata.FromRoot(name))
	}
}

// reach is what is claimed below a name: all of it, by who delegates it, and what is neither addresses nor a CNAME, by the owner of the
// closest wildcard that nothing stops (rules 5.1 and 5.3).
type reach struct{ cut, wildcard owner.Claim }

// The parts of a name that others' claims may keep out: see noteBound.
const (
	boundRecords = 1 << iota
	boundGroup
	boundWildcard
)

// noteBound notes whether a name has something that the claims of others may keep out.
func (e *Edit) noteBound(name string, part uint8, there bool) {
	key := rdata.FromRoot(name)
	parts, known := e.bound.Get(key)
	next := parts &^ part
	if there {
		next |= part
	}
	switch {
	case next == parts && (known || !there):
	case next == 0:
		e.bound.edit().Delete(key)
	default:
		e.bound.edit().Set(key, next)
	}
}
