package status

import (
	"iter"
	"slices"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/owner"
	"github.com/coredns-kuadrant/kuadrant/records/pool"
	"github.com/coredns-kuadrant/kuadrant/records/zone"
)

// View is the state of all objects at one moment. It is immutable except for the health cells that it points to.
type View struct {
	// In and Opt are its input.
	In  api.Objects
	Opt *endpoint.Options
	// Table says which zones are served; views with the same zones share it. Served has them in its order.
	Table      *endpoint.Zones
	Served     []*zone.Zone
	Clusters   []*Cluster
	NameGroups tree.Map[*NameGroup]
	Checked    pool.Checks
	// Activity says which groups of clusters are active, by the origin of the zone; nil if no cluster has a group.
	Activity map[string]Activity
}

// Activity says which groups of clusters are active in a zone (rule 9.5).
type Activity struct {
	// Active are the last groups that could be read; nil for all.
	Active *api.ActiveGroups
	// Alias is the target of a CNAME in place of the TXT record, whose groups Objects.GroupTexts has; "" for none.
	Alias string
	// Problem says why the groups that are there now cannot be read; "" for nothing.
	Problem string
}

// Contenders yields the contenders of a namespace; of all if that is "".
func (c *Cluster) Contenders(namespace string) iter.Seq[*endpoint.Contender] {
	prefix := namespace + "/"
	if namespace == "" {
		prefix = ""
	}
	return Contenders(c.Targets.Beginning(prefix), c.Published.Beginning(prefix))
}

// Contenders yields the contenders of Gateways and publications.
func Contenders(targets iter.Seq2[string, *endpoint.Target], published iter.Seq2[string, *endpoint.Publication]) iter.Seq[*endpoint.Contender] {
	return func(yield func(*endpoint.Contender) bool) {
		for _, t := range targets {
			for _, who := range t.Contenders {
				if !yield(who) {
					return
				}
			}
		}
		for _, p := range published {
			for _, who := range p.Contenders {
				if !yield(who) {
					return
				}
			}
		}
	}
}

// Cluster is what is kept of one cluster between compiles.
type Cluster struct {
	Name, UID string
	Targets   tree.Map[*endpoint.Target]      // by the Gateway's namespace/name
	Published tree.Map[*endpoint.Publication] // by endpoint.PublicationKey
	Verdicts  tree.Map[*api.Verdict]          // by the policy's namespace/name
	Records   tree.Map[*endpoint.Record]      // by the Record's namespace/name
	Unplaced  int                             // how many Records have a problem
	// RefusedPublishers counts the objects with endpoints that are not served, by kind.
	RefusedPublishers [api.NumKinds]int
	// Probes are the usable probes, Offspring the existing children.
	Probes    pool.ProbeIndex
	Offspring offspring
	// accepted and refused count the policies by their verdict.
	accepted, refused int
}

// Cluster returns what is kept of a cluster, by its name; empty for one that is not read.
func (s *View) Cluster(name string) *Cluster {
	if i := s.In.Place(name); i >= 0 {
		return s.Clusters[i]
	}
	return new(Cluster)
}

// NameGroup is the contenders that may meet at names, and the result.
type NameGroup struct {
	owner.Group
	Notes map[*endpoint.Contender][]api.Condition // nil for none
	// Dropped counts a contender's endpoints that give way to others'; nil for none.
	Dropped   map[*endpoint.Contender]int
	Names     []string // names with data of the group
	OwnerTXTs []string // names of the TXT records that name owners
	Owned     []string // other names of its contenders: Records are not served there
	Checks    []string // keys of their targets, once for each use
}

// Zone returns the zone with the longest origin that contains name; nil for none. name is in lower case with a final dot.
func (s *View) Zone(name string) *zone.Zone {
	if i := endpoint.ClosestOrigin(s.Table.Index, name); i >= 0 {
		return s.Served[i]
	}
	return nil
}

// ZoneOf returns the zone that answers for a type at a name; nil for none. For DS at a zone's origin it is the zone above, if that is
// served here (RFC 4035 §3.1.4.1).
func (s *View) ZoneOf(name string, rtype uint16) *zone.Zone {
	if rtype == dns.TypeDS {
		if up := s.Table.Above(name); up != nil {
			return s.Zone(up.Origin)
		}
	}
	return s.Zone(name)
}

// Verdicts returns how many objects of a kind are accepted, and how many are not; ok is false if
// the kind has no verdicts. A Record that is not served because of another object counts as
// accepted: see Zone.Conflicts.
func (s *View) Verdicts(kind api.Kind) (accepted, refused int, ok bool) {
	switch kind {
	case api.KindDNSPolicy:
		for _, c := range s.Clusters {
			accepted += c.accepted
			refused += c.refused
		}
	case api.KindZone:
		for _, admissions := range s.Table.Admissions {
			for _, a := range admissions {
				if a.Problem == nil {
					accepted++
				} else {
					refused++
				}
			}
		}
	case api.KindRecord:
		for _, c := range s.Clusters {
			accepted += c.Records.Len() - c.Unplaced
			refused += c.Unplaced
		}
	default:
		if endpoint.Publishing(kind) == nil {
			return 0, 0, false
		}
		for i, c := range s.Clusters {
			n := s.In.Clusters[i].Count(kind)
			r := c.RefusedPublishers[kind]
			accepted, refused = accepted+n-r, refused+r
		}
	}
	return accepted, refused, true
}

// Verdict returns the verdict on an object; nil if it is unknown, and for children of policies: see
// RecordStatus. The caller must not change it.
func (s *View) Verdict(cluster string, ref api.Ref) *api.Verdict {
	v := s.VerdictWith(cluster, ref, make(zone.LossMemo).Losses)
	if ref.Kind == api.KindZone {
		v = s.overfull(cluster, ref.Name, v)
	}
	return v
}

// VerdictWith is Verdict without the condition on a Zone's status.entries. losses looks up the
// problems of the Records at a name.
func (s *View) VerdictWith(cluster string, ref api.Ref, losses zone.LossFunc) *api.Verdict {
	i := s.In.Place(cluster)
	if i < 0 {
		return nil
	}
	c := s.Clusters[i]
	switch ref.Kind {
	case api.KindDNSPolicy:
		v, _ := c.Verdicts.Get(ref.Name)
		if p, ok := s.In.Clusters[i].Policies.Get(ref.Name); ok && v != nil {
			via := func(c *endpoint.Contender) bool { return c.Policy == p && c.Via != nil }
			if t, ok := c.Targets.Get(p.TargetName()); ok && slices.ContainsFunc(t.Contenders, via) {
				return t.WithProviders(v, p)
			}
		}
		return v
	case api.KindZone:
		return s.zoneVerdict(s.Table.Admissions[i][ref.Name])
	case api.KindRecord:
		r, _ := c.Records.Get(ref.Name)
		return s.recordVerdict(r, losses)
	default:
		p, _ := c.Published.Get(endpoint.PublicationKey(ref.Kind, ref.Name)) // nil for kinds without endpoints
		return s.publisherVerdict(p, losses)
	}
}

// Objects returns the view's input.
func (s *View) Objects() api.Objects { return s.In }

// Count adds n to the number of policies with a verdict like v; nil counts as none.
func (c *Cluster) Count(v *api.Verdict, n int) {
	switch {
	case v == nil:
	case v.Accepted():
		c.accepted += n
	default:
		c.refused += n
	}
}
