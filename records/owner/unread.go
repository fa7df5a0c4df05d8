package owner

import (
	"maps"
	"slices"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
)

// isUnread reports whether it is not known if an owner on record is there: its cluster is read, and the deciding kinds have
// not been listed in its namespace. Records of a Zone may be anywhere. What is on record of a cluster that nothing leads to, once
// every feed has told its UID, has gone with it: the writer keeps such lines for ten minutes.
func isUnread(in *api.Objects, key string, o api.Owner) bool {
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

// mayLead reports whether something may lead to a cluster that is not among those of in: not where every feed has told its UID.
func mayLead(in *api.Objects) bool {
	return in.Expecting || in.Unsure || len(in.Awaited) > 0 ||
		slices.ContainsFunc(in.Clusters, func(c *api.Cluster) bool { return c.UID == "" })
}

// lacks reports whether a cluster may hold more objects of a kind, in any namespace, as far as that counts for an owner: what
// cannot be read of a cluster that a Secret names counts for its own objects alone (decision 26).
func lacks(c *api.Cluster, o api.Owner, kind api.Kind) bool {
	l := c.Listings[kind]
	return !l.Certain() && (l != api.NotCounted || c.Name == o.Cluster)
}

// Gone reports whether the owner on a line of the registry is known to be gone: it has been read, and so has everything that
// could still give it the name. known is false if nothing leads to its cluster.
func Gone(in *api.Objects, key string, o api.Owner) (gone, known bool) {
	if in.Cluster(o.Cluster) == nil {
		return false, mayLead(in)
	}
	if isUnread(in, key, o) {
		return false, true
	}
	for _, c := range in.Clusters {
		if lacks(c, o, api.KindZone) && (c.Name != o.Cluster || !c.Knows(api.KindZone, o.Namespace())) {
			return false, true // whether it may publish is not known
		}
		for k := range api.NumKinds {
			if c.Name == o.Cluster && k.HoldsNames() && !c.Knows(k, o.Namespace()) {
				return false, true
			}
		}
	}
	return true, true
}

// AllRead reports whether all objects are known that may be owners on record, of every cluster.
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

// Lines are the lines of the registry whose objects cannot be read now. They are immutable.
type Lines struct {
	// Hosts are the contenders that stand for the owners of hosts, Zones the owners of Zones by their origins.
	Hosts tree.Map[*endpoint.Contender]
	Zones map[string]api.Owner
}

// Reread is a contender of Lines.Hosts that has come, gone, or changed; nil for none.
type Reread struct{ Was, Now *endpoint.Contender }

// FindLines returns the lines of in whose objects cannot be read now.
func FindLines(in *api.Objects) Lines {
	hosts, zones := tree.Map[*endpoint.Contender]{}.Edit(), make(map[string]api.Owner)
	for key, line := range in.Acquired.All() {
		line = in.Current(line)
		origin, zone := api.OfZoneKey(key)
		switch {
		case !isUnread(in, key, line):
		case zone:
			zones[origin] = line
		default:
			hosts.Set(key, standIn(in, key, line))
		}
	}
	return Lines{hosts.Map(), zones}
}

// After returns the lines of in where l are those of the objects before, with as much read, and what differs in Hosts. Zones are
// what they were: see ZonesAfter.
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
		if line, ok := in.Registered(key); ok && isUnread(in, key, line) {
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

// ZonesAfter returns Lines.Zones of in, where l are the lines of the objects before.
func (l Lines) ZonesAfter(in *api.Objects) map[string]api.Owner {
	zones := maps.Clone(l.Zones)
	for _, key := range in.AcquiredChanged {
		if origin, zone := api.OfZoneKey(key); zone {
			delete(zones, origin)
			if line, ok := in.Registered(key); ok && isUnread(in, key, line) {
				zones[origin] = line
			}
		}
	}
	return zones
}

func sameMeta(a, b *api.Meta) bool {
	return a.Cluster == b.Cluster && a.Name == b.Name && a.UID == b.UID && a.Apart == b.Apart
}

// standIn returns the contender that stands for the owner of a host until it can be read: it is the owner like any other, and its
// host is SERVFAIL (rule 5.4).
func standIn(in *api.Objects, host string, line api.Owner) *endpoint.Contender {
	m := in.MetaOf(line)
	return &endpoint.Contender{
		By: m, Host: host, Kind: line.Kind, Unread: true, Registered: true, Targets: &endpoint.Targets{},
		Policy: &api.DNSPolicy{Meta: *m}, Gateway: &api.Gateway{Meta: api.Meta{Cluster: line.Cluster}},
	}
}
