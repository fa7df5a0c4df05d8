package records

import (
	"iter"
	"slices"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/owner"
	"github.com/coredns-kuadrant/kuadrant/records/zone"
)

// Owners yields the hosts of a group with their owners (see Groups and Renewed), in the form of Owner: what the elected replica keeps in
// api.Objects.Acquired (rule 5.4). Compiling the same objects with them gives the same owners. It leaves out the names of chains, which go
// with their hosts, those of Records that no other object wants, and owners that cannot be read. A missing group has none.
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

// ZoneOwners yields, in the form of Owner, the Zone served under a name, by api.ZoneKey, and the owners of names at which several
// namespaces may publish records: the rest of api.Objects.Acquired.
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

// NameOf returns the owner name of a Record among the Zones of the snapshot, in lower case with a final dot; "" if it has none.
func (s *Snapshot) NameOf(rec *api.Record) string { return s.Table.NameOf(rec) }

// Resolved returns the zones as they were resolved from Zones and the Corefile.
func (s *Snapshot) Resolved() *endpoint.Zones { return s.Table }

// Below yields the owners at and below a name in the zone that it lies in, in the form of Owner.
func (s *Snapshot) Below(name string) iter.Seq2[string, api.Owner] {
	return func(yield func(string, api.Owner) bool) {
		z := s.Zone(name)
		if z == nil {
			return
		}
		if o, ok := s.Owner(name); ok && !yield(name, o) {
			return
		}
		for at := range z.DeepBelow(name) {
			if o, ok := s.Owner(at); ok && at != name && !yield(at, o) {
				return
			}
		}
	}
}

// recordOwners yields the owners of names in a zone at which several namespaces may publish records; those of hosts are among Owners.
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

// onRecord reports whether the registry has an object under a key.
func (s *Snapshot) onRecord(key string, kind api.Kind, m *api.Meta) bool {
	o, ok := s.In.Registered(key)
	return ok && o.Is(kind, m)
}
