package records

import (
	"iter"
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// sayOf are the kinds that tell whether an owner of a kind is there.
func sayOf(kind api.Kind) []api.Kind {
	switch kind {
	case api.KindDNSPolicy:
		return []api.Kind{api.KindGateway, api.KindDNSPolicy}
	case api.KindZone, api.KindRecord:
		return []api.Kind{api.KindZone, api.KindRecord}
	default:
		return []api.Kind{kind}
	}
}

// isUnread tells whether it is not known if an owner on record is there: its cluster is read,
// and the kinds that tell have not been listed in its namespace. Records of a Zone may be anywhere.
// A cluster that nothing names is gone, and its objects with it.
func isUnread(in *api.Objects, key string, o api.Owner) bool {
	kinds := sayOf(o.Kind)
	if _, zone := api.OfZoneKey(key); zone {
		kinds = []api.Kind{api.KindZone}
	} else if o.Kind == api.KindZone && slices.ContainsFunc(in.Clusters, func(c *api.Cluster) bool { return lacks(c, o, api.KindRecord) }) {
		return true
	}
	namespace, _, _ := strings.Cut(o.Name, "/")
	for _, c := range in.Clusters {
		if c.Name == o.Cluster {
			return slices.ContainsFunc(kinds, func(k api.Kind) bool { return !c.Knows(k, namespace) })
		}
	}
	return in.Expecting || in.Unsure || isNamed(in.Awaited, o.Cluster)
}

func isNamed(clusters []*api.Cluster, name string) bool {
	return slices.ContainsFunc(clusters, func(c *api.Cluster) bool { return c.Name == name })
}

// lacks tells whether a cluster may hold more objects of a kind, in any namespace, as far as that
// counts for an owner: what cannot be read of a cluster that a Secret names counts for its own
// objects alone (decision 26).
func lacks(c *api.Cluster, o api.Owner, kind api.Kind) bool {
	l := c.Listings[kind]
	return !l.Certain() && (l != api.NotCounted || c.Name == o.Cluster)
}

// Unread tells whether it is not known if an owner that is on record under a key of
// api.Objects.Acquired is there, or, of a policy that waits for Secrets with it, has that.
func (s *Snapshot) Unread(key string, o api.Owner) bool {
	return isUnread(&s.in, key, o) || s.waitsFor(key, o)
}

// UnreadOwners returns how many names and zones are on record of whose owners it is not known
// whether they are there.
func (s *Snapshot) UnreadOwners() int { return s.unread.by.Len() }

// UnreadNames yields the names that UnreadOwners counts, without a final dot, each with who it is of, in no order.
func (s *Snapshot) UnreadNames() iter.Seq2[string, Object] {
	return func(yield func(string, Object) bool) {
		for key, o := range s.unread.by.All() {
			if !yield(trimDot(nameOf(key)), Object{o.Cluster, o.Kind.String(), o.Name}) {
				return
			}
		}
	}
}

// Gone tells whether an owner that is on record under a key, and has nothing there, is known to have
// lost that for good: it has been read, and so has everything that could still give it the name. known
// is false where there is no cluster of that name.
func (s *Snapshot) Gone(key string, o api.Owner) (gone, known bool) {
	in := &s.in
	o = in.Current(o)
	if !isNamed(in.Clusters, o.Cluster) && !isNamed(in.Awaited, o.Cluster) {
		return false, in.Expecting || in.Unsure
	}
	if s.Unread(key, o) {
		return false, true
	}
	namespace, _, _ := strings.Cut(o.Name, "/")
	for _, c := range in.Clusters {
		if lacks(c, o, api.KindZone) && (c.Name != o.Cluster || !c.Knows(api.KindZone, namespace)) {
			return false, true // whether it may publish is not known
		}
		for k := range api.NumKinds {
			if c.Name == o.Cluster && k.HoldsNames() && !c.Knows(k, namespace) {
				return false, true
			}
		}
	}
	name := nameOf(key)
	return !s.keepsBack(name, finding{steered: true, within: name}), true
}

// Unserved tells whether a zone below one of the Corefile is known to be none: everything has been
// read, and no Zone has that name, or has none yet. What the Corefile itself names is another
// matter: servers with an older Corefile may serve it still.
func (s *Snapshot) Unserved(origin string) bool {
	if !s.allRead || s.Zone(origin) == nil {
		return false
	}
	if slices.ContainsFunc(s.opt.Zones, func(z ZoneOptions) bool { return z.Origin == origin }) {
		return false
	}
	for _, fates := range s.zoneSet.fates {
		for _, f := range fates {
			mayBe := f.problem == nil || f.problem.reason == reasonParentMissing || f.problem.reason == reasonParentPending
			if f.fqdn == "" && mayBe || f.fqdn == origin {
				return false
			}
		}
	}
	return true
}

// nameOf returns the name that a key of api.Objects.Acquired is about.
func nameOf(key string) string {
	if origin, is := api.OfZoneKey(key); is {
		return origin
	}
	return key
}

// allRead tells whether of every cluster all is known that owners on record may be.
func allRead(in *api.Objects) bool { return hasRead(in, api.Kind.HoldsNames) }

// hasRead tells whether of every cluster all objects are known of some kinds.
func hasRead(in *api.Objects, of func(api.Kind) bool) bool {
	return !in.Expecting && !in.Unsure && len(in.Awaited) == 0 && !slices.ContainsFunc(in.Clusters, func(c *api.Cluster) bool {
		for k, l := range c.Listings {
			if of(api.Kind(k)) && !l.Certain() {
				return true
			}
		}
		return false
	})
}

// sameReading tells whether of both as much has been read.
func sameReading(a, b *api.Objects) bool {
	same := func(a, b *api.Cluster) bool {
		return a.Name == b.Name && a.Listings == b.Listings && a.Pools.Equal(b.Pools) &&
			slices.EqualFunc(a.ListedIn[:], b.ListedIn[:], slices.Equal[[]string])
	}
	return a.Expecting == b.Expecting && a.Unsure == b.Unsure && slices.EqualFunc(a.Clusters, b.Clusters, same) && slices.EqualFunc(a.Awaited, b.Awaited, same)
}

// findUnread finds the owners on record of which it is not known whether they are there, and
// those of which that has changed. All are looked at where other kinds are listed than before.
func (c *compiler) findUnread() {
	in, before := &c.next.in, unreadOwners{}
	c.next.allRead, c.next.knowsBeside = allRead(in), knowsBeside(in)
	if c.prev != nil {
		before = c.prev.unread
	}
	if c.prev != nil && sameReading(&c.prev.in, in) {
		c.next.unread = before
		if !c.next.allRead && len(in.AcquiredChanged) > 0 {
			c.rereadChanged(before.edit())
		}
		return
	}
	if !c.next.allRead {
		edit := unreadOwners{}.edit()
		for key, o := range in.Acquired.All() {
			if o = in.Current(o); isUnread(in, key, o) {
				edit.set(key, o)
			}
		}
		c.next.unread = edit.owners()
	}
	if c.prev == nil {
		return
	}
	for key, o := range before.by.All() {
		now, ok := c.next.unread.by.Get(key)
		if !ok || now != o || !poolsOf(&c.prev.in, o.Cluster).Equal(poolsOf(in, o.Cluster)) {
			c.reread = append(c.reread, key)
		}
	}
	for key := range c.next.unread.by.All() {
		if _, ok := before.by.Get(key); !ok {
			c.reread = append(c.reread, key)
		}
	}
}

// poolsOf returns where the objects of a cluster pool.
func poolsOf(in *api.Objects, cluster string) api.Pools {
	for _, list := range [...][]*api.Cluster{in.Clusters, in.Awaited} {
		for _, c := range list {
			if c.Name == cluster {
				return c.Pools
			}
		}
	}
	return api.Pools{}
}

// rereadChanged is findUnread for the names alone that have another owner on record than before.
func (c *compiler) rereadChanged(edit *unreadEdit) {
	in := &c.next.in
	for _, key := range in.AcquiredChanged {
		o, ok := in.Registered(key)
		if edit.put(key, o, ok && isUnread(in, key, o)) {
			c.reread = append(c.reread, key)
		}
	}
	c.next.unread = edit.owners()
}

// unreadOwners are owners on record of which it is not known whether they are there.
type unreadOwners struct {
	by tree.Map[api.Owner] // as api.Objects.Acquired has them
	// above counts, by name, those whose names lie below it: it exists where one of them is there.
	above tree.Map[int]
	// klb counts those at each name that lies at or below some klb.H', as compiler.klb has Records.
	klb tree.Map[int]
}

type unreadEdit struct {
	by         *tree.Edit[api.Owner]
	above, klb *tree.Edit[int]
}

func (u unreadOwners) edit() *unreadEdit {
	return &unreadEdit{u.by.Edit(), u.above.Edit(), u.klb.Edit()}
}

func (e *unreadEdit) owners() unreadOwners {
	return unreadOwners{e.by.Map(), e.above.Map(), e.klb.Map()}
}

// count adds n to what is counted of the name of a key.
func (e *unreadEdit) count(key string, n int) {
	name := nameOf(key)
	countAbove(e.above, name, n)
	if group := groupKey(name); group != rdata.Base(name) {
		countAt(e.klb, klbKey(group, name), n)
	}
}

// countAt adds n to what is counted at a place.
func countAt(counts *tree.Edit[int], at string, n int) {
	if before, _ := counts.Get(at); before+n == 0 {
		counts.Delete(at)
	} else {
		counts.Set(at, before+n)
	}
}

// countAbove adds n to what is counted at each name above one.
func countAbove(above *tree.Edit[int], name string, n int) {
	for at, ok := rdata.Parent(name); ok; at, ok = rdata.Parent(at) {
		countAt(above, at, n)
	}
}

// put sets, or deletes, the owner of a key, and tells whether that is another than before.
func (e *unreadEdit) put(key string, o api.Owner, is bool) (changed bool) {
	before, was := e.by.Get(key)
	if is {
		e.set(key, o)
	} else {
		e.delete(key)
	}
	return was != is || is && before != o
}

func (e *unreadEdit) set(key string, o api.Owner) {
	if _, known := e.by.Get(key); !known {
		e.count(key, 1)
	}
	e.by.Set(key, o)
}

func (e *unreadEdit) delete(key string) {
	if _, known := e.by.Get(key); known {
		e.count(key, -1)
		e.by.Delete(key)
	}
}

// findUnreadZones finds the zones in which names lie whose owners are not known, or wait for Secrets.
func (c *compiler) findUnreadZones() {
	s := c.next
	if c.prev != nil && len(c.reread) == 0 && c.prev.zoneSet == s.zoneSet {
		s.unreadZones = c.prev.unreadZones
		return
	}
	if !s.withholds {
		return
	}
	names := make([]int, len(s.zoneSet.sites)) // in each zone
	s.unreadZones = make(map[string]bool)
	for i, at := range s.zoneSet.sites {
		n := s.unread.within(at.origin) + s.stalled.within(at.origin)
		names[i] += n
		if up := s.zoneSet.above(at.origin); up != nil && n > 0 {
			names[s.zoneSet.index[up.origin]] -= n
		}
	}
	for i, at := range s.zoneSet.sites {
		if names[i] > 0 {
			s.unreadZones[at.origin] = true
		}
	}
}

// within counts those whose names are at or below a name.
func (u *unreadOwners) within(name string) int {
	n, _ := u.above.Get(name)
	for _, key := range [...]string{name, api.ZoneKey(name)} {
		if _, ok := u.by.Get(key); ok {
			n++
		}
	}
	return n
}
