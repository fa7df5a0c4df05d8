package records

import (
	"fmt"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// BenchmarkPatternsAndRecords compiles a Zone with as many patterns as a namespace can have, and Records in it that none of them matches: each Record
// costs a look at all patterns, which is why they have a bound (rule 8.4).
func BenchmarkPatternsAndRecords(b *testing.B) {
	const patterns = 1000
	for _, n := range []int{1000, 2000, 4000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w := newWorld("c")
			d := api.Delegation{}
			for i := range patterns {
				d.Records = append(d.Records, api.RecordDelegation{Pattern: fmt.Sprintf("*.a%d.b.c", i)})
			}
			w.zone("dns/z", "example.org.", 0, d)
			for i := range n {
				w.record(fmt.Sprintf("evil/r%d", i), fmt.Sprintf("r%d.b.c.example.org.", i), "A", "192.0.2.1", 1)
			}
			in := w.objects()
			for b.Loop() {
				Compile(nil, in, dnsHasZones, testTime)
			}
		})
	}
}
