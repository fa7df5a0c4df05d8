package kuadrant

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/bench/cpu"
	"github.com/coredns-kuadrant/kuadrant/bench/stats"
)

// hosts puts n Records with an address each.
func (o *zoneObjects) hosts(n int) {
	edit := o.cluster.Records.Edit()
	for i := range n {
		r := o.host(i, i)
		edit.Set(r.Name, r)
		o.changed[api.Ref{Kind: api.KindRecord, Name: r.Name}] = true
	}
	o.cluster.Records = edit.Map()
}

// host returns the i-th of them, with an address of its own.
func (o *zoneObjects) host(i, address int) *api.Record {
	return &api.Record{
		Meta: api.Meta{Name: fmt.Sprintf("dns/host-%d", i), Cluster: "c"}, DomainName: fmt.Sprintf("host-%d.example.org.", i),
		Type: "A", Class: "IN", TTL: api.NoTTL, RData: fmt.Sprintf("10.%d.%d.%d", address>>16&255, address>>8&255, address&255),
	}
}

// move gives the i-th host another address.
func (o *zoneObjects) move(i, address int) {
	edit := o.cluster.Records.Edit()
	r := o.host(i, address)
	edit.Set(r.Name, r)
	o.cluster.Records = edit.Map()
	o.changed[api.Ref{Kind: api.KindRecord, Name: r.Name}] = true
}

// BenchmarkTransfer transfers a zone of 1,000,000 records from a CoreDNS in this process to
// a client on loopback that reads and counts: what it tells is the records in a second of
// the clock, and the CPU time of both for one record.
func BenchmarkTransfer(b *testing.B) {
	const hosts = 1_000_000
	s := serveZones(b, toAll, "")
	s.fill()
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
		s.fill()
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
