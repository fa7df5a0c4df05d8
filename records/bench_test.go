package records_test

import (
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/bench/objects"
	"github.com/coredns-kuadrant/kuadrant/bench/stats"
	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/records/recordstest"
)

var benchTime = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func benchOptions() *records.Options {
	zone := func(origin string, flatten bool) records.ZoneOptions {
		return records.ZoneOptions{
			Origin: origin, Flatten: flatten, TTL: records.DefaultTTL, LoadBalancedTTL: records.DefaultLoadBalancedTTL,
		}
	}
	return &records.Options{Zones: []records.ZoneOptions{zone(objects.Zone, false), zone(objects.FlatZone, true)}}
}

// fill puts the objects of n hosts into a cluster.
func fill(tb testing.TB, c *objects.Cluster, n int, of func(i int) []objects.Object) {
	tb.Helper()
	for i := range n {
		for _, o := range of(i) {
			if err := c.Put(o); err != nil {
				tb.Fatal(err)
			}
		}
	}
}

func simple(i int) []objects.Object { return []objects.Object{objects.Simple(i)} }

func chained(i int) []objects.Object {
	pair := objects.Steered(i, objects.Zone)
	return pair[:]
}

func flat(i int) []objects.Object {
	pair := objects.Steered(i, objects.FlatZone)
	return pair[:]
}

func compile(prev *records.Snapshot, c *api.Cluster, opt *records.Options) *records.Snapshot {
	return records.Compile(prev, api.Objects{Clusters: []*api.Cluster{c}}, opt, benchTime)
}

// cpu returns the CPU time that this process has used, in the kernel too.
func cpu(tb testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkFirstCompile compiles everything from nothing: the CPU time of all
// threads is told, garbage collection among it; the median and the range.
func BenchmarkFirstCompile(b *testing.B) {
	for _, kind := range []struct {
		name     string
		gateways int
		of       func(int) []objects.Object
		per      int
	}{
		{"simple", 100_000, simple, 1},
		{"weightedGeo", 100_000, chained, 2},
	} {
		b.Run(fmt.Sprintf("%s/gateways=%d", kind.name, kind.gateways), func(b *testing.B) {
			c := objects.NewCluster("bench")
			fill(b, c, kind.gateways/kind.per, kind.of)
			published, opt := c.Publish(), benchOptions()
			used := make([]float64, b.N)
			b.ReportAllocs()
			b.ResetTimer()
			for i := range used {
				b.StopTimer()
				runtime.GC()
				b.StartTimer()
				before := cpu(b)
				snap := compile(nil, published, opt)
				used[i] = (cpu(b) - before).Seconds()
				if accepted, _, _ := snap.Verdicts(api.KindDNSPolicy); accepted != kind.gateways {
					b.Fatalf("%d policies accepted", accepted)
				}
			}
			s := stats.Of(used)
			b.ReportMetric(s.Median, "cpu-s")
			b.ReportMetric(s.Min, "cpu-s-min")
			b.ReportMetric(s.Max, "cpu-s-max")
		})
	}
}

// BenchmarkHeap tells the live heap of n Gateways with policies, their snapshot
// included, over that of an empty server, for each Gateway with its policy.
func BenchmarkHeap(b *testing.B) {
	const n = 100_000
	for _, kind := range []struct {
		name string
		of   func(int) []objects.Object
		per  int
	}{
		{"simple", simple, 1},
		{"weightedGeo", chained, 2},
	} {
		b.Run(kind.name, func(b *testing.B) {
			for b.Loop() {
				opt, c := benchOptions(), objects.NewCluster("bench")
				empty := compile(nil, objects.NewCluster("bench").Publish(), opt)
				before := liveHeap()
				fill(b, c, n/kind.per, kind.of)
				snap := compile(nil, c.Publish(), opt)
				b.ReportMetric(float64(liveHeap()-before)/n, "B/gateway")
				b.ReportMetric(float64(resident(b))/(1<<20), "rss-MiB")
				runtime.KeepAlive(empty)
				runtime.KeepAlive(snap)
				runtime.KeepAlive(c)
			}
		})
	}
}

func liveHeap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // the first one moves what pools hold to where the second frees it
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// resident returns how much memory of the machine the process has now.
func resident(tb testing.TB) int {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		tb.Skipf("no statm here: %v", err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(text))[1])
	if err != nil {
		tb.Fatal(err)
	}
	return pages * os.Getpagesize()
}

// question is one look-up with the number of records in its answer.
type question struct {
	name    string
	zone    string
	qname   string
	owner   string // as the client spells it
	qtype   uint16
	rcode   int
	answers int
}

