package pool

import (
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/health"
)

// TestBest compares what best returns with the rule, for addresses in all mixes
// of classes: those of the lowest class, in their order.
func TestBest(t *testing.T) {
	states := []health.State{health.Up, health.Unknown, health.Down}
	random := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		n, kinds := random.IntN(6), 1+random.IntN(4)
		rrs, cells, classes := make([]dns.RR, n), make([]Cells, n), make([]Class, n)
		lowest := ForcedDown
		for i := range n {
			rrs[i] = &dns.A{A: netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}).AsSlice()}
			if kind := random.IntN(kinds); kind == len(states) {
				cells[i].Gateway, classes[i] = gatewayCell(health.ForceDown, false), ForcedDown
			} else {
				cell := health.NewCell(0)
				cell.Set(states[kind])
				cells[i].Check, classes[i] = cell, weightedClass[kind]
			}
			lowest = min(lowest, classes[i])
		}
		var want []dns.RR
		for i, rr := range rrs {
			if classes[i] == lowest {
				want = append(want, rr)
			}
		}
		got, class := best(rrs, cells, nil)
		if class != lowest || len(got) != len(want) {
			t.Fatalf("%d addresses of class %s from classes %v", len(got), class, classes)
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("address %d is %v from classes %v", i, got[i], classes)
			}
		}
	}
}
