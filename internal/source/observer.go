package source

import "github.com/coredns-kuadrant/kuadrant/api"

// Observer is told of a cluster's objects as they stand at its API server, with what is not
// decoded: then writers need not read them. It is told of every object read except Secrets, in the
// order of events, whether or not the published cluster changes.
//
// Its methods are called from several goroutines, those for one kind and namespace from one, and
// must not block.
type Observer interface {
	// Serves gives the version in which a kind is read from now on; "" if the cluster lacks it.
	Serves(kind api.Kind, version string)
	// Read returns the form to be told of an object with the JSON data, which it must not keep.
	Read(kind api.Kind, data []byte) any
	// Stands says that an object is the one that Read returned.
	Stands(kind api.Kind, name string, object any)
	// Gone says that an object was deleted.
	Gone(kind api.Kind, name string)
	// Listed gives all objects of a kind in a namespace, "" for all, by namespace/name: others are
	// gone.
	Listed(kind api.Kind, namespace string, objects map[string]any)
}

// nobody is an Observer that does nothing.
type nobody struct{}

func (nobody) Serves(api.Kind, string)                 {}
func (nobody) Read(api.Kind, []byte) any               { return nil }
func (nobody) Stands(api.Kind, string, any)            {}
func (nobody) Gone(api.Kind, string)                   {}
func (nobody) Listed(api.Kind, string, map[string]any) {}
