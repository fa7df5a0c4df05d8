package records

import (
	"bytes"
	"errors"
	"fmt"
	"net"
)

// The fields of single types.

// key is the key of a DNSKEY record (RFC 4034 §2.1).
func key(d *wireData) error {
	head, ok := d.take(4)
	if !ok {
		return errKeyHead
	}
	return keyData(d, head[3])
}

var errKeyHead = errors.New("flags, protocol and algorithm are not there")

// keyOrNone is the key of a KEY record, which may say that there is none (RFC 2535 §3.1.2).
func keyOrNone(d *wireData) error {
	if len(d.rest) >= 4 && d.rest[0]&0xc0 == 0xc0 {
		d.take(4)
		return nil
	}
	return key(d)
}

// resourceKey is the key of an RKEY record, which has no flags.
func resourceKey(d *wireData) error {
	head, ok := d.take(4)
	switch {
	case !ok:
		return errKeyHead
	case head[0] != 0 || head[1] != 0:
		return errors.New("its flags are not 0, the only value that they have")
	}
	return keyData(d, head[3])
}

// Algorithms whose keys begin with what they are (RFC 4034 §A.1.1), and one whose key tag is
// part of the key (RFC 4034 §B.1).
const (
	algorithmRSAMD5     = 1
	algorithmPrivateDNS = 253
	algorithmPrivateOID = 254
)

// keyData is what is left of a key of an algorithm.
func keyData(d *wireData, algorithm byte) error {
	switch algorithm {
	case algorithmRSAMD5:
		if len(d.rest) < 3 {
			return errors.New("the key has fewer than three octets (RFC 4034 §B.1)")
		}
	case algorithmPrivateDNS:
		if err := domain(d); err != nil {
			return errors.New("a key of algorithm 253 begins with the name of the algorithm (RFC 4034 §A.1.1)")
		}
	case algorithmPrivateOID:
		if oid, err := d.text(); err != nil || !isOID(oid) {
			return errors.New("a key of algorithm 254 begins with the length of an object identifier, and that (RFC 4034 §A.1.1)")
		}
	}
	return nonEmpty("the key")(d)
}

// isOID tells whether octets are an object identifier in DER, tag and length included.
func isOID(o []byte) bool {
	return len(o) > 2 && o[0] == 6 && int(o[1]) == len(o)-2 && o[len(o)-1] < 0x80
}

// x25Address is the address of an X25 record.
func x25Address(d *wireData) error {
	address, err := d.text()
	if err == nil && (len(address) < 4 || bytes.ContainsFunc(address, notDigit)) {
		err = errors.New("the address has four digits at least, and nothing else (RFC 1183 §3.1)")
	}
	return err
}

func notDigit(c rune) bool { return c < '0' || c > '9' }

// atmAddress is a format and an address, which of format 1 is of digits.
func atmAddress(d *wireData) error {
	format := d.number(1)
	if address := d.all(); format < 0 || len(address) == 0 || format == 1 && bytes.ContainsFunc(address, notDigit) {
		return errors.New("it has the format and an address; in format 1 that is of digits")
	}
	return nil
}

// portMap are the ports of a WKS record.
func portMap(d *wireData) error {
	if bits := d.all(); len(bits) > 1<<16/8 || len(bits) > 0 && bits[len(bits)-1] == 0 {
		return errors.New("the map of ports has more octets than there are ports for (RFC 1035 §3.4.2)")
	}
	return nil
}

// typeMap are types as windows of bits (RFC 4034 §4.1.2); none are some, too.
func typeMap(d *wireData) error {
	for last := int64(-1); len(d.rest) > 0; {
		window, n := d.number(1), d.number(1)
		bits, ok := d.take(int(max(n, 0)))
		if !ok || window <= last || n < 1 || n > 32 || bits[n-1] == 0 {
			return errors.New("the types are not windows of 1 to 32 octets in their order, none of which ends in zero (RFC 4034 §4.1.2)")
		}
		last = window
	}
	return nil
}

// The bounds of a LOC record, in thousandths of a second of arc from the middle (RFC 1876 §2).
const (
	locMiddle = int64(1) << 31
	locPole   = 90 * 3600 * 1000
)

// location is all of a LOC record (RFC 1876 §2).
func location(d *wireData) error {
	if version := d.number(1); version != 0 {
		return errors.New("its version is not 0 (RFC 1876 §2)")
	}
	sizes, ok := d.take(3)
	latitude, longitude, altitude := d.number(4), d.number(4), d.number(4)
	if !ok || altitude < 0 {
		return errors.New("it has fewer than 16 octets (RFC 1876 §2)")
	}
	for _, s := range sizes {
		if base, exponent := s>>4, s&15; base > 9 || exponent > 9 || base == 0 && exponent > 0 {
			return fmt.Errorf("size and precision are two digits each, base and power of ten, not %#02x (RFC 1876 §2)", s)
		}
	}
	if distance(latitude) > locPole || distance(longitude) > 2*locPole {
		return errors.New("the place is beyond a pole, or more than 180 degrees away from Greenwich (RFC 1876 §2)")
	}
	return nil
}

