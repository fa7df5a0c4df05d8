package records

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/derive"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
)

// derivedName is what the Records of one name make of it.
type derivedName struct{ sets []rrset }

// BenchmarkDerive takes n Records to their names in collections of package derive: Record → its
// place and data → by name → RRsets. It tells the CPU time and memory of the first run, and of one
// change after it.
func BenchmarkDerive(b *testing.B) {
	for _, n := range []int{1000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			zone, err := api.DecodeZone("bench", []byte(`{"metadata":{"name":"static","namespace":"dns"},"spec":{"domainName":"static.example.",
				"delegations":[{"records":[{"pattern":"*"},{"pattern":"@"}]}]}}`))
			if err != nil {
				b.Fatal(err)
			}
			record := func(i, version int) *api.Record {
				r, err := api.DecodeRecord("bench", fmt.Appendf(nil, `{"metadata":{"name":"r%07d","namespace":"dns","uid":"%08d-0000-4000-8000-000000000000"},
					"spec":{"domainName":"h%07d","zoneRef":{"name":"static"},"type":"A","rdata":"10.%d.%d.%d"}}`, i, i, i*7919%n, version, i>>8&255, i&255))
				if err != nil {
					b.Fatal(err)
				}
				return r
			}
			zones, all := tree.Map[*api.Zone]{}.Edit(), tree.Map[*api.Record]{}.Edit()
			zones.Set(zone.Name, zone)
			var keys []string
			for i := range n {
				r := record(i, 1)
				all.Set(r.Name, r)
				keys = append(keys, r.Name)
			}
			cluster := &api.Cluster{Name: "bench", Zones: zones.Map()}
			opt := &Options{Zones: []ZoneOptions{{Origin: "static.example.", TTL: 60, LoadBalancedTTL: 300}}}
			set := resolveZones(api.Objects{Clusters: []*api.Cluster{cluster}}, nil, opt)

			g := derive.NewGraph(nil)
			source := derive.NewSource(g, "source", func(a, b *api.Record) bool { return a == b })
			placed := derive.Map(g, "placed", []derive.Any{source}, func(a, b *entry) bool { return a == b }, func(_ *derive.Reader, key string) (*entry, bool) {
				r, ok := source.Now().Get(key)
				if !ok {
					return nil, false
				}
				return set.placeRecord(r, opt), true
			})
			byName := derive.Index(g, "by name", []*derive.Collection[*entry]{placed}, (*entry).older, func(e *entry, yield func(string, *entry)) {
				if e.rr != nil {
					yield(e.name, e)
				}
			})
			names := derive.Map(g, "names", []derive.Any{byName}, func(a, b *derivedName) bool { return a == b }, func(_ *derive.Reader, key string) (*derivedName, bool) {
				list, ok := byName.Now().Get(key)
				if !ok {
					return nil, false
				}
				d := &derivedName{}
				for _, e := range list {
					d.sets = append(d.sets, rrset{rtype: e.rr.Header().Rrtype})
				}
				return d, true
			})
			runtime.GC()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			source.Put(all.Map(), keys)
			b.ResetTimer()
			g.Run()
			first := b.Elapsed()
			g.Rest()
			runtime.GC()
			runtime.ReadMemStats(&after)
			if names.Now().Len() != n {
				b.Fatal(names.Now().Len())
			}
			now := source.Now()
			b.ResetTimer()
			for i := 0; b.Loop(); i++ {
				e := now.Edit()
				r := record(i*104729%n, 2+i%200)
				e.Set(r.Name, r)
				now = e.Map()
				source.Put(now, []string{r.Name})
				g.Run()
			}
			b.ReportMetric(first.Seconds(), "first-s")
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(n), "B/record")
			runtime.KeepAlive(g)
		})
	}
}
