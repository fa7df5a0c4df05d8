package records

import (
	"iter"
	"slices"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/owner"
	"github.com/coredns-kuadrant/kuadrant/records/zone"
)

// Owners yields the hosts of a group with their owners (see Groups and Renewed), as Owner says it: what the elected replica
// keeps in api.Objects.Acquired (rule 5.4). Compiling the same objects with them has the same owners. Left out are the
// names of chains, which go with their hosts, those of Records that no other object wants, and owners that cannot be
// read. For a group that is not there, there are none.
func (s *Snapshot) Owners(group string) iter.Seq2[string, api.Owner] {
	return func(yield func(string, api.Owner) bool) {
		g, ok := s.NameGroups.Get(group)
		if !ok {
			return
		}
		for _, on := range owner.ByHost(g.Contenders) {
			if o, ok := s.Owner(on[0].Host); ok && !yield(on[0].Host, o) {
				return
			}
		}
	}
}

// ZoneOwners yields who is served as the zone of a name, by api.ZoneKey, and who has the names of records that several
// namespaces may publish, as Owner says it: what else api.Objects.Acquired is to have.
func (s *Snapshot) ZoneOwners() iter.Seq2[string, api.Owner] {
	return func(yield func(string, api.Owner) bool) {
		for _, z := range s.Served {
			key := api.ZoneKey(z.Origin())
			o, ok := s.Owner(key)
			if ok && (s.allRead || s.onRecord(key, o.Kind, &api.Meta{Cluster: o.Cluster, Name: o.Name, UID: o.UID})) && !yield(key, o) {
				return
			}
		}
		for _, z := range s.Served {
			if !s.recordOwners(z, yield) {
				return
			}
		}
	}
}

// recordOwners yields who has the names of records in a zone that several namespaces may publish; those of hosts are
// among Owners.
func (s *Snapshot) recordOwners(z *zone.Zone, yield func(string, api.Owner) bool) bool {
	shared := s.Opt.Sharing(&z.Zone)
	for name, n := range z.Nodes.All() {
		if len(n.Records) == 0 || !shared(name) {
			continue
		}
		at := func(c *endpoint.Contender) bool { return c.Host == name }
		if g, ok := s.NameGroups.Get(endpoint.GroupKey(name)); ok && slices.ContainsFunc(g.Contenders, at) {
			continue
		}
		if o, ok := s.Owner(name); ok && !yield(name, o) {
			return false
		}
	}
	return true
}

// onRecord reports whether an object is on record under a key.
func (s *Snapshot) onRecord(key string, kind api.Kind, m *api.Meta) bool {
	o, ok := s.In.Registered(key)
	return ok && o.Is(kind, m)
}
