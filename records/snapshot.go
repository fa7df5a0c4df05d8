package records

import (
	"iter"
	"slices"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/owner"
	"github.com/coredns-kuadrant/kuadrant/records/pool"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
	"github.com/coredns-kuadrant/kuadrant/records/status"
	"github.com/coredns-kuadrant/kuadrant/records/zone"
	"github.com/miekg/dns"
)

// Snapshot is everything to answer from, at one moment. It is immutable except for the health cells
// that it points to; any number of goroutines may read it.
type Snapshot struct {
	status.View
	// input and behind are what Input and Behind return; still are the clusters held back for that.
	input  api.Objects
	behind bool
	still  []string
	// generation counts the snapshots since the first; each has it as the id of its edits of zones.
	generation uint32
	// made is when it was made, in seconds since 1970.
	made int64
	// complete is true if every source has been listed; allRead is owner.AllRead.
	complete, allRead bool
	// unread are the registry lines whose objects cannot be read.
	unread owner.Lines

	// changed, renewed and parents are what Changed, Renewed and ChildrenChanged return.
	changed []Reported
	renewed []string
	parents []ParentRef
	// retired are the last versions of zones that are no longer served, by origin: they may come
	// back (rule 6.7). Snapshots share it, as they do Table.
	retired map[string]zone.Numbered
}

// Reported is one object whose verdict differs from that of the snapshot before.
type Reported struct {
	Cluster string
	Ref     api.Ref
	// Verdict is nil if the object is gone.
	Verdict *api.Verdict
}

// denies reports whether name is denied if it does not exist: no source still to be listed could
// have it.
func (s *Snapshot) denies(name string) bool {
	return s.complete || s.stoodIn(name)
}

// Lists reports whether z, one of s's zones, is complete: every source that could hold its names has been listed, no host in it waits for
// Secrets, and the Zones below can be read (rule 7.4).
func (s *Snapshot) Lists(z *zone.Zone) bool {
	return s.denies(z.Origin()) && z.Unread == nil && z.UnreadNames == 0
}

// Complete reports whether every source has been listed.
func (s *Snapshot) Complete() bool { return s.complete }

// stoodIn reports whether a name was denied before a reload: what was known then replaces what is
// not listed yet.
func (s *Snapshot) stoodIn(name string) bool {
	return slices.ContainsFunc(s.Opt.Denied, func(origin string) bool { return rdata.IsSubdomain(origin, name) })
}

// Denied returns names below which missing names are denied: origins of zones, and names of
// Options.Denied that lie in a zone. None lies below another.
func (s *Snapshot) Denied() (origins []string) {
	known := make(map[string]bool)
	add := func(name string) {
		if !known[name] {
			known[name], origins = true, append(origins, name)
		}
	}
	if s.complete {
		for _, z := range s.Served {
			add(z.Origin())
		}
	}
	denied := make(map[string]bool, len(s.Opt.Denied))
	for _, name := range s.Opt.Denied {
		denied[name] = true
		if z := s.Zone(name); z != nil && !known[z.Origin()] {
			add(name)
		}
	}
	for _, z := range s.Served {
		for at, ok := z.Origin(), len(denied) > 0; ok; at, ok = rdata.Parent(at) {
			if denied[at] {
				add(z.Origin())
				break
			}
		}
	}
	return slices.DeleteFunc(origins, func(name string) bool { // one above it includes it
		for at, ok := rdata.Parent(name); ok; at, ok = rdata.Parent(at) {
			if known[at] {
				return true
			}
		}
		return false
	})
}

// Zones returns all zones, in the order of the options. The caller must not change the slice.
func (s *Snapshot) Zones() []*zone.Zone { return s.Served }

// Checks returns the targets to check.
func (s *Snapshot) Checks() *pool.Checks { return &s.Checked }

// Changed returns the objects whose verdicts differ from those of the snapshot that this one was
// compiled from, sorted by cluster, kind and name. Policies' verdicts here do not say through which
// DNS providers their hosts are published: Verdict does. After compiling everything anew, Records
// without a problem, before and now, are left out. The caller must not change the slice.
func (s *Snapshot) Changed() []Reported { return s.changed }

// Group returns the group of names that a host, without its final dot, belongs to.
func Group(host string) string { return endpoint.GroupKey(dns.Fqdn(host)) }

// Renewed returns the groups of names that were made for this snapshot; nil means all of Groups. The caller must not change the slice.
func (s *Snapshot) Renewed() []string { return s.renewed }

// Groups yields all groups of names.
func (s *Snapshot) Groups() iter.Seq[string] {
	return func(yield func(string) bool) {
		for key := range s.NameGroups.All() {
			if !yield(key) {
				return
			}
		}
	}
}

// ParentRef names a policy or a DNSRecord of a cluster. The object may be gone.
type ParentRef struct {
	Cluster string
	Of      api.Ref
}
