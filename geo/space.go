package geo

import (
	"net/netip"
	"slices"
)

// Space is how much of the address space is where, as the networks and databases of a DB say.
type Space struct {
	// Places are those of which something is known, each once, in the order of their codes.
	Places []Place
	// V4 is how many IPv4 addresses are in them together, V6 how many IPv6 networks of length 64, of
	// those that are routed (2000::/3).
	V4, V6 float64
}

// Place is one place, and how much of the address space is there, as in Space.
type Place struct {
	Codes  Codes
	V4, V6 float64
	// Network is the largest of IPv4 there, or where there is none the largest of IPv6.
	Network netip.Prefix
}

// saw keeps the network of n bits at addr if it is larger than the one so far.
func (p *Place) saw(addr netip.Addr, n int) {
	if n < p.Network.Bits() && p.Network.Addr().BitLen() == addr.BitLen() || !p.Network.IsValid() {
		p.Network = netip.PrefixFrom(addr, n).Masked()
	}
}

// Space adds up the address space. It walks from network to network, which takes a second or so for the
// largest databases; progress, which may be nil, is told now and then which part is done, from 0 to 1.
func (d *DB) Space(progress func(done float64)) *Space {
	if progress == nil {
		progress = func(float64) {}
	}
	w := &spaceWalk{state: d.state.Load(), places: make(map[Codes]*Place), progress: progress}
	w.walk4()
	w.walk6()
	s := new(Space)
	for _, p := range w.places {
		s.Places = append(s.Places, *p)
	}
	slices.SortFunc(s.Places, func(a, b Place) int { return slices.Compare(a.Codes[:], b.Codes[:]) })
	for _, p := range s.Places { // in order: sums of floats depend on it
		s.V4, s.V6 = s.V4+p.V4, s.V6+p.V6
	}
	return s
}

// spaceWalk is one run of Space.
type spaceWalk struct {
	state    *state
	places   map[Codes]*Place
	steps    int
	progress func(float64)
}

// tellEvery is after how many networks progress is told.
const tellEvery = 1 << 16

// step returns the place of an address, nil where nothing is known of it, and the length of the network
// around it that is there with it.
func (w *spaceWalk) step(addr netip.Addr, done float64) (*Place, int) {
	if w.steps++; w.steps%tellEvery == 0 {
		w.progress(done)
	}
	codes, n := w.state.locate(addr, NeedPlace|NeedAS)
	if *codes == none {
		return nil, n
	}
	p := w.places[*codes]
	if p == nil {
		p = &Place{Codes: *codes}
		w.places[*codes] = p
	}
	return p, n
}

func (w *spaceWalk) walk4() {
	const all = 1 << 32
	for at := uint64(0); at < all; {
		addr := netip.AddrFrom4([4]byte{byte(at >> 24), byte(at >> 16), byte(at >> 8), byte(at)})
		p, n := w.step(addr, float64(at)/all/2)
		size := uint64(all) >> n
		if p != nil {
			p.saw(addr, n)
			p.V4 += float64(size)
		}
		at += size
	}
}

// The routed IPv6 addresses, by their first 64 bits.
const (
	firstRouted = uint64(0x2000) << 48
	lastRouted  = uint64(0x4000)<<48 - 1
)

func (w *spaceWalk) walk6() {
	for at := firstRouted; at >= firstRouted && at <= lastRouted; {
		var octets [16]byte
		for i := range 8 {
			octets[i] = byte(at >> (56 - 8*i))
		}
		addr := netip.AddrFrom16(octets)
		p, n := w.step(addr, 0.5+float64(at-firstRouted)/float64(lastRouted-firstRouted)/2)
		n = min(max(n, 3), 64) // what is longer than that is taken for its first address
		size := uint64(1) << (64 - n)
		if p != nil {
			p.saw(addr, n)
			p.V6 += float64(size)
		}
		// A network that begins before at cannot be: bits are those of the network around it.
		at = at&^(size-1) + size
	}
}
