package records

import (
	"slices"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// markAcquired has the groups made anew that have hosts with another owner on record.
func (c *contest) markAcquired() {
	if c.prev == nil {
		return
	}
	for _, host := range c.next.In.AcquiredChanged {
		if _, is := api.OfZoneKey(host); is || c.zoneOf(rdata.Base(host)) < 0 { // zones that differ for it are made anew
			continue
		}
		c.changeKnown(endpoint.GroupKey(host))
		if n := c.nodeAt(host); n != nil && slices.ContainsFunc(n.Records, c.registry.MeetsVacancy) {
			ch := c.changeOf(endpoint.GroupKey(host))
			ch.names = append(ch.names, host)
		}
	}
}

// Owner returns the object that owns the steered data of a host, which has a final dot,
// or the Zone that is served, for an api.ZoneKey; ok is false if nobody does. The elected
// replica keeps it (rule 5.4). Of records it is the registered one, while that is there, else
// the oldest of the namespace that has the name.
func (s *Snapshot) Owner(host string) (o api.Owner, ok bool) {
	if origin, is := api.OfZoneKey(host); is {
		z := s.Zone(origin)
		if z == nil || z.Origin() != origin || z.Object == nil {
			return api.Owner{}, false
		}
		return s.line(api.KindZone, &z.Object.Meta), true
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
	byAge := slices.SortedStableFunc(slices.Values(n.Records), (*endpoint.Record).Older)
	first := at.First(byAge)
	if first == nil {
		return api.Owner{}, false // the Corefile's, or nobody's
	}
	if kept, ok := s.In.Registered(host); ok {
		for _, r := range byAge {
			if !r.Beside && r.Record.SameNamespace(&first.Record.Meta) && kept.Is(r.ObjectKind(), &r.Record.Meta) {
				first = r // no line is written anew for an older one
			}
		}
	}
	return s.line(first.ObjectKind(), &first.Record.Meta), true
}

// line returns the registry's line of an object that owns a name.
func (s *Snapshot) line(kind api.Kind, m *api.Meta) api.Owner {
	o := api.Owner{Cluster: m.Cluster, Kind: kind, Name: m.Name, UID: m.UID}
	if c := s.In.Cluster(m.Cluster); c != nil && c.UID != c.Name { // else its name stands for its UID
		o.ClusterUID = c.UID
	}
	return o
}

// lineOf returns the registry's line of a contender that owns its host.
func (s *Snapshot) lineOf(who *endpoint.Contender) api.Owner {
	o := s.line(who.Kind, who.By)
	if who.Via != nil {
		o.Secret = who.Via.Secrets()[0]
	}
	return o
}
