package status

import (
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
)

// wanted is a child without a name.
type wanted struct {
	kind api.Kind
	// name is the name that it would have if it were the only one; of is a text that differs from that of every other child with it.
	name, of string
	// fill fills in what it says, once it has its name.
	fill func(*api.Child)
}

// The maximum length of an object's name, and how much of a longer one remains before the hash.
const (
	maxObjectName = 253
	cutObjectName = 240
)

// names returns the two names that a child in a namespace may have: the one that it wants, "" if that is too long, and one with a hash.
func (w *wanted) names(namespace string) (plain, hashed string) {
	cut := strings.TrimRight(w.name[:min(len(w.name), cutObjectName)], "-.")
	if hashed = namespace + "/" + cut + "-" + endpoint.Hash(w.of); len(w.name) > maxObjectName {
		return "", hashed
	}
	return namespace + "/" + w.name, hashed
}

// plainNames returns the names that children in a namespace would have without any other objects.
func plainNames(all []wanted, namespace string) map[api.Ref]bool {
	taken := make(map[api.Ref]bool, len(all))
	for i := range all {
		plain, hashed := all[i].names(namespace)
		ref := api.Ref{Kind: all[i].kind, Name: plain}
		if plain == "" || taken[ref] {
			ref.Name = hashed
		}
		taken[ref] = true
	}
	return taken
}

// childNames gives an object's children their names, one after the other.
type childNames struct {
	p     *parentObject
	taken map[api.Ref]bool // by its children
	// rivals are objects that have children with names wanted here; nil for objects without children.
	rivals map[api.Ref]*rival
}

// rival is another object, with the plain names of its children.
type rival struct {
	p     *parentObject
	names map[api.Ref]bool
}

// child returns a child with its name.
func (n *childNames) child(w *wanted) api.Child {
	name, replace := n.name(w)
	ref := api.Ref{Kind: w.kind, Name: name}
	n.taken[ref] = true
	c := api.Child{
		Kind: w.kind, Name: name, Replace: replace, Labels: ownLabels,
		Owner: api.ChildOwner{Kind: n.p.kind, Name: n.p.meta.Name, UID: n.p.meta.UID},
	}
	if replace {
		c.Replaced = n.p.in.MetaOf(ref).UID
	}
	w.fill(&c)
	return c
}

// ownLabels are the labels of all children. They are read-only.
var ownLabels = map[string]string{api.LabelManagedBy: api.ManagedBy}

// name returns a child's name, and whether the object that has it now must go first: the plain name, unless that is too long or taken
// (docs/write-back.md). A child keeps the name that it has.
func (n *childNames) name(w *wanted) (name string, replace bool) {
	plain, hashed := w.names(n.p.meta.Namespace())
	if plain != "" && !n.taken[api.Ref{Kind: w.kind, Name: plain}] && !n.has(w.kind, hashed) {
		if free, replace := n.free(w.kind, plain); free {
			return plain, replace
		}
	}
	_, replace = n.free(w.kind, hashed)
	return hashed, replace
}

// has reports whether the object has a child with that name.
func (n *childNames) has(kind api.Kind, name string) bool {
	by, own, _ := n.p.object(kind, name)
	return own && n.p.controls(by)
}

// free reports whether a name is free for a child, and whether another child that has it must go.
func (n *childNames) free(kind api.Kind, name string) (free, replace bool) {
	by, own, found := n.p.object(kind, name)
	if !found || own && n.p.controls(by) {
		return true, false
	}
	of := endpoint.ParentRef(kind, n.p.meta.Namespace(), by, own)
	if of.Name == "" {
		return false, false
	}
	if r := n.rival(of); r != nil && r.p.controls(by) && r.names[api.Ref{Kind: kind, Name: name}] {
		return false, false
	}
	return true, true
}

// rival returns another object; nil for one without children. It is made once: thousands of children may need it.
func (n *childNames) rival(of api.Ref) *rival {
	r, known := n.rivals[of]
	if !known {
		if p := n.p.s.parentObject(n.p.in.Name, of); p != nil {
			r = &rival{p, plainNames(p.wanted(), p.meta.Namespace())}
		}
		n.rivals[of] = r
	}
	return r
}

// object returns the object of that kind and name; by is nil if nothing controls it, own is true if
// this server wrote it.
func (p *parentObject) object(kind api.Kind, name string) (by *api.Controller, own, found bool) {
	if kind == api.KindProbe {
		if o, ok := p.in.Probes.Get(name); ok {
			return o.Controller, o.Own(), true
		}
		return nil, false, false
	}
	if o, ok := p.in.DNSRecords.Get(name); ok {
		return o.Controller, o.Own(), true
	}
	return nil, false, false
}
