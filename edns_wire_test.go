package kuadrant

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"
)

// The bits of the third and fourth octet of a message (RFC 1035 §4.1.1, RFC 2535
// §6.1).
const (
	bitQR = 1 << 15
	bitAA = 1 << 10
	bitTC = 1 << 9
	bitRD = 1 << 8
	bitRA = 1 << 7
	bitZ  = 1 << 6
	bitAD = 1 << 5
	bitCD = 1 << 4
)

// oddity makes a query odd. It is given what was packed so far.
type oddity func(wire []byte) []byte

// queryID is that of all probes.
const queryID = 0x4b44

// oddQuery packs a query without flags, and changes it. Without a name it has no question.
func oddQuery(name string, qtype uint16, odd ...oddity) []byte {
	wire := binary.BigEndian.AppendUint16(nil, queryID)
	wire = append(wire, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0)
	if name != "" {
		var packed [256]byte
		off, err := dns.PackDomainName(name, packed[:], 0, nil, false)
		if err != nil {
			panic(err) // the table is wrong
		}
		wire = append(wire, packed[:off]...)
		wire = binary.BigEndian.AppendUint16(wire, qtype)
		wire = binary.BigEndian.AppendUint16(wire, dns.ClassINET)
	}
	for _, c := range odd {
		wire = c(wire)
	}
	return wire
}

// withBits sets bits of the header.
func withBits(bits uint16) oddity {
	return func(wire []byte) []byte {
		binary.BigEndian.PutUint16(wire[2:], binary.BigEndian.Uint16(wire[2:])|bits)
		return wire
	}
}

func withOpcode(code uint16) oddity { return withBits(code << 11) }

// withCounts says how many records the message claims to have, by section.
func withCounts(all ...uint16) oddity {
	return func(wire []byte) []byte {
		for i, n := range all {
			binary.BigEndian.PutUint16(wire[4+2*i:], n)
		}
		return wire
	}
}

// withClass replaces that of the question; OPT may follow it.
func withClass(c uint16) oddity {
	return func(wire []byte) []byte {
		off := 12
		for wire[off] != 0 {
			off += int(wire[off]) + 1
		}
		binary.BigEndian.PutUint16(wire[off+3:], c)
		return wire
	}
}

// withSecond adds the same question once more.
func withSecond() oddity {
	return func(wire []byte) []byte { return withCounts(2)(append(wire, wire[12:]...)) }
}

// without leaves n octets out at the end.
func without(n int) oddity {
	return func(wire []byte) []byte { return wire[:len(wire)-n] }
}

// lengthened puts a label of 20 octets before the name of the question.
func lengthened(wire []byte) []byte {
	return slices.Insert(wire, 12, append([]byte{20}, strings.Repeat("x", 20)...)...)
}

// ednsOption packs an option of an OPT record.
func ednsOption(code uint16, data string) string {
	wire := binary.BigEndian.AppendUint16(nil, code)
	return string(binary.BigEndian.AppendUint16(wire, uint16(len(data)))) + data
}

// withEDNS adds an OPT record: the client's size, then extended rcode, version and flags,
// then options.
func withEDNS(size uint16, ttl uint32, options ...string) oddity {
	return func(wire []byte) []byte {
		data := strings.Join(options, "")
		wire[11]++
		wire = append(wire, 0, 0, byte(dns.TypeOPT))
		wire = binary.BigEndian.AppendUint16(wire, size)
		wire = binary.BigEndian.AppendUint32(wire, ttl)
		wire = binary.BigEndian.AppendUint16(wire, uint16(len(data)))
		return append(wire, data...)
	}
}

