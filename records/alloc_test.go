//go:build !race

package records_test

import (
	"testing"

	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/records"
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
