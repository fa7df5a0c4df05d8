package pool

import "math/bits"

// lot draws one of the members of equal rank, each with its share: by chance, or the one that a client keeps (rule 9.2).
type lot struct {
	random  uint64
	sticky  bool
	network uint64
	nearest distance
	total   uint64 // the shares so far
}

// begin forgets the members so far.
func (l *lot) begin() { l.total, l.nearest = 0, distance{log: 1} }

// fallsOn reports whether the draw falls on the next member instead of the last winner. One pass, one member kept: the i-th replaces it
// with probability share/total, which gives each its share.
func (l *lot) fallsOn(m *Member) bool {
	share := m.share()
	l.total += share
	if l.sticky {
		at := m.distanceTo(l.network)
		if !at.nearer(l.nearest) {
			return false
		}
		l.nearest = at
		return true
	}
	l.random = Next(l.random)
	hi, _ := bits.Mul64(l.random, l.total)
	return hi < share
}

// share returns the member's part in a draw: its weight or, if that does not count (rule 2.6), the same for all.
func (m *Member) share() uint64 { return max(m.Weight, 1) }

// Next returns the number after x in a well-mixed sequence (the finaliser of splitmix64 over a Weyl sequence).
func Next(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	z := x
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