// ednsAsk sends a query and writes down what comes back: opcode, rcode, flags, then
// the sections and the OPT record, each after a bar. "nothing" is what another query,
// sent later, is answered before.
func ednsAsk(t *testing.T, network, addr string, wire []byte) string {
	t.Helper()
	conn, err := dns.Dial(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.UDPSize = dns.MaxMsgSize
	if _, err := conn.Write(wire); err != nil {
		t.Fatal(err)
	}
	after := oddQuery("www.example.com.", dns.TypeA)
	after[0]++
	if len(wire) > 2 && wire[2]&(bitQR>>8) != 0 {
		if _, err := conn.Write(after); err != nil {
			t.Fatal(err)
		}
	}
	got, err := conn.ReadMsgHeader(nil)
	if err != nil {
		t.Fatal(err)
	}
	if got[0] == after[0] {
		return "nothing"
	}
	m := new(dns.Msg)
	if err := m.Unpack(got); err != nil {
		t.Fatalf("unpack reply: %v", err)
	}
	if !m.Response || m.Id != queryID {
		t.Errorf("it is no reply to the query: %v", m)
	}
	if network == "udp" && len(got) > ednsRoom(wire) {
		t.Errorf("%d octets for a client that takes %d", len(got), ednsRoom(wire))
	}
	// A question comes back as it was, octet for octet (rule 7.2). CoreDNS does not read
	// that of a message whose header it refuses.
	asked, refused := new(dns.Msg), m.Rcode == dns.RcodeNotImplemented || m.Rcode == dns.RcodeFormatError
	if asked.Unpack(wire) == nil && len(asked.Question) == 1 && !(refused && len(m.Question) == 0) && (len(m.Question) != 1 || m.Question[0] != asked.Question[0]) {
		t.Errorf("the question comes back as %v", m.Question)
	}
	return ednsFormat(m)
}

// ednsRoom is how many octets a reply over UDP may have.
func ednsRoom(wire []byte) int {
	m := new(dns.Msg)
	if m.Unpack(wire) != nil || m.IsEdns0() == nil {
		return dns.MinMsgSize
	}
	return max(dns.MinMsgSize, int(m.IsEdns0().UDPSize()))
}

func ednsFormat(m *dns.Msg) string {
	head := dns.RcodeToString[m.Rcode]
	if m.Rcode == dns.RcodeBadVers {
		head = "BADVERS" // and not BADSIG, which has the same number
	}
	if m.Opcode != dns.OpcodeQuery {
		head = fmt.Sprintf("opcode %d %s", m.Opcode, head)
	}
	for _, f := range []struct {
		set  bool
		name string
	}{
		{m.Authoritative, "aa"},
		{m.Truncated, "tc"},
		{m.RecursionDesired, "rd"},
		{m.RecursionAvailable, "ra"},
		{m.Zero, "z"},
		{m.AuthenticatedData, "ad"},
		{m.CheckingDisabled, "cd"},
	} {
		if f.set {
			head += " " + f.name
		}
	}
	parts := []string{head}
	if m.Truncated {
		parts = append(parts, "truncated")
	} else {
		for _, s := range []struct {
			prefix string
			rrs    []dns.RR
		}{{"", m.Answer}, {"auth ", m.Ns}, {"extra ", m.Extra}} {
			if text := ednsSection(s.rrs); text != "" {
				parts = append(parts, s.prefix+text)
			}
		}
	}
	for _, rr := range m.Extra {
		if opt, ok := rr.(*dns.OPT); ok {
			parts = append(parts, ednsOPT(opt))
		}
	}
	return strings.Join(parts, " | ")
}

// ednsSection names the RRsets of a section, each with its size where that is not 1.
func ednsSection(rrs []dns.RR) string {
	var sets []string
	sizes := make(map[string]int)
	for _, rr := range rrs {
		if rr.Header().Rrtype == dns.TypeOPT {
			continue
		}
		set := rr.Header().Name + " " + dns.Type(rr.Header().Rrtype).String()
		if sizes[set]++; sizes[set] == 1 {
			sets = append(sets, set)
		}
	}
	for i, set := range sets {
		if n := sizes[set]; n > 1 {
			sets[i] = fmt.Sprintf("%d %s", n, set)
		}
	}
	return strings.Join(sets, ", ")
}

// ednsOPT writes down an OPT record; the size is left out where it is 0 with an
// extended rcode, as CoreDNS has it in BADVERS.
func ednsOPT(opt *dns.OPT) string {
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
