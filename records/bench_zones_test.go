package records_test

import (
	"fmt"
	"runtime"
	"runtime/metrics"
	"slices"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/bench/objects"
	"github.com/coredns-kuadrant/kuadrant/bench/stats"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
)

// staticZone is a cluster with one Zone and n Records in it: of ten names eight have an
// A record, one a CNAME and one a TXT; two of the eight share a name with an AAAA.
type staticZone struct {
	cluster api.Cluster
	n       int
}

const staticOrigin = "static.example."

func newStaticZone(tb testing.TB, n int) *staticZone {
	tb.Helper()
	s := &staticZone{cluster: api.Cluster{Name: "bench", UID: "bench"}, n: n}
	for k := range s.cluster.Listings {
		s.cluster.Listings[k] = api.Listed
	}
	zone, err := api.DecodeZone("bench", []byte(`{"metadata":{"name":"static","namespace":"dns"},"spec":{"domainName":"`+staticOrigin+
		`","delegations":[{"records":[{"pattern":"*"},{"pattern":"@"}]}]}}`))
	if err != nil {
		tb.Fatal(err)
	}
	zones := tree.Map[*api.Zone]{}.Edit()
	zones.Set(zone.Name, zone)
	s.cluster.Zones = zones.Map()
	all := tree.Map[*api.Record]{}.Edit()
	for i := range n {
		r := s.record(tb, i, 1)
		all.Set(r.Name, r)
	}
	s.cluster.Records = all.Map()
	return s
}

