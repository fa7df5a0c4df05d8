package records

import (
	"fmt"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// BenchmarkManyTextsOfOneObject takes a DNSEndpoint with many texts at one name away: TestManyTextsOfOneObject by time.
func BenchmarkManyTextsOfOneObject(b *testing.B) {
	for _, n := range []int{10, 40} {
		b.Run(fmt.Sprint(n*1000), func(b *testing.B) {
			w := sharedWorld()
			for i := 0; b.Loop(); i++ {
				b.StopTimer()
				var all []api.Endpoint
				for j := range n {
					targets := make([]string, 1000)
					for k := range targets {
						targets[k] = fmt.Sprintf("%d-%d", j, k)
					}
					all = append(all, apiEndpoint("evil.example.org.", "TXT", targets...))
				}
				w.endpoints("evil/e", 9, all...)
				s := Compile(nil, w.objects(), dnsHasZones, testTime)
				w.setDNSEndpoint(0, "evil/e", nil)
				in := w.objects()
				b.StartTimer()
				Compile(s, in, dnsHasZones, testTime)
			}
		})
	}
}
