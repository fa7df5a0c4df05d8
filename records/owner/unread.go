package owner

import (
	"maps"
	"slices"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
)

// IsUnread reports whether it is unknown if a registered owner exists: its cluster is read, but the deciding kinds have not been listed in
// its namespace. Records of a Zone may be anywhere. Once every feed has reported its cluster's UID, lines of a cluster that no feed leads
// to are void: the writer keeps them for ten minutes.
func IsUnread(in *api.Objects, key string, o api.Owner) bool {
	kinds := o.Kind.Deciding()
	if _, zone := api.OfZoneKey(key); zone {
		kinds = []api.Kind{api.KindZone}
	} else if o.Kind == api.KindZone && slices.ContainsFunc(in.Clusters, func(c *api.Cluster) bool { return lacks(c, o, api.KindRecord) }) {
		return true
	}
	if c := in.Cluster(o.Cluster); c != nil {
		return slices.ContainsFunc(kinds, func(k api.Kind) bool { return !c.Knows(k, o.Namespace()) })
	}
	return mayLead(in)
}

// mayLead reports whether some feed may lead to a cluster that is not in in: no more once every feed has reported its UID.
func mayLead(in *api.Objects) bool {
	return in.Expecting || in.Unsure || len(in.Awaited) > 0 ||
		slices.ContainsFunc(in.Clusters, func(c *api.Cluster) bool { return c.UID == "" })
}

// lacks reports whether a cluster may hold more objects of a kind, in any namespace, that matter for an owner: the unread part of a cluster
// that a Secret names matters only for its own objects (decision 26).
func lacks(c *api.Cluster, o api.Owner, kind api.Kind) bool {
	l := c.Listings[kind]
	return !l.Certain() && (l != api.NotCounted || c.Name == o.Cluster)
}

// Gone reports whether the owner in a registry line is known to be gone: it has been read, and so has everything that could still give it
// the name. known is false if no feed leads to its cluster.
func Gone(in *api.Objects, key string, o api.Owner) (gone, known bool) {
	if in.Cluster(o.Cluster) == nil {
		return false, mayLead(in)
	}
	if IsUnread(in, key, o) {
		return false, true
	}
	for _, c := range in.Clusters {
		if lacks(c, o, api.KindZone) && (c.Name != o.Cluster || !c.Knows(api.KindZone, o.Namespace())) {
			return false, true // unknown whether it may publish
		}
		for k := range api.NumKinds {
			if c.Name == o.Cluster && k.HoldsNames() && !c.Knows(k, o.Namespace()) {
				return false, true
			}
		}
	}
	return true, true
}

// AllRead reports whether all possible registered owners, of every cluster, are known.
func AllRead(in *api.Objects) bool {
	return !in.Expecting && !in.Unsure && len(in.Awaited) == 0 && !slices.ContainsFunc(in.Clusters, func(c *api.Cluster) bool {
		for k, l := range c.Listings {
			if api.Kind(k).HoldsNames() && !l.Certain() {
				return true
			}
		}
		return false
	})
}

// Lines are the registry lines whose objects cannot be read now. They are immutable.
type Lines struct {
	// Hosts are the stand-in contenders for the owners of hosts, Zones the owners of Zones by origin.
	Hosts tree.Map[*endpoint.Contender]
	Zones map[string]api.Owner
}

// Reread is a contender of Lines.Hosts that came, went, or changed; nil for none.
type Reread struct{ Was, Now *endpoint.Contender }

// FindLines returns the lines of in whose objects cannot be read now.
func FindLines(in *api.Objects) Lines {
	hosts, zones := tree.Map[*endpoint.Contender]{}.Edit(), make(map[string]api.Owner)
	for key, line := range in.Acquired.All() {
		line = in.Current(line)
		origin, zone := api.OfZoneKey(key)
		switch {
		case !IsUnread(in, key, line):
		case zone:
			zones[origin] = line
		default:
			hosts.Set(key, standIn(in, key, line))
		}
	}
	return Lines{hosts.Map(), zones}
}

// After returns the lines of in, and the differences in Hosts. l are the lines of the objects before, read equally far. Zones stay as they
// were: see ZonesAfter.
func (l Lines) After(in *api.Objects) (next Lines, differing []Reread) {
	if len(in.AcquiredChanged) == 0 {
		return l, nil
	}
	hosts := l.Hosts.Edit()
	for _, key := range in.AcquiredChanged {
		if _, zone := api.OfZoneKey(key); zone {
			continue
		}
		r := Reread{}
		r.Was, _ = hosts.Get(key)
		if line, ok := in.Line(key); ok && IsUnread(in, key, line) {
			if r.Now = standIn(in, key, line); r.Was != nil && r.Was.Kind == r.Now.Kind && sameMeta(r.Was.By, r.Now.By) {
				continue
			}
			hosts.Set(key, r.Now)
		} else {
			hosts.Delete(key)
		}
		differing = append(differing, r)
	}
	return Lines{hosts.Map(), l.Zones}, differing
}

// ZonesAfter returns Lines.Zones of in; l are the lines of the objects before.
func (l Lines) ZonesAfter(in *api.Objects) map[string]api.Owner {
	zones := maps.Clone(l.Zones)
	for _, key := range in.AcquiredChanged {
		if origin, zone := api.OfZoneKey(key); zone {
			delete(zones, origin)
			if line, ok := in.Line(key); ok && IsUnread(in, key, line) {
				zones[origin] = line
			}
		}
	}
	return zones
}

func sameMeta(a, b *api.Meta) bool {
	return a.Cluster == b.Cluster && a.Name == b.Name && a.UID == b.UID && a.Apart == b.Apart
}

// standIn returns the contender that stands for the owner of a host until it can be read. It counts as the owner, and its host is SERVFAIL
// (rule 5.4).
func standIn(in *api.Objects, host string, line api.Owner) *endpoint.Contender {
	m := in.MetaOf(line)
	return &endpoint.Contender{
		By: m, Host: host, Kind: line.Kind, Unread: true, Registered: true, Targets: &endpoint.Targets{},
	}
}
