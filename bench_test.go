package kuadrant

import (
	"bytes"
	"context"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/coredns/coredns/plugin"
	"github.com/coredns/coredns/plugin/file"
	"github.com/coredns/coredns/plugin/whoami"
	"github.com/coredns/coredns/request"
	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/bench/objects"
	"github.com/coredns-kuadrant/kuadrant/corefile"
	"github.com/coredns-kuadrant/kuadrant/engine"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/internal/geotest"
	"github.com/coredns-kuadrant/kuadrant/records"
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

func (a *asked) check(tb testing.TB, m *dns.Msg) {
	tb.Helper()
	if m.Rcode != a.rcode || len(m.Answer) != a.answers {
		tb.Fatalf("the answer to %s is\n%v", a.name, m)
	}
}