// record returns the i-th Record; version changes its data.
func (s *staticZone) record(tb testing.TB, i, version int) *api.Record {
	tb.Helper()
	name, rtype, data := fmt.Sprintf("h%07d", i), "A", fmt.Sprintf("10.%d.%d.%d", version, i>>8&255, i&255)
	switch i % 10 {
	case 7:
		rtype, data = "CNAME", fmt.Sprintf("h%07d", i-1)
	case 8:
		rtype, data = "TXT", fmt.Sprintf(`"text %d of %d"`, i, version)
	case 9:
		name, rtype, data = fmt.Sprintf("h%07d", i-9), "AAAA", fmt.Sprintf("2001:db8::%x:%x", version, i&0xffff)
	}
	if i == 0 {
		name, rtype, data = "@", "NS", "ns.example.net."
	}
	r, err := api.DecodeRecord("bench", fmt.Appendf(nil,
		`{"metadata":{"name":"r%07d","namespace":"dns","creationTimestamp":"2026-01-01T00:00:00Z","uid":"%08d-0000-4000-8000-000000000000"},"spec":{"domainName":%q,"zoneRef":{"name":"static"},"type":%q,"rdata":%q}}`,
		i, i, name, rtype, data))
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// change puts another version of the i-th Record into the cluster.
func (s *staticZone) change(tb testing.TB, i, version int) *api.Cluster {
	return s.put(s.record(tb, i, version), true)
}

// hider has a Record of a type come or go that hides what is below its name.
func (s *staticZone) hider(tb testing.TB, rtype string, there bool) *api.Cluster {
	r, err := api.DecodeRecord("bench", fmt.Appendf(nil,
		`{"metadata":{"name":"hider","namespace":"dns","creationTimestamp":"2026-01-02T00:00:00Z"},"spec":{"domainName":"hider","zoneRef":{"name":"static"},"type":%q,"rdata":"there.example.net."}}`, rtype))
	if err != nil {
		tb.Fatal(err)
	}
	return s.put(r, there)
}

// put puts a Record into the cluster, or takes it away.
func (s *staticZone) put(r *api.Record, there bool) *api.Cluster {
	next := s.cluster
	e := next.Records.Edit()
	if there {
		e.Set(r.Name, r)
	} else {
		e.Delete(r.Name)
	}
	next.Records = e.Map()
	next.Changed = []api.Ref{{Kind: api.KindRecord, Name: r.Name}}
	s.cluster = next
	s.cluster.Changed = nil
	return &next
}

func staticOptions() *records.Options {
	return &records.Options{Zones: []records.ZoneOptions{{Origin: staticOrigin, TTL: records.DefaultTTL, LoadBalancedTTL: records.DefaultLoadBalancedTTL}}}
}

// report tells the median and the range of what was measured.
func report(b *testing.B, unit string, values []float64) {
	s := stats.Of(values)
	b.ReportMetric(s.Median, unit)
	b.ReportMetric(s.Min, unit+"-min")
	b.ReportMetric(s.Max, unit+"-max")
}

// inParts runs b.N rounds in five parts, and returns the CPU time of one round in each
// part, in nanoseconds, without that of prepare.
func inParts(b *testing.B, prepare, round func(i int)) (used []float64) {
	const parts = 5
	b.ResetTimer()
	for part := range parts {
		from, to := b.N*part/parts, b.N*(part+1)/parts
		if prepare != nil {
			b.StopTimer()
			for i := from; i < to; i++ {
				prepare(i)
			}
			b.StartTimer()
		}
		before := cpu(b)
		for i := from; i < to; i++ {
			round(i)
		}
		if to > from {
			used = append(used, float64((cpu(b)-before).Nanoseconds())/float64(to-from))
		}
	}
	return used
}

// BenchmarkStaticZone compiles a zone of static records from nothing, and tells the CPU
// time of all threads and the live heap for each record, beside that of the objects.
func BenchmarkStaticZone(b *testing.B) {
	for _, n := range []int{1000, 1_000_000} {
		b.Run(fmt.Sprintf("rrs=%d", n), func(b *testing.B) {
			s, opt := newStaticZone(b, n), staticOptions()
			c := s.cluster
			var used, heap []float64
			for b.Loop() {
				before, since := liveHeap(), cpu(b)
				snap := compile(nil, &c, opt)
				used = append(used, (cpu(b) - since).Seconds())
				heap = append(heap, float64(liveHeap()-before)/float64(n))
				if accepted, refused, _ := snap.Verdicts(api.KindRecord); accepted != n || refused > 0 {
					b.Fatalf("%d Records accepted, %d refused", accepted, refused)
				}
				runtime.KeepAlive(snap)
			}
			report(b, "cpu-s", used)
			report(b, "B/record", heap)
			runtime.KeepAlive(s)
		})
	}
}

// BenchmarkStaticChange changes one Record after the other.
func BenchmarkStaticChange(b *testing.B) {
	for _, n := range []int{1000, 1_000_000} {
		s, opt := newStaticZone(b, n), staticOptions()
		c := s.cluster
		snap := compile(nil, &c, opt)
		version := 1
		b.Run(fmt.Sprintf("rrs=%d", n), func(b *testing.B) {
			next := make([]*api.Cluster, b.N)
			used := inParts(b, func(i int) {
				version++
				next[i] = s.change(b, 1+version*7919%(n-1), 2+version%250)
			}, func(i int) {
				snap = compile(snap, next[i], opt)
				next[i] = nil
			})
			for i := range used {
				used[i] /= 1e3
			}
			report(b, "cpu-µs", used)
		})
		runtime.KeepAlive(snap)
	}
}

// BenchmarkStructure has a Zone come and go, which compiles everything from nothing: beside Gateways, and beside Records. Meanwhile
// one object changes again and again: leaf-s is the longest that a change takes. peak-x is the largest heap over the live one
// before, live-x what the collector found live of it.
func BenchmarkStructure(b *testing.B) {
	one := objects.Simple(7)
	for _, of := range []struct {
		name, origin string
		make         func() *api.Cluster // one at a time: memory is compared
		opt          *records.Options
		leaf         api.Ref
	}{
		{"gateways=100000", objects.Zone, func() *api.Cluster {
			hosts := objects.NewCluster("bench")
			fill(b, hosts, 100_000, simple)
			return hosts.Publish()
		}, benchOptions(), api.Ref{Kind: api.KindGateway, Name: one.Namespace() + "/" + one.GatewayName()}},
		{"rrs=1000000", staticOrigin, func() *api.Cluster {
			return &newStaticZone(b, 1_000_000).cluster
		}, staticOptions(), api.Ref{Kind: api.KindRecord, Name: "dns/r0000001"}},
	} {
		c := of.make()
		snap := compile(nil, c, of.opt)
		there := false
		b.Run(of.name, func(b *testing.B) {
			var used, peaks, lives, leaves []float64
			for b.Loop() {
				next, zones := *c, c.Zones.Edit()
				if there = !there; there {
					z, err := api.DecodeZone("bench", []byte(`{"metadata":{"name":"more","namespace":"dns"},"spec":{"domainName":"more.`+of.origin+`"}}`))
					if err != nil {
						b.Fatal(err)
					}
					zones.Set(z.Name, z)
				}
				next.Zones, next.Changed = zones.Map(), []api.Ref{{Kind: api.KindZone, Name: "dns/more"}}
				leaf := next
				leaf.Changed = append(slices.Clip(next.Changed), of.leaf)
				before, since, done := float64(liveHeap()), cpu(b), make(chan *records.Snapshot)
				go func() { done <- compile(snap, &next, of.opt) }()
				var made *records.Snapshot
				var peak, live, longest float64
				for made == nil {
					from := time.Now()
					records.CompileLeaves(snap, api.Objects{Clusters: []*api.Cluster{&leaf}}, of.opt, benchTime)
					longest = max(longest, time.Since(from).Seconds())
					heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/gc/heap/live:bytes"}}
					metrics.Read(heap)
					peak, live = max(peak, float64(heap[0].Value.Uint64())/before), max(live, float64(heap[1].Value.Uint64())/before)
					select {
					case made = <-done:
					case <-time.After(10 * time.Millisecond):
					}
				}
				snap = made
				used, peaks, lives = append(used, (cpu(b)-since).Seconds()), append(peaks, peak), append(lives, live)
				leaves = append(leaves, longest)
			}
			report(b, "cpu-s", used)
			report(b, "peak-x", peaks)
			report(b, "live-x", lives)
			report(b, "leaf-s", leaves)
		})
		runtime.KeepAlive(snap)
	}
}

// BenchmarkStaticHiders has a Record come and go that hides what is below its name, which is
// nothing: it is looked for all the same.
func BenchmarkStaticHiders(b *testing.B) {
	for _, n := range []int{1000, 1_000_000} {
		s, opt := newStaticZone(b, n), staticOptions()
		c := s.cluster
		snap := compile(nil, &c, opt)
		for _, rtype := range []string{"NS", "DNAME"} {
			there := false
			b.Run(fmt.Sprintf("%s/rrs=%d", rtype, n), func(b *testing.B) {
				used := inParts(b, nil, func(int) {
					there = !there
					snap = compile(snap, s.hider(b, rtype, there), opt)
				})
				for i := range used {
					used[i] /= 1e3
				}
				report(b, "cpu-µs", used)
			})
		}
		runtime.KeepAlive(snap)
	}
}

// BenchmarkStaticLookup looks names up that exist, and names that do not: as many and as
// far apart that those of a large zone are not in the processor's caches.
func BenchmarkStaticLookup(b *testing.B) {
	for _, n := range []int{1000, 1_000_000} {
		s, opt := newStaticZone(b, n), staticOptions()
		c := s.cluster
		snap := compile(nil, &c, opt)
		for _, kind := range []string{"A", "NXDOMAIN"} {
			b.Run(fmt.Sprintf("%s/rrs=%d", kind, n), func(b *testing.B) {
				names := make([]string, 1<<17)
				for i := range names {
					at := i * 7919 % n / 10 * 10
					names[i] = fmt.Sprintf("h%07d.%s", at+1, staticOrigin)
					if kind == "NXDOMAIN" {
						names[i] = fmt.Sprintf("x%07d.%s", at, staticOrigin)
					}
				}
				report(b, "cpu-ns", inParts(b, nil, func(i int) {
					name := names[i&(1<<17-1)]
					var a records.Answer
					snap.Lookup(snap.Zone(name), &records.Query{Name: name, Owner: name, Type: dns.TypeA}, &a)
				}))
			})
		}
	}
}

// BenchmarkZoneMatch finds the zone of a name among few zones and among many, in turns:
// what else happens on the machine falls on both.
func BenchmarkZoneMatch(b *testing.B) {
	counts := [...]int{10, 10_000}
	var snaps [len(counts)]*records.Snapshot
	var names [len(counts)][]string
	for k, n := range counts {
		snaps[k] = snapshotOfZones(b, n)
		for i := range 1024 {
			names[k] = append(names[k], fmt.Sprintf("www.app.z%04d.%s", i*7919%n, staticOrigin))
		}
	}
	var used [len(counts)][]float64
	var ratios []float64
	for range 7 {
		for k := range counts {
			used[k] = append(used[k], stats.Of(inParts(b, nil, func(i int) {
				if snaps[k].Zone(names[k][i&1023]) == nil {
					b.Fatal("no zone")
				}
			})).Median)
		}
		ratios = append(ratios, used[1][len(ratios)]/used[0][len(ratios)])
	}
	report(b, "few-ns", used[0])
	report(b, "many-ns", used[1])
	report(b, "ratio", ratios)
}

// BenchmarkNewZone has a Zone come and go beside many that have lines in the registry. resolve-s is the CPU time of deciding on all of
// them, wait-s that of the step after which others' changes are compiled, whole-s that of compiling everything from nothing.
func BenchmarkNewZone(b *testing.B) {
	for _, n := range []int{8000, 32_000} {
		b.Run(fmt.Sprintf("zones=%d", n), func(b *testing.B) {
			opt, c := staticOptions(), clusterOfZones(b, n)
			in := api.Objects{Clusters: []*api.Cluster{c}}
			snap := records.Compile(nil, in, opt, benchTime)
			registry := in.Acquired.Edit()
			for key, owner := range snap.ZoneOwners() {
				registry.Set(key, owner)
			}
			if in.Acquired = registry.Map(); in.Acquired.Len() <= n {
				b.Fatalf("%d lines for %d Zones", in.Acquired.Len(), n)
			}
			snap = records.Compile(nil, in, opt, benchTime)
			next, zones := *c, c.Zones.Edit()
			z, err := api.DecodeZone("bench", []byte(`{"metadata":{"name":"more","namespace":"dns"},"spec":{"domainName":"more.`+staticOrigin+`"}}`))
			if err != nil {
				b.Fatal(err)
			}
			zones.Set(z.Name, z)
			next.Zones, next.Changed = zones.Map(), []api.Ref{{Kind: api.KindZone, Name: z.Name}}
			more := in
			more.Clusters = []*api.Cluster{&next}
			var resolve, wait, whole []float64
			timed := func(all *[]float64, f func()) {
				runtime.GC()
				since := cpu(b)
				f()
				*all = append(*all, (cpu(b) - since).Seconds())
			}
			for b.Loop() {
				timed(&resolve, func() { endpoint.ResolveZones(more, nil, opt) })
				timed(&wait, func() {
					if n := snap.Next(more, opt); n.Fits() || !n.CompileLeaves(benchTime).Behind() {
						b.Fatal("a new Zone is no new structure")
					}
				})
				timed(&whole, func() { records.Compile(nil, more, opt, benchTime) })
			}
			report(b, "resolve-s", resolve)
			report(b, "wait-s", wait)
			report(b, "whole-s", whole)
		})
	}
}

// clusterOfZones has n Zones below another.
func clusterOfZones(b *testing.B, n int) *api.Cluster {
	c := newStaticZone(b, 10).cluster
	zones := c.Zones.Edit()
	for i := range n {
		z, err := api.DecodeZone("bench", fmt.Appendf(nil, `{"metadata":{"name":"z%d","namespace":"dns"},"spec":{"domainName":"z%04d.%s"}}`, i, i, staticOrigin))
		if err != nil {
			b.Fatal(err)
		}
		zones.Set(z.Name, z)
	}
	c.Zones = zones.Map()
	parent, _ := c.Zones.Get("dns/static")
	parent.Delegations[0].Zones = []string{"*"}
	return &c
}

// snapshotOfZones serves n zones below another.
func snapshotOfZones(b *testing.B, n int) *records.Snapshot {
	snap := compile(nil, clusterOfZones(b, n), staticOptions())
	if len(snap.Zones()) != n+1 {
		b.Fatalf("%d zones, want %d", len(snap.Zones()), n+1)
	}
	return snap
}
