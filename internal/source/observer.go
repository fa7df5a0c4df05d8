package source

import "github.com/coredns-kuadrant/kuadrant/api"

// Observer is told of the objects of a cluster as they stand at its API server, with what
// is not decoded of them: whoever writes to them need not read them himself. It is told of
// every object that is read but Secrets, in the order in which that is heard of each, whether
// or not what is published changes.
//
// Its methods are called from several goroutines at a time, those about one kind and
// namespace from one, and must not block.
type Observer interface {
	// Serves says in which version a kind is read from now on; "" if the cluster does
	// not have it.
	Serves(kind api.Kind, version string)
	// Read returns what is to be told of an object, whose JSON is data. It must not keep
	// data.
	Read(kind api.Kind, data []byte) any
	// Stands says that an object is what Read has returned of it.
	Stands(kind api.Kind, name string, object any)
	// Gone says that an object was deleted.
	Gone(kind api.Kind, name string)
	// Listed says that the objects of a kind in a namespace, "" for all, are these, by
	// namespace/name: others are gone.
	Listed(kind api.Kind, namespace string, objects map[string]any)
}

// nobody is an Observer that nothing is done for.
type nobody struct{}

func (nobody) Serves(api.Kind, string)                 {}
func (nobody) Read(api.Kind, []byte) any               { return nil }
func (nobody) Stands(api.Kind, string, any)            {}
func (nobody) Gone(api.Kind, string)                   {}
func (nobody) Listed(api.Kind, string, map[string]any) {}
