package engine

import (
	"iter"
	"slices"
	"sync/atomic"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// cluster is a UID with what its feeds report. Each kind comes from the first feed that has listed it; until then, the last known
// objects stand in. The engine's mu guards it.
type cluster struct {
	// now is the newest state; its Changed counts from the last compile.
	now   *api.Cluster
	feeds []*feed // those of now, in order; none if nothing reads the cluster any more
	kinds [api.NumKinds]kindState
	// identity is the identity of the source that names the cluster, or the one in the state on disk.
	identity string
	// bySecret is true if only Secrets name the cluster, no line of the Corefile.
	bySecret bool
	// awaits are the feeds that must list this cluster's kinds before it goes: they replace it.
	awaits []*feed
	// heard is when the feeds last reported, if something comes from the state on disk.
	heard    time.Time
	compiled bool // at least once
	// gone is set once the cluster's last Secret has gone: the Epoch of the cluster without objects.
	gone uint64
}

// kindState says where the objects of one kind of a cluster come from.
type kindState struct {
	from *feed // the feed that answers; nil if the last known objects stand in
	part *feed // a feed that has listed some objects, or reports changes, while others stand in
	// origin says which server the objects come from, and how they are selected there.
	origin string
	own    bool // the tree is not shared with the feed
	old    bool // the objects that stand in come from the state on disk
}

// origins are the origins of a cluster's kinds.
type origins [api.NumKinds]string

// epochs counts the restarts of clusters' lists of changes.
var epochs atomic.Uint64

// newCluster returns a cluster without objects.
func newCluster(uid, name string) *cluster {
	return &cluster{now: &api.Cluster{Name: name, UID: uid, Epoch: epochs.Add(1)}}
}

// known reports whether anything of c has been read.
func known(c *api.Cluster) bool { return c.UID != "" }

// merge sets now to what feeds report, in their order; there is at least one. news is the feed that has just
// published, nil for none.
func (c *cluster) merge(feeds []*feed, news *feed) {
	next, first := *c.now, feeds[0]
	c.feeds = feeds
	if c.bySecret && first.of == nil {
		// A read with a Secret's rights never replaces the Corefile's.
		next = api.Cluster{UID: next.UID, Changed: next.Changed, Inferred: next.Inferred}
		c.kinds = [api.NumKinds]kindState{}
	}
	c.bySecret = first.of != nil
	anew := next.Name != first.name || !next.Pools.Equal(first.pools)
	if anew {
		next.As(first.name, first.pools)
	}
	next.Group = first.group
	for _, f := range feeds {
		if f.last != nil {
			c.identity = f.source.Identity()
			break
		}
	}
	for k := range api.NumKinds {
		s := &c.kinds[k]
		if f := c.answers(feeds, k); f != nil {
			anew = s.follow(&next, f, k, news) || anew
		} else {
			anew = s.standIn(&next, feeds, k, news) || anew
		}
		if l := &next.Listings[k]; k.HoldsNames() && c.bySecret && *l == api.NotListed {
			// A wrong Secret, or a right missing there, must not keep every name from being denied.
			*l = api.NotCounted
		}
	}
	if anew {
		next.Epoch = epochs.Add(1)
	}
	if news != nil {
		changed := api.Cluster{Changed: c.spoken(news, news.last.Changed), Inferred: c.spoken(news, news.last.Inferred)}
		changed.After(next.Changed, next.Inferred)
		next.Changed, next.Inferred = changed.Changed, changed.Inferred
	}
	c.now = &next
}

// answers returns the feed that a kind comes from; nil for the last known objects. A kind that was not found
// recently counts as listed, but does not undo what was known.
func (c *cluster) answers(feeds []*feed, k api.Kind) *feed {
	for _, f := range feeds {
		if f.last == nil {
			continue
		}
		l := f.last.Listings[k]
		if l.Certain() || c.kinds[k].from == f || l.Complete() && c.now.Count(k) == 0 {
			return f
		}
	}
	return nil
}

// spoken returns the refs of kinds that a feed reports on.
func (c *cluster) spoken(f *feed, refs []api.Ref) (all []api.Ref) {
	for _, ref := range refs {
		if s := &c.kinds[ref.Kind]; s.from == f || s.part == f {
			all = append(all, ref)
		}
	}
	return all
}

// follow takes next's objects of a kind from a feed, and reports whether they came from another one before.
func (s *kindState) follow(next *api.Cluster, f *feed, k api.Kind, news *feed) (anew bool) {
	anew = s.from != f
	switch {
	case f.name == next.Name && f.pools.Equal(next.Pools):
		next.Share(k, f.last)
		s.own = false
	case anew || !s.own:
		next.Share(k, new(api.Cluster))
		next.Adopt(k, f.last, f.last.Names(k, ""))
		s.own, anew = true, true
	case news == f:
		next.Adopt(k, f.last, changedOfKind(f.last, k))
	}
	s.from, s.part, s.old, s.origin = f, nil, false, f.source.Identity()+" "+f.selection
	next.Listings[k], next.ListedIn[k] = f.last.Listings[k], f.last.ListedIn[k]
	return anew
}

// standIn keeps the known objects of a kind, and adds what a feed has or reports. Objects missing there stay until a feed has
// listed the kind. It reports whether more than the reported objects may have changed.
func (s *kindState) standIn(next *api.Cluster, feeds []*feed, k api.Kind, news *feed) (anew bool) {
	s.from = nil
	i := slices.IndexFunc(feeds, func(f *feed) bool { return f.last != nil })
	if i < 0 {
		s.part = nil
		return false
	}
	f := feeds[i]
	if anew = s.part != f; anew {
		next.Adopt(k, f.last, f.last.Names(k, ""))
	}
	if news == f {
		next.Adopt(k, f.last, changedOfKind(f.last, k))
	}
	if s.part = f; !next.Listings[k].Certain() {
		next.ListedIn[k] = slices.Compact(slices.Sorted(slices.Values(slices.Concat(f.last.ListedIn[k], next.ListedIn[k]))))
	}
	return anew
}

// changedOfKind yields the names of the objects of a kind that have changed.
func changedOfKind(c *api.Cluster, k api.Kind) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, r := range c.Changed {
			if r.Kind == k && !yield(r.Name) {
				return
			}
		}
	}
}

