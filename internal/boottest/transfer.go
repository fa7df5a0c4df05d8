package boottest

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// Transferred is what a client received in one transfer.
type Transferred struct {
	Messages int
	RRs      []dns.RR
}

// Transfer requests a transfer, signed if there are keys. It records what arrives, without
// interpreting it.
func Transfer(t testing.TB, addr string, q *dns.Msg, keys map[string]string) (got Transferred) {
	t.Helper()
	tr := &dns.Transfer{TsigSecret: keys, DialTimeout: patience, ReadTimeout: patience, WriteTimeout: patience}
	answers, err := tr.In(q, addr)
	if err != nil {
		t.Fatal(err)
	}
	for a := range answers {
		if a.Error != nil {
			t.Fatalf("%s: %v after %d records", q.Question[0].String(), a.Error, len(got.RRs))
		}
		got.Messages++
		got.RRs = append(got.RRs, a.RR...)
	}
	return got
}

// AXFR returns a query for a whole zone.
func AXFR(zone string) *dns.Msg { return new(dns.Msg).SetAxfr(zone) }

// IXFR returns a query for a zone's changes since a serial.
func IXFR(zone string, serial uint32) *dns.Msg {
	return new(dns.Msg).SetIxfr(zone, serial, "ns1.example.net.", "hostmaster.example.org.")
}

// TextOf returns records as a set of lines; a duplicate fails the test.
func TextOf(t testing.TB, rrs []dns.RR) map[string]bool {
	t.Helper()
	set := make(map[string]bool, len(rrs))
	for _, rr := range rrs {
		if line := rr.String(); set[line] {
			t.Errorf("%s comes twice", line)
		} else {
			set[line] = true
		}
	}
	return set
}

// WholeZone checks that a transfer is of a whole zone, and returns its SOA and the rest.
func WholeZone(t testing.TB, got Transferred) (*dns.SOA, map[string]bool) {
	t.Helper()
	n := len(got.RRs)
	if n < 3 {
		t.Fatalf("%d records in a transfer", n)
	}
	first, ok := got.RRs[0].(*dns.SOA)
	if !ok || first.String() != got.RRs[n-1].String() {
		t.Fatalf("the transfer begins with %s and ends with %s", got.RRs[0], got.RRs[n-1])
	}
	set := TextOf(t, got.RRs[1:n-1])
	if set[first.String()] {
		t.Errorf("the SOA is in the middle, too")
	}
	return first, set
}

// ApplyIXFR checks an incremental transfer with a number of steps, and applies it to a copy of
// content (RFC 1995 §4).
func ApplyIXFR(t testing.TB, content map[string]bool, rrs []dns.RR, from uint32, steps int) map[string]bool {
	t.Helper()
	content = maps.Clone(content)
	last, ok := rrs[0].(*dns.SOA)
	if end, is := rrs[len(rrs)-1].(*dns.SOA); !ok || !is || end.String() != last.String() {
		t.Fatalf("the transfer begins with %s and ends with %s", rrs[0], rrs[len(rrs)-1])
	}
	at, adding, seen := from, true, 0
	for _, rr := range rrs[1 : len(rrs)-1] {
		soa, is := rr.(*dns.SOA)
		switch {
		case is && adding:
			if adding = false; soa.Serial != at {
				t.Fatalf("a step from %d after one to %d", soa.Serial, at)
			}
		case is:
			at, adding = soa.Serial, true
			seen++
		case content[rr.String()] == adding:
			t.Fatalf("to %d: %s cannot be added or removed: %v", at, rr, adding)
		case adding:
			content[rr.String()] = true
		default:
			delete(content, rr.String())
		}
	}
	if at != last.Serial || !adding || seen != steps {
		t.Fatalf("%d steps to %d, want %d to %d", seen, at, steps, last.Serial)
	}
	return content
}

// Difference returns the lines that only one of two sets has.
func Difference(got, want map[string]bool) string {
	var lines []string
	for line := range got {
		if !want[line] {
			lines = append(lines, "\nonly there: "+line)
		}
	}
	for line := range want {
		if !got[line] {
			lines = append(lines, "\nmissing: "+line)
		}
	}
	slices.Sort(lines)
	return strings.Join(lines[:min(len(lines), 20)], "")
}

// Notified starts a secondary that receives NOTIFYs over UDP until the test ends. One repeated
// because its answer took too long counts once.
func Notified(t testing.TB) (addr string, zones <-chan string) {
	t.Helper()
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	got, ready := make(chan string, 1000), make(chan struct{})
	var taken sync.Map
	server := &dns.Server{
		PacketConn: socket, NotifyStartedFunc: func() { close(ready) },
		MsgAcceptFunc: func(dns.Header) dns.MsgAcceptAction { return dns.MsgAccept },
		Handler: dns.HandlerFunc(func(w dns.ResponseWriter, m *dns.Msg) {
			notify := dns.OpcodeToString[m.Opcode] + " " + m.Question[0].Name
			if _, again := taken.LoadOrStore(fmt.Sprint(m.Id, notify), true); !again {
				got <- notify
			}
			_ = w.WriteMsg(new(dns.Msg).SetReply(m))
		}),
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.ActivateAndServe() })
	<-ready
	t.Cleanup(func() {
		_ = server.Shutdown()
		serving.Wait()
	})
	return socket.LocalAddr().String(), got
}

// Take returns the next n NOTIFYs, sorted by zone.
func Take(t testing.TB, zones <-chan string, n int) (names []string) {
	t.Helper()
	for range n {
		select {
		case name := <-zones:
			names = append(names, name)
		case <-time.After(time.Minute):
			t.Fatalf("no NOTIFY after %q", names)
		}
	}
	slices.Sort(names)
	return names
}
