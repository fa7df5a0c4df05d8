package kuadrant

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coredns/coredns/plugin"
	"github.com/coredns/coredns/plugin/file"
	"github.com/coredns/coredns/plugin/whoami"
	"github.com/coredns/coredns/request"
	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/bench/objects"
	"github.com/coredns-kuadrant/kuadrant/bench/stats"
	"github.com/coredns-kuadrant/kuadrant/corefile"
	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/health"
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
	*engine
	objects *objects.Cluster
	publish func(*api.Cluster)
}

// newDriven returns an engine with an empty cluster.
func newDriven(tb testing.TB) *driven {
	tb.Helper()
	src := &pushed{cluster: objects.NewCluster("bench"), publish: make(chan func(*api.Cluster))}
	e := newEngine(log)
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
	return &driven{engine: e, objects: src.cluster, publish: <-src.publish}
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
				begin := cpuTime(b)
				for part := range parts {
					n := b.N*(part+1)/parts - b.N*part/parts
					if n == 0 {
						continue
					}
					before := cpuTime(b)
					for i := range n {
						kind.change(b.N*part/parts + i)
						d.take()
					}
					used = append(used, float64((cpuTime(b)-before).Nanoseconds())/1e3/float64(n))
				}
				s := stats.Of(used)
				b.ReportMetric(float64((cpuTime(b)-begin).Nanoseconds())/1e3/float64(b.N), "cpu-µs")
				b.ReportMetric(s.Min, "cpu-µs-min")
				b.ReportMetric(s.Max, "cpu-µs-max")
				b.StopTimer()
				without := withoutCollections(b, func(i int) {
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

// withoutCollections returns the CPU microseconds of one change while no garbage
// is collected: the means of five parts.
func withoutCollections(b *testing.B, change func(i int)) stats.Spread {
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	const parts, each = 5, 2000 // some 100 MB of garbage in each part at most
	var used []float64
	for part := range parts {
		before := cpuTime(b)
		for i := range each {
			change(part*each + i)
		}
		used = append(used, float64((cpuTime(b)-before).Nanoseconds())/1e3/each)
	}
	return stats.Of(used)
}

// cpuTime returns the CPU time that this process has used, in the kernel too.
func cpuTime(tb testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// sink is a client that takes what is written, and packs it as a server would
// where it has a buffer.
type sink struct {
	local, remote net.Addr
	msg           *dns.Msg
	request       *dns.Msg
	buf           []byte
}

func newSink(remote string, pack bool) *sink {
	s := &sink{local: &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 53}, remote: &net.UDPAddr{IP: net.ParseIP(remote), Port: 40000}}
	if pack {
		s.buf = make([]byte, dns.MaxMsgSize)
	}
	return s
}

func (s *sink) LocalAddr() net.Addr         { return s.local }
func (s *sink) RemoteAddr() net.Addr        { return s.remote }
func (s *sink) Write(b []byte) (int, error) { return len(b), nil }
func (s *sink) Close() error                { return nil }
func (s *sink) TsigStatus() error           { return nil }
func (s *sink) TsigTimersOnly(bool)         {}
func (s *sink) Hijack()                     {}

func (s *sink) WriteMsg(m *dns.Msg) error {
	s.msg = m
	if s.buf == nil {
		return nil
	}
	state := request.Request{W: s, Req: s.request}
	state.SizeAndDo(m)
	state.Scrub(m)
	_, err := m.PackBuffer(s.buf)
	return err
}

// asked is one query of BenchmarkServeDNS, and what our answer to it is.
type asked struct {
	name    string
	qname   string
	rcode   int
	answers int
	subnet  string // an address whose /24 goes into the query, "" for none
}

var askedOf = []asked{
	{name: "simple", qname: objects.Host(7, objects.Zone), answers: 1},
	{name: "flatten", qname: objects.Host(90_007, objects.FlatZone), answers: 1},
	{name: "chain", qname: objects.Host(90_007, objects.Zone), answers: 4},
	{name: "nxdomain", qname: objects.Absent(7, objects.Zone), rcode: dns.RcodeNameError},
	{name: "simple-checked", qname: objects.Host(90_008, objects.FlatZone), answers: 1},
	{name: "simple-unchecked", qname: objects.Host(90_009, objects.FlatZone), answers: 1},
	{name: "flatten-checked", qname: objects.Host(90_010, objects.FlatZone), answers: 1},
	{name: "wildcard", qname: "abcdefgh.wild." + objects.Zone, answers: 1},
	{name: "mixedcase", qname: objects.MixedCase(objects.Host(7, objects.Zone)), answers: 1},
	{name: "subnet", qname: objects.Host(90_007, objects.FlatZone), answers: 1, subnet: "198.51.100.0"},
}

func (a *asked) message() *dns.Msg {
	m := new(dns.Msg)
	m.SetQuestion(a.qname, dns.TypeA)
	if a.subnet != "" {
		m.SetEdns0(1232, false)
		m.IsEdns0().Option = []dns.EDNS0{&dns.EDNS0_SUBNET{
			Code: dns.EDNS0SUBNET, Family: 1, SourceNetmask: 24, Address: net.ParseIP(a.subnet).To4(),
		}}
	}
	return m
}

// served returns our plugin with the given number of simple hosts and a few of
// each other kind.
func served(tb testing.TB, hosts int) *Kuadrant {
	tb.Helper()
	d := newDriven(tb)
	for i := range hosts {
		d.put(tb, objects.Simple(i))
	}
	chained, flat := objects.Steered(90_007, objects.Zone), objects.Steered(90_007, objects.FlatZone)
	d.put(tb, slices.Concat(chained[:], flat[:], []objects.Object{objects.Wildcard(99_999)}, checkedHosts())...)
	d.take()
	targets := 0
	for _, t := range d.snap.Load().Checks().All() {
		t.Cell.Set(health.Up)
		targets++
	}
	if targets != 3 {
		tb.Fatalf("%d targets are checked, want 3", targets)
	}
	return &Kuadrant{block: &corefile.Block{Zones: []string{objects.Zone, objects.FlatZone}, ZoneSet: map[string]bool{objects.Zone: true, objects.FlatZone: true}}, engine: d.engine}
}

// checkedHosts returns hosts of FlatZone with three targets that are checked, and
// one host without.
func checkedHosts() []objects.Object {
	one, other := objects.Simple(90_008), objects.Simple(90_009)
	one.Host, other.Host = objects.Host(one.Number, objects.FlatZone), objects.Host(other.Number, objects.FlatZone)
	pair := objects.Steered(90_010, objects.FlatZone)
	list := []objects.Object{one, pair[0], pair[1]}
	for i := range list {
		list[i].HealthCheck = `{"protocol":"TCP","port":443}`
	}
	return append(list, other)
}

// filed returns the plugin file with as many hosts.
func filed(tb testing.TB, hosts int) plugin.Handler {
	tb.Helper()
	text := objects.ZoneFile(hosts, 0)
	text = append(text, "*.wild 60 IN A 10.1.1.1\n"...)
	zone, err := file.Parse(bytes.NewReader(text), objects.Zone, "bench", 0)
	if err != nil {
		tb.Fatal(err)
	}
	return file.File{Zones: file.Zones{Z: map[string]*file.Zone{objects.Zone: zone}, Names: []string{objects.Zone}}}
}

// BenchmarkServeDNS is our ServeDNS beside those of whoami and file, alone and
// with the packing of the reply.
func BenchmarkServeDNS(b *testing.B) {
	const hosts = 90_000
	handlers := []struct {
		name    string
		handler plugin.Handler
	}{{"whoami", whoami.Whoami{}}, {"file", filed(b, hosts)}, {"kuadrant", served(b, hosts)}}
	for _, a := range askedOf {
		for _, h := range handlers {
			if h.name == "file" && !strings.HasSuffix(a.qname, objects.Zone) {
				continue // it knows no steering
			}
			for _, pack := range []bool{false, true} {
				name := a.name + "/" + h.name
				if pack {
					name += "+pack"
				}
				b.Run(name, func(b *testing.B) {
					b.ReportAllocs()
					w, r, ctx := newSink("198.51.100.7", pack), a.message(), context.Background()
					w.request = r
					for b.Loop() {
						if _, err := h.handler.ServeDNS(ctx, w, r); err != nil {
							b.Fatal(err)
						}
					}
					if h.name == "kuadrant" {
						a.check(b, w.msg)
					}
				})
			}
		}
	}
}

func (a *asked) check(tb testing.TB, m *dns.Msg) {
	tb.Helper()
	if m.Rcode != a.rcode || len(m.Answer) != a.answers {
		tb.Fatalf("the answer to %s is\n%v", a.name, m)
	}
}
