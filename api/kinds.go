package api

import (
	"iter"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/internal/tree"
)

// Kind is a kind of object that a source reads.
type Kind uint8

// The kinds, in the order of messages.
const (
	KindGateway     Kind = iota // gateway.networking.k8s.io Gateway
	KindDNSPolicy               // kuadrant.io DNSPolicy
	KindProbe                   // kuadrant.io DNSHealthCheckProbe
	KindZone                    // kubi.zone Zone
	KindRecord                  // kubi.zone Record
	KindDNSRecord               // kuadrant.io DNSRecord
	KindDNSEndpoint             // externaldns.k8s.io DNSEndpoint
	KindSecret                  // Secret: headers of checks, and DNS providers
	NumKinds                    // how many kinds there are
)

// kinds describes each kind. Package source has how it is read.
var kinds = [NumKinds]struct {
	name, group, resource string
	tree                  anyTree
	deciding              []Kind
}{
	KindGateway: {
		"Gateway", "gateway.networking.k8s.io", "gateways", treeOf[Gateway](func(c *Cluster) *objects[Gateway] { return &c.Gateways }),
		[]Kind{KindGateway},
	},
	KindDNSPolicy: {
		"DNSPolicy", "kuadrant.io", "dnspolicies", treeOf[DNSPolicy](func(c *Cluster) *objects[DNSPolicy] { return &c.Policies }),
		[]Kind{KindGateway, KindDNSPolicy},
	},
	KindProbe: {
		"DNSHealthCheckProbe", "kuadrant.io", "dnshealthcheckprobes",
		treeOf[HealthCheckProbe](func(c *Cluster) *objects[HealthCheckProbe] { return &c.Probes }), nil,
	},
	KindZone: {
		"Zone", "kubi.zone", "zones", treeOf[Zone](func(c *Cluster) *objects[Zone] { return &c.Zones }), []Kind{KindZone, KindRecord},
	},
	KindRecord: {
		"Record", "kubi.zone", "records", treeOf[Record](func(c *Cluster) *objects[Record] { return &c.Records }), []Kind{KindZone, KindRecord},
	},
	KindDNSRecord: {
		"DNSRecord", "kuadrant.io", "dnsrecords", treeOf[DNSRecord](func(c *Cluster) *objects[DNSRecord] { return &c.DNSRecords }),
		[]Kind{KindDNSRecord},
	},
	KindDNSEndpoint: {
		"DNSEndpoint", "externaldns.k8s.io", "dnsendpoints",
		treeOf[DNSEndpoint](func(c *Cluster) *objects[DNSEndpoint] { return &c.DNSEndpoints }),
		[]Kind{KindDNSEndpoint},
	},
	KindSecret: {"Secret", "", "secrets", treeOf[Secret](func(c *Cluster) *objects[Secret] { return &c.Secrets }), nil},
}

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

// String returns the kind as it is written in an object's `kind` field.
func (k Kind) String() string { return kinds[k].name }

// Group returns the API group of the kind; "" is the core group.
func (k Kind) Group() string { return kinds[k].group }

// Resource returns the kind as in URLs and RBAC rules.
func (k Kind) Resource() string { return kinds[k].resource }

// FullResource returns the resource with its group, as messages name it.
func (k Kind) FullResource() string {
	if k.Core() {
		return k.Resource()
	}
	return k.Resource() + "." + k.Group()
}

// Core reports whether the kind is in the core group, which every API server has.
func (k Kind) Core() bool { return k.Group() == "" }

// APIVersion returns the apiVersion of objects of the kind in the given version.
func (k Kind) APIVersion(version string) string {
	if k.Core() {
		return version
	}
	return k.Group() + "/" + version
}

// HoldsNames reports whether objects of the kind hold names. While such a kind is not listed, no
// name can be denied (rule 7.4); any other kind may be missing or forbidden without that effect.
func (k Kind) HoldsNames() bool { return k.Deciding() != nil }

