package records_test

import (
	"testing"

	"github.com/coredns-kuadrant/kuadrant/records"
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

// twoZones returns a world that compiles structures aside, with a registry: two Zones want sub and two tub, and a Record is older than the
// wildcard that covers it, and has no line.
func twoZones(t *testing.T) *recordstest.World {
	t.Helper()
	w := recordstest.New(t, recordstest.Zones("example.com."))
	w.Options.ZoneNamespaces = []string{"dns"}
	w.Aside = true
	w.Apply(t, "zone dns/z example.com. at=0s delegate=*", "zone dns/s1 sub.example.com. at=1s", "zone dns/s2 sub.example.com. at=2s",
		"zone dns/t1 tub.example.com. at=1s", "zone dns/t2 tub.example.com. at=2s", "owner *.a.example.com. c1 DNSPolicy n1/g",
		"gateway n1/g host=*.a.example.com addr=192.0.2.1", "policy n1/g at=2s", "record n2/r x.a.example.com. at=1s TXT t")
	return w
}

// TestHeldRegistryStaysServed: a name gets its line in the registry while a new structure is compiled. Once that is done, a line of a Zone
// has come, so that the registry waits: with the line that has decided whose the name is.
func TestHeldRegistryStaysServed(t *testing.T) {
	w := twoZones(t)
	served := func(s *records.Snapshot) bool {
		n := s.Zone("x.a.example.com.").Node("x.a.example.com.")
		return n != nil && len(n.Static) > 0
	}
	w.Step(t)
	if served(w.Step(t)) {
		t.Fatal("the Record is served below the wildcard")
	}
	w.Apply(t, "cluster c2")
	w.Step(t)
	w.Apply(t, "owner x.a.example.com. c1 Record n2/r")
	w.Step(t)
	if !served(w.Step(t)) {
		t.Fatal("the Record is not served with its line")
	}
	w.Apply(t, "owner zone:sub.example.com. c1 Zone dns/s2")
	if s := w.Step(t); s.ObjectsOf("c2") == nil || !s.Behind() {
		t.Fatal("the registry does not wait for what c2 waited for")
	} else if !served(s) {
		t.Error("the Record has gone")
	}
}

// TestHeldRegistryIsNotOlder: lines wait with a line of a Zone while the structure with all of them is compiled. Another one comes then: those
// that are compiled stay.
func TestHeldRegistryIsNotOlder(t *testing.T) {
	w := twoZones(t)
	w.Step(t)
	w.Step(t)
	w.Apply(t, "owner zone:sub.example.com. c1 Zone dns/s2", "owner x.a.example.com. c1 Record n2/r")
	for range 3 {
		w.Step(t)
	}
	w.Apply(t, "owner zone:tub.example.com. c1 Zone dns/t2", "record n2/r x.a.example.com. at=1s TXT t2")
	for range 4 {
		w.Step(t)
	}
}
