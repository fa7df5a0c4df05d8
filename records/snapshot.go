package records

import (
	"slices"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/owner"
	"github.com/coredns-kuadrant/kuadrant/records/pool"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
	"github.com/coredns-kuadrant/kuadrant/records/zone"
)

// Snapshot is everything there is to answer, at one moment. It is immutable but
// for the health cells that it points to; any number of goroutines may read it.
type Snapshot struct {
	in  api.Objects
	opt *endpoint.Options
	// input, behind and still are what Input and Behind return, and the clusters that stand still for it.
	input  api.Objects
	behind bool
	still  []string
	// generation counts the snapshots since the first, for zoneEdit.id.
	generation uint32
	// zoneSet says which zones are served. It is shared by the snapshots with the same.
	zoneSet  *endpoint.Zones
	zones    []*zone.Zone
	clusters []*clusterState
	groups   tree.Map[*nameGroup]
	// servers is compiler.servers.
	servers  tree.Map[int]
	complete bool
	unread   owner.Lines
	allRead  bool // see owner.AllRead

	changed []Reported
	checks  pool.Checks
	renewed []string    // the keys of groups
	parents []ParentRef // see ChildrenChanged
	// retired are the last versions of zones that were served before and are not
	// now, by origin: they may come back (rule 6.7). It is shared, as zoneSet is.
	retired map[string]zone.Numbered
}

// clusterState is what is kept of one cluster between two compiles.
type clusterState struct {
	name, uid string
	targets   tree.Map[*endpoint.Target] // by the Gateway's namespace/name
	verdicts  tree.Map[*api.Verdict]     // by the policy's namespace/name
	records   tree.Map[*endpoint.Record] // by the Record's namespace/name
	unplaced  int                        // how many of records have a problem
	// refusedPublishers is how many DNSRecords and DNSEndpoints are not served.
	refusedPublishers [api.NumKinds]int
	probes            pool.ProbeIndex
	offspring         offspring
	// accepted and refused count the policies by their verdict.
	accepted, refused int
}

// nameGroup is the claims that can contend, and what was made of them.
type nameGroup struct {
	owner.Group
	notes map[*endpoint.Claim][]api.Condition // nil for none
	// dropped is how many offers of a claim are not served for those of others; nil for
	// none.
	dropped map[*endpoint.Claim]int
	names   []string // the names that hold data of the group
	told    []string // the names that tell of owners
	barred  []string // other names at which Records are not served for it
	checks  []string // the keys of the targets that they have checked, once for each use
}

// Reported is one object whose verdict differs from that of the snapshot before.
type Reported struct {
	Cluster string
	Ref     api.Ref
	// Verdict is nil where the object is gone.
	Verdict *api.Verdict
}

// Zone returns the zone that name lies in: of several the one with the longest
// origin. It is nil where no zone matches. name is in lower case with a final
// dot.
func (s *Snapshot) Zone(name string) *zone.Zone {
	if i := endpoint.ClosestOrigin(s.zoneSet.Index, name); i >= 0 {
		return s.zones[i]
	}
	return nil
}

// denies tells whether name is denied where it does not exist: what has not been
// listed does not keep it from being known.
func (s *Snapshot) denies(name string) bool {
	return s.complete || s.stoodIn(name)
}

// Lists tells whether every source that could hold names of z, one of s's zones, has been listed, and no host of it waits
// for Secrets: nothing is missing from it (rule 7.4).
func (s *Snapshot) Lists(z *zone.Zone) bool {
	return s.denies(z.Origin()) && z.Unread == nil && z.UnreadNames == 0
}

// stoodIn tells whether a name was denied before a reload: what was known then stands in for
// what is not listed.
func (s *Snapshot) stoodIn(name string) bool {
	return slices.ContainsFunc(s.opt.Denied, func(origin string) bool { return rdata.IsSubdomain(origin, name) })
}

