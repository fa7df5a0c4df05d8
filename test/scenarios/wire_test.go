package scenarios

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/peertest"
)

// manyAddresses is a Gateway with the host big.example.com and 60 addresses.
func manyAddresses() string {
	var all strings.Builder
	for i := range 60 {
		fmt.Fprintf(&all, "{value: 192.0.2.%d}, ", i+1)
	}
	return strings.Replace(boottest.GatewayFile("big", "192.0.2.200"), "[{value: 192.0.2.200}]", "["+all.String()+"]", 1)
}

// oddQuery is a query and its reply: "opcode N" unless it is QUERY, rcode and flags; then the
// sections and the OPT record, each after a bar.
type oddQuery struct {
	what  string
	name  string
	qtype uint16
	odd   func(*dns.Msg) // nil for no change
	want  string
}

// edns adds an OPT record with the client's size, then extended rcode, version and flags, then
// options.
func edns(size uint16, ttl uint32, options ...dns.EDNS0) func(*dns.Msg) {
	return func(m *dns.Msg) {
		opt := m.SetEdns0(size, false).IsEdns0()
		opt.Hdr.Ttl, opt.Option = ttl, options
	}
}

func option(code uint16, data string) dns.EDNS0 {
	return &dns.EDNS0_LOCAL{Code: code, Data: []byte(data)}
}

func opcode(code int) func(*dns.Msg) { return func(m *dns.Msg) { m.Opcode = code } }

