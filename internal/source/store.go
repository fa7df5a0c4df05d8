package source

import (
	"reflect"
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
)

// clusterStore holds one cluster while a source collects it. It is not safe for concurrent use.
type clusterStore struct {
	name  string
	pools api.Pools
	kinds [api.NumKinds]collection
	last  *api.Cluster // last published; nil before the first
}

// collection holds the objects of one kind. Values are pointers to the kind's Go type.
//
// A reported removal (remove) and one inferred from a newer list (replace) are separate methods on
// purpose: rule 8.5 treats them differently.
type collection interface {
	put(name string, value any)
	remove(name string)
	// same returns the stored value of name if it equals value, else value.
	same(name string, value any) any
	// replace makes fresh the only objects with names that start with prefix.
	replace(prefix string, fresh map[string]any)
	len() int
	// publish seals the current objects, puts them into c, and adds what differs from the last time
	// to c's changes.
	publish(kind api.Kind, c *api.Cluster)
}

func newClusterStore(cluster string, pools api.Pools) *clusterStore {
	s := &clusterStore{name: cluster, pools: pools}
	for k := range s.kinds {
		s.kinds[k] = kinds[k].collect()
	}
	return s
}

// cluster returns the current state; nil if it equals the last one. progress says which cluster it
// is and how far its kinds are listed; its other fields are ignored.
func (s *clusterStore) cluster(progress *api.Cluster) *api.Cluster {
	return s.news(s.gather(), progress)
}

// gather returns the current objects, and which of them changed since the last time.
func (s *clusterStore) gather() *api.Cluster {
	c := &api.Cluster{Name: s.name, Pools: s.pools}
	for k, col := range s.kinds {
		col.publish(api.Kind(k), c)
	}
	return c
}

// news completes what gather just returned, as cluster does.
func (s *clusterStore) news(c, progress *api.Cluster) *api.Cluster {
	if s.last == nil { // everything is new, whenever it was gathered
		c.Changed, c.Inferred = nil, nil
		for k := range api.NumKinds {
			for name := range c.Names(k, "") {
				c.Changed = append(c.Changed, api.Ref{Kind: k, Name: name})
			}
		}
	}
	c.UID, c.Listings, c.ListedIn = progress.UID, progress.Listings, progress.ListedIn
	if s.last != nil && len(c.Changed) == 0 && s.last.UID == c.UID && s.last.Listings == c.Listings &&
		slices.EqualFunc(s.last.ListedIn[:], c.ListedIn[:], slices.Equal[[]string]) {
		return nil
	}
	s.last = c
	return c
}

// objects implements collection for objects of type T.
type objects[T any] struct {
	published tree.Map[*T]   // as published last
	now       tree.Map[*T]   // valid while edit is nil
	edit      *tree.Edit[*T] // the version after now; nil for none
	// touched has the names that were put or removed since published. A value is true if the name
	// was removed last, and that removal was not reported.
	touched map[string]bool
	// unseen has names that were published as gone without a reported deletion, at most maxUnseen:
	// a report that comes later is passed on.
	unseen map[string]struct{}
}

// maxUnseen bounds unseen. Later reports of names beyond it are not passed on, so that their
// removal is held for the full time (rule 8.5).
const maxUnseen = 100_000

func (o *objects[T]) get(name string) (*T, bool) {
	if o.edit != nil {
		return o.edit.Get(name)
	}
	return o.now.Get(name)
}

func (o *objects[T]) len() int {
	if o.edit != nil {
		return o.edit.Len()
	}
	return o.now.Len()
}

// touch returns the edit, for a change of the object called name.
func (o *objects[T]) touch(name string) *tree.Edit[*T] {
	if o.edit == nil {
		o.edit = o.now.Edit()
	}
	if o.touched == nil {
		o.touched = make(map[string]bool)
	}
	o.touched[name] = false
	return o.edit
}

// seal ends the edit, and returns all objects.
func (o *objects[T]) seal() tree.Map[*T] {
	if o.edit != nil {
		o.now, o.edit = o.edit.Map(), nil
	}
	return o.now
}

// put does nothing if value equals the stored object. Most updates change fields that are not kept
// (managedFields, heartbeats), and a list repeats everything: only a real difference counts as a
// change.
func (o *objects[T]) put(name string, value any) {
	fresh := o.same(name, value).(*T)
	if old, ok := o.get(name); !ok || old != fresh {
		o.touch(name).Set(name, fresh)
	}
}

func (o *objects[T]) same(name string, value any) any {
	if old, ok := o.get(name); ok && equal(old, value.(*T)) {
		return old
	}
	// The object was away for a moment, and nobody saw that.
	if old, ok := o.published.Get(name); ok && equal(old, value.(*T)) {
		return old
	}
	return value
}

func equal[T any](a, b *T) bool { return a == b || reflect.DeepEqual(a, b) }

func (o *objects[T]) remove(name string) {
	if _, ok := o.get(name); ok {
		o.touch(name).Delete(name)
	}
	o.report(name)
}

// report records that the deletion of an object that is gone was reported.
func (o *objects[T]) report(name string) {
	_, touched := o.touched[name]
	if _, unseen := o.unseen[name]; touched || unseen {
		o.touch(name)
	}
}

// infer removes an object without a reported deletion.
func (o *objects[T]) infer(name string) {
	if _, ok := o.get(name); ok {
		o.touch(name).Delete(name)
		o.touched[name] = true
	}
}

func (o *objects[T]) replace(prefix string, fresh map[string]any) {
	for name := range o.seal().From(prefix) {
		if !strings.HasPrefix(name, prefix) {
			break
		}
		if _, ok := fresh[name]; !ok {
			o.infer(name)
		}
	}
	for name, value := range fresh {
		o.put(name, value)
	}
}

func (o *objects[T]) publish(kind api.Kind, c *api.Cluster) {
	now := o.seal()
	for name, inferred := range o.touched {
		before, was := o.published.Get(name)
		after, is := now.Get(name)
		_, unseen := o.unseen[name]
		ref := api.Ref{Kind: kind, Name: name}
		switch {
		case was && !is && inferred:
			c.Inferred = append(c.Inferred, ref)
			o.miss(name)
		case is || !inferred:
			delete(o.unseen, name)
		}
		if before != after || unseen && !is && !inferred {
			c.Changed = append(c.Changed, ref)
		}
	}
	o.published, o.touched = now, nil
	*api.TreeOf[T](c, kind) = now
}

// miss records that an object is published as gone without a reported deletion.
func (o *objects[T]) miss(name string) {
	if o.unseen == nil {
		o.unseen = make(map[string]struct{})
	}
	if len(o.unseen) < maxUnseen {
		o.unseen[name] = struct{}{}
	}
}
