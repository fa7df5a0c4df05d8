package fastpath

import (
	"encoding/binary"
	"unsafe"

	"github.com/miekg/dns"
)

const (
	headerSize = 12
	maxName    = 255 // octets of a name in a message (RFC 1035 §3.1)
	maxLabel   = 63
)

// Query is a query as the fast path reads it. A worker reuses its memory for the next one: nothing in it may be kept.
type Query struct {
	// Msg is the query, with one question and at most an OPT record, as dns.Msg.Unpack would make it.
	Msg dns.Msg
	// Size is the length of the message in octets.
	Size int
	// Cookie is true if the OPT record has a cookie (RFC 7873), which Msg leaves out.
	Cookie bool

	question [1]dns.Question
	extra    [1]dns.RR
	options  [1]dns.EDNS0
	opt      dns.OPT
	subnet   dns.EDNS0_SUBNET
	address  [16]byte
	name     [maxName]byte
	lower    [maxName]byte
}

// Lower returns the name of the question in lower case.
func (q *Query) Lower() string { return unsafe.String(&q.lower[0], len(q.question[0].Name)) }

// Bits of the second 16-bit word of a header (RFC 1035 §4.1.1, RFC 4035 §3.1.6).
const (
	bitRD = 1 << 8
	bitAD = 1 << 5
	bitCD = 1 << 4
)

// Parse reads a message. ok is false if it is anything but a plain query, which the server reads then: one question of class IN, of no
// meta type and not DS, for a name of letters, digits, hyphens, underscores and asterisks, with at most an OPT record of version 0 that
// holds a client subnet (RFC 7871) and a cookie.
func (q *Query) Parse(msg []byte) (ok bool) {
	if len(msg) < headerSize {
		return false
	}
	bits, additional := binary.BigEndian.Uint16(msg[2:]), binary.BigEndian.Uint16(msg[10:])
	if bits&^(bitRD|bitAD|bitCD) != 0 || binary.BigEndian.Uint64(msg[4:])>>16 != 1<<32 || additional > 1 {
		return false
	}
	q.Msg = dns.Msg{MsgHdr: dns.MsgHdr{
		Id: binary.BigEndian.Uint16(msg), RecursionDesired: bits&bitRD != 0, AuthenticatedData: bits&bitAD != 0, CheckingDisabled: bits&bitCD != 0,
	}}
	q.Size, q.Cookie = len(msg), false
	rest := q.parseName(msg[headerSize:])
	if len(rest) < 4 || !plainType(binary.BigEndian.Uint16(rest)) || binary.BigEndian.Uint16(rest[2:]) != dns.ClassINET {
		return false
	}
	q.question[0].Qtype, q.question[0].Qclass = binary.BigEndian.Uint16(rest), dns.ClassINET
	q.Msg.Question = q.question[:1:1]
	if rest = rest[4:]; additional == 0 {
		return len(rest) == 0
	}
	return q.parseOPT(rest)
}

// plainType reports whether a type is one of data, and not DS, which lies in the zone above.
func plainType(t uint16) bool {
	return t != 0 && t != dns.TypeOPT && t != dns.TypeDS && (t < dns.TypeTKEY || t == dns.TypeANY || t > 255)
}

// parseName reads the name of the question, and returns what follows; nil for none.
func (q *Query) parseName(msg []byte) (rest []byte) {
	n := 0
	for {
		if len(msg) == 0 {
			return nil
		}
		length := int(msg[0])
		if msg = msg[1:]; length == 0 {
			break
		}
		if length > maxLabel || len(msg) <= length || n+length+2 > maxName {
			return nil
		}
		for _, c := range msg[:length] {
			low := plainOctet[c]
			if low == 0 {
				return nil
			}
			q.name[n], q.lower[n] = c, low
			n++
		}
		q.name[n], q.lower[n] = '.', '.'
		n++
		msg = msg[length:]
	}
	if n == 0 {
		q.name[0], q.lower[0], n = '.', '.', 1
	}
	q.question[0].Name = unsafe.String(&q.name[0], n) // as long as the query is not reused
	return msg
}

// plainOctet has the octets that a text form of names holds as they are, in lower case; 0 for others.
var plainOctet = func() (lower [256]byte) {
	for c := range lower {
		switch c := byte(c); {
		case c >= 'A' && c <= 'Z':
			lower[c] = c + 'a' - 'A'
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '*':
			lower[c] = c
		}
	}
	return lower
}()

// parseOPT reads an OPT record (RFC 6891 §6.1.2), with which the message must end.
func (q *Query) parseOPT(msg []byte) (ok bool) {
	const fixed = 11
	if len(msg) < fixed || msg[0] != 0 || binary.BigEndian.Uint16(msg[1:]) != dns.TypeOPT {
		return false
	}
	ttl, data := binary.BigEndian.Uint32(msg[5:]), msg[fixed:]
	const bitDO = 1 << 15
	if ttl&^bitDO != 0 || int(binary.BigEndian.Uint16(msg[9:])) != len(data) {
		return false
	}
	q.opt = dns.OPT{Hdr: dns.RR_Header{Name: ".", Rrtype: dns.TypeOPT, Class: binary.BigEndian.Uint16(msg[3:]), Ttl: ttl, Rdlength: uint16(len(data))}}
	for len(data) > 0 {
		if len(data) < 4 {
			return false
		}
		code, length := binary.BigEndian.Uint16(data), int(binary.BigEndian.Uint16(data[2:]))
		if data = data[4:]; length > len(data) {
			return false
		}
		switch value := data[:length]; {
		case code == dns.EDNS0COOKIE && !q.Cookie:
			q.Cookie = true
			q.opt.Hdr.Rdlength -= uint16(4 + length)
		case code == dns.EDNS0SUBNET && q.opt.Option == nil && q.parseSubnet(value):
			q.options[0] = &q.subnet
			q.opt.Option = q.options[:1:1]
		default:
			return false
		}
		data = data[length:]
	}
	q.extra[0] = &q.opt
	q.Msg.Extra = q.extra[:1:1]
	return true
}

// parseSubnet reads a client subnet of IPv4 or IPv6 without a scope, and with as many octets as its length needs (RFC 7871 §6).
func (q *Query) parseSubnet(value []byte) (ok bool) {
	if len(value) < 4 || value[3] != 0 {
		return false
	}
	family, bits := binary.BigEndian.Uint16(value), int(value[2])
	q.address = [16]byte{}
	to := q.address[:]
	switch {
	case family == 1 && bits <= 32:
		q.address[10], q.address[11] = 0xff, 0xff // net.IPv4
		to = to[12:]
	case family == 2 && bits <= 128:
	default:
		return false
	}
	if value = value[4:]; len(value) != (bits+7)/8 {
		return false
	}
	copy(to, value)
	q.subnet = dns.EDNS0_SUBNET{Family: family, SourceNetmask: uint8(bits), Address: q.address[:]}
	return true
}
