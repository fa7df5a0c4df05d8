package fastpath

import (
	"encoding/binary"

	"github.com/miekg/dns"
)

// Pack puts a reply into out as dns.Msg.Pack does without compression, and returns it; nil if it does not fit. length is that of
// dns.Msg.Len, which is more for some texts. Pack allocates nothing, not for a client subnet of IPv4 or IPv6 alone in an OPT record at the
// end either.
func Pack(m *dns.Msg, out []byte) (packed []byte, length int) {
	all, opt := m.Extra, m.IsEdns0()
	var subnet *dns.EDNS0_SUBNET
	if opt != nil && len(opt.Option) == 1 && all[len(all)-1] == dns.RR(opt) {
		if subnet, _ = opt.Option[0].(*dns.EDNS0_SUBNET); subnet != nil {
			m.Extra = all[:len(all)-1]
		}
	}
	packed, err := m.PackBuffer(out)
	length = m.Len() - len(packed)
	if m.Extra = all; subnet != nil && err == nil {
		binary.BigEndian.PutUint16(packed[10:], uint16(len(all)))
		packed = appendSubnet(packed, opt, subnet)
	}
	if length += len(packed); err != nil || len(packed) > len(out) {
		return nil, length
	}
	return packed, length
}

// appendSubnet appends an OPT record with a client subnet (RFC 6891 §6.1.2, RFC 7871 §6).
func appendSubnet(b []byte, opt *dns.OPT, s *dns.EDNS0_SUBNET) []byte {
	address := s.Address.To16()
	if s.Family == 1 {
		address = s.Address.To4()
	}
	size := (int(s.SourceNetmask) + 7) / 8
	b = append(b, 0)
	for _, n := range [...]uint16{dns.TypeOPT, opt.Hdr.Class, uint16(opt.Hdr.Ttl >> 16), uint16(opt.Hdr.Ttl), uint16(8 + size), dns.EDNS0SUBNET, uint16(4 + size), s.Family} {
		b = binary.BigEndian.AppendUint16(b, n)
	}
	return append(append(b, s.SourceNetmask, s.SourceScope), address[:size]...)
}
