package api

import (
	"iter"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/internal/tree"
)

// trees finds the objects of each kind in a cluster.
var trees = [NumKinds]anyTree{
	KindGateway:     treeOf[Gateway](func(c *Cluster) *objects[Gateway] { return &c.Gateways }),
	KindDNSPolicy:   treeOf[DNSPolicy](func(c *Cluster) *objects[DNSPolicy] { return &c.Policies }),
	KindProbe:       treeOf[HealthCheckProbe](func(c *Cluster) *objects[HealthCheckProbe] { return &c.Probes }),
	KindZone:        treeOf[Zone](func(c *Cluster) *objects[Zone] { return &c.Zones }),
	KindRecord:      treeOf[Record](func(c *Cluster) *objects[Record] { return &c.Records }),
	KindDNSRecord:   treeOf[DNSRecord](func(c *Cluster) *objects[DNSRecord] { return &c.DNSRecords }),
	KindDNSEndpoint: treeOf[DNSEndpoint](func(c *Cluster) *objects[DNSEndpoint] { return &c.DNSEndpoints }),
	KindSecret:      treeOf[Secret](func(c *Cluster) *objects[Secret] { return &c.Secrets }),
}

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
func TreeOf[T any](c *Cluster, k Kind) *tree.Map[*T] { return trees[k].(treeOf[T])(c) }

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
