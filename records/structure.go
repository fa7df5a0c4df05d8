package records

import (
	"maps"
	"slices"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// A snapshot's structure decides which zones there are and which names can be known: the options, the clusters and how far they have been
// read, who keeps serials, and the Zones less their status and SOA fields. If it changes, everything is compiled from nothing. All else is
// a leaf, and changes at the cost of the change.
//
// Compile does both at once. When compiling from nothing takes long, CompileLeaves lets leaves change under the existing structure, and
// Rebase continues from what was compiled meanwhile.

// Next is the snapshot after another one, before it is compiled: its objects, and the zones that they have.
type Next struct {
	prev *Snapshot // nil for none
	in   api.Objects
	opt  *endpoint.Options
	set  *endpoint.Zones // nil if they have to be resolved
	fits bool
}

// Next returns the snapshot of in under opt that comes after s, which may be nil.
func (s *Snapshot) Next(in api.Objects, opt *endpoint.Options) *Next {
	n := &Next{prev: s, in: in, opt: opt}
	if s != nil && !s.behind {
		n.set, n.fits = s.fits(&in, opt)
	}
	return n
}

// Fits reports whether it has the structure of the snapshot before, so that Compile looks only at what has changed.
func (n *Next) Fits() bool { return n.fits }

// Compile is the function Compile.
func (n *Next) Compile(now time.Time) *Snapshot {
	if n.fits {
		return compile(n.prev, n.prev, n.set, n.in, n.opt, now)
	}
	return compile(nil, n.prev, n.set, n.in, n.opt, now)
}

// CompileLeaves is the function CompileLeaves.
func (n *Next) CompileLeaves(now time.Time) *Snapshot {
	if n.fits {
		return n.Compile(now)
	}
	return compileHeld(n.prev, n.prev, n.in, now)
}

// CompileLeaves makes the snapshot of in with the structure of prev, which is not nil: structural changes wait, and Behind reports that. A
// cluster that is read in another way waits as a whole, and so does the registry if a line of a Zone differs.
func CompileLeaves(prev *Snapshot, in api.Objects, opt *endpoint.Options, now time.Time) *Snapshot {
	return prev.Next(in, opt).CompileLeaves(now)
}

// Rebase returns the snapshot that comes after last, made from base, which Compile made meanwhile in another goroutine. The changes that in
// names count from what base was compiled from. The snapshot is Behind if the structure differs again.
func Rebase(base, last *Snapshot, in api.Objects, opt *endpoint.Options, now time.Time) *Snapshot {
	if !base.Checked.SameCells(&last.Checked) { // both have begun to check the same
		return compile(nil, last, nil, in, opt, now)
	}
	if n := base.Next(in, opt); n.fits {
		return compile(base, last, n.set, in, opt, now)
	}
	return compileHeld(base, last, in, now)
}

// compileHeld makes the snapshot of in from base, after last, with the structure of base: what differs from that waits, as it was in last.
func compileHeld(base, last *Snapshot, in api.Objects, now time.Time) *Snapshot {
	held, still := base.hold(in, last)
	s := compile(base, last, base.Table, held, base.Opt, now)
	s.input, s.behind, s.still = in, true, still
	s.input.Incumbents = nil
	return s
}

// Behind reports whether a part of Input is not compiled yet: see CompileLeaves.
func (s *Snapshot) Behind() bool { return s.behind }

// Input returns the objects that the snapshot should have been compiled from: Objects, except for what it is Behind with.
func (s *Snapshot) Input() api.Objects { return s.input }

// ObjectsOf returns a cluster as compiled, by its name; nil for none. s may be nil.
func (s *Snapshot) ObjectsOf(cluster string) *api.Cluster {
	if s == nil {
		return nil
	}
	return s.In.Cluster(cluster)
}

// fits reports whether in has the structure of s under opt. set are the zones of in, nil if they were not needed for that.
func (s *Snapshot) fits(in *api.Objects, opt *endpoint.Options) (set *endpoint.Zones, fits bool) {
	if s.Opt != opt || s.In.SerialWriter != in.SerialWriter || !sameClusters(s, in) || !sameReading(&s.In, in) || !sameKeeping(&s.In, in) {
		return nil, false
	}
	if !s.zonesChanged(in) && !s.registryDecides(in) {
		return s.Table, true
	}
	unread := s.unread.ZonesAfter(in)
	set = endpoint.ResolveZones(*in, unread, opt)
	return set, maps.Equal(unread, s.unread.Zones) && set.Same(s.Table)
}

// zonesChanged reports whether a Zone differs from that in s, other than in its status.
func (s *Snapshot) zonesChanged(in *api.Objects) bool {
	for i, c := range in.Clusters {
		for _, ref := range c.Changed {
			if ref.Kind != api.KindZone {
				continue
			}
			before, _ := s.In.Clusters[i].Zones.Get(ref.Name)
			now, _ := c.Zones.Get(ref.Name)
			if before == nil || !endpoint.SameZone(before, now) {
				return true
			}
		}
	}
	return false
}

// stillRegistry stands for the registry among the clusters held back. No cluster has that name.
const stillRegistry = ""

// hold returns in with the structure of s, and the names of the clusters held back for that, or stillRegistry. Clusters and registry that are
// held back are those of last, which comes after s, if it has read them as s has; else those of s.
func (s *Snapshot) hold(in api.Objects, last *Snapshot) (held api.Objects, still []string) {
	held = in
	held.Expecting, held.Unsure, held.Awaited, held.SerialWriter = s.In.Expecting, s.In.Unsure, s.In.Awaited, s.In.SerialWriter
	zoneLine := func(key string) bool { _, is := api.OfZoneKey(key); return is }
	if slices.Contains(s.still, stillRegistry) || !sameKeeping(&s.In, &in) || slices.ContainsFunc(in.AcquiredChanged, zoneLine) {
		held.Acquired, held.AcquiredChanged, still = s.In.Acquired, nil, append(still, stillRegistry)
		if last != s && sameKeeping(&s.In, &last.In) && !slices.Contains(last.still, stillRegistry) {
			held.Acquired, held.AcquiredChanged = last.In.Acquired, slices.DeleteFunc(slices.Clone(in.AcquiredChanged), zoneLine)
		}
	}
	held.Clusters = make([]*api.Cluster, len(s.In.Clusters))
	for i, before := range s.In.Clusters {
		alike := func(c *api.Cluster) bool { return c != nil && sameRun(before, c) && sameListing(before, c) }
		now := in.Cluster(before.Name)
		from := now
		if !alike(now) || slices.Contains(s.still, before.Name) {
			still = append(still, before.Name)
			from = last.In.Cluster(before.Name)
			if from == before || !alike(from) || now == nil || !sameRun(before, now) || slices.Contains(last.still, before.Name) {
				from = nil // what it has that s has not is unknown, or s has more
			}
		}
		c := *before
		c.Changed, c.Inferred = nil, nil
		if from != nil {
			c = *from
			c.Zones = before.Zones
			c.Changed = slices.DeleteFunc(slices.Clone(now.Changed), func(ref api.Ref) bool { return ref.Kind == api.KindZone })
			c.Inferred = slices.DeleteFunc(slices.Clone(now.Inferred), func(ref api.Ref) bool { return from.MetaOf(ref) != nil })
		}
		held.Clusters[i] = &c
	}
	return held, still
}

// sameClusters reports whether the changes in each cluster count from what s was compiled from.
func sameClusters(s *Snapshot, in *api.Objects) bool {
	return slices.EqualFunc(s.In.Clusters, in.Clusters, sameRun)
}

func sameRun(a, b *api.Cluster) bool { return a.Name == b.Name && a.UID == b.UID && a.Epoch == b.Epoch }

// sameKeeping reports whether before and now have a registry, or neither: that decides since when each name is whose. With one, there must
// be objects with records now if there were before: without any, registered names that nobody wants are not kept.
func sameKeeping(before, now *api.Objects) bool {
	kept := before.Acquired.Len() > 0
	return kept == (now.Acquired.Len() > 0) && (!kept || !haveRecords(before.Clusters) || haveRecords(now.Clusters))
}

// haveRecords reports whether names may have Records, because there are Records or objects with endpoints.
func haveRecords(all []*api.Cluster) bool {
	return slices.ContainsFunc(all, func(c *api.Cluster) bool { return c.Records.Len()+c.DNSRecords.Len()+c.DNSEndpoints.Len() > 0 })
}

// sameReading reports whether both have been read equally far, and pool the same namespaces.
func sameReading(a, b *api.Objects) bool {
	return a.Expecting == b.Expecting && a.Unsure == b.Unsure && slices.EqualFunc(a.Clusters, b.Clusters, sameListing) &&
		slices.EqualFunc(a.Awaited, b.Awaited, sameListing)
}

func sameListing(a, b *api.Cluster) bool {
	return a.Name == b.Name && a.Listings == b.Listings && a.Pools.Equal(b.Pools) && slices.EqualFunc(a.ListedIn[:], b.ListedIn[:], slices.Equal[[]string])
}

// registryDecides reports whether a change in the registry may affect a Zone.
func (s *Snapshot) registryDecides(in *api.Objects) bool {
	set := s.Table
	if set.Unsettled {
		return true
	}
	for _, key := range in.AcquiredChanged {
		if _, is := api.OfZoneKey(key); is {
			return true
		}
		for at, ok := rdata.Base(endpoint.NameOf(key)), len(set.Taken) > 0; ok; at, ok = rdata.Parent(at) {
			if _, is := set.Taken[at]; is {
				return true
			}
		}
	}
	return false
}
