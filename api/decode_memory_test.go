//go:build !race

package api_test

import (
	"runtime"
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
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			all := make([]any, n)
			before := liveHeap()
			for i := range all {
				var err error
				if all[i], err = test.decode(i); err != nil {
					t.Fatal(err)
				}
			}
			each := int(liveHeap()-before) / n
			runtime.KeepAlive(all)
			t.Logf("%d bytes", each)
			if each > test.most {
				t.Errorf("%d bytes each, at most %d are wanted", each, test.most)
			}
		})
	}
}

func liveHeap() int64 {
	runtime.GC()
	runtime.GC() // the first one may have to finish sweeping
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
