package kuadrant

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/bench/cpu"
	"github.com/coredns-kuadrant/kuadrant/bench/objects"
	"github.com/coredns-kuadrant/kuadrant/bench/stats"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/corefile"
	"github.com/coredns-kuadrant/kuadrant/internal/engine"
	"github.com/coredns-kuadrant/kuadrant/internal/fastpath"
	"github.com/coredns-kuadrant/kuadrant/internal/geotest"
	"github.com/coredns-kuadrant/kuadrant/internal/peertest"
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns/coredns/plugin"
	"github.com/coredns/coredns/plugin/file"
	"github.com/coredns/coredns/plugin/whoami"
	"github.com/coredns/coredns/request"
	"github.com/miekg/dns"
)

// driven is an engine that reads nothing: what it answers from is compiled in the goroutine that asks for it.
type driven struct {
	*engine.Engine
	objects *objects.Cluster
}

// newDriven returns an engine with an empty cluster.
func newDriven(tb testing.TB) *driven {
	tb.Helper()
	e := engine.New(log, nil)
	if err := e.Load(&engine.Options{
		Zones: []records.ZoneOptions{
			{Origin: objects.Zone, TTL: records.DefaultTTL, LoadBalancedTTL: records.DefaultLoadBalancedTTL},
			{Origin: objects.FlatZone, Flatten: true, TTL: records.DefaultTTL, LoadBalancedTTL: records.DefaultLoadBalancedTTL},
		},
		Manifests: []engine.Manifests{{Dir: tb.TempDir(), Cluster: "bench"}}, GeoIP: []string{geotest.Write(tb, tb.TempDir()).City},
	}); err != nil {
		tb.Fatal(err)
	}
	return &driven{Engine: e, objects: objects.NewCluster("bench")}
}

func (d *driven) put(tb testing.TB, list ...objects.Object) {
	for _, o := range list {
		if err := d.objects.Put(o); err != nil {
			tb.Fatal(err)
		}
	}
}

