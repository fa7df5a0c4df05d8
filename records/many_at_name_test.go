package records

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestManyTextsOfOneObject: one DNSEndpoint with many texts at one name, which goes, costs what their number does, not its square (rule 8.4).
func TestManyTextsOfOneObject(t *testing.T) {
	of := func(n int) uint64 {
		w := sharedWorld()
		var all []api.Endpoint
		for i := range n / 500 {
			targets := make([]string, 500)
			for j := range targets {
				targets[j] = fmt.Sprintf("%d-%d", i, j)
			}
			all = append(all, endpoint("evil.example.org.", "TXT", targets...))
		}
		w.endpoints("evil/e", 9, all...)
		s := Compile(nil, w.objects(), dnsHasZones, testTime)
		w.setDNSEndpoint(0, "evil/e", nil)
		in := w.objects()
		var from, to runtime.MemStats
		runtime.ReadMemStats(&from)
		Compile(s, in, dnsHasZones, testTime)
		runtime.ReadMemStats(&to)
		return to.TotalAlloc - from.TotalAlloc
	}
	if few, many := of(1000), of(8000); many > 8*few*3/2 {
		t.Errorf("1000 texts take %d octets, 8000 take %d", few, many)
	}
}

// BenchmarkManyTextsOfOneObject is the same by time.
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
					all = append(all, endpoint("evil.example.org.", "TXT", targets...))
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