// oddQueries are what conformance checks send to servers (RFC 8906 §8): unknown flags, opcodes,
// types, classes and EDNS. CoreDNS itself answers opcodes, EDNS versions and messages without
// exactly one question, as for any plugin.
func oddQueries() []oddQuery {
	const www, answer, soa = "www.example.com.", "NOERROR aa | www.example.com. A", "auth example.com. SOA"
	const ok, denial = answer + " | opt 1232", "NXDOMAIN aa | " + soa
	long := strings.Repeat(strings.Repeat("a", 60)+".", 3) + strings.Repeat("b", 57) + ".example.com."
	cookie, subnet := option(dns.EDNS0COOKIE, "\x01\x02\x03\x04\x05\x06\x07\x08"), option(dns.EDNS0SUBNET, "\x00\x01\x18\x00\x0a\x02\x03")
	return []oddQuery{
		{"plain", www, dns.TypeA, nil, answer},
		{"RD is copied", www, dns.TypeA, func(m *dns.Msg) { m.RecursionDesired = true }, strings.Replace(answer, "aa", "aa rd", 1)},
		{"RA, AD, CD, Z and TC are not", www, dns.TypeA, func(m *dns.Msg) {
			m.RecursionAvailable, m.AuthenticatedData, m.CheckingDisabled, m.Zero, m.Truncated = true, true, true, true, true
		}, answer},
		{"AA is not", "www.example.net.", dns.TypeA, func(m *dns.Msg) { m.Authoritative = true }, "REFUSED"},
		{"opcode 15", www, dns.TypeA, opcode(15), "opcode 15 NOTIMP"},
		{"UPDATE", "example.com.", dns.TypeSOA, opcode(dns.OpcodeUpdate), "opcode 5 NOTIMP"},
		{"NOTIFY: nobody has told us to be a secondary (RFC 1996 §3.10)", "example.com.", dns.TypeSOA, opcode(dns.OpcodeNotify), "opcode 4 REFUSED"},
		{"two questions (RFC 9619 §4)", www, dns.TypeA, func(m *dns.Msg) { m.Question = append(m.Question, m.Question[0]) }, "FORMERR"},

		{"SOA", "example.com.", dns.TypeSOA, nil, "NOERROR aa | example.com. SOA"},
		{"unknown type", www, 1000, nil, "NOERROR aa | " + soa},
		{"unknown type, missing name", "no.example.com.", 1000, nil, denial},
		{"RRSIG of what is not signed", www, dns.TypeRRSIG, nil, "NOERROR aa | " + soa},
		{"NULL", www, dns.TypeNULL, nil, "NOERROR aa | " + soa},
		{"ANY", www, dns.TypeANY, nil, answer},
		{"ANY of a missing name", "no.example.com.", dns.TypeANY, nil, denial},
		{"AXFR without the plugin transfer", "example.com.", dns.TypeAXFR, nil, "REFUSED"},
		{"IXFR without the plugin transfer", "example.com.", dns.TypeIXFR, nil, "REFUSED"},
		{"class CH", "version.bind.", dns.TypeTXT, func(m *dns.Msg) { m.Question[0].Qclass = dns.ClassCHAOS }, "REFUSED"},
		{"class ANY", www, dns.TypeA, func(m *dns.Msg) { m.Question[0].Qclass = dns.ClassANY }, "REFUSED"},
		{"like the zone", "wwwexample.com.", dns.TypeA, nil, "REFUSED"},
		{"mixed case", "wWw.eXAMPLE.cOm.", dns.TypeA, nil, "NOERROR aa | wWw.eXAMPLE.cOm. A"},
		{"mixed case of a missing name", "nO.eXAMPLE.cOm.", dns.TypeA, nil, denial},
		{"mixed case, DO (rule 7.2)", "wWw.example.com.", dns.TypeA, edns(1232, 1<<15), ok + " do"},
		{"the longest name", long, dns.TypeA, nil, denial},
		{"odd octets", `\000\255\.\ \@.example.com.`, dns.TypeA, nil, denial},

		{"EDNS", www, dns.TypeA, edns(1232, 0), ok},
		{"EDNS, missing name", "no.example.com.", dns.TypeA, edns(1232, 0), denial + " | opt 1232"},
		{"EDNS, another zone", "www.example.net.", dns.TypeA, edns(1232, 0), "REFUSED | opt 1232"},
		{"DO, missing name", "no.example.com.", dns.TypeA, edns(1232, 1<<15), denial + " | opt 1232 do"},
		{"unknown EDNS flags (bug_3a16)", www, dns.TypeA, edns(1232, 1<<14|1<<8|1<<6), ok},
		{"unknown EDNS flags, refused (bug_3a16)", "example.com.", dns.TypeAXFR, edns(1232, 1<<8), "REFUSED | opt 1232"},
		{"EDNS version 100 (RFC 6891 §6.1.3)", www, dns.TypeA, edns(1232, 100<<16, option(100, "")), "BADVERS | opt"},
		{"an extended rcode in a query", www, dns.TypeA, edns(1232, 7<<24), ok},
		{"unknown options", www, dns.TypeA, edns(1232, 0, option(100, ""), option(65001, "abc")), ok},
		{"cookie, padding, keepalive, expire", www, dns.TypeA, edns(1232, 0, cookie, option(dns.EDNS0PADDING, "\x00"), option(dns.EDNS0TCPKEEPALIVE, ""), option(dns.EDNS0EXPIRE, "")), ok},
		{"client subnet, unknown option and flag", www, dns.TypeA, edns(1232, 1<<6, subnet, option(100, "x")), ok + " option 8"},
		{"client subnet and DO", www, dns.TypeA, edns(1232, 1<<15, subnet), ok + " do option 8"},
		{"client subnet, missing name", "no.example.com.", dns.TypeA, edns(1232, 0, subnet), denial + " | opt 1232 option 8"},
		{"client subnet with a scope", www, dns.TypeA, edns(1232, 0, option(dns.EDNS0SUBNET, "\x00\x01\x18\x18\x0a\x02\x03")), "FORMERR | opt 1232"},
		{"client subnet with too few octets (bug_3a16)", www, dns.TypeA, edns(1232, 1<<8, option(dns.EDNS0SUBNET, "\x00\x01\x18\x00\x0a\x02")), "FORMERR | opt 1232"},
		{"client subnet with too many octets (bug_3a16)", www, dns.TypeA, edns(1232, 0, cookie, option(dns.EDNS0SUBNET, "\x00\x02\x20\x00\x20\x01\x0d\xb8\x00")), "FORMERR | opt 1232"},
		{"client subnet and cookie", www, dns.TypeA, edns(1232, 0, subnet, cookie), ok + " option 8"},

		{"fewer than 512 mean 512", www, dns.TypeA, edns(100, 0), answer + " | opt 100"},
	}
}

// TestOddQueries sends unusual queries to a whole CoreDNS over UDP and TCP.
func TestOddQueries(t *testing.T) {
	dir, port := t.TempDir(), peertest.FreePort(t)
	boottest.WriteFile(t, filepath.Join(dir, "a.yaml"), boottest.GatewayFile("www", "192.0.2.1"))
	boottest.Serve(t, fmt.Sprintf("example.com:%d {\nbind 127.0.0.1\nkuadrant {\nmanifests %s\n}\n}\n", port, dir))
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	boottest.WaitFor(t, "answers", func() bool { return boottest.AskFirst(addr, "www.example.com.") == "192.0.2.1" })
	for _, q := range oddQueries() {
		for _, network := range []string{"udp", "tcp"} {
			t.Run(q.what+"/"+network, func(t *testing.T) {
				m := &dns.Msg{MsgHdr: dns.MsgHdr{Id: dns.Id()}, Question: []dns.Question{{Name: q.name, Qtype: q.qtype, Qclass: dns.ClassINET}}}
				if q.odd != nil {
					q.odd(m)
				}
				reply, _ := send(t, network, addr, m)
				if got := shown(reply); got != q.want {
					t.Errorf("seen %s\nwant %s", got, q.want)
				}
				// The question is returned octet for octet (rule 7.2).
				if n := len(reply.Question); n > 0 && reply.Question[0] != m.Question[0] || n == 0 && reply.Rcode == dns.RcodeSuccess {
					t.Errorf("the question comes back as %v", reply.Question)
				}
			})
		}
	}
}

