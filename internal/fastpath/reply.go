package fastpath

import (
	"encoding/binary"
	"strings"

	"github.com/miekg/dns"
)

// Pack puts a reply into out as dns.Msg.Pack does without compression, and returns it. It returns nil if the reply does not fit, or has what
// is left to the library: an extended rcode, a name with escapes, a type that few ask for.
func Pack(m *dns.Msg, out []byte) []byte {
	if m.Rcode < 0 || m.Rcode > 0xf {
		return nil
	}
	b := binary.BigEndian.AppendUint16(out[:0], m.Id)
	b = binary.BigEndian.AppendUint16(b, bitsOf(m))
	for _, n := range [...]int{len(m.Question), len(m.Answer), len(m.Ns), len(m.Extra)} {
		b = binary.BigEndian.AppendUint16(b, uint16(n))
	}
	p := packer{b, true}
	for _, q := range m.Question {
		p.name(q.Name)
		p.uint16(q.Qtype)
		p.uint16(q.Qclass)
	}
	for _, section := range [...][]dns.RR{m.Answer, m.Ns, m.Extra} {
		for _, rr := range section {
			p.record(rr)
		}
	}
	if !p.ok || len(p.b) > len(out) {
		return nil
	}
	return p.b
}

// Bits of the second 16-bit word of a reply's header, beside those of a query.
const (
	bitQR = 1 << 15
	bitAA = 1 << 10
	bitTC = 1 << 9
	bitRA = 1 << 7
)

func bitsOf(m *dns.Msg) (bits uint16) {
	bits = uint16(m.Opcode)<<11 | uint16(m.Rcode)
	for _, b := range [...]struct {
		set bool
		bit uint16
	}{
		{m.Response, bitQR},
		{m.Authoritative, bitAA},
		{m.Truncated, bitTC},
		{m.RecursionDesired, bitRD},
		{m.RecursionAvailable, bitRA},
		{m.AuthenticatedData, bitAD},
		{m.CheckingDisabled, bitCD},
	} {
		if b.set {
			bits |= b.bit
		}
	}
	return bits
}

// packer appends to a message. ok is false once something cannot be written.
type packer struct {
	b  []byte
	ok bool
}

func (p *packer) uint16(n uint16) { p.b = binary.BigEndian.AppendUint16(p.b, n) }
func (p *packer) uint32(n uint32) { p.b = binary.BigEndian.AppendUint32(p.b, n) }

// name appends a name.
func (p *packer) name(name string) {
	if strings.IndexByte(name, '\\') >= 0 {
		p.ok = false
		return
	}
	for name != "." && name != "" {
		i := strings.IndexByte(name, '.')
		if i <= 0 || i > maxLabel {
			p.ok = false
			return
		}
		p.b = append(append(p.b, byte(i)), name[:i]...)
		name = name[i+1:]
	}
	p.b = append(p.b, 0)
}

// record appends a record.
func (p *packer) record(rr dns.RR) {
	h := rr.Header()
	p.name(h.Name)
	p.uint16(h.Rrtype)
	p.uint16(h.Class)
	p.uint32(h.Ttl)
	p.uint16(0)
	data := len(p.b)
	switch rr := rr.(type) {
	case *dns.A:
		ip := rr.A.To4()
		p.ok = p.ok && ip != nil
		p.b = append(p.b, ip...)
	case *dns.AAAA:
		p.ok = p.ok && len(rr.AAAA) == 16
		p.b = append(p.b, rr.AAAA...)
	case *dns.CNAME:
		p.name(rr.Target)
	case *dns.NS:
		p.name(rr.Ns)
	case *dns.SOA:
		p.name(rr.Ns)
		p.name(rr.Mbox)
		for _, n := range [...]uint32{rr.Serial, rr.Refresh, rr.Retry, rr.Expire, rr.Minttl} {
			p.uint32(n)
		}
	case *dns.OPT:
		p.ok = p.ok && p.options(rr)
	default: // and not dns.PackRR, which writes to the record: many share it
		p.ok = false
	}
	binary.BigEndian.PutUint16(p.b[data-2:], uint16(len(p.b)-data))
}

// options appends the options of an OPT record; ok is false if there is another than a client subnet (RFC 7871 §6).
func (p *packer) options(opt *dns.OPT) (ok bool) {
	for _, o := range opt.Option {
		s, is := o.(*dns.EDNS0_SUBNET)
		address := []byte(nil)
		switch {
		case !is:
		case s.Family == 1 && s.SourceNetmask <= 32:
			address = s.Address.To4()
		case s.Family == 2 && s.SourceNetmask <= 128:
			address = s.Address.To16()
		}
		if address == nil {
			return false
		}
		size := (int(s.SourceNetmask) + 7) / 8
		p.uint16(dns.EDNS0SUBNET)
		p.uint16(uint16(4 + size))
		p.uint16(s.Family)
		p.b = append(append(p.b, s.SourceNetmask, s.SourceScope), address[:size]...)
	}
	return true
}
