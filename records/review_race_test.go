package records

import (
	"fmt"
	"sync"
	"testing"

	"github.com/miekg/dns"
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
