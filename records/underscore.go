package records

import (
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// Names with labels that begin with _ directly below a name that a namespace has, such as _acme-challenge.www, are for that
// namespace, the administering one, and those that a pattern which begins with _ names (rule 5.9).

// owner returns the claim that has the name of a node, which may be nil; nil for none.
func (n *node) owner() *endpoint.Claim {
	if n != nil && n.steered.owner != nil {
		return n.steered.owner
	}
	return n.entriesOwner()
}

// entriesOwner is the same where no claim has the name. Other data of the administering namespace own nothing (rule 5.3).
func (n *node) entriesOwner() *endpoint.Claim {
	if n == nil {
		return nil
	}
	var first *endpoint.Record
	for _, e := range n.entries {
		if !e.Beside && (first == nil || e.Older(first) < 0) {
			first = e
		}
	}
	if first == nil {
		return nil
	}
	return &endpoint.Claim{By: &first.Record.Meta, Kind: first.ObjectKind(), Host: n.name, RType: first.RR.Header().Rrtype}
}

// strange reports whether an object may not publish at a name which bound is true of: another namespace than its own has the
// name above, for owner.
func strange(owner *endpoint.Claim, m *api.Meta) bool {
	return owner != nil && !owner.By.SameNamespace(m)
}

// aboveOf returns the owner of the name above the labels of n that begin with _, where an entry is bound to it; nil for none.
func aboveOf(n *node, names getter[*node], barred getter[bar]) *endpoint.Claim {
	if !slices.ContainsFunc(n.entries, func(e *endpoint.Record) bool { return e.Bound }) {
		return nil // by far the most
	}
	if by, _ := barred.Get(endpoint.GroupKey(n.name)); by.by != nil {
		return by.by
	}
	above, _ := names.Get(endpoint.GroupKey(n.name))
	return above.owner()
}

// notBelow says that a name belongs to the namespace of the owner of the one above.
func notBelow(owner *endpoint.Claim, m *api.Meta) *endpoint.Problem {
	return endpoint.Problemf(endpoint.ReasonConflicted, "names that begin with _ below %s are for the namespace that has it, that of %s %s",
		endpoint.TrimDot(owner.Host), owner.Kind, endpoint.InCluster(owner.By, m))
}

// renewBelow has the names below one settled anew at which entries may be bound to its owner.
func (e *zoneEdit) renewBelow(name string) {
	if !e.served() || endpoint.Underscored(name) {
		return // all are new, or no entry is bound to who has the name
	}
	var found []string
	if name == e.zone.Origin() { // deep leaves out those that lie directly below it
		for _, prefix := range [...]string{"_", rdata.Wildcard + "_"} {
			for at := range e.names.From(prefix) {
				if !strings.HasPrefix(at, prefix) {
					break
				}
				found = append(found, at)
			}
		}
	} else {
		deep, prefix := e.deep, fromRoot(name)+"_"
		if deep == nil {
			deep = e.zone.deep.Edit()
		}
		for key := range deep.From(prefix) {
			if !strings.HasPrefix(key, prefix) {
				break
			}
			found = append(found, fromRoot(key))
		}
	}
	for _, at := range found {
		if n := e.node(at); endpoint.GroupKey(at) == name && n != nil && len(n.entries) > 0 {
			e.renew(e.make(at))
		}
	}
}
