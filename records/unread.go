package records

import (
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
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
// and of its namespace the kinds that tell have not been listed. A cluster that nothing names
// is gone, and its objects with it.
func isUnread(in *api.Objects, key string, o api.Owner) bool {
	kinds := sayOf(o.Kind)
	if _, zone := api.OfZoneKey(key); zone {
		kinds = []api.Kind{api.KindZone}
	}
	namespace, _, _ := strings.Cut(o.Name, "/")
	for _, c := range in.Clusters {
		if c.Name == o.Cluster {
			return slices.ContainsFunc(kinds, func(k api.Kind) bool { return !c.Knows(k, namespace) })
		}
	}
	return in.Expecting || slices.ContainsFunc(in.Awaited, func(c *api.Cluster) bool { return c.Name == o.Cluster })
}

// Unread tells whether it is not known if an owner that is on record under a key of
// api.Objects.Acquired is there, or, of a policy that waits for Secrets, has that.
func (s *Snapshot) Unread(key string, o api.Owner) bool {
	if isUnread(&s.in, key, o) {
		return true
	}
	_, waiting := s.waiting.Get(key)
	return waiting && o.Kind == api.KindDNSPolicy && s.Waits(o.Cluster, api.Ref{Kind: o.Kind, Name: o.Name})
}

// allRead tells whether of every cluster all is known that owners on record may be.
func allRead(in *api.Objects) bool {
	return !in.Expecting && len(in.Awaited) == 0 && !slices.ContainsFunc(in.Clusters, func(c *api.Cluster) bool {
		for k, l := range c.Listings {
			if api.Kind(k).HoldsNames() && (l == api.NotListed || l == api.NotCounted) {
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
	return a.Expecting == b.Expecting && slices.EqualFunc(a.Clusters, b.Clusters, same) && slices.EqualFunc(a.Awaited, b.Awaited, same)
}

// findUnread finds the owners on record of which it is not known whether they are there, and
// those of which that has changed. All are looked at where other kinds are listed than before.
func (c *compiler) findUnread() {
	in, before := &c.next.in, tree.Map[api.Owner]{}
	if c.prev != nil {
		before = c.prev.unread
	}
	if c.prev != nil && sameReading(&c.prev.in, in) {
		c.next.unread = before
		if !allRead(in) {
			c.rereadChanged(before.Edit())
		}
		return
	}
	if !allRead(in) {
		edit := tree.Map[api.Owner]{}.Edit()
		for key, o := range in.Acquired.All() {
			if isUnread(in, key, o) {
				edit.Set(key, o)
			}
		}
		c.next.unread = edit.Map()
	}
	if c.prev == nil {
		return
	}
	for key, o := range before.All() {
		if now, ok := c.next.unread.Get(key); !ok || now != o {
			c.reread = append(c.reread, key)
		}
	}
	for key := range c.next.unread.All() {
		if _, ok := before.Get(key); !ok {
			c.reread = append(c.reread, key)
		}
	}
}

// rereadChanged is findUnread for the names alone that have another owner on record than before.
func (c *compiler) rereadChanged(edit *tree.Edit[api.Owner]) {
	in := &c.next.in
	for _, key := range in.AcquiredChanged {
		was, before := edit.Get(key)
		is, now := in.Acquired.Get(key)
		if now = now && isUnread(in, key, is); now {
			edit.Set(key, is)
		} else {
			edit.Delete(key)
		}
		if before != now || now && was != is {
			c.reread = append(c.reread, key)
		}
	}
	c.next.unread = edit.Map()
}

// markUnread has objects judged anew of whose names it has become known who has them, or
// is not known any more.
func (c *compiler) markUnread() {
	for _, key := range c.reread {
		if origin, is := api.OfZoneKey(key); is {
			c.markBelow(origin)
		} else if name, is := api.OfCutKey(key); is {
			c.markBelow(name)
		} else {
			c.markName(key)
		}
	}
}

// markBelow is markName for all names at and below one.
func (c *compiler) markBelow(name string) {
	for key := range c.prev.groups.All() {
		if IsSubdomain(name, key) {
			c.changeOf(key)
		}
	}
	for _, e := range c.prev.clusters {
		for record, at := range e.records.All() {
			if at.problem == nil && IsSubdomain(name, at.name) {
				c.restateObject(e.name, api.KindRecord, record)
			}
		}
	}
}

// markName has what is at a host judged anew, and who wants it.
func (c *compiler) markName(host string) {
	key := groupKey(host)
	if _, ok := c.prev.groups.Get(key); ok {
		c.changeOf(key)
	}
	if z := c.prev.Zone(base(host)); z != nil {
		if n, ok := z.names.Get(host); ok {
			for _, e := range n.entries {
				c.restateObject(e.record.Cluster, e.objectKind(), e.record.Name)
			}
		}
	}
}

// unreadZones returns the zones in which names lie whose owners are not known.
func (c *compiler) unreadZones() map[string]bool {
	if c.prev != nil && len(c.reread) == 0 && c.prev.zoneSet == c.next.zoneSet {
		return c.prev.unreadZones
	}
	var all map[string]bool
	for key := range c.next.unread.All() {
		name := base(key)
		if origin, is := api.OfZoneKey(key); is {
			name = origin
		} else if cut, is := api.OfCutKey(key); is {
			name = cut
		}
		if i := c.zoneOf(name); i >= 0 {
			if all == nil {
				all = make(map[string]bool)
			}
			all[c.zones[i].origin] = true
		}
	}
	return all
}
