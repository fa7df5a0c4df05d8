package controller

import (
	"fmt"
	"slices"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestBug3A25Turns: namespaces take turns in the queue of writes, however many objects one of them changes at once. Each namespace's come
// in their order.
func TestBug3A25Turns(t *testing.T) {
	w, _ := unreachable(t, func(*Options) {})
	k := newWork(w, w.look)
	defer k.queue.ShutDown()
	for i := range 1000 {
		k.add(api.Ref{Kind: api.KindRecord, Name: fmt.Sprintf("busy/%d", i)})
	}
	k.add(registryRef)
	for i := range 3 {
		k.add(api.Ref{Kind: api.KindRecord, Name: fmt.Sprintf("calm/%d", i)})
	}
	var names []string
	for k.queue.Len() > 0 {
		ref, _ := k.queue.Get()
		k.queue.Done(ref)
		names = append(names, ref.Name)
	}
	want := []string{"busy/0", "registry", "calm/0", "busy/1", "calm/1", "busy/2", "calm/2", "busy/3", "busy/4"}
	if len(names) != 1004 || !slices.Equal(names[:len(want)], want) || names[1003] != "busy/999" {
		t.Errorf("%d objects, first %q", len(names), names[:len(want)])
	}
}
