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
						all = append(all, apiEndpoint(fmt.Sprintf("x%d.%st.example.org.", i, deep), "A", "192.0.2.1"))
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

// BenchmarkOwnersOfChainNames: the names of one chain, each asked for its owner, with younger Records of another namespace below klb.<host>: each question
// looks at all of these (rule 8.4).
func BenchmarkOwnersOfChainNames(b *testing.B) {
	for _, n := range []int{250, 500, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w := sharedWorld()
			all := []api.Endpoint{apiEndpoint("h.example.org.", "CNAME", "klb.h.example.org.")}
			names := []string{"h.example.org.", "klb.h.example.org."}
			for i := range n {
				leaf := fmt.Sprintf("m%d.klb.h.example.org.", i)
				e := apiEndpoint("klb.h.example.org.", "CNAME", leaf)
				e.SetID, e.Weight = fmt.Sprint(i), 1
				all = append(all, e, apiEndpoint(leaf, "A", fmt.Sprintf("10.0.%d.%d", i/250, i%250)))
				names = append(names, leaf)
			}
			w.endpoints("victim/e", 1, all...)
			for i := range n {
				w.record(fmt.Sprint("evil/r", i), fmt.Sprintf("r%d.klb.h.example.org.", i), "TXT", `"x"`, 9)
			}
			s := Compile(nil, w.objects(), dnsHasZones, testTime)
			owned := 0
			b.ResetTimer()
			for range b.N {
				owned = 0
				for _, name := range names {
					if _, ok := s.Owner(name); ok {
						owned++
					}
				}
			}
			b.ReportMetric(float64(owned), "owned")
		})
	}
}

// BenchmarkPatternsTypesAndRecords: a Zone with 1,000 patterns of 100 types each, and 2,000 Records in it, which a change of its delegations places again.
func BenchmarkPatternsTypesAndRecords(b *testing.B) {
	for _, types := range []int{1, 100} {
		b.Run(fmt.Sprint(types), func(b *testing.B) {
			var list []string
			for i := range types {
				list = append(list, fmt.Sprint("TYPE", 40000+i))
			}
			zone := func(w *world, last string) {
				var all []api.RecordDelegation
				for i := range 999 {
					all = append(all, api.RecordDelegation{Pattern: fmt.Sprint("*.z", i), Types: list})
				}
				w.zone("evil/t", "t.example.org.", 1, api.Delegation{Records: append(all, api.RecordDelegation{Pattern: "*", Types: []string{last}})})
			}
			w := sharedWorld()
			zone(w, "A")
			for i := range 2000 {
				w.record(fmt.Sprint("evil/r", i), fmt.Sprintf("r%d.t.example.org.", i), "A", "192.0.2.1", 9)
			}
			s := Compile(nil, w.objects(), dnsHasZones, testTime)
			b.ResetTimer()
			for i := range b.N {
				zone(w, []string{"TXT", "A"}[i%2])
				s = Compile(s, w.objects(), dnsHasZones, testTime)
			}
		})
	}
}
