package engine

import (
	"context"
	"fmt"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/bench/cpu"
	"github.com/coredns-kuadrant/kuadrant/bench/objects"
	"github.com/coredns-kuadrant/kuadrant/bench/stats"
	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/internal/geotest"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// pushed is a source whose objects the benchmark publishes itself.
type pushed struct {
	cluster *objects.Cluster
	publish chan func(*api.Cluster)
}

func (p *pushed) Name() string     { return "bench" }
func (p *pushed) Identity() string { return "bench" }
func (p *pushed) Run(ctx context.Context, publish func(*api.Cluster)) error {
	p.publish <- publish
	<-ctx.Done()
	return nil
}

// driven is an engine without a loop of its own: what it does for one published
// cluster is done in the goroutine that asks for it.
type driven struct {
	*Engine
	objects *objects.Cluster
	publish func(*api.Cluster)
}

// newDriven returns an engine with an empty cluster.
func newDriven(tb testing.TB) *driven {
	tb.Helper()
	src := &pushed{cluster: objects.NewCluster("bench"), publish: make(chan func(*api.Cluster))}
	e := New(log, nil)
	s := &settings{opt: &records.Options{Zones: []records.ZoneOptions{
		{Origin: objects.Zone, TTL: records.DefaultTTL, LoadBalancedTTL: records.DefaultLoadBalancedTTL},
		{Origin: objects.FlatZone, Flatten: true, TTL: records.DefaultTTL, LoadBalancedTTL: records.DefaultLoadBalancedTTL},
	}}}
	db, err := geo.Open([]string{geotest.Write(tb, tb.TempDir()).City}, "", nil)
	if err != nil {
		tb.Fatal(err)
	}
	s.locator, s.feeds = db, []*feed{fed(src)}
	e.inForce.Store(s)
	e.feeds = s.feeds
	e.begin(s.feeds[0])
	tb.Cleanup(func() {
		e.cancel()
		e.done.Wait()
	})
	return &driven{Engine: e, objects: src.cluster, publish: <-src.publish}
}

func (d *driven) put(tb testing.TB, list ...objects.Object) {
	for _, o := range list {
		if err := d.objects.Put(o); err != nil {
			tb.Fatal(err)
		}
	}
}

// take publishes everything and compiles it.
func (d *driven) take() {
	d.publish(d.objects.Publish())
	<-d.wake
	d.compile()
}

// BenchmarkChange takes one change at a time, from what a source publishes to
// the snapshot that queries are answered from, among a number of hosts. The CPU
// time of all threads is told, with that of garbage collection, and with what
// the source does to its tree of objects for one change: the mean, and the range
// of the means of five parts. It takes thousands of changes to see the garbage
// collector's share; what there is without it is told too.
func BenchmarkChange(b *testing.B) {
	for _, hosts := range []int{1_000, 10_000, 100_000} {
		d := newDriven(b)
		for i := range hosts - 1 {
			d.put(b, objects.Simple(i))
		}
		steered := objects.Steered(hosts-1, objects.Zone)
		d.put(b, steered[:]...)
		d.take()
		random := uint32(1)
		for _, kind := range []struct {
			name   string
			change func(i int)
		}{
			{"address", func(i int) {
				random = random*1664525 + 1013904223
				d.objects.Move(objects.Simple(int(random>>8)%(hosts-1)), objects.Address(1<<20+i))
			}},
			{"steered", func(i int) { d.objects.Move(steered[i%2], objects.Address(1<<20+i)) }},
			{"host", func(i int) {
				o := objects.Simple(hosts + i/2%hosts)
				if i%2 == 0 {
					d.put(b, o)
				} else {
					d.objects.Remove(o)
				}
			}},
		} {
			b.Run(fmt.Sprintf("%s/hosts=%d", kind.name, hosts), func(b *testing.B) {
				b.ReportAllocs()
				const parts = 5
				var used []float64
				begin := cpu.Time(b)
				for part := range parts {
					n := b.N*(part+1)/parts - b.N*part/parts
					if n == 0 {
						continue
					}
					before := cpu.Time(b)
					for i := range n {
						kind.change(b.N*part/parts + i)
						d.take()
					}
					used = append(used, float64((cpu.Time(b)-before).Nanoseconds())/1e3/float64(n))
				}
				s := stats.Of(used)
				b.ReportMetric(float64((cpu.Time(b)-begin).Nanoseconds())/1e3/float64(b.N), "cpu-µs")
				b.ReportMetric(s.Min, "cpu-µs-min")
				b.ReportMetric(s.Max, "cpu-µs-max")
				b.StopTimer()
				without := cpu.WithoutCollections(b, func(i int) {
					kind.change(b.N + i)
					d.take()
				})
				b.ReportMetric(without.Median, "no-gc-µs")
				b.ReportMetric(without.Min, "no-gc-µs-min")
				b.ReportMetric(without.Max, "no-gc-µs-max")
			})
		}
	}
}
