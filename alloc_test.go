//go:build !race

package kuadrant

import (
	"context"
	"net/netip"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/internal/fastpath"
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
		// The OPT record, its list of options, the client-subnet option, and the
		// slice of additional records.
		"subnet": message + 4,
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

// TestFastAllocations bounds what a query allocates that the fast path answers: the same, less the reply and slices for its OPT record.
func TestFastAllocations(t *testing.T) {
	tolerated := map[string]float64{
		"wildcard": 2, "mixedcase": 1 + 2,
		"subnet": 3 + 3*3, // the library makes the option's octets for two lengths and the message
	}
	k := served(t, 1000)
	routes := &fastRoutes{blocks: make(map[string]*fastBlock), zones: make(map[string]bool)}
	for _, zone := range k.block.Zones {
		routes.blocks[zone], routes.zones[zone] = &fastBlock{Kuadrant: k}, true
	}
	for _, a := range askedOf {
		t.Run(a.name, func(t *testing.T) {
			message, err := a.message().Pack()
			if err != nil {
				t.Fatal(err)
			}
			f, query, out, from := newFastAnswerer(routes), new(fastpath.Query), make([]byte, 4096), netip.MustParseAddr("198.51.100.7")
			allocated := testing.AllocsPerRun(200, func() {
				if !query.Parse(message) || f.Answer(query, from, out) == 0 {
					t.Fatal("not answered")
				}
			})
			if allocated > tolerated[a.name] {
				t.Errorf("%v allocations, want at most %v", allocated, tolerated[a.name])
			}
		})
	}
}
