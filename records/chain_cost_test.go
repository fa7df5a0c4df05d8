package records

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestOwnersOfHostsBelowKlb: to tell who has each of the hosts below klb.<host>, with a Record below each one's own klb name, costs what their number does,
// not its square (rule 8.4): the elected replica asks of all that a compile made anew.
func TestOwnersOfHostsBelowKlb(t *testing.T) {
	of := func(n int) uint64 {
		w := sharedWorld()
		for i := range n {
			w.gateway(fmt.Sprintf("evil/g%d", i), fmt.Sprintf("h%d.klb.h.example.org", i), api.WeightedGeo, 2, api.IPAddress, "192.0.2.66")
			w.record(fmt.Sprintf("evil/n%d", i), fmt.Sprintf("x.klb.h%d.klb.h.example.org.", i), "TXT", `"x"`, 3)
		}
		s := Compile(nil, w.objects(), dnsHasZones, testTime)
		var from, to runtime.MemStats
		runtime.ReadMemStats(&from)
		for i := range n {
			if _, ok := s.Owner(fmt.Sprintf("h%d.klb.h.example.org.", i)); !ok {
				t.Fatal("nobody has the host")
			}
		}
		runtime.ReadMemStats(&to)
		return to.TotalAlloc - from.TotalAlloc
	}
	if few, many := of(100), of(800); many > 8*few*3/2 {
		t.Errorf("100 of each take %d octets, 800 of each %d", few, many)
	}
}

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
