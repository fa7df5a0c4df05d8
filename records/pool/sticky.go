package pool

import (
	"math"
	"math/bits"
	"net/netip"
)

// The longest networks whose clients are told apart, in bits (rule 9.2). They are those that resolvers send (RFC 7871 §11.1).
const (
	networkBits4 = 24
	networkBits6 = 56
)

// Network returns a number that stands for the network of a client, of which so many bits of the address are known, and the length
// that it was cut to. An address that is not valid has the network 0 of no bits. All servers return the same.
func Network(client netip.Addr, known int) (number uint64, length int) {
	if !client.IsValid() {
		return 0, 0
	}
	client = client.Unmap()
	if length = min(known, networkBits4); client.Is6() {
		length = min(known, networkBits6)
	}
	cut, err := client.Prefix(length)
	if err != nil {
		return 0, 0
	}
	at := cut.Addr().As16()
	for i := 0; i < len(at); i += 8 {
		half := uint64(0)
		for _, octet := range at[i : i+8] {
			half = half<<8 | uint64(octet)
		}
		number = Next(number ^ half)
	}
	return number, length
}

// seedOf returns a number that stands for a set identifier.
func seedOf(id string) (seed uint64) {
	for i := range len(id) {
		seed = Next(seed ^ uint64(id[i]))
	}
	return seed
}

// distance is how far a member is from a network in weighted rendezvous hashing: the nearest one has the client. It has an exponential
// distribution, of which a member's share is the rate: so the nearest of several is each of them as often as its share says, and a
// member that leaves, or whose share changes, moves the clients of no other.
type distance struct{ log, share uint64 }

// nearer compares log/share without rounding, so that all servers agree.
func (d distance) nearer(o distance) bool {
	hi, lo := bits.Mul64(d.log, o.share)
	otherHi, otherLo := bits.Mul64(o.log, d.share)
	return hi < otherHi || hi == otherHi && lo < otherLo
}

// distanceTo returns how far a member is from a network.
func (m *Member) distanceTo(network uint64) distance {
	return distance{negLog2(Next(m.seed ^ network)), m.share()}
}

const (
	logBits = 8  // log2 is looked up by so many bits of a number, behind its first
	logUnit = 32 // results have so many binary places
)

// logs are log2 of 1 to 2 in equal steps.
var logs = func() (all [1<<logBits + 1]uint64) {
	for i := range all {
		all[i] = uint64(math.Round(math.Log2(1+float64(i)/(1<<logBits)) * (1 << logUnit)))
	}
	return all
}()

// negLog2 returns -log2(x/2^64), in units of 2^-32. Between the steps of logs it is a straight line: the error is below 3e-6.
func negLog2(x uint64) uint64 {
	x |= 1
	zeros := bits.LeadingZeros64(x)
	x <<= zeros + 1 // less the first bit
	step, rest := x>>(64-logBits), x<<logBits>>logUnit
	log := logs[step] + (logs[step+1]-logs[step])*rest>>logUnit
	return uint64(zeros+1)<<logUnit - log
}
