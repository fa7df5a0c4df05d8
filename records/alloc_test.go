//go:build !race

package records_test

import (
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/records/recordstest"
)

// TestUnderscoredAllocations: a query for a name with a _ label below a wildcard allocates no more for 900 Records at the wildcard's parent,
// whose namespaces the name could be, than one for any other name there, and none where the wildcard does not answer (rule 5.9).
func TestUnderscoredAllocations(t *testing.T) {
	for parent, answers := range map[string]int{"record apps/r%d w.example.com. TXT t%d": 1, "record mail/r%d w.example.com. at=0h TXT t%d": 0} {
		w := open(t, "record apps/w *.w.example.com. at=1h A 192.0.2.2", lines(900, parent))
		advance(w)
		asked := func(name string, answers int) float64 {
			q := records.Query{Name: name, Owner: name, Type: dns.TypeA, Locator: recordstest.Network}
			return testing.AllocsPerRun(100, func() {
				var a records.Answer
				if w.Snapshot.Lookup(w.Snapshot.Zone(name), &q, &a); len(a.Answer) != answers {
					t.Fatalf("%s: %v", name, a.Answer)
				}
			})
		}
		plain := asked("x.w.example.com.", 1)
		if got := asked("_x.w.example.com.", answers); got > plain {
			t.Errorf("%s: %v allocations, %v for another name", parent, got, plain)
		}
	}
}
