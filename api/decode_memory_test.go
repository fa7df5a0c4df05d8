//go:build !race

package api_test

import (
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestDecodedSize measures what one decoded object keeps alive, the pointer to
// it included. The race detector would change the sizes.
func TestDecodedSize(t *testing.T) {
	const n = 10_000
	tests := []struct {
		name   string
		most   int // bytes
		decode func(i int) (any, error)
	}{
		{"Gateway with a label, a listener and an address", 800, func(i int) (any, error) { return api.DecodeGateway("c", liveGateway(i)) }},
		{"simple DNSPolicy", 450, func(i int) (any, error) { return api.DecodePolicy("c", livePolicy(i)) }},
		{"DNSHealthCheckProbe", 550, func(i int) (any, error) { return api.DecodeProbe("c", liveProbe(i)) }},
		// A million of these two are planned for.
		{"Record named as its object", 300, func(i int) (any, error) { return api.DecodeRecord("c", liveRecord(i)) }},
		{"Record with an absolute name", 320, func(i int) (any, error) { return api.DecodeRecord("c", absoluteRecord(i)) }},
		{"DNSRecord with five endpoints", 2000, func(i int) (any, error) { return api.DecodeDNSRecord("c", liveDNSRecord(i)) }},
		{"Zone with a delegation", 800, func(i int) (any, error) { return api.DecodeZone("c", liveZone(i)) }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			each := math.MaxInt
			for range 3 { // what else the process allocates meanwhile only adds to it
				all := make([]any, n)
				before := liveHeap()
				for i := range all {
					var err error
					if all[i], err = test.decode(i); err != nil {
						t.Fatal(err)
					}
				}
				each = min(each, int(liveHeap()-before)/n)
				runtime.KeepAlive(all)
			}
			t.Logf("%d bytes", each)
			if each > test.most {
				t.Errorf("%d bytes each, at most %d are wanted", each, test.most)
			}
		})
	}
}

// TestHugeZoneSize: a Zone takes memory in proportion to its text, whatever that
// repeats.
func TestHugeZoneSize(t *testing.T) {
	const most = 16 // times the text
	for _, unit := range []string{
		`{}`, `{"zones":["a"]}`, `{"records":[{"pattern":"a"}]}`, `{"namespaces":["a"]}`, `{"zones":["a."]}`, `{"namespaces":[5],"zones":["a"]}`,
		`{"zones":[` + strings.Repeat(`"a",`, 1000) + `"a"]}`,
		`{"records":[` + strings.Repeat(`{"pattern":"a"},`, 1000) + `{"pattern":"a","types":["A","A","A"]}]}`,
	} {
		text := []byte(`{"metadata":{"name":"z"},"spec":{"domainName":"a.","delegations":[` +
			strings.Repeat(unit+",", 4<<20/len(unit)) + unit + `]}}`)
		before := liveHeap()
		z, err := api.DecodeZone("c", text)
		if err != nil {
			t.Fatal(err)
		}
		size := liveHeap() - before
		runtime.KeepAlive(z)
		runtime.KeepAlive(text)
		t.Logf("%.30s: %.1f times the text", unit, float64(size)/float64(len(text)))
		if size > most*int64(len(text)) {
			t.Errorf("%.30s: %d bytes from a text of %d", unit, size, len(text))
		}
	}
}

func liveHeap() int64 {
	runtime.GC()
	runtime.GC() // the first one may have to finish sweeping
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
