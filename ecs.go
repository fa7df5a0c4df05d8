package kuadrant

import (
	"net"
	"net/netip"

	"github.com/miekg/dns"
)

// Address families of RFC 7871 §6.
const (
	familyIPv4 = 1
	familyIPv6 = 2
)

// clientSubnet returns a query's client-subnet option, nil for none, and its address; addr is not
// valid if the source length is 0: the client asks not to be located. ok is false if the option is
// malformed: the query gets FORMERR (RFC 7871 §7.1.2, rule 3.6).
func clientSubnet(r *dns.Msg) (sub *dns.EDNS0_SUBNET, addr netip.Addr, ok bool) {
	opt := r.IsEdns0()
	if opt == nil {
		return nil, addr, true
	}
	for _, o := range opt.Option {
		if s, is := o.(*dns.EDNS0_SUBNET); is {
			addr, ok = subnetAddress(s)
			return s, addr, ok
		}
	}
	return nil, addr, true
}

// otherOctets reports whether a query's client subnet has too few or too many octets for its source length (RFC 7871 §6), which the library
// hides: it shows in the length of the OPT record, as read, unless a plugin has changed that since.
func otherOctets(r *dns.Msg, s *dns.EDNS0_SUBNET) bool {
	if s == nil {
		return false
	}
	opt := r.IsEdns0()
	const fixed, head = 11, 8 // octets of an OPT record without options, and of a client subnet without an address
	address := (int(s.SourceNetmask) + 7) / 8
	octets := head + address
	if len(opt.Option) > 1 {
		octets = dns.Len(opt) - fixed
	}
	read := int(opt.Hdr.Rdlength) // 0 if it has not been read
	return read > octets || read > 0 && read < octets && read >= octets-address
}

// subnetAddress checks the option and returns its address.
func subnetAddress(s *dns.EDNS0_SUBNET) (addr netip.Addr, ok bool) {
	if s.SourceScope != 0 {
		return addr, false
	}
	switch s.Family {
	case 0:
		// dig writes family 0 for +subnet=0: "locate nobody".
		return addr, s.SourceNetmask == 0
	case familyIPv4:
		addr, ok = netip.AddrFromSlice(s.Address.To4())
	case familyIPv6:
		addr, ok = netip.AddrFromSlice(s.Address.To16())
	}
	if !ok || int(s.SourceNetmask) > addr.BitLen() {
		return netip.Addr{}, false
	}
	if s.SourceNetmask == 0 {
		return netip.Addr{}, s.Address.IsUnspecified()
	}
	if netip.PrefixFrom(addr, int(s.SourceNetmask)).Masked().Addr() != addr {
		return netip.Addr{}, false // bits set past the source length
	}
	return addr, true
}

// subnetReply returns the option for a reply: the query's family, source length and address, with
// the given scope, a prefix length in the family that the client was located in (rule 3.6).
func subnetReply(s *dns.EDNS0_SUBNET, scope int) dns.EDNS0_SUBNET {
	reply := *s
	longest := 8 * net.IPv4len
	if s.Family == familyIPv6 {
		longest = 8 * net.IPv6len
	}
	switch {
	case s.SourceNetmask == 0:
		scope = 0
	case mapped(s) && scope > 0:
		scope += mappedBits // it was located as an IPv4 address
	}
	reply.SourceScope = uint8(min(scope, longest))
	return reply
}

// mapped reports whether the option of an IPv6 client holds an IPv4 address.
func mapped(s *dns.EDNS0_SUBNET) bool { return s.Family == familyIPv6 && s.Address.To4() != nil }

// mappedBits is the length of the prefix before the IPv4 address in an IPv4-mapped one.
const mappedBits = 8 * (net.IPv6len - net.IPv4len)

// sourceBits returns the option's source length in the family that its client is located in. It is
// at least 1 if the option has one: 0 would say that the answer does not depend on the client.
func sourceBits(s *dns.EDNS0_SUBNET) int {
	bits := int(s.SourceNetmask)
	if mapped(s) {
		bits = max(bits-mappedBits, min(bits, 1))
	}
	return bits
}

// remoteAddr returns the transport's source address, unmapped; invalid if it has none.
func remoteAddr(a net.Addr) netip.Addr {
	if u, ok := a.(interface{ Unwrap() net.Addr }); ok {
		if inner := u.Unwrap(); inner != nil {
			a = inner
		}
	}
	var ip net.IP
	switch a := a.(type) {
	case *net.UDPAddr:
		ip = a.IP
	case *net.TCPAddr:
		ip = a.IP
	case *net.IPAddr:
		ip = a.IP
	case nil:
		return netip.Addr{}
	default:
		ap, _ := netip.ParseAddrPort(a.String())
		return ap.Addr().Unmap()
	}
	addr, _ := netip.AddrFromSlice(ip)
	return addr.Unmap()
}
