package records

import (
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
		snap = Compile(snap, w.objects(), healthOptions, testTime)
		if i > 0 && len(snap.Renewed()) > 0 {
			t.Errorf("the status of a probe that counts for nothing has %q made anew", snap.Renewed())
		}
	}
}
