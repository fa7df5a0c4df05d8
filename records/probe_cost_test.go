package records

import (
	"fmt"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestProbesThatSayNothingCostNothing: what a controller writes about a target says
// nothing where we check ourselves, so its status has nothing made anew.
func TestProbesThatSayNothingCostNothing(t *testing.T) {
	w := newWorld("c")
	w.checkedHost("s", "s.example.com", "", "192.0.2.1")
	var snap *Snapshot
	for i, healthy := range []api.ConditionStatus{api.ConditionTrue, api.ConditionFalse} {
		w.setProbe(0, "n/p", &api.HealthCheckProbe{Meta: api.Meta{Controlled: true}, Address: "192.0.2.1", Host: "s.example.com", Check: tcpCheck, Healthy: healthy})
		snap = Compile(snap, w.objects(), truthOptions, testTime)
		if i > 0 && len(snap.Renewed()) > 0 {
			t.Errorf("the status of a probe that counts for nothing has %q made anew", snap.Renewed())
		}
	}
}

// TestSameOverridesCostNothing: words that are the same as before are not looked
// through for each change of an object.
func TestSameOverridesCostNothing(t *testing.T) {
	var text strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&text, "target 10.0.%d.%d down\n", i>>8, i&255)
	}
	o, err := api.ParseOverrides("o", []byte(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	if got := testing.AllocsPerRun(5, func() {
		for range o.Changed(o) {
			t.Error("something has changed")
		}
	}); got > 3 {
		t.Errorf("%v allocations", got)
	}
}
