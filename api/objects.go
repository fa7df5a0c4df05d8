// Package api holds the kinds of objects that are read, reduced to what is used
// of them, and the verdicts that are said back about them.
//
// Everything here is read-only once published: an object that changes is
// replaced by a new one. Any number of goroutines may read it.
package api

import (
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/internal/tree"
)

// Ref names one object within a cluster. Name is "namespace/name".
type Ref struct {
	Kind Kind
	Name string
}

// Meta is what is kept of an object's metadata.
type Meta struct {
	// Name is "namespace/name"; it is the object's key in its cluster's tree.
	Name string
	// Cluster is the name of the cluster that holds the object.
	Cluster string
	UID     string
	// Created is metadata.creationTimestamp in seconds since 1970; 0 where the
	// object has none, which counts as the oldest.
	Created    int64
	Generation int64
	// Labels are kept of Gateways and Secrets, two of DNSRecords and one of probes; nil where
	// there are none.
	Labels map[string]string
	// Annotations holds those whose key starts with "kuadrant.io/", nil where
	// there are none.
	Annotations map[string]string
	// Deleting is true from the moment the object has a deletionTimestamp.
	Deleting bool
	// Controlled is true where another object controls this one: nobody writes it
	// by hand (metadata.ownerReferences with controller set).
	Controlled bool
	// Apart is true where the object's namespace is not the same as the one of that name
	// in other clusters: the operator did not list it (Cluster.Pools).
	Apart bool
	// Missing is true of an object that vanished without a report of its deletion, and is kept for a
	// while (rule 8.5). No source sets it.
	Missing bool `json:"-"`
	// Fault says what of the object could not be read, in a sentence for its
	// owner; "" where all could. A faulty object's other fields hold what could
	// be read, and may be zero.
	Fault string
}

// Namespace returns the namespace part of m.Name.
func (m *Meta) Namespace() string {
	ns, _, _ := strings.Cut(m.Name, "/")
	return ns
}

// BareName returns the name part of m.Name.
func (m *Meta) BareName() string {
	_, name, _ := strings.Cut(m.Name, "/")
	return name
}

// Own reports whether this server has written the DNSRecord or probe: it is a Child of the object that controls it.
func (m *Meta) Own() bool { return m.Labels[LabelManagedBy] == ManagedBy }

// Realm returns what sets m's namespace apart from those of the same name: its cluster
// where it is Apart, else "".
func (m *Meta) Realm() string {
	if m.Apart {
		return m.Cluster
	}
	return ""
}

// SameNamespace reports whether two objects are of one namespace, in one cluster or in
// several that pool in it (rule 5.6): whoever may write one may write the other.
func (m *Meta) SameNamespace(o *Meta) bool {
	return m.Namespace() == o.Namespace() && m.Realm() == o.Realm()
}

// Older orders objects by age: creation time, then namespace/name, then
// cluster (rule 1.1, rule 5.4). Of equally old ones those come last that are Apart: what is
// rolled out to all clusters in one second is the operator's own where the namespace is
// listed. It returns a negative number where m is older.
func (m *Meta) Older(o *Meta) int {
	switch {
	case m.Created < o.Created:
		return -1
	case m.Created > o.Created:
		return 1
	case m.Apart && !o.Apart:
		return 1
	case !m.Apart && o.Apart:
		return -1
	}
	if c := strings.Compare(m.Name, o.Name); c != 0 {
		return c
	}
	return strings.Compare(m.Cluster, o.Cluster)
}

// Listing says how far a source has got with one kind of one cluster.
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

// Left reports whether the kind is left out: what is not among its objects may be there.
func (l Listing) Left() bool { return l == NotWatched || l == NotCounted }

// After adds to what c says has changed what it was before c, which nobody has looked at:
// changed and inferred are the lists of the Cluster that c follows. Of an object in both,
// the newer word counts.
func (c *Cluster) After(changed, inferred []Ref) {
	c.Inferred = union(slices.DeleteFunc(slices.Clone(inferred), membership(c.Changed)), c.Inferred)
	c.Changed = union(changed, c.Changed)
}

// membership returns what reports whether a Ref is in list.
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

// Complete reports whether every kind that names come from is listed: no name can
// be missing then (rule 7.4).
func (c *Cluster) Complete() bool {
	for k, l := range c.Listings {
		if Kind(k).HoldsNames() && !l.Complete() {
			return false
		}
	}
	return true
}

// Certain reports whether what is not among the objects of the kind is not there, as far as they are
// to be read. A kind that has only just not been found may be there.
func (l Listing) Certain() bool { return l != NotListed && l != NotCounted && l != Missing }

// Knows reports whether all objects of a kind in a namespace are known, as far as they are to be read.
func (c *Cluster) Knows(k Kind, namespace string) bool {
	return c.Listings[k].Certain() || slices.Contains(c.ListedIn[k], namespace)
}

// Objects is everything that all sources know. Clusters are sorted by name.
type Objects struct {
	Clusters []*Cluster
	// Expecting is true while there may be clusters that are not known yet: nothing is
	// denied then (rule 7.4).
	Expecting bool
	// Awaited are clusters that are named, and of which nothing is known, each with its Name
	// and its Pools, sorted by name: they keep nothing from being denied but what is on record
	// as theirs, or as that of a cluster that is not among Clusters.
	Awaited []*Cluster
	// Unsure is true while it is not known which clusters are named: a registry line of a cluster
	// of which nothing is known still counts.
	Unsure bool
	// Overrides are the operator's own words; nil for none.
	Overrides *Overrides
	// Acquired has who has acquired a host before, by its name with a final dot, who was
	// served as a zone, by its ZoneKey: an older object that comes later takes none of these (rule 5.4).
	// AcquiredChanged lists, each once, the names that have another owner there than in
	// the Objects before.
	Acquired        tree.Map[Owner]
	AcquiredChanged []string
	// Serials has what zones were published with last that need no Zone to keep it, those
	// of the Corefile, by origin. Where the status of a Zone says something newer, that
	// counts. SerialsChanged lists, each once, the origins that have something else there
	// than in the Objects before.
	Serials        Serials
	SerialsChanged []string
	// Keeper is the cluster in which an elected writer keeps serials: no others are shown (rule
	// 6.7). "" for none.
	Keeper string
}

// Unchanged returns o with nothing that has changed.
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

// After returns o with what had changed in before, which nobody has looked at. Clusters of before that o does not have are left
// out.
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

// Registered returns the line of the registry under a key of Acquired; ok is false where there is none.
func (o *Objects) Registered(key string) (owner Owner, ok bool) {
	owner, ok = o.Acquired.Get(key)
	return o.Current(owner), ok
}

// Current returns a line of the registry with the name that its cluster has now: its UID, where another cluster has its name.
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

// PoolsOf returns where the objects of a cluster pool, by its name.
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

// MetaOf returns what a line of the registry says of its object.
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

// Secret returns the Secret of that namespace/name in a cluster, nil where
// none is known.
func (o *Objects) Secret(cluster, name string) (s *Secret) {
	if c := o.Cluster(cluster); c != nil {
		s, _ = c.Secrets.Get(name)
	}
	return s
}
