package source

import (
	"errors"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestReflectorStoreSkipsBadObjects stores undecodable objects, and a value that is no object,
// beside good ones.
func TestReflectorStoreSkipsBadObjects(t *testing.T) {
	r := newRecorder(t)
	f := &kubernetesRun{
		server: &server{
			cluster: "west", dirty: make(chan struct{}, 1), troubles: troubles{warnf: r.logf, infof: r.logf, changed: func() {}},
		},
		opts:  &KubernetesOptions{Stats: new(Stats), Observer: nobody{}, Cluster: "west", Logf: r.logf},
		store: newClusterStore("west", api.Pools{}),
	}
	state := &namespaceState{}
	f.states[api.KindGateway].namespaces = map[string]*namespaceState{"": state}
	s := (*reflectorStore)(&namespaceWatch{kubernetesRun: f, kind: api.KindGateway, what: gatewayResource, state: state, observer: nobody{}})
	good := func(name string) *wire {
		return &wire{name: name, value: &api.Gateway{Meta: api.Meta{Name: name}}}
	}
	bad := &wire{name: "ns/bad", err: errors.New("what is wrong")}

	for _, obj := range []any{bad, good("ns/a"), "no object", &wire{version: "7"}} {
		if err := s.Add(obj); err != nil {
			t.Errorf("Add(%v): %v", obj, err)
		}
		if err := s.Update(obj); err != nil {
			t.Errorf("Update(%v): %v", obj, err)
		}
	}
	r.log(gatewayResource, "skipping ns/bad", "what is wrong")
	if n := f.store.kinds[api.KindGateway].len(); n != 1 {
		t.Errorf("%d objects", n)
	}
	if err := s.Replace([]any{good("ns/b"), bad, "no object", good("ns/c")}, "8"); err != nil {
		t.Error(err)
	}
	if err := s.Delete(good("ns/c")); err != nil {
		t.Error(err)
	}
	if err := s.Delete("no object"); err != nil {
		t.Error(err)
	}
	c := f.store.cluster(&api.Cluster{UID: "uid"})
	if got := names(c); len(got) != 1 || got[0] != "g ns/b" || !state.listed {
		t.Errorf("objects %v, listed %v", got, state.listed)
	}
}
