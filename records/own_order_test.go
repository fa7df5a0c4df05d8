package records

import (
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestAcquiredHostOfZoneBelowKlb: what is put on record about a host decides about a Zone below its klb name at once,
// as in a compile from nothing (rules 5.4 and 5.7).
func TestAcquiredHostOfZoneBelowKlb(t *testing.T) {
	w := sharedWorld()
	w.gateway("victim/app", "app.example.org", api.WeightedGeo, 1, api.IPAddress, "192.0.2.1")
	w.gateway("other/app", "other.example.org", api.Simple, 1, api.IPAddress, "192.0.2.9")
	w.zone("evil/z", "klb.app.example.org.", 3)
	w.acquired1("other.example.org.", api.KindDNSPolicy, "other/app")
	s := Compile(nil, w.objects(), ownOptions, testTime)
	w.acquired1("app.example.org.", api.KindDNSPolicy, "victim/app")
	in := w.objects()
	s = Compile(s, in, ownOptions, testTime)
	if got, want := dump(s), dump(Compile(nil, in, ownOptions, testTime)); got != want {
		t.Errorf("step by step it is not what it is from nothing: %s", differing(got, want))
	}
}

// TestAcquiredHostOfCutBelowKlb: the same of NS records below the klb name of a host.
func TestAcquiredHostOfCutBelowKlb(t *testing.T) {
	w := sharedWorld()
	w.record("evil/ns", "x.klb.app.example.org.", "NS", "ns.example.net.", 1)
	w.gateway("victim/app", "app.example.org", api.WeightedGeo, 3, api.IPAddress, "192.0.2.1")
	s := Compile(nil, w.objects(), ownOptions, testTime)
	w.acquired1("app.example.org.", api.KindDNSPolicy, "victim/app")
	in := w.objects()
	s = Compile(s, in, ownOptions, testTime)
	if got, want := dump(s), dump(Compile(nil, in, ownOptions, testTime)); got != want {
		t.Errorf("step by step it is not what it is from nothing: %s", differing(got, want))
	}
}