// Deciding returns the kinds that must be listed to know whether an object of the kind owns a name; nil for kinds that hold none.
func (k Kind) Deciding() []Kind { return kinds[k].deciding }

// ParseKind returns the kind with the given name, in any case; ok is false if there is none.
func ParseKind(name string) (k Kind, ok bool) {
	for i := range kinds {
		if strings.EqualFold(kinds[i].name, name) {
			return Kind(i), true
		}
	}
	return 0, false
}

// Count returns how many objects of a kind c has.
func (c *Cluster) Count(k Kind) int { return kinds[k].tree.count(c) }

// Has reports whether c has an object.
func (c *Cluster) Has(ref Ref) bool { return c.MetaOf(ref) != nil }

// Names yields the names of c's objects of a kind that start with prefix, in
// order.
func (c *Cluster) Names(k Kind, prefix string) iter.Seq[string] {
	return func(yield func(string) bool) { kinds[k].tree.names(c, prefix, yield) }
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
func (c *Cluster) MetaOf(ref Ref) *Meta { return kinds[ref.Kind].tree.meta(c, ref.Name) }

// Share makes c use o's objects of a kind: both have one tree then. A new Cluster used as o removes
// them.
func (c *Cluster) Share(k Kind, o *Cluster) { kinds[k].tree.share(c, o) }

// Keep copies the named objects of a kind from o to c, marked as Missing.
func (c *Cluster) Keep(k Kind, o *Cluster, names iter.Seq[string]) { kinds[k].tree.keep(c, o, names) }

// anyTree is the objects of one kind in a cluster, independent of their Go type. Its methods are
// those of Cluster.
type anyTree interface {
	count(c *Cluster) int
	names(c *Cluster, prefix string, yield func(string) bool)
	share(c, o *Cluster)
	meta(c *Cluster, name string) *Meta
	adopt(c, o *Cluster, names iter.Seq[string])
	keep(c, o *Cluster, names iter.Seq[string])
	all(c *Cluster, yield func(object any) bool)
	load(c *Cluster) loading
	// carry is for Cluster.Applied.
	carry(c, o *Cluster, ref Ref, how Application)
}

// objects are those of one kind, by namespace/name.
type objects[T any] = tree.Map[*T]

// treeOf implements anyTree; it returns where a cluster keeps the objects.
type treeOf[T any] func(*Cluster) *objects[T]

// TreeOf returns where c keeps the objects of a kind, whose Go type is T.
func TreeOf[T any](c *Cluster, k Kind) *tree.Map[*T] { return kinds[k].tree.(treeOf[T])(c) }

func (at treeOf[T]) count(c *Cluster) int { return at(c).Len() }

func (at treeOf[T]) names(c *Cluster, prefix string, yield func(string) bool) {
	for name := range at(c).From(prefix) {
		if !strings.HasPrefix(name, prefix) || !yield(name) {
			return
		}
	}
}

func (at treeOf[T]) meta(c *Cluster, name string) *Meta {
	if o, ok := at(c).Get(name); ok {
		return any(o).(Object).Metadata()
	}
	return nil
}

func (at treeOf[T]) share(c, o *Cluster) { *at(c) = *at(o) }

func (at treeOf[T]) keep(c, o *Cluster, names iter.Seq[string]) {
	edit := at(c).Edit()
	for name := range names {
		object, ok := at(o).Get(name)
		if !ok {
			continue
		}
		if !any(object).(Object).Metadata().Missing {
			own := *object
			any(&own).(Object).Metadata().Missing = true
			object = &own
		}
		edit.Set(name, object)
	}
	*at(c) = edit.Map()
}

func (at treeOf[T]) all(c *Cluster, yield func(any) bool) {
	for _, object := range at(c).All() {
		if !yield(object) {
			return
		}
	}
}

func (at treeOf[T]) load(c *Cluster) loading { return &loadingOf[T]{edit: at(c).Edit(), to: at(c)} }
