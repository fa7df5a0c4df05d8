package engine

import (
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/bench/objects"
	statefile "github.com/coredns-kuadrant/kuadrant/state"
)

// BenchmarkState writes the state of 10,000 Gateways with their policies, reads it, and starts
// from it: until queries are answered. The disk's own time is in it, with that of a sync.
func BenchmarkState(b *testing.B) {
	d := newDriven(b)
	for i := range 10_000 {
		d.put(b, objects.Simple(i))
	}
	d.take()
	dir := b.TempDir()
	write := func(b *testing.B) int64 {
		size, left, err := statefile.Write(dir, d.remembered(true))
		if err != nil || len(left) > 0 {
			b.Fatalf("left out %v: %v", left, err)
		}
		return size
	}
	size := write(b)
	b.Run("write", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			write(b)
		}
		b.ReportMetric(float64(size), "file-B")
	})
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if c, err := statefile.Read(dir); err != nil || c.Clusters[0].Gateways.Len() != 10_000 {
				b.Fatal(err)
			}
		}
	})
	b.Run("start", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			e := New(log, nil)
			s := *d.settings()
			s.state = newStateWriter(e, dir)
			s.feeds = []*feed{fed(&pushed{cluster: d.objects, publish: make(chan func(*api.Cluster), 1)})}
			e.apply(&s)
			e.Stop()
			if n := e.Snapshot().Zones()[0].Names(); n < 10_000 {
				b.Fatalf("%d names", n)
			}
		}
	})
}