// send returns the reply to a query, and its length.
func send(t *testing.T, network, addr string, query *dns.Msg) (*dns.Msg, int) {
	t.Helper()
	conn, err := dns.Dial(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.UDPSize = dns.MaxMsgSize
	if err := conn.WriteMsg(query); err != nil {
		t.Fatal(err)
	}
	wire, err := conn.ReadMsgHeader(nil)
	if err != nil {
		t.Fatal(err)
	}
	reply := new(dns.Msg)
	if err := reply.Unpack(wire); err != nil || !reply.Response || reply.Id != query.Id {
		t.Fatalf("%v is no reply: %v", reply, err)
	}
	return reply, len(wire)
}

// shown formats a reply as in an oddQuery.
func shown(m *dns.Msg) string {
	head := dns.RcodeToString[m.Rcode]
	if m.Rcode == dns.RcodeBadVers {
		head = "BADVERS" // not BADSIG, which has the same number
	}
	if m.Opcode != dns.OpcodeQuery {
		head = fmt.Sprintf("opcode %d %s", m.Opcode, head)
	}
	for i, set := range []bool{m.Authoritative, m.Truncated, m.RecursionDesired, m.RecursionAvailable, m.Zero, m.AuthenticatedData, m.CheckingDisabled} {
		if set {
			head += " " + strings.Fields("aa tc rd ra z ad cd")[i]
		}
	}
	parts := []string{head}
	for i, section := range [][]dns.RR{m.Answer, m.Ns, m.Extra} {
		for _, rr := range section {
			if opt, ok := rr.(*dns.OPT); ok {
				parts = append(parts, shownOPT(opt))
			} else {
				parts = append(parts, [...]string{"", "auth ", "extra "}[i]+rr.Header().Name+" "+dns.Type(rr.Header().Rrtype).String())
			}
		}
	}
	return strings.Join(parts, " | ")
}

func shownOPT(opt *dns.OPT) string {
	text := "opt"
	if opt.ExtendedRcode() == 0 {
		text += fmt.Sprintf(" %d", opt.UDPSize())
	}
	if v := opt.Version(); v != 0 {
		text += fmt.Sprintf(" version %d", v)
	}
	if opt.Do() {
		text += " do"
	}
	if opt.Hdr.Ttl&0x7fff != 0 {
		text += fmt.Sprintf(" flags %#x", opt.Hdr.Ttl&0x7fff)
	}
	for _, o := range opt.Option {
		text += fmt.Sprintf(" option %d", o.Option())
	}
	return text
}

// addresses returns the number of additional records other than OPT.
func addresses(m *dns.Msg) int {
	n := len(m.Extra)
	if m.IsEdns0() != nil {
		n--
	}
	return n
}

// TestTruncation (bug_3a26): glue that does not fit is left out in whole RRsets without TC, whatever size the
// client accepts (rule 7.3). An answer that does not fit sets TC, over UDP only, and has records for clients without EDNS alone (rule 7.2).
func TestTruncation(t *testing.T) {
	dir, port := t.TempDir(), peertest.FreePort(t)
	var nameservers strings.Builder
	for i := range 8 {
		fmt.Fprintf(&nameservers, "nameserver nameserver-number-%d.example.com 192.0.2.%d 2001:db8::%d 2001:db8:1::%d\n", i, i+1, i+1, i+1)
	}
	boottest.WriteFile(t, filepath.Join(dir, "big.yaml"), manyAddresses())
	boottest.Serve(t, fmt.Sprintf("example.com:%d {\nbind 127.0.0.1\nkuadrant {\nmanifests %s\n%s}\n}\n", port, dir, nameservers.String()))
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	boottest.WaitFor(t, "answer", func() bool {
		reply, _ := send(t, "tcp", addr, boottest.Question("big.example.com.", dns.TypeA))
		return len(reply.Answer) == 60
	})
	ask := func(network, name string, qtype, size uint16) *dns.Msg {
		t.Helper()
		m := boottest.Question(name, qtype)
		if size%2 > 0 {
			boottest.WithSubnet(m, 1, "10.2.0.0", 24, 0).IsEdns0().SetUDPSize(size)
		} else if size > 0 {
			m.SetEdns0(size, size%3 == 0)
		}
		reply, octets := send(t, network, addr, m)
		if network == "udp" && octets > int(cmp.Or(size, 512)) {
			t.Errorf("%d octets for a client that takes %d", octets, size)
		}
		return reply
	}
	for _, size := range []uint16{0, 512, 1232, 4096} {
		fits := size >= 1232
		if m := ask("udp", "big.example.com.", dns.TypeA, size); m.Truncated == fits || len(m.Answer) != map[uint16]int{0: 29, 1232: 60, 4096: 60}[size] {
			t.Errorf("%d octets: TC is %v, with %d of 60 addresses", size, m.Truncated, len(m.Answer))
		}
		if m := ask("tcp", "big.example.com.", dns.TypeA, size); m.Truncated || len(m.Answer) != 60 {
			t.Errorf("TCP: TC is %v, with %d of 60 addresses", m.Truncated, len(m.Answer))
		}
		if m := ask("tcp", "example.com.", dns.TypeNS, size); m.Truncated || len(m.Answer) != 8 || addresses(m) != 24 {
			t.Errorf("TCP: TC is %v, with %d of 24 addresses of servers", m.Truncated, addresses(m))
		}
	}
	if m := ask("udp", "example.com.", dns.TypeNS, 0); m.Truncated || len(m.Answer) != 8 || addresses(m) == 0 {
		t.Errorf("without EDNS: TC is %v, with %d servers, and %d addresses", m.Truncated, len(m.Answer), addresses(m))
	}
	var last [2]int // without a client subnet, and with one
	for size := uint16(512); size < 1300; size++ {
		m := ask("udp", "example.com.", dns.TypeNS, size)
		n, sets := addresses(m), make(map[string]int)
		for _, rr := range m.Extra {
			sets[rr.Header().Name+" "+dns.TypeToString[rr.Header().Rrtype]]++
		}
		for set, count := range sets {
			if want := map[bool]int{true: 2, false: 1}[strings.HasSuffix(set, "AAAA")]; count != want {
				t.Errorf("size %d: %d records of %s, want all %d", size, count, set, want)
			}
		}
		if m.Truncated || len(m.Answer) != 8 || n < last[size%2] {
			t.Fatalf("size %d: TC %v, %d servers, %d addresses, and %d for less room", size, m.Truncated, len(m.Answer), n, last[size%2])
		}
		last[size%2] = n
	}
	if last != [2]int{24, 24} {
		t.Errorf("%d addresses where all fit", last)
	}
}

// TestGlueThatIsNeeded (bug A3): a referral has all addresses of servers below the cut, or sets TC
// (RFC 9471 §3.1, rule 7.3). Addresses of other servers are left out if they do not fit.
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
	for i := range 10 {
		server := fmt.Sprintf("ns%02d.many", i)
		record("many", "NS", server)
		for j := range 50 {
			record(server, "A", fmt.Sprintf("192.0.%d.%d", i, j+1))
		}
	}
	boottest.WriteFile(t, filepath.Join(dir, "zone.yaml"), zone.String())
	port := peertest.FreePort(t)
	boottest.Serve(t, fmt.Sprintf("z.test:%d {\nbind 127.0.0.1\nkuadrant {\nmanifests %s\n}\n}\n", port, dir))
	ask := func(network, name string, size uint16) *dns.Msg {
		t.Helper()
		m := boottest.Question(name, dns.TypeA)
		if size > 0 {
			m.SetEdns0(size, false)
		}
		reply, _ := send(t, network, fmt.Sprintf("127.0.0.1:%d", port), m)
		return reply
	}
	boottest.WaitFor(t, "referral", func() bool { return addresses(ask("tcp", "x.cut.z.test.", 0)) == 26 })
	if m := ask("tcp", "x.many.z.test.", 0); m.Truncated || addresses(m) != 500 {
		t.Errorf("by TCP: TC is %v, with %d of 500 addresses", m.Truncated, addresses(m)) // the first 300
	}
	for _, size := range []uint16{0, 512, 700, 1232, 4096} {
		m := ask("udp", "x.cut.z.test.", size)
		if m.Truncated == (addresses(m) == 26) || m.Truncated && (size == 0) != (len(m.Ns) == 13) || m.Truncated && size > 0 && addresses(m) > 0 {
			t.Errorf("%d octets: TC is %v, with %d servers and %d of 26 addresses", size, m.Truncated, len(m.Ns), addresses(m))
		}
		if m := ask("udp", "x.few.z.test.", size); m.Truncated || len(m.Ns) != 13 {
			t.Errorf("%d octets: TC is %v, with %d servers, whose addresses can be asked for", size, m.Truncated, len(m.Ns))
		}
	}
}
