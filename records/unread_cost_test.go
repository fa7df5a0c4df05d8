package records

import (
	"fmt"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// withheldQuery returns how many allocations a query for a name takes whose owner on record cannot be read, while
// n texts stand below klb of it.
func withheldQuery(n int) float64 {
	w := newWorld("c", "d")
	w.gateway("a/p", "app.example.com", api.WeightedGeo, 1, api.IPAddress, "192.0.2.1")
	for i := range n {
		w.record(fmt.Sprintf("a/r%d", i), fmt.Sprintf("x%d.klb.app.example.com.", i), "TXT", "x", 0)
	}
	w.acquireAs("app.example.com.", ownerIn("d", api.KindDNSPolicy, "b/p"))
	w.lackOf(1, api.NotCounted, api.KindDNSPolicy)
	s := Compile(nil, w.objects(), unreadOptions, testTime)
	z := s.Zone("app.example.com.")
	return testing.AllocsPerRun(10, func() {
		var a Answer
		s.Lookup(z, &Query{Name: "app.example.com.", Owner: "app.example.com.", Type: dns.TypeA}, &a)
	})
}

// TestUnreadQueryCost: what a query costs does not depend on how many Records a tenant has (rule 8.4). With 10,000 below klb one query took
// 5 ms.
func TestUnreadQueryCost(t *testing.T) {
	if few, many := withheldQuery(10), withheldQuery(1000); many > 2*few {
		t.Errorf("a query takes %v allocations with 10 Records below klb, and %v with 1,000", few, many)
	}
}
