package records

import (
	"slices"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// markLines has the groups resolved anew of hosts with another line in the registry than before.
func (r *resolver) markLines(changed []string) {
	if r.anew {
		return
	}
	for _, host := range changed {
		if _, is := api.OfZoneKey(host); is || r.zones.indexOf(rdata.Base(host)) < 0 { // Zones that this affects are made anew
			continue
		}
		r.dirty.knownGroup(endpoint.GroupKey(host))
		r.dirty.noteLine(host)
		if n := r.zones.node(host); n != nil && slices.ContainsFunc(n.Records, r.registry.MeetsReserved) {
			r.dirty.contend(host)
		}
	}
}

// Owner returns the object that owns the steered data of a host, which has a final dot, or, for an
// api.ZoneKey, the Zone served; ok is false if nobody does. The elected replica keeps it (rule
// 5.4). For records it is the registered one, while that exists, else the oldest of the owning
// namespace.
func (s *Snapshot) Owner(host string) (o api.Owner, ok bool) {
	if origin, is := api.OfZoneKey(host); is {
		z := s.Zone(origin)
		if z == nil || z.Origin() != origin || z.Object == nil {
			return api.Owner{}, false
		}
		return s.line(host, api.KindZone, &z.Object.Meta), true
	}
	z := s.Zone(rdata.Base(host))
	if z == nil {
		return api.Owner{}, false
	}
	n := z.Node(host)
	if n == nil || n.Unread() {
		return api.Owner{}, false
	}
	if n.Steered.Owner != nil {
		return s.lineOf(n.Steered.Owner), true
	}
	at := z.Others(n)
	if by := at.By; by != nil && !by.Static {
		return s.lineOf(by), true // it has the name, but cannot be served there
	}
	byAge := slices.SortedStableFunc(slices.Values(n.Records), (*endpoint.Record).Older)
	first := at.First(byAge)
	if first == nil {
		return api.Owner{}, false // the Corefile's, or nobody's
	}
	if kept, ok := s.In.Registered(host); ok {
		for _, r := range byAge {
			if !r.Beside && r.Record.SameNamespace(&first.Record.Meta) && kept.Is(r.ObjectKind(), &r.Record.Meta) {
				first = r // an older one does not rewrite the line
			}
		}
	}
	return s.line(host, first.ObjectKind(), &first.Record.Meta), true
}

// Incumbent implements api.Incumbents. Of several objects of the owning namespace that want a host it returns the one that goes first,
// served or not: when the same objects are compiled again, it does so again.
func (s *Snapshot) Incumbent(key string) (o api.Owner, ok bool) {
	if o, ok = s.Owner(key); !ok || o.Kind == api.KindZone {
		return o, ok
	}
	z := s.Zone(rdata.Base(key))
	if by := z.Others(z.Node(key)).By; by != nil {
		return s.lineOf(by), true
	}
	return o, ok
}

// line returns the registry line of an object that owns the name under a key.
func (s *Snapshot) line(key string, kind api.Kind, m *api.Meta) api.Owner {
	o := api.Owner{Cluster: m.Cluster, Kind: kind, Name: m.Name, UID: m.UID}
	if c := s.In.Cluster(m.Cluster); c != nil && c.UID != c.Name { // otherwise its name stands for its UID
		o.ClusterUID = c.UID
	}
	switch line, ok := s.In.Registered(key); {
	case ok && s.In.MetaOf(line).SameNamespace(m):
		o.Since = line.Since
	case s.In.Acquired.Len() > 0: // its namespace has just got the name
		o.Since = s.made
	}
	return o
}

// lineOf returns the registry line of a contender that owns its host.
func (s *Snapshot) lineOf(who *endpoint.Contender) api.Owner {
	o := s.line(who.Host, who.Kind, who.By)
	if who.Via != nil {
		o.Secret = who.Via.Secrets()[0]
	}
	return o
}
