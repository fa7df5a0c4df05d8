// Package api holds the kinds of objects that are read, reduced to the fields in use, and the
// verdicts reported back on them.
//
// Everything here is read-only once published: an object that changes is
// replaced by a new one. Any number of goroutines may read it.
package api

import (
	"slices"

	"github.com/coredns-kuadrant/kuadrant/internal/tree"
)

// Ref names one object within a cluster. Name is "namespace/name".
type Ref struct {
	Kind Kind
	Name string
}

// Listing is how far a source has read one kind of one cluster.
type Listing uint8

// The states of a listing.
const (
	NotListed    Listing = iota // not yet, or not possible: names it could hold are unknown
	Listed                      // complete, and followed since
	NotInstalled                // the cluster does not have the kind: counts as listed (rule 7.4)
	NotWatched                  // the configuration leaves the kind out: counts as listed
	Missing                     // not found of late: counts as listed, but does not undo what was known before
	NotCounted                  // not possible, and counts as listed all the same: of a cluster that a Secret names
)

// Complete reports whether nothing that the kind could hold is missing.
func (l Listing) Complete() bool { return l != NotListed }

// Left reports whether the kind is left out: objects that it lacks may exist.
func (l Listing) Left() bool { return l == NotWatched || l == NotCounted }

// After adds the changes before c that nobody has processed: changed and inferred are the lists of
// the Cluster that c follows. If an object is in both, the newer entry counts.
func (c *Cluster) After(changed, inferred []Ref) {
	c.Inferred = union(slices.DeleteFunc(slices.Clone(inferred), membership(c.Changed)), c.Inferred)
	c.Changed = union(changed, c.Changed)
}

// membership returns a function that reports whether a Ref is in list.
func membership(list []Ref) func(Ref) bool {
	in := make(map[Ref]struct{}, len(list))
	for _, r := range list {
		in[r] = struct{}{}
	}
	return func(r Ref) bool { _, ok := in[r]; return ok }
}

// union returns both lists as one without repetition.
func union[T comparable](a, b []T) []T {
	if len(a)+len(b) == 0 {
		return nil
	}
	seen := make(map[T]struct{}, len(a)+len(b))
	out := make([]T, 0, len(a)+len(b))
	for _, list := range [][]T{a, b} {
		for _, r := range list {
			if _, ok := seen[r]; !ok {
				seen[r] = struct{}{}
				out = append(out, r)
			}
		}
	}
	return out
}

// Complete reports whether every kind that holds names is listed: then no name can be missing (rule
// 7.4).
func (c *Cluster) Complete() bool {
	for k, l := range c.Listings {
		if Kind(k).HoldsNames() && !l.Complete() {
			return false
		}
	}
	return true
}

// Certain reports whether an object of the kind that is missing here does not exist, within what is
// read. A kind that has only just been reported missing may exist.
func (l Listing) Certain() bool { return l != NotListed && l != NotCounted && l != Missing }

// Knows reports whether all objects of a kind in a namespace are known, within what is read.
func (c *Cluster) Knows(k Kind, namespace string) bool {
	return c.Listings[k].Certain() || slices.Contains(c.ListedIn[k], namespace)
}

// Objects is everything that all sources know. Clusters are sorted by name.
type Objects struct {
	Clusters []*Cluster
	// Expecting is true while there may be unknown clusters: nothing is denied then (rule 7.4).
	Expecting bool
	// Awaited are configured clusters of which nothing is known yet, each with its Name and its
	// Pools, sorted by name. They prevent denying only names registered for them, or for a cluster
	// that is not among Clusters.
	Awaited []*Cluster
	// Unsure is true while it is unknown which clusters are configured: a registry line of an
	// unknown cluster still counts.
	Unsure bool
	// Overrides are the operator's; nil for none.
	Overrides *Overrides
	// GroupTexts are the TXT records behind the CNAMEs that name a zone's active groups (rule 9.5), by the CNAME's target in lower case
	// with a final dot.
	GroupTexts map[string]GroupText
	// ActiveGroups are the last groups that could be read, by the zone's origin. A compile takes those of the snapshot before.
	ActiveGroups map[string]*ActiveGroups
	// Acquired has the registered owners: of a host, by its name with a final dot, and of a zone, by its ZoneKey. An older object that
	// comes later takes none of these (rule 5.4). AcquiredChanged lists, each once, the names with another owner than in the Objects
	// before.
	Acquired        tree.Map[Owner]
	AcquiredChanged []string
	// Incumbents are the owners in the last snapshot that was made with every source listed, where a registry is kept; nil for none. Each
	// of them keeps its name until the registry has a line for it (rule 5.4). A snapshot does not keep them.
	Incumbents Incumbents
	// Serials has the last publications of zones that no Zone keeps, those of the Corefile, by
	// origin. A newer one in the status of a Zone overrides it. SerialsChanged lists, each once,
	// the origins that differ from the Objects before.
	Serials        Serials
	SerialsChanged []string
	// Former are publications under other Leases, by origin: no zone is published below them. A change is in SerialsChanged.
	Former map[string]Kept
	// SerialWriter is the cluster in which an elected writer keeps serials: only those are shown (rule
	// 6.7). "" for none.
	SerialWriter string
}

