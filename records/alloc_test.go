//go:build !race

package records_test

import (
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/records/recordstest"
)

// TestLookupAllocations bounds what Lookup allocates. Nothing, for names that
// exist as they are asked for; else each allocation is named here.
func TestLookupAllocations(t *testing.T) {
	tolerated := map[string]float64{
		// RFC 4592: the records of *.wild under the name asked for: the slice, and
		// one record.
		"wildcard": 2,
		// The records under the name as the client spells it: the slice, and one
		// record.
		"mixedcase": 2,
	}
	snap := lookupSnapshot(t, 1000)
	for _, q := range questions {
		t.Run(q.name, func(t *testing.T) {
			zone, query := snap.Zone(q.zone), q.query(fixedPlace{geo.FromCodes("", "", "US", "NA")})
			var a records.Answer
			allocated := testing.AllocsPerRun(200, func() {
				query.Random++
				a = records.Answer{}
				snap.Lookup(zone, &query, &a)
			})
			q.check(t, &a)
			if allocated > tolerated[q.name] {
				t.Errorf("%v allocations, want at most %v", allocated, tolerated[q.name])
			}
		})
	}
}

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