// take compiles everything.
func (d *driven) take() {
	d.Publish(records.Compile(d.Snapshot(), api.Objects{Clusters: []*api.Cluster{d.objects.Publish()}}, d.Options(), d.Now()))
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
	for _, t := range d.Snapshot().Checks().All() {
		t.Cell.Set(health.Up)
		targets++
	}
	if targets != 3 {
		tb.Fatalf("%d targets are checked, want 3", targets)
	}
	return &Kuadrant{block: &corefile.Block{Zones: []string{objects.Zone, objects.FlatZone}, ZoneSet: map[string]bool{objects.Zone: true, objects.FlatZone: true}}, engine: d.Engine}
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

// BenchmarkFast is the fast path without its sockets.
func BenchmarkFast(b *testing.B) {
	k := served(b, 90_000)
	for _, a := range askedOf {
		b.Run(a.name, func(b *testing.B) {
			answer := a.fast(b, k)
			for b.Loop() {
				answer()
			}
		})
	}
}

// fast returns what has the fast path answer.
func (a *asked) fast(tb testing.TB, k *Kuadrant) func() {
	tb.Helper()
	message, err := a.message().Pack()
	if err != nil {
		tb.Fatal(err)
	}
	routes := &fastRoutes{blocks: make(map[string]*fastBlock)}
	for _, zone := range k.block.Zones {
		routes.blocks[zone] = &fastBlock{Kuadrant: k}
	}
	f, query, out, from := newFastAnswerer(routes), new(fastpath.Query), make([]byte, 4096), netip.MustParseAddr("198.51.100.7")
	return func() {
		if !query.Parse(message) || f.Answer(query, from, out) == 0 {
			tb.Fatal("not answered")
		}
	}
}

func (a *asked) check(tb testing.TB, m *dns.Msg) {
	tb.Helper()
	if m.Rcode != a.rcode || len(m.Answer) != a.answers {
		tb.Fatalf("the answer to %s is\n%v", a.name, m)
	}
}

// hosts puts n Records with an address each.
func (o *zoneServer) hosts(n int) {
	edit := o.Cluster.Records.Edit()
	for i := range n {
		r := o.host(i, i)
		edit.Set(r.Name, r)
		o.Changed[api.Ref{Kind: api.KindRecord, Name: r.Name}] = true
	}
	o.Cluster.Records = edit.Map()
}

// host returns the i-th of them, with an address of its own.
func (o *zoneServer) host(i, address int) *api.Record {
	return &api.Record{
		Meta: api.Meta{Name: fmt.Sprintf("dns/host-%d", i), Cluster: "c"}, DomainName: fmt.Sprintf("host-%d.example.org.", i),
		Type: "A", Class: "IN", TTL: api.NoTTL, RData: fmt.Sprintf("10.%d.%d.%d", address>>16&255, address>>8&255, address&255),
	}
}

// move gives the i-th host another address.
func (o *zoneServer) move(i, address int) {
	edit := o.Cluster.Records.Edit()
	r := o.host(i, address)
	edit.Set(r.Name, r)
	o.Cluster.Records = edit.Map()
	o.Changed[api.Ref{Kind: api.KindRecord, Name: r.Name}] = true
}

// BenchmarkTransfer transfers a zone of 1,000,000 records from a CoreDNS in this process to
// a client on loopback that reads and counts: what it tells is the records in a second of
// the clock, and the CPU time of both for one record.
func BenchmarkTransfer(b *testing.B) {
	const hosts = 1_000_000
	s := serveZones(b, toAll, "")
	s.Fill()
	s.hosts(hosts)
	s.compile()
	query, err := axfrOf("example.org.").Pack()
	if err != nil {
		b.Fatal(err)
	}
	var rates, used []float64
	for b.Loop() {
		before, begin := cpu.Time(b), time.Now()
		n := readTransfer(b, s.addr, query, hosts)
		rates = append(rates, float64(n)/time.Since(begin).Seconds())
		used = append(used, float64((cpu.Time(b)-before).Nanoseconds())/float64(n))
	}
	rate := stats.Of(rates)
	b.ReportMetric(rate.Median, "records/s")
	b.ReportMetric(rate.Min, "records/s-min")
	b.ReportMetric(rate.Max, "records/s-max")
	b.ReportMetric(stats.Of(used).Median, "cpu-ns/record")
}

// readTransfer reads one transfer of more than a number of records and counts them, by the
// headers of its messages.
func readTransfer(b *testing.B, addr string, query []byte, more int) (records int) {
	b.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	if _, err := (&dns.Conn{Conn: conn}).Write(query); err != nil {
		b.Fatal(err)
	}
	buf := make([]byte, dns.MaxMsgSize)
	for records <= more {
		if _, err := io.ReadFull(conn, buf[:2]); err != nil {
			b.Fatal(err)
		}
		m := buf[:binary.BigEndian.Uint16(buf)]
		if _, err := io.ReadFull(conn, m); err != nil {
			b.Fatal(err)
		}
		if m[3]&15 != dns.RcodeSuccess {
			b.Fatal(dns.RcodeToString[int(m[3]&15)])
		}
		records += int(binary.BigEndian.Uint16(m[6:]))
	}
	return records
}

// BenchmarkRecordChange gives one of many Records another address, from what a source
// publishes to the snapshot that is answered from: its journal is full, and has one more
// generation each time.
func BenchmarkRecordChange(b *testing.B) {
	for _, hosts := range []int{1_000, 1_000_000} {
		s := serveZones(b, toAll, "")
		s.Fill()
		s.hosts(hosts)
		s.compile()
		random := uint32(1)
		change := func(i int) {
			random = random*1664525 + 1013904223
			s.move(int(random>>8)%hosts, 1<<20+i)
			s.compile()
		}
		for i := range 200 {
			change(i)
		}
		b.Run(fmt.Sprintf("records=%d", hosts), func(b *testing.B) {
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
					change(b.N*part/parts + i)
				}
				used = append(used, float64((cpu.Time(b)-before).Nanoseconds())/1e3/float64(n))
			}
			spread := stats.Of(used)
			b.ReportMetric(float64((cpu.Time(b)-begin).Nanoseconds())/1e3/float64(b.N), "cpu-µs")
			b.ReportMetric(spread.Min, "cpu-µs-min")
			b.ReportMetric(spread.Max, "cpu-µs-max")
			b.StopTimer()
			without := cpu.WithoutCollections(b, change)
			b.ReportMetric(without.Median, "no-gc-µs")
			b.ReportMetric(without.Min, "no-gc-µs-min")
			b.ReportMetric(without.Max, "no-gc-µs-max")
			if deltas, ok := s.engine.Snapshot().Zone("example.org.").Since(s.engine.Snapshot().Zone("example.org.").Serial() - 100); !ok || len(deltas) != 100 {
				b.Fatalf("the journal has %d generations", len(deltas))
			}
		})
	}
}

// What the tests below test/ use too.
var (
	writeFile, boot, waitFor                 = boottest.WriteFile, boottest.Start, boottest.WaitFor
	question, exchange, firstA, withSubnet   = boottest.Question, boottest.Exchange, boottest.FirstA, boottest.WithSubnet
	gatewayFile, answersOf, newKey, gathered = boottest.GatewayFile, boottest.Answers, boottest.NewKey, boottest.Gathered
	xfr, axfrOf, ixfrOf, textOf              = boottest.Transfer, boottest.AXFR, boottest.IXFR, boottest.TextOf
	wholeZone, applyIXFR, notified, take     = boottest.WholeZone, boottest.ApplyIXFR, boottest.Notified, boottest.Take
)

// freePort returns a port of 127.0.0.1 that is free for UDP and TCP, another one each time.
func freePort(t testing.TB) int { return peertest.FreePort(t) }
