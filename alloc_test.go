//go:build !race

package kuadrant

import (
	"context"
	"testing"
)

// TestServeDNSAllocations bounds what one query allocates in the plugin. What
// the server around it allocates is not counted: the sink packs nothing.
func TestServeDNSAllocations(t *testing.T) {
	const message = 1 // the reply with its question: log and cache may keep it
	tolerated := map[string]float64{
		"simple":   message,
		"flatten":  message,
		"chain":    message,
		"nxdomain": message,
		// Health costs nothing.
		"simple-checked":   message,
		"simple-unchecked": message,
		"flatten-checked":  message,
		// The records of *.wild under the name asked for: the slice, and one
		// record.
		"wildcard": message + 2,
		// The name in lower case; then the records under the name as the client
		// spells it: the slice, and one record.
		"mixedcase": message + 1 + 2,
		"subnet":    message,
	}
	k := served(t, 1000)
	for _, a := range askedOf {
		t.Run(a.name, func(t *testing.T) {
			w, r, ctx := newSink("198.51.100.7", false), a.message(), context.Background()
			allocated := testing.AllocsPerRun(200, func() {
				if _, err := k.ServeDNS(ctx, w, r); err != nil {
					t.Fatal(err)
				}
			})
			a.check(t, w.msg)
			if allocated > tolerated[a.name] {
				t.Errorf("%v allocations, want at most %v", allocated, tolerated[a.name])
			}
		})
	}
}

// TestFastAllocations: a query that the fast path answers allocates nothing.
func TestFastAllocations(t *testing.T) {
	k := served(t, 1000)
	for _, a := range askedOf {
		t.Run(a.name, func(t *testing.T) {
			if allocated := testing.AllocsPerRun(200, a.fast(t, k)); allocated > 0 {
				t.Errorf("%v allocations", allocated)
			}
		})
	}
}
