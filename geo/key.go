package geo

import (
	"encoding/binary"
	"math/bits"
	"net/netip"
)

// key is an address as a number; IPv4 takes the lowest 32 bits.
type key struct{ hi, lo uint64 }

func keyOf(a netip.Addr) key {
	if a.Is4() {
		b := a.As4()
		return key{lo: uint64(binary.BigEndian.Uint32(b[:]))}
	}
	b := a.As16()
	return key{hi: binary.BigEndian.Uint64(b[:8]), lo: binary.BigEndian.Uint64(b[8:])}
}

func (k key) less(o key) bool { return k.hi < o.hi || k.hi == o.hi && k.lo < o.lo }

func (k key) or(o key) key { return key{k.hi | o.hi, k.lo | o.lo} }

// next returns k+1.
func (k key) next() key {
	lo, carry := bits.Add64(k.lo, 1, 0)
	return key{k.hi + carry, lo}
}

// prev returns k-1.
func (k key) prev() key {
	lo, borrow := bits.Sub64(k.lo, 1, 0)
	return key{k.hi - borrow, lo}
}

// common returns how many leading bits of 128 are the same in k and o.
func (k key) common(o key) int {
	if x := k.hi ^ o.hi; x != 0 {
		return bits.LeadingZeros64(x)
	}
	return 64 + bits.LeadingZeros64(k.lo^o.lo)
}

// lowBits returns the key whose n lowest bits are set, for n in 0..128.
func lowBits(n int) key {
	if n > 64 {
		return key{hi: 1<<(n-64) - 1, lo: 1<<64 - 1}
	}
	return key{lo: 1<<n - 1}
}

// mapped is the first IPv4-mapped address, ::ffff:0.0.0.0.
var mapped = key{lo: 0xffff << 32}

// familyBits returns the shortest prefix of addr for which a result may hold. For IPv4 that is 1,
// for IPv6 the one that leaves out the IPv4-mapped addresses, which are located as IPv4. It is
// never 0, which a resolver would take to mean both families. addr is unmapped.
func familyBits(addr netip.Addr) int {
	if addr.Is4() {
		return 1
	}
	return keyOf(addr).common(mapped) + 1
}
