package records_test

import (
	"testing"

	"github.com/coredns-kuadrant/kuadrant/records/recordstest"
)

// TestHeldClusterStaysServed: a host comes while a new structure is compiled. Once that is done, the cluster is read less far, so that it
// waits as a whole: with the host, which has been answered already.
func TestHeldClusterStaysServed(t *testing.T) {
	w := recordstest.New(t, recordstest.Zones("example.com."))
	w.Aside = true
	w.Apply(t, "cluster c1")
	w.Step(t)
	w.Step(t)
	w.Apply(t, "cluster c2")
	if !w.Step(t).Behind() {
		t.Fatal("c2 does not wait")
	}
	w.Apply(t, "cluster c1", "gateway n/g host=a.example.com addr=192.0.2.1", "policy n/g")
	w.Step(t)
	w.Step(t)
	w.Apply(t, "cluster c1 Record=notlisted")
	s := w.Step(t)
	if s.ObjectsOf("c2") == nil || !s.Behind() {
		t.Fatal("c1 does not wait for what c2 waited for")
	}
	if s.Zone("a.example.com.").Node("a.example.com.") == nil {
		t.Error("the host has gone")
	}
}
