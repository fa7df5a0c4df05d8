package kuadrant

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coredns/coredns/plugin/pkg/dnstest"
	"github.com/coredns/coredns/plugin/test"
	"github.com/coredns/coredns/request"
	"github.com/miekg/dns"
)

// TestTruncation: glue that does not fit is left out in whole RRsets and is no
// reason for TC; an answer that does not fit is, over UDP alone (rule 7.3).
func TestTruncation(t *testing.T) {
	dir := t.TempDir()
	var addresses, nameservers strings.Builder
	for i := range 60 {
		fmt.Fprintf(&addresses, "{value: 192.0.2.%d}, ", i+1)
	}
	for i := range 8 {
		fmt.Fprintf(&nameservers, "nameserver nameserver-number-%d.example.com 192.0.2.%d 2001:db8::%d 2001:db8:1::%d\n", i, i+1, i+1, i+1)
	}
	writeFile(t, filepath.Join(dir, "big.yaml"), strings.Replace(gatewayFile("big", "192.0.2.200"), "[{value: 192.0.2.200}]", "["+addresses.String()+"]", 1))
	port := freePort(t)
	inst, _ := boot(t, fmt.Sprintf("example.com:%d {\nbind 127.0.0.1\nkuadrant {\nmanifests %s\n%s}\n}\n", port, dir, nameservers.String()))
	defer func() {
		_ = inst.Stop()
		inst.ShutdownCallbacks()
	}()
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	send := func(network string, m *dns.Msg) (*dns.Msg, int) {
		t.Helper()
		conn, err := dns.Dial(network, addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conn.UDPSize = dns.MaxMsgSize
		if err := conn.WriteMsg(m); err != nil {
			t.Fatal(err)
		}
		wire, err := conn.ReadMsgHeader(nil)
		if err != nil {
			t.Fatal(err)
		}
		reply := new(dns.Msg)
		if err := reply.Unpack(wire); err != nil {
			t.Fatal(err)
		}
		return reply, len(wire)
	}
	waitFor(t, "answer", func() bool {
		reply, _ := send("tcp", question("big.example.com.", dns.TypeA))
		return len(reply.Answer) == 60
	})
	const subnet = 65535 // in place of a size: with a client subnet, and 512
	for _, c := range []struct {
		name    string
		qtype   uint16
		network string
		size    uint16 // of the client's buffer; 0 for no EDNS
		tc      bool
		answers int // -1 for some, but not all
		extra   int // -1 for some, but not all
	}{
		{"example.com.", dns.TypeNS, "udp", 0, false, 8, -1},
		{"example.com.", dns.TypeNS, "udp", 512, false, 8, -1},
		{"example.com.", dns.TypeNS, "udp", subnet, false, 8, -1},
		{"example.com.", dns.TypeNS, "udp", 600, false, 8, -1},
		{"example.com.", dns.TypeNS, "udp", 4096, false, 8, 24},
		{"example.com.", dns.TypeNS, "tcp", 0, false, 8, 24},
		{"example.com.", dns.TypeNS, "tcp", 512, false, 8, 24},
		{"big.example.com.", dns.TypeA, "udp", 0, true, -1, 0},
		{"big.example.com.", dns.TypeA, "udp", 512, true, -1, 0},
		{"big.example.com.", dns.TypeA, "udp", 1232, false, 60, 0},
		{"big.example.com.", dns.TypeA, "tcp", 0, false, 60, 0},
		{"big.example.com.", dns.TypeA, "tcp", 512, false, 60, 0},
	} {
		t.Run(fmt.Sprintf("%s/%s/%d", c.name, c.network, c.size), func(t *testing.T) {
			m, room := question(c.name, c.qtype), 512
			switch c.size {
			case 0:
			case subnet:
				m = withSubnet(m, 1, "10.2.0.0", 24, 0)
				m.IsEdns0().SetUDPSize(512)
			default:
				m.SetEdns0(c.size, false)
				room = int(c.size)
			}
			reply, size := send(c.network, m)
			if reply.Truncated != c.tc {
				t.Errorf("TC is %v, want %v", reply.Truncated, c.tc)
			}
			if c.network == "udp" && size > room {
				t.Errorf("%d octets for a client that takes %d", size, room)
			}
			extra := make(map[string]int)
			n := 0
			for _, rr := range reply.Extra {
				if h := rr.Header(); h.Rrtype != dns.TypeOPT {
					extra[h.Name+" "+dns.TypeToString[h.Rrtype]]++
					n++
				}
			}
			if (reply.IsEdns0() != nil) != (c.size > 0) {
				t.Errorf("OPT in the reply: %v", reply.IsEdns0())
			}
			if got := len(reply.Answer); got != c.answers && (c.answers >= 0 || got == 0 || got == 60) {
				t.Errorf("%d answers, want %d", got, c.answers)
			}
			if n != c.extra && (c.extra >= 0 || n == 0 || n == 24) {
				t.Errorf("%d additional records, want %d", n, c.extra)
			}
			for set, count := range extra {
				if want := map[bool]int{true: 2, false: 1}[strings.HasSuffix(set, "AAAA")]; count != want {
					t.Errorf("%d records of %s, want all %d", count, set, want)
				}
			}
		})
	}
}

// TestGlueThatIsNeeded: addresses of a referral's servers below the cut are all there, or TC says that
// they are not (RFC 9471 §3.1, found A3). Those beside it are left out where they do not fit.
func TestGlueThatIsNeeded(t *testing.T) {
	dir := t.TempDir()
	var zone strings.Builder
	zone.WriteString("{apiVersion: kubi.zone/v1alpha1, kind: Zone, metadata: {namespace: dns, name: z}, spec: {domainName: z.test., delegations: [{records: [{pattern: '*', types: [NS, A, AAAA]}]}]}}\n")
	records := 0
	record := func(name, rtype, data string) {
		records++
		fmt.Fprintf(&zone, "---\n{apiVersion: kubi.zone/v1alpha1, kind: Record, metadata: {namespace: dns, name: r%d}, spec: {domainName: %q, zoneRef: {name: z}, type: %s, rdata: %q}}\n",
			records, name, rtype, data)
	}
	for i := range 13 {
		server := fmt.Sprintf("ns%02d.cut", i)
		record("cut", "NS", server)
		record(server, "A", fmt.Sprintf("192.0.2.%d", i+1))
		record(server, "AAAA", fmt.Sprintf("2001:db8::%x", i+1))
	}
	for i := range 13 {
		server := fmt.Sprintf("ns%02d.beside", i)
		record("few", "NS", server)
		record(server, "A", fmt.Sprintf("192.0.2.%d", i+1))
		record(server, "AAAA", fmt.Sprintf("2001:db8::%x", i+1))
	}
	writeFile(t, filepath.Join(dir, "zone.yaml"), zone.String())
	port := freePort(t)
	inst, _ := boot(t, fmt.Sprintf("z.test:%d {\nbind 127.0.0.1\nkuadrant {\nmanifests %s\n}\n}\n", port, dir))
	defer func() {
		_ = inst.Stop()
		inst.ShutdownCallbacks()
	}()
	ask := func(network, name string, size uint16) *dns.Msg {
		t.Helper()
		c, m := dns.Client{Net: network, UDPSize: dns.MaxMsgSize}, question(name, dns.TypeA)
		if size > 0 {
			m.SetEdns0(size, false)
		}
		reply, _, err := c.Exchange(m, fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			t.Fatal(err)
		}
		return reply
	}
	glue := func(m *dns.Msg) (n int) {
		for _, rr := range m.Extra {
			if rr.Header().Rrtype != dns.TypeOPT {
				n++
			}
		}
		return n
	}
	waitFor(t, "referral", func() bool { return glue(ask("tcp", "x.cut.z.test.", 0)) == 26 })
	for _, size := range []uint16{0, 512, 700, 1232, 4096} {
		if m := ask("udp", "x.cut.z.test.", size); m.Truncated == (glue(m) == 26) {
			t.Errorf("%d octets: TC is %v, with %d of 26 addresses", size, m.Truncated, glue(m))
		}
		if m := ask("udp", "x.few.z.test.", size); m.Truncated || len(m.Ns) != 13 {
			t.Errorf("%d octets: TC is %v, with %d servers, whose addresses can be asked for", size, m.Truncated, len(m.Ns))
		}
	}
}

// TestGlueOfEverySize: whatever a client takes, it is told all name servers, with
// as much glue as fits and without TC.
func TestGlueOfEverySize(t *testing.T) {
	var corefile strings.Builder
	corefile.WriteString("kuadrant example.com {\n")
	for i := range 8 {
		fmt.Fprintf(&corefile, "nameserver nameserver-number-%d.example.com 192.0.2.%d 2001:db8::%d\n", i, i+1, i+1)
	}
	corefile.WriteString("}")
	k := newPlugin(t, corefile.String(), shopNets, oneHost(t))
	last := 0
	for size := uint16(512); size < 1300; size++ {
		m := question("example.com.", dns.TypeNS)
		m.SetEdns0(size, size%2 == 0)
		rec := dnstest.NewRecorder(&test.ResponseWriter{})
		if _, err := k.ServeDNS(context.Background(), request.NewScrubWriter(m, rec), m); err != nil {
			t.Fatal(err)
		}
		wire, err := rec.Msg.Pack()
		if err != nil {
			t.Fatal(err)
		}
		if rec.Msg.Truncated || len(rec.Msg.Answer) != 8 || len(wire) > int(size) {
			t.Fatalf("size %d: TC %v, %d answers, %d octets", size, rec.Msg.Truncated, len(rec.Msg.Answer), len(wire))
		}
		if n := len(rec.Msg.Extra); n < last {
			t.Errorf("size %d: %d additional records, fewer than for less room", size, n)
		}
		last = len(rec.Msg.Extra)
	}
	if last != 16+1 {
		t.Errorf("%d additional records where all fit", last)
	}
}
