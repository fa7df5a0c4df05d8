package records

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// BenchmarkNestedZonesPatternsAndWants: a tenant's Zone gives a namespace 1,000 patterns; one object of that wants many long names, and
// Zones of a third namespace with names along them wait for it: each change of a Zone looks at the product of the three (rule 8.4).
func BenchmarkNestedZonesPatternsAndWants(b *testing.B) {
	for _, n := range []int{500, 2000} {
		for _, zones := range []int{1, 10, 100} {
			for _, patterns := range []int{1, 1000} {
				b.Run(fmt.Sprintf("wants=%d/zones=%d/patterns=%d", n, zones, patterns), func(b *testing.B) {
					w := sharedWorld()
					var list []api.RecordDelegation
					for i := range patterns - 1 {
						list = append(list, api.RecordDelegation{Pattern: fmt.Sprint("*.z", i)})
					}
					list = append(list, api.RecordDelegation{Pattern: "*"})
					w.zone("evil/t", "t.example.org.", 1, api.Delegation{Zones: []string{"*"}, Records: list})
					deep := strings.Repeat("a.", 105)
					var all []api.Endpoint
					for i := range n {
						all = append(all, endpoint(fmt.Sprintf("x%d.%st.example.org.", i, deep), "A", "192.0.2.1"))
					}
					w.endpoints("eve/e", 2, all...)
					for i := range zones {
						w.zone(fmt.Sprint("mallory/z", i), strings.Repeat("a.", 105-i)+"t.example.org.", 9)
					}
					opt := dnsHasZones
					s := Compile(nil, w.objects(), opt, testTime)
					var spent time.Duration
					b.ResetTimer()
					for i := range b.N {
						w.zone("mallory/other", fmt.Sprintf("q%d.example.org.", i), 9)
						in := w.objects()
						start := time.Now()
						s = Compile(s, in, opt, testTime)
						spent += time.Since(start)
					}
					b.ReportMetric(float64(spent.Milliseconds())/float64(b.N), "ms/change")
				})
			}
		}
	}
}
