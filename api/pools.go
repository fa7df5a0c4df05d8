package api

import (
	"iter"
	"slices"
)

// Pools says in which namespaces of a cluster an object is the same as that of the same
// namespace/name in other clusters (rule 5.6). The zero Pools is all namespaces. It is immutable.
type Pools struct {
	// Limited is true if only Namespaces pool.
	Limited    bool
	Namespaces []string // sorted, each once
}

// PoolsIn returns Pools of only the given namespaces; there may be none.
func PoolsIn(namespaces ...string) Pools {
	return Pools{Limited: true, Namespaces: slices.Compact(slices.Sorted(slices.Values(namespaces)))}
}

// Has reports whether the objects of a namespace pool.
func (p Pools) Has(namespace string) bool {
	if !p.Limited {
		return true
	}
	_, ok := slices.BinarySearch(p.Namespaces, namespace)
	return ok
}

// Equal reports whether p and o say the same.
func (p Pools) Equal(o Pools) bool {
	return p.Limited == o.Limited && slices.Equal(p.Namespaces, o.Namespaces)
}

// Mark sets p's answer in an object that nobody else knows yet.
func (p Pools) Mark(o Object) {
	m := o.Metadata()
	m.Apart = !p.Has(m.Namespace())
}

// Object is an object of any kind that a Cluster holds.
type Object interface{ Metadata() *Meta }

// Metadata implements Object for types that embed m.
func (m *Meta) Metadata() *Meta { return m }

// As renames c, and makes it pool in p. Objects that this changes are replaced by copies and returned; the originals, and c.Changed, stay
// as they are.
func (c *Cluster) As(name string, p Pools) (changed []Ref) {
	before := *c
	c.Name, c.Pools = name, p
	for k := range NumKinds {
		n := len(changed)
		for name := range before.Names(k, "") {
			if c.differs(before.MetaOf(Ref{Kind: k, Name: name})) {
				changed = append(changed, Ref{Kind: k, Name: name})
			}
		}
		c.Adopt(k, &before, func(yield func(string) bool) {
			for _, ref := range changed[n:] {
				if !yield(ref.Name) {
					return
				}
			}
		})
	}
	return changed
}

// differs reports whether m differs from what c's objects say of their cluster.
func (c *Cluster) differs(m *Meta) bool {
	return m.Cluster != c.Name || m.Apart == c.Pools.Has(m.Namespace())
}

// Adopt takes over the named objects of a kind from o. It copies an object if c's name or pools differ from the object's.
func (c *Cluster) Adopt(k Kind, o *Cluster, names iter.Seq[string]) { trees[k].adopt(c, o, names) }

func (at treeOf[T]) adopt(c, o *Cluster, names iter.Seq[string]) {
	edit := at(c).Edit()
	for name := range names {
		object, ok := at(o).Get(name)
		if !ok {
			edit.Delete(name)
			continue
		}
		if c.differs(any(object).(Object).Metadata()) {
			next := *object
			object = &next
			any(object).(Object).Metadata().Cluster = c.Name
			c.Pools.Mark(any(object).(Object))
		}
		edit.Set(name, object)
	}
	*at(c) = edit.Map()
}