// Unchanged returns o without changes.
func (o *Objects) Unchanged() Objects {
	all := *o
	all.AcquiredChanged, all.SerialsChanged = nil, nil
	all.Clusters = make([]*Cluster, len(o.Clusters))
	for i, c := range o.Clusters {
		same := *c
		same.Changed, same.Inferred = nil, nil
		all.Clusters[i] = &same
	}
	return all
}

// After returns o with the changes in before that nobody has processed. It leaves out clusters that o does not have.
func (o *Objects) After(before *Objects) Objects {
	all := *o
	all.AcquiredChanged = union(before.AcquiredChanged, o.AcquiredChanged)
	all.SerialsChanged = union(before.SerialsChanged, o.SerialsChanged)
	all.Clusters = slices.Clone(o.Clusters)
	for i, c := range all.Clusters {
		for _, b := range before.Clusters {
			if b.Name == c.Name && len(b.Changed) > 0 {
				next := *c
				next.After(b.Changed, b.Inferred)
				all.Clusters[i] = &next
			}
		}
	}
	return all
}

// Incumbents are owners that the registry may lack.
type Incumbents interface {
	// Incumbent returns who had what a key of Objects.Acquired is of; ok is false if nobody had.
	Incumbent(key string) (o Owner, ok bool)
}

// Line returns the line of the registry under a key of Acquired; ok is false if there is none.
func (o *Objects) Line(key string) (owner Owner, ok bool) {
	owner, ok = o.Acquired.Get(key)
	return o.Current(owner), ok
}

// Registered returns whoever had a name first: Line or, if there is none, the incumbent. An incumbent reserves nothing: it counts while an
// object of its namespace wants the name.
func (o *Objects) Registered(key string) (owner Owner, ok bool) {
	if owner, ok = o.Line(key); ok || o.Incumbents == nil {
		return owner, ok
	}
	owner, ok = o.Incumbents.Incumbent(key)
	return o.Current(owner), ok
}

// Current returns a registry line with the current name of its cluster: the UID, if another cluster has that name.
func (o *Objects) Current(owner Owner) Owner {
	if owner.ClusterUID == "" {
		return owner
	}
	name := owner.Cluster
	for _, c := range o.Clusters {
		switch {
		case c.UID == owner.ClusterUID && c.Name == owner.Cluster:
			return owner
		case c.UID == owner.ClusterUID:
			owner.Cluster = c.Name
			return owner
		case c.Name == owner.Cluster && c.UID != "" && c.UID != c.Name: // a name that stands for the UID is the cluster's for good
			name = owner.ClusterUID
		}
	}
	owner.Cluster = name
	return owner
}

// PoolsOf returns the namespaces that a cluster pools, by its name.
func (o *Objects) PoolsOf(cluster string) Pools {
	for _, list := range [...][]*Cluster{o.Clusters, o.Awaited} {
		for _, c := range list {
			if c.Name == cluster {
				return c.Pools
			}
		}
	}
	return Pools{}
}

// MetaOf returns the object of a registry line as a Meta.
func (o *Objects) MetaOf(line Owner) *Meta {
	return &Meta{Cluster: line.Cluster, Name: line.Name, UID: line.UID, Apart: !o.PoolsOf(line.Cluster).Has(line.Namespace())}
}

// Place returns the index of a cluster in Clusters, by its name; -1 for none.
func (o *Objects) Place(cluster string) int {
	return slices.IndexFunc(o.Clusters, func(c *Cluster) bool { return c.Name == cluster })
}

// Cluster returns a cluster by its name; nil for none.
func (o *Objects) Cluster(name string) *Cluster {
	if i := o.Place(name); i >= 0 {
		return o.Clusters[i]
	}
	return nil
}

// Secret returns the Secret of that namespace/name in a cluster, nil if unknown.
func (o *Objects) Secret(cluster, name string) (s *Secret) {
	if c := o.Cluster(cluster); c != nil {
		s, _ = c.Secrets.Get(name)
	}
	return s
}
