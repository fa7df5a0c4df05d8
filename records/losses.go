package records

import (
	"iter"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// Loss is how many names with data a zone had, and which of them are in no zone any more.
type Loss struct {
	Names int
	Gone  []string
}

// Losses returns what after lacks of the names with data in s, by the origins of the zones
// in s that lose any. Names with data are the hosts of policies and the names of Records,
// DNSRecords and DNSEndpoints; the names of chains (rule 2.3), empty non-terminals and what
// the Corefile puts into a zone do not count. It takes time in proportion to the names of
// the zones that differ.
func (s *Snapshot) Losses(after *Snapshot) map[string]Loss {
	losses := make(map[string]Loss)
	for i, z := range s.zones {
		if i < len(after.zones) && after.zones[i] == z {
			continue
		}
		l := Loss{}
		for name, n := range z.names.All() {
			if !n.hasData() {
				continue
			}
			if l.Names++; !after.HasData(name) {
				l.Gone = append(l.Gone, name)
			}
		}
		if len(l.Gone) > 0 {
			losses[z.origin] = l
		}
	}
	return losses
}

// HasData tells whether name is one with data, as Losses counts them. It is in lower case
// with a final dot.
func (s *Snapshot) HasData(name string) bool {
	z := s.Zone(name)
	if z == nil {
		return false
	}
	n, ok := z.names.Get(name)
	return ok && n.hasData()
}

// hasData tells whether an object has data at the node: as a host, or as Records that are
// served.
func (n *node) hasData() bool {
	if n.void {
		return false
	}
	if len(n.entries) > int(n.lost) {
		return true
	}
	s := &n.steered
	return s.owner != nil && !(s.view != nil && s.view.inner) && !(s.set != nil && s.set.leaf)
}

// NamesOf yields the names at which there may be data for as long as s has an object: the
// hosts that its listeners or endpoints claim, the names of its records, and of a Zone all
// that are in it and below it. Some may come twice; those of a Secret or a probe are not
// known.
func (s *Snapshot) NamesOf(cluster string, ref api.Ref) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i, c := range s.clusters {
			if c.name == cluster {
				s.namesOf(i, c, ref, yield)
				return
			}
		}
	}
}

func (s *Snapshot) namesOf(i int, c *clusterState, ref api.Ref, yield func(string) bool) {
	key := ref.Name
	switch ref.Kind {
	case api.KindDNSPolicy:
		p, ok := s.in.Clusters[i].Policies.Get(ref.Name)
		if !ok {
			return
		}
		key = p.TargetName()
	case api.KindDNSRecord, api.KindDNSEndpoint:
		key = publisherKey(ref.Kind, ref.Name)
	case api.KindRecord:
		if e, ok := c.records.Get(ref.Name); ok && e.rr != nil {
			yield(e.name)
		}
		return
	case api.KindZone:
		if f := s.zoneSet.fates[i][ref.Name]; f != nil && f.fqdn != "" {
			s.namesUnder(f.fqdn, yield)
		}
		return
	case api.KindGateway:
	default:
		return
	}
	t, ok := c.targets.Get(key)
	if !ok {
		return
	}
	for _, cl := range t.claims {
		if !yield(cl.host) {
			return
		}
		for _, o := range cl.offers {
			if !yield(o.name) {
				return
			}
		}
	}
	if t.publisher == nil {
		return
	}
	for _, e := range t.publisher.entries {
		if !yield(e.name) {
			return
		}
	}
}

// namesUnder yields the names with data in the zones at or below origin.
func (s *Snapshot) namesUnder(origin string, yield func(string) bool) {
	for _, z := range s.zones {
		if !rdata.IsSubdomain(origin, z.origin) {
			continue
		}
		for name, n := range z.names.All() {
			if n.hasData() && !yield(name) {
				return
			}
		}
	}
}
