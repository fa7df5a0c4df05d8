package records

import (
	"fmt"
	"sync"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestReviewRecordsAreNotWrittenTo: what queries read is not written to while the next
// snapshot is made: go test -race (architecture.md, Cost rules).
func TestReviewRecordsAreNotWrittenTo(t *testing.T) {
	w := newWorld("c")
	w.zone("dns/z", "example.org.", 0, everything[0])
	w.record("a/r", "x.example.org.", "A", "192.0.2.1", 1)
	var s *Snapshot
	var queries sync.WaitGroup
	for i := range 200 {
		w.record("a/s", "x.example.org.", "TXT", fmt.Sprint(i), 1)
		next := Compile(s, w.objects(), &reviewOptions, testTime)
		queries.Wait()
		s = next
		queries.Go(func() {
			var a Answer
			s.Lookup(s.Zone("x.example.org."), &Query{Name: "x.example.org.", Owner: "X.example.org.", Type: dns.TypeA}, &a)
			if len(a.Answer) != 1 {
				t.Error("no answer")
			}
		})
	}
	queries.Wait()
}

// TestReviewChainInForeignZones is TestReviewChainInForeignZone for a zone that begins
// further down.
func TestReviewChainInForeignZones(t *testing.T) {
	w := newWorld("c")
	w.zone("dns/z", "example.org.", 0, everything[0])
	w.zone("a/klb", "default.klb.app.example.org.", 0, api.Delegation{Namespaces: []string{"a"}, Records: everything[0].Records})
	w.gateway("b/g", "app.example.org", api.WeightedGeo, 1, api.IPAddress, "192.0.2.66")
	s := Compile(nil, w.objects(), &reviewOptions, testTime)
	if got := ask(s, "default.klb.app.example.org.", dns.TypeA); got != "NOERROR" {
		t.Errorf("in the Zone of another namespace there is %s", got)
	}
}
