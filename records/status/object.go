package status

import (
	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
)

// Object names an object.
type Object struct {
	// Cluster is its cluster. Kind is such as DNSPolicy, or Corefile, which is in no cluster.
	Cluster string `json:"cluster,omitempty"`
	Kind    string `json:"kind"`
	// Name is namespace/name.
	Name string `json:"name"`
}

// OwnerOf names a contender's object.
func OwnerOf(c *endpoint.Contender) Object { return ObjectOf(c.Kind, c.By) }

// ObjectOf names an object of a kind.
func ObjectOf(kind api.Kind, m *api.Meta) Object { return Object{m.Cluster, kind.String(), m.Name} }
