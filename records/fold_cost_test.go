package records

import (
	"fmt"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// BenchmarkManyDefaults changes one of some DNSEndpoints of a namespace that have 1,000 defaults each at one name: the time grows with the square of their
// number (rule 8.4), where the set identifier is the same, and with the number where each has its own.
func BenchmarkManyDefaults(b *testing.B) {
	for _, setID := range []string{"own", "same"} {
		for _, n := range []int{5, 10, 20} {
			b.Run(fmt.Sprint(setID, n*1000), func(b *testing.B) {
				w := sharedWorld()
				for i := range n {
					var all []api.Endpoint
					for j := range 1000 {
						id := "default"
						if setID == "own" {
							id = fmt.Sprint(i, "-", j)
						}
						all = append(all, rowOf("h.example.org.", "CNAME", fmt.Sprintf("t%d-%d.example.net", i, j), id, "*", 1))
					}
					w.endpoints(fmt.Sprintf("evil/e%d", i), int64(i), all...)
				}
				s := Compile(nil, w.objects(), dnsHasZones, testTime)
				for i := 0; b.Loop(); i++ {
					w.endpoints("evil/x", 99, rowOf("h.example.org.", "CNAME", fmt.Sprintf("x%d.example.net", i), "x", "", 1))
					s = Compile(s, w.objects(), dnsHasZones, testTime)
				}
			})
		}
	}
}
