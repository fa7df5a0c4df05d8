package kuadrant

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coredns/caddy"
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/plugin/test"
	"github.com/coredns/coredns/plugin/transfer"
	"github.com/miekg/dns"
)

// manyNames returns a plugin with a zone of n records.
func manyNames(t testing.TB, n int) *Kuadrant {
	t.Helper()
	o := newZoneObjects()
	o.fill()
	for i := range n {
		o.record(fmt.Sprintf("r%d", i), fmt.Sprintf("r%d.example.org.", i), "A", "192.0.2.1")
	}
	return newPlugin(t, "kuadrant example.org", "", o.published())
}

// TestTransferThatNobodyReads: the goroutine of a transfer ends though its reader has
// stopped, at any point.
func TestTransferThatNobodyReads(t *testing.T) {
	k := manyNames(t, 4*transferPart)
	synctest.Test(t, func(t *testing.T) {
		for parts := range 4 {
			ch, err := k.Transfer("example.org.", 0)
			if err != nil {
				t.Fatal(err)
			}
			for range parts {
				<-ch
			}
			synctest.Wait()
			time.Sleep(transferStall + time.Second)
			synctest.Wait()
			if part, open := <-ch; open {
				t.Errorf("after %d parts: %d more records", parts, len(part))
			}
		}
		// A slow one gets all.
		ch, err := k.Transfer("example.org.", 0)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for part := range ch {
			n += len(part)
			time.Sleep(transferStall - time.Second)
		}
		if want := len(contentOf(t, k.engine.Snapshot().Zone("example.org."))) + 2; n != want {
			t.Errorf("a slow reader gets %d records of %d", n, want)
		}
		for _, serial := range []uint32{k.engine.Snapshot().Zones()[0].Serial()} {
			if _, err := k.Transfer("example.org.", serial); err != nil { // and never reads
				t.Fatal(err)
			}
		}
	})
}

// cutShort is a Transferer whose zone is given up after a number of records.
type cutShort struct {
	k       *Kuadrant
	records int
}

func (c cutShort) Transfer(zone string, serial uint32) (<-chan []dns.RR, error) {
	whole, err := c.k.Transfer(zone, serial)
	if err != nil {
		return nil, err
	}
	ch := make(chan []dns.RR)
	go func() {
		defer close(ch)
		left := c.records
		for part := range whole {
			if n := min(left, len(part)); n > 0 {
				ch <- part[:n]
				left -= n
			}
		}
	}()
	return ch, nil
}

// tcpWriter keeps what is written to it.
type tcpWriter struct {
	test.ResponseWriter
	rrs []dns.RR
}

func (w *tcpWriter) WriteMsg(m *dns.Msg) error {
	w.rrs = append(w.rrs, m.Answer...)
	return nil
}

// TestTransferGivenUpIsNotWhole: wherever a transfer is given up, no client takes what it
// got for all of the zone: the second SOA is missing. The transfer plugin has a way of its
// own to write a last record.
func TestTransferGivenUpIsNotWhole(t *testing.T) {
	k := manyNames(t, 3000)
	c := caddy.NewTestController("dns", "transfer {\nto *\n}")
	c.ServerBlockKeys = []string{"example.org"}
	setup, err := caddy.DirectiveAction("dns", "transfer")
	if err != nil {
		t.Fatal(err)
	}
	if err := setup(c); err != nil {
		t.Fatal(err)
	}
	plug := dnsserver.GetConfig(c).Plugin[0](nil).(*transfer.Transfer)
	whole := len(contentOf(t, k.engine.Snapshot().Zone("example.org."))) + 2
	for n := 1; n <= whole; n++ {
		if n > 10 && n < whole-10 && n%37 > 0 && (n < 1850 || n > 2150) { // a message holds about 2000
			continue
		}
		plug.Transferers = []transfer.Transferer{cutShort{k, n}}
		w := &tcpWriter{ResponseWriter: test.ResponseWriter{TCP: true}}
		if _, err := plug.ServeDNS(context.Background(), w, axfrOf("example.org.")); err != nil {
			t.Fatal(err)
		}
		soas := 0
		for _, rr := range w.rrs {
			if rr.Header().Rrtype == dns.TypeSOA {
				soas++
			}
		}
		if complete := n == whole; (soas == 2) != complete || len(w.rrs) != n {
			t.Fatalf("given up after %d records of %d: written are %d, with %d SOAs", n, whole, len(w.rrs), soas)
		}
	}
}

// TestClientsThatGoAway: a client that closes its connection in the middle of a transfer
// leaves no goroutine behind.
func TestClientsThatGoAway(t *testing.T) {
	s := serveZones(t, toAll, "")
	s.fill()
	for i := range 20_000 {
		s.record(fmt.Sprintf("r%d", i), fmt.Sprintf("r%d.example.org.", i), "A", "192.0.2.1")
	}
	s.compile()
	query, err := axfrOf("example.org.").Pack()
	if err != nil {
		t.Fatal(err)
	}
	before := runtime.NumGoroutine()
	for i := range 20 {
		conn, err := net.Dial("tcp", s.addr)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := (&dns.Conn{Conn: conn}).Write(query); err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			if _, err := conn.Read(make([]byte, 1000)); err != nil {
				t.Fatal(err)
			}
		}
		conn.Close()
	}
	waitFor(t, "end of all transfers", func() bool { return runtime.NumGoroutine() <= before })
	wholeZone(t, xfr(t, s.addr, axfrOf("example.org."), nil))
}