// Denied returns names whose descendants are denied where they do not exist:
// zones, and what Options.Denied has in one.
func (s *Snapshot) Denied() (origins []string) {
	known := make(map[string]bool)
	add := func(name string) {
		if !known[name] {
			known[name], origins = true, append(origins, name)
		}
	}
	if s.complete {
		for _, z := range s.zones {
			add(z.Origin())
		}
	}
	denied := make(map[string]bool, len(s.opt.Denied))
	for _, name := range s.opt.Denied {
		denied[name] = true
		if z := s.Zone(name); z != nil && !known[z.Origin()] {
			add(name)
		}
	}
	for _, z := range s.zones {
		for at, ok := z.Origin(), len(denied) > 0; ok; at, ok = rdata.Parent(at) {
			if denied[at] {
				add(z.Origin())
				break
			}
		}
	}
	return slices.DeleteFunc(origins, func(name string) bool { // one above it says the same
		for at, ok := rdata.Parent(name); ok; at, ok = rdata.Parent(at) {
			if known[at] {
				return true
			}
		}
		return false
	})
}

// Zones returns all zones, in the order of the options. The caller must not
// change the slice.
func (s *Snapshot) Zones() []*zone.Zone { return s.zones }

// Checks returns the targets that are to be checked.
func (s *Snapshot) Checks() *pool.Checks { return &s.checks }

// Verdicts returns how many objects of a kind are accepted, and how many are not; ok is
// false where the kind has no verdicts. A Record that another object keeps from being
// served counts as accepted: see Zone.Conflicts.
func (s *Snapshot) Verdicts(kind api.Kind) (accepted, refused int, ok bool) {
	switch kind {
	case api.KindDNSPolicy:
		for _, c := range s.clusters {
			accepted += c.accepted
			refused += c.refused
		}
	case api.KindZone:
		for _, admissions := range s.zoneSet.Admissions {
			for _, f := range admissions {
				accepted, refused = accepted+btoi(f.Problem == nil), refused+btoi(f.Problem != nil)
			}
		}
	case api.KindRecord:
		for _, c := range s.clusters {
			accepted += c.records.Len() - c.unplaced
			refused += c.unplaced
		}
	case api.KindDNSRecord, api.KindDNSEndpoint:
		for i, c := range s.clusters {
			n := s.in.Clusters[i].Count(kind)
			r := c.refusedPublishers[kind]
			accepted, refused = accepted+n-r, refused+r
		}
	default:
		return 0, 0, false
	}
	return accepted, refused, true
}

// Changed returns the objects whose verdicts differ from those of the snapshot that this
// one was compiled from, sorted by cluster, kind and name. Those of policies do not say
// through which DNS providers hosts are published: Verdict does. Where all was compiled anew,
// Records that had and have nothing to be said of them are not among them. The caller
// must not change the slice.
func (s *Snapshot) Changed() []Reported { return s.changed }

// Verdict returns what became of an object; nil where it is not known, and for the children of
// policies: RecordStatus says how these are. Those of Zones
// and Records are made for the caller.
func (s *Snapshot) Verdict(cluster string, ref api.Ref) *api.Verdict {
	v := s.verdict(cluster, ref, make(zone.LossMemo).Losses)
	if ref.Kind == api.KindZone {
		v = s.overfull(cluster, ref.Name, v)
	}
	return v
}

// verdict is Verdict with a way to get what is to be said of the Records at a name.
func (s *Snapshot) verdict(cluster string, ref api.Ref, losses zone.LossFunc) *api.Verdict {
	for i, c := range s.clusters {
		if c.name != cluster {
			continue
		}
		switch ref.Kind {
		case api.KindDNSPolicy:
			v, _ := c.verdicts.Get(ref.Name)
			if p, ok := s.in.Clusters[i].Policies.Get(ref.Name); ok && v != nil {
				if t, ok := c.targets.Get(p.TargetName()); ok && slices.ContainsFunc(t.Claims, func(c *endpoint.Claim) bool { return c.Policy == p && c.Via != nil }) {
					return t.WithProviders(v, p)
				}
			}
			return v
		case api.KindZone:
			return s.zoneVerdict(s.zoneSet.Admissions[i][ref.Name])
		case api.KindRecord:
			e, _ := c.records.Get(ref.Name)
			return s.recordVerdict(e, losses)
		case api.KindDNSRecord, api.KindDNSEndpoint:
			t, _ := c.targets.Get(endpoint.PublisherKey(ref.Kind, ref.Name))
			return s.publisherVerdict(t, losses)
		}
	}
	return nil
}

// Objects returns what the snapshot was compiled from.
func (s *Snapshot) Objects() api.Objects { return s.in }

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
