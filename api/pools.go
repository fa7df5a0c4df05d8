package api

import (
	"slices"

	"github.com/coredns-kuadrant/kuadrant/internal/tree"
)

// Pools says in which namespaces of a cluster an object is the same as that of the same
// namespace/name in other clusters (rule 5.6). The zero Pools is all of them. It is never
// changed.
type Pools struct {
	// Limited is true where Namespaces are all of them.
	Limited    bool
	Namespaces []string // sorted, each once
}

// PoolsIn returns Pools of the given namespaces alone, of which there may be none.
func PoolsIn(namespaces ...string) Pools {
	return Pools{Limited: true, Namespaces: slices.Compact(slices.Sorted(slices.Values(namespaces)))}
}

// Has tells whether the objects of a namespace pool.
func (p Pools) Has(namespace string) bool {
	if !p.Limited {
		return true
	}
	_, ok := slices.BinarySearch(p.Namespaces, namespace)
	return ok
}

// Equal tells whether p and o say the same.
func (p Pools) Equal(o Pools) bool {
	return p.Limited == o.Limited && slices.Equal(p.Namespaces, o.Namespaces)
}

// Mark sets what p says about an object that nobody else knows yet.
func (p Pools) Mark(o Object) {
	m := o.Metadata()
	m.Apart = !p.Has(m.Namespace())
}

// Object is an object of any kind that a Cluster holds.
type Object interface{ Metadata() *Meta }

// Metadata implements Object for whatever embeds m.
func (m *Meta) Metadata() *Meta { return m }

// SetPools makes c one that pools in p. Objects of which that says something new are
// replaced by copies, in trees that descend from no other; they are returned, and c.Changed
// stays as it is. The objects that were there before stay as they are.
func (c *Cluster) SetPools(p Pools) (changed []Ref) {
	c.Pools = p
	for k := range NumKinds {
		kinds[k].tree.mark(c, p, func(name string) { changed = append(changed, Ref{Kind: k, Name: name}) })
	}
	return changed
}

func (at treeOf[T]) mark(c *Cluster, p Pools, changed func(name string)) {
	edit, differ := tree.Map[*T]{}.Edit(), false
	for name, object := range at(c).All() {
		if m := any(object).(Object).Metadata(); m.Apart == p.Has(m.Namespace()) {
			next := *object
			object, differ = &next, true
			p.Mark(any(object).(Object))
			changed(name)
		}
		edit.Set(name, object)
	}
	if differ {
		*at(c) = edit.Map()
	}
}
