package api

import (
	"iter"

	"github.com/coredns-kuadrant/kuadrant/internal/tree"
)

// Cluster is everything that one source knows of one cluster, complete and read-only, with the
// changes since the Cluster that this source published before.
type Cluster struct {
	// Name is unique among the clusters of a process.
	Name string
	// UID identifies the cluster globally: the UID of its namespace kube-system; for a directory,
	// its name (rule 2.3).
	UID string
	// Pools says in which namespaces its objects are the same as those of other clusters; the
	// objects have that too (Meta.Apart).
	Pools Pools
	// Group is what the cluster is switched on and off with (rule 9.5); "" for no group.
	Group    string
	Listings [NumKinds]Listing
	// ListedIn has, for each kind that is NotListed or NotCounted, the namespaces in which all its
	// objects are known nonetheless, sorted.
	ListedIn [NumKinds][]string

	Gateways     tree.Map[*Gateway]          // by namespace/name
	Policies     tree.Map[*DNSPolicy]        // by namespace/name
	Probes       tree.Map[*HealthCheckProbe] // by namespace/name
	Zones        tree.Map[*Zone]             // by namespace/name
	Records      tree.Map[*Record]           // by namespace/name
	DNSRecords   tree.Map[*DNSRecord]        // by namespace/name
	DNSEndpoints tree.Map[*DNSEndpoint]      // by namespace/name
	// Secrets are by namespace/name. A source may leave out those that no object of the cluster
	// needs.
	Secrets tree.Map[*Secret]

	// Epoch identifies the run of a source that the cluster comes from: Changed counts from an
	// earlier cluster of the same epoch. Sources leave it 0.
	Epoch uint64

	// Changed lists, each once and in no order, the objects that were added, replaced or removed.
	Changed []Ref
	// Inferred lists, each once, the objects in Changed that are gone without a reported deletion:
	// a newer list, or a directory that was read again, lacks them (rule 8.5).
	Inferred []Ref
}

// Count returns how many objects of a kind c has.
func (c *Cluster) Count(k Kind) int { return trees[k].count(c) }

// Has reports whether c has an object.
func (c *Cluster) Has(ref Ref) bool { return c.MetaOf(ref) != nil }

// Names yields the names of c's objects of a kind that start with prefix, in
// order.
func (c *Cluster) Names(k Kind, prefix string) iter.Seq[string] {
	return func(yield func(string) bool) { trees[k].names(c, prefix, yield) }
}

// Holds reports whether c has an object of any kind whose name starts with prefix.
func (c *Cluster) Holds(prefix string) bool {
	for k := range NumKinds {
		for range c.Names(k, prefix) {
			return true
		}
	}
	return false
}

// MetaOf returns the metadata of an object of c; nil if it has no such object.
func (c *Cluster) MetaOf(ref Ref) *Meta { return trees[ref.Kind].meta(c, ref.Name) }

// Share makes c use o's objects of a kind: both have one tree then. A new Cluster used as o removes
// them.
func (c *Cluster) Share(k Kind, o *Cluster) { trees[k].share(c, o) }

// Keep copies the named objects of a kind from o to c, marked as Missing.
func (c *Cluster) Keep(k Kind, o *Cluster, names iter.Seq[string]) { trees[k].keep(c, o, names) }