// questions ask of the snapshot of lookupSnapshot.
var questions = []question{
	{"simple", objects.Zone, objects.Host(7, objects.Zone), "", dns.TypeA, dns.RcodeSuccess, 1},
	{"flatten", objects.FlatZone, objects.Host(7, objects.FlatZone), "", dns.TypeA, dns.RcodeSuccess, 1},
	{"chain", objects.Zone, objects.Host(90_007, objects.Zone), "", dns.TypeA, dns.RcodeSuccess, 4},
	{"cname", objects.Zone, objects.Host(90_007, objects.Zone), "", dns.TypeCNAME, dns.RcodeSuccess, 1},
	{"group", objects.Zone, "geo-eu.klb." + objects.Host(90_007, objects.Zone), "", dns.TypeA, dns.RcodeSuccess, 2},
	{"nodata", objects.Zone, objects.Host(7, objects.Zone), "", dns.TypeAAAA, dns.RcodeSuccess, 0},
	{"nxdomain", objects.Zone, objects.Absent(7, objects.Zone), "", dns.TypeA, dns.RcodeNameError, 0},
	{"soa", objects.Zone, objects.Zone, "", dns.TypeSOA, dns.RcodeSuccess, 1},
	{"wildcard", objects.Zone, "host.wild." + objects.Zone, "", dns.TypeA, dns.RcodeSuccess, 1},
	{"mixedcase", objects.Zone, objects.Host(7, objects.Zone), objects.MixedCase(objects.Host(7, objects.Zone)), dns.TypeA, dns.RcodeSuccess, 1},
}

// lookupSnapshot is of a zone of the given number of simple hosts with a host of
// each other kind, and of a flat zone with as many hosts.
func lookupSnapshot(tb testing.TB, hosts int) *records.Snapshot {
	tb.Helper()
	c := objects.NewCluster("bench")
	fill(tb, c, hosts, simple)
	fill(tb, c, 100, flat)
	others := slices.Concat(chained(90_007), []objects.Object{objects.Wildcard(99_999)})
	for _, o := range others {
		if err := c.Put(o); err != nil {
			tb.Fatal(err)
		}
	}
	return compile(nil, c.Publish(), benchOptions())
}

// fixedPlace locates every client in one place.
type fixedPlace struct{ codes *geo.Codes }

func (f fixedPlace) Locate(netip.Addr, geo.Need) (*geo.Codes, int) { return f.codes, 24 }

func (q *question) query(locator geo.Locator) records.Query {
	owner := q.owner
	if owner == "" {
		owner = q.qname
	}
	return records.Query{
		Name: q.qname, Owner: owner, Type: q.qtype, Client: netip.MustParseAddr("192.0.2.1"), Locator: locator, Random: 1,
	}
}

func (q *question) check(tb testing.TB, a *records.Answer) {
	if a.Rcode != q.rcode || len(a.Answer) != q.answers {
		tb.Fatalf("%s: rcode %d with %d answers, want %d with %d", q.name, a.Rcode, len(a.Answer), q.rcode, q.answers)
	}
}

// BenchmarkLookup is Lookup alone, with the zone of the name found before. The
// locator costs nothing here.
func BenchmarkLookup(b *testing.B) {
	for _, hosts := range []int{100, 80_000} {
		snap := lookupSnapshot(b, hosts)
		for _, q := range questions {
			b.Run(fmt.Sprintf("%s/hosts=%d", q.name, hosts), func(b *testing.B) {
				b.ReportAllocs()
				zone, query := snap.Zone(q.zone), q.query(fixedPlace{geo.FromCodes("", "", "US", "NA")})
				var a records.Answer
				for b.Loop() {
					query.Random++
					a = records.Answer{}
					snap.Lookup(zone, &query, &a)
				}
				q.check(b, &a)
			})
		}
	}
}

// BenchmarkSteering is Lookup of a host with two members in each of two geographies, with each of the attributes of rule 9.
func BenchmarkSteering(b *testing.B) {
	for _, with := range []string{"none", "priority=1", "order=priority", "sticky=client", "fail=closed", "max-answers=1", "groups"} {
		word, more := with, ""
		if with == "none" || with == "groups" {
			word = ""
		}
		if with == "groups" {
			more = " group=blue"
		}
		opt := recordstest.Zones("example.com.")
		opt.ZoneNamespaces = []string{"dns"}
		w := recordstest.New(b, opt, "cluster c"+more, `
record dns/groups kuadrant-active-groups.example.com. TXT "version=1;groups=blue"
gateway n/a host=www.example.com addr=192.0.2.1,192.0.2.2
policy n/a weight=120 geo=US default `+word+`
gateway n/b host=www.example.com addr=192.0.2.3,192.0.2.4
policy n/b weight=60 geo=US `+word+`
gateway n/c host=www.example.com addr=192.0.2.5
policy n/c weight=120 geo=GEO-EU
gateway n/d host=www.example.com addr=192.0.2.6
policy n/d weight=60 geo=GEO-EU`)
		snap := records.Compile(nil, w.Objects(), opt, w.Now)
		b.Run(with, func(b *testing.B) {
			b.ReportAllocs()
			q := question{qname: "www.example.com.", qtype: dns.TypeA}
			zone, query := snap.Zone("www.example.com."), q.query(fixedPlace{geo.FromCodes("", "", "US", "NA")})
			var a records.Answer
			for b.Loop() {
				query.Random++
				a = records.Answer{}
				snap.Lookup(zone, &query, &a)
			}
			if len(a.Answer) < 4 {
				b.Fatalf("%d records", len(a.Answer))
			}
		})
	}
}
