package source

import "github.com/coredns-kuadrant/kuadrant/api"

// Observer receives a cluster's objects as its API server has them, including fields that are not
// decoded, so that writers need not read them again. It receives every object read except Secrets,
// in the order of events, whether or not the published cluster changes.
//
// Its methods are called from several goroutines, but from only one for each kind and namespace.
// They must not block.
type Observer interface {
	// Serves gives the version in which the source reads a kind from now on; "" if the cluster
	// lacks it.
	Serves(kind api.Kind, version string)
	// Read returns the form in which to pass on the object in data (JSON). It must not keep data.
	Read(kind api.Kind, data []byte) any
	// Stands gives an object's newest state, as returned by Read.
	Stands(kind api.Kind, name string, object any)
	// Gone says that an object was deleted.
	Gone(kind api.Kind, name string)
	// Listed gives all objects of a kind in a namespace, "" for all, by namespace/name: any other
	// object is gone.
	Listed(kind api.Kind, namespace string, objects map[string]any)
}

// nobody is an Observer that does nothing.
type nobody struct{}

func (nobody) Serves(api.Kind, string)                 {}
func (nobody) Read(api.Kind, []byte) any               { return nil }
func (nobody) Stands(api.Kind, string, any)            {}
func (nobody) Gone(api.Kind, string)                   {}
func (nobody) Listed(api.Kind, string, map[string]any) {}