// leaveOut forgets the kinds that are no longer read.
func (c *cluster) leaveOut(watches func(api.Kind) bool) {
	next := *c.now
	for k := range api.NumKinds {
		if !watches(k) && next.Listings[k] != api.NotWatched {
			next.Share(k, new(api.Cluster))
			next.Listings[k], next.ListedIn[k], next.Epoch = api.NotWatched, nil, epochs.Add(1)
			c.kinds[k] = kindState{}
		}
	}
	c.now = &next
}

// goOn says that the cluster has a feed, or may have one again. Its objects are new to the compile if it had none.
func (c *cluster) goOn() {
	if c.gone != 0 {
		next := *c.now
		next.Epoch = epochs.Add(1)
		c.now, c.gone = &next, 0
	}
}

// withoutObjects returns the cluster as it is once its last Secret has gone: every list lacks everything.
func (c *cluster) withoutObjects() *api.Cluster {
	next := *c.now
	next.Epoch = c.gone
	for k := range api.NumKinds {
		next.Share(k, new(api.Cluster))
	}
	return &next
}

// fromState reports whether any part of the cluster comes from the state on disk.
func (c *cluster) fromState() bool {
	return slices.ContainsFunc(c.kinds[:], func(s kindState) bool { return s.old && s.from == nil })
}

// replaces reports whether c has listed every kind with names that o has objects of.
func replaces(c, o *api.Cluster) bool {
	for k := range api.NumKinds {
		if k.HoldsNames() && !c.Listings[k].Certain() && o.Count(k) > 0 {
			return false
		}
	}
	return true
}
