package zone

import (
	"iter"
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/owner"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// NoteGroup notes whether the group with a name as its key has contenders that claims of others may keep out.
func (e *Edit) NoteGroup(name string, there bool) { e.noteBound(name, boundGroup, there) }

// BoundBelow returns the names at and below one of the zone's that have something which the claims of others may keep out.
func (e *Edit) BoundBelow(name string) (found []string) {
	for at := range e.boundBelow(name) {
		found = append(found, at)
	}
	return found
}

// boundBelow yields what BoundBelow returns, and what there is at each name. The body must not edit.
func (e *Edit) boundBelow(name string) iter.Seq2[string, uint8] {
	prefix := rdata.FromRoot(name)
	if name == "." {
		prefix = ""
	}
	return func(yield func(string, uint8) bool) {
		for key, parts := range e.bound.from(prefix) {
			if !strings.HasPrefix(key, prefix) || !yield(rdata.FromRoot(key), parts) {
				return
			}
		}
	}
}

// ConcernedBelow is BoundBelow without most of the names for which it makes no difference who has name or the wildcard below it, which
// have changed: claims have kept out none of their Records, and nor does the wildcard that covers them now.
func (e *Edit) ConcernedBelow(name string) (found []string) {
	if e.delegating > 0 {
		return e.BoundBelow(name)
	}
	r := e.reachBelow(name)
	for at, parts := range e.boundBelow(name) {
		special := at == name || at[0] == '*' || endpoint.Underscored(at) // these depend on more
		if special || parts != boundRecords || e.concerned(at, &r.wildcard) {
			if at[0] == '*' && at != rdata.WildcardOf(name) && e.concerned(at, &r.wildcard) {
				return e.BoundBelow(name) // it may cover others now, or no longer
			}
			found = append(found, at)
		}
	}
	return found
}

// concerned reports whether claims have kept out a Record at a name, or a wildcard may do so now.
func (e *Edit) concerned(name string, wildcard *owner.Claim) bool {
	if _, was := e.refused.Get(name); was || wildcard.By == nil {
		return was
	}
	n := e.Node(name)
	return n != nil && slices.ContainsFunc(n.Records, func(r *endpoint.Record) bool {
		if r.Record.SameNamespace(wildcard.By.By) {
			return false
		}
		who := e.claimant(r)
		return wildcard.Refuses(&who)
	})
}

// Renew has the RRsets of a name's Records made anew, and decided again what a wildcard answers for.
func (e *Edit) Renew(name string) {
	if n := e.Node(name); n != nil && (len(n.Records) > 0 || name[0] == '*') {
		e.renew(e.make(name))
	}
}

// OwnedBy returns who has a name in the zone, as far as the zone's own trees say: nil for nobody, and for one of the Records at it.
func (z *Zone) OwnedBy(name string) (own *endpoint.Contender, at []*endpoint.Record) {
	n, _ := z.Nodes.Get(name)
	by, _ := z.owned.Get(name)
	return ownedAt(n, by)
}

// OwnedBy is Zone.OwnedBy in what the edit knows now.
func (e *Edit) OwnedBy(name string) (own *endpoint.Contender, at []*endpoint.Record) {
	by, _ := e.owned.Get(name)
	return ownedAt(e.Node(name), by)
}

func ownedAt(n *Node, by Ownership) (own *endpoint.Contender, at []*endpoint.Record) {
	switch {
	case by.By != nil:
		return by.holder(n), nil
	case n == nil:
		return nil, nil
	case n.Steered.Owner != nil:
		return n.Steered.Owner, nil
	}
	return nil, n.Records
}