func distance(from int64) int64 { return max(from-locMiddle, locMiddle-from) }

// substitution is the expression of a NAPTR record (RFC 3402 §3.2).
func substitution(d *wireData) error {
	text, err := d.text()
	if err == nil {
		err = checkSubstitution(string(text))
	}
	return err
}

// a6 is a part of an address, and the name that has the rest (RFC 2874 §3.1).
func a6(d *wireData) error {
	prefix := d.number(1)
	suffix, ok := d.take((int(128-prefix) + 7) / 8)
	switch {
	case prefix < 0 || prefix > 128 || !ok:
		return errors.New("it has the length of a prefix, 0 to 128, and the octets of the address behind it (RFC 2874 §3.1)")
	case len(suffix) > 0 && int(suffix[0])>>(8-prefix%8) > 0 && prefix%8 > 0:
		return errors.New("the address has bits of the prefix set (RFC 2874 §3.1)")
	case prefix == 0:
		return nil
	}
	return domain(d)
}

// prefixes are the items of an APL record (RFC 3123 §4).
func prefixes(d *wireData) error {
	for len(d.rest) > 0 {
		family, length, n := d.number(2), d.number(1), d.number(1)
		if n < 0 {
			return errors.New("an item has fewer than four octets (RFC 3123 §4)")
		}
		address, ok := d.take(int(n & 0x7f)) // the highest bit negates
		most := map[int64]int64{1: 32, 2: 128}[family]
		switch {
		case !ok || len(address) > 0 && address[len(address)-1] == 0:
			return errors.New("the octets of an address are not all there, or end in zero (RFC 3123 §4)")
		case most > 0 && (length > most || int64(len(address)) > most/8):
			return fmt.Errorf("an item of family %d has %d bits at the most (RFC 3123 §4)", family, most)
		}
	}
	return nil
}

// gateway is what leads to a host, in a form that its type says: nothing, an address, or a
// name.
func gateway(d *wireData, form byte) (err error, known bool) { //nolint:revive // the error is of what is known
	switch form {
	case 0:
		return nil, true
	case 1:
		return fixed("the address", net.IPv4len)(d), true
	case 2:
		return fixed("the address", net.IPv6len)(d), true
	case 3:
		return domain(d), true
	}
	return nil, false
}

// ipsecKey is all of an IPSECKEY record (RFC 4025 §2.1).
func ipsecKey(d *wireData) error {
	head, ok := d.take(3)
	if !ok {
		return errors.New("precedence, gateway type and algorithm are not there")
	}
	switch err, known := gateway(d, head[1]); {
	case !known:
		return fmt.Errorf("the gateway is of type %d: there are 0 to 3 (RFC 4025 §2.3)", head[1])
	case err != nil:
		return fmt.Errorf("the gateway: %w (RFC 4025 §2.5)", err)
	}
	return nonEmpty("the key")(d)
}

// amtRelay is all of an AMTRELAY record (RFC 8777 §4.2).
func amtRelay(d *wireData) error {
	head, ok := d.take(2)
	if !ok {
		return errors.New("precedence, D and relay type are not there")
	}
	switch err, known := gateway(d, head[1]&0x7f); {
	case !known:
		return fmt.Errorf("the relay is of type %d: there are 0 to 3 (RFC 8777 §4.2.3)", head[1]&0x7f)
	case err != nil:
		return fmt.Errorf("the relay: %w (RFC 8777 §4.2.4)", err)
	}
	return nil
}

// hostIdentity is all of a HIP record (RFC 8005 §5).
func hostIdentity(d *wireData) error {
	tag, algorithm, public := d.number(1), d.number(1), d.number(2)
	_, ok := d.take(int(max(tag, 0) + max(public, 0)))
	if !ok || algorithm < 0 || tag < 1 || public < 1 {
		return errors.New("the host identity tag or the public key is empty, or not all there (RFC 8005 §5)")
	}
	for len(d.rest) > 0 {
		if err := domain(d); err != nil {
			return err
		}
	}
	return nil
}

// caaTag is the property of a CAA record.
func caaTag(d *wireData) error {
	tag, err := d.text()
	if err == nil && (len(tag) == 0 || bytes.ContainsFunc(tag, notAlphanumeric)) {
		err = errors.New("the tag has letters and digits, and nothing else (RFC 8659 §4.1)")
	}
	return err
}

func notAlphanumeric(c rune) bool {
	return notDigit(c) && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
}
