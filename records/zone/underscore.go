package zone

import (
	"cmp"
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/owner"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// owner returns the contender that owns the name of a node; nil for none. The node may be nil.
func (n *Node) owner() *endpoint.Contender {
	switch {
	case n == nil:
		return nil
	case n.Steered.Owner != nil:
		return n.Steered.Owner
	}
	return owner.OfRecords(n.Name, n.Records)
}

// aboveOf returns the owner of the name above the labels of n that begin with _, if a Record is bound to it; nil for none.
func aboveOf(n *Node, names getter[*Node], owned *edited[Ownership]) *endpoint.Contender {
	if !slices.ContainsFunc(n.Records, func(r *endpoint.Record) bool { return r.Bound }) {
		return nil // almost always
	}
	return ownerAbove(n.Name, names, owned)
}

// ownerAbove returns the owner of the name above another's labels that begin with _; if it has none, the owner of the wildcard directly
// below it; nil for none.
func ownerAbove(name string, names getter[*Node], owned *edited[Ownership]) *endpoint.Contender {
	key := endpoint.GroupKey(name)
	if by := ownerAt(key, names, owned); by != nil {
		return by
	}
	return ownerAt(rdata.WildcardOf(key), names, owned)
}

// ownerAt returns the owner of a name; nil for none.
func ownerAt(name string, names getter[*Node], owned *edited[Ownership]) *endpoint.Contender {
	if by, _ := owned.Get(name); by.By != nil {
		return by.By
	}
	n, _ := names.Get(name)
	return n.owner()
}

// renewBelow settles anew the names below one, or below a wildcard's parent, whose Records may be bound to its owner.
func (e *Edit) renewBelow(name string) {
	name = cmp.Or(rdata.Base(name), ".")
	if !e.served() || endpoint.Underscored(name) {
		return // all are new, or no Record is bound to the owner of the name
	}
	var found []string
	prefix := rdata.FromRoot(name) + "_"
	for key := range e.deep.edit().From(prefix) {
		if !strings.HasPrefix(key, prefix) {
			break
		}
		found = append(found, rdata.FromRoot(key))
	}
	if name == e.Zone.Origin() { // deep leaves out names directly below it
		for at := range e.names.From("_") {
			if !strings.HasPrefix(at, "_") {
				break
			}
			if up, _ := rdata.Parent(at); up == name {
				found = append(found, at)
			}
		}
	}
	for _, at := range found {
		if n := e.Node(at); endpoint.GroupKey(at) == name && n != nil && len(n.Records) > 0 {
			e.renew(e.make(at))
		}
	}
}
