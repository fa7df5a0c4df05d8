package records

import (
	"fmt"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestMaxSharing: as many policies as may share a host share it, the older ones; the
// others are told, checked by nobody, and take over when one goes.
func TestMaxSharing(t *testing.T) {
	w := newWorld("c")
	const more = 3
	for i := range maxSharing + more {
		p := &api.DNSPolicy{Strategy: api.WeightedGeo, DefaultWeight: 1, HealthCheck: someChecks[0]}
		p.Created = int64(i + 1)
		w.publish(fmt.Sprintf("n/g%04d", i), "app.example.com", p, fmt.Sprintf("10.0.%d.%d", i>>8, i&255))
	}
	check := func(s *Snapshot, lost ...int) {
		t.Helper()
		members := s.zones[0].find("app.example.com.").steered.view.pool.members
		if len(members) != maxSharing || s.checks.Len() != maxSharing {
			t.Errorf("%d members and %d checks, want %d", len(members), s.checks.Len(), maxSharing)
		}
		told := 0
		for name, v := range s.clusters[0].verdicts.All() {
			if len(v.Records) == 0 {
				continue
			}
			if told++; !strings.Contains(v.Records[0].Conditions[0].Message, "500 policies share the host already") {
				t.Errorf("%s: %v", name, v.Records)
			}
		}
		if told != len(lost) {
			t.Errorf("%d are told, want %d", told, len(lost))
		}
		for _, i := range lost {
			if v := s.Verdict("c", api.Ref{Kind: api.KindDNSPolicy, Name: fmt.Sprintf("n/g%04d", i)}); len(v.Records) != 1 {
				t.Errorf("g%04d is told nothing", i)
			}
		}
	}
	s := Compile(nil, w.objects(), hostileOptions, testTime)
	check(s, maxSharing, maxSharing+1, maxSharing+2)
	w.setPolicy(0, "n/g0007", nil)
	s = Compile(s, w.objects(), hostileOptions, testTime)
	check(s, maxSharing+1, maxSharing+2)
	if got, want := dump(s), dump(Compile(nil, w.objects(), hostileOptions, testTime)); got != want {
		t.Error("compiled step by step it is another than from nothing")
	}
}
