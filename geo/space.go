package geo

import (
	"encoding/binary"
	"iter"
	"math"
	"net/netip"
	"slices"
)

// Space is how the address space is distributed over places, according to a DB's networks and databases.
type Space struct {
	// Places are the known places, each once, sorted by code.
	Places []Place
	// V4 is the number of their IPv4 addresses, V6 of their IPv6 networks of length 64 within those
	// that are routed (2000::/3).
	V4, V6 float64
}

// Place is one place and its part of the address space, as in Space.
type Place struct {
	Codes  Codes
	V4, V6 float64
	// Network is the largest IPv4 network there, or if there is none the largest IPv6 network.
	Network netip.Prefix
}

// saw keeps a network if it is larger than the one so far.
func (p *Place) saw(network netip.Prefix) {
	if network.Bits() < p.Network.Bits() && p.Network.Addr().BitLen() == network.Addr().BitLen() || !p.Network.IsValid() {
		p.Network = network
	}
}

// tellEvery is the number of networks between progress reports.
const tellEvery = 1 << 16

// Space adds up the address space. It walks from network to network, which takes about a second for the largest databases; progress, which
// may be nil, gets the part done now and then, from 0 to 1.
func (d *DB) Space(progress func(done float64)) *Space {
	places := make(map[Codes]*Place)
	steps := 0
	for network, codes := range d.state.Load().networks() {
		if steps++; steps%tellEvery == 0 && progress != nil {
			progress(doneAt(network.Addr()))
		}
		if *codes == none {
			continue
		}
		p := places[*codes]
		if p == nil {
			p = &Place{Codes: *codes}
			places[*codes] = p
		}
		p.saw(network)
		if network.Addr().Is4() {
			p.V4 += math.Ldexp(1, 32-network.Bits())
		} else {
			p.V6 += math.Ldexp(1, 64-network.Bits())
		}
	}
	s := new(Space)
	for _, p := range places {
		s.Places = append(s.Places, *p)
	}
	slices.SortFunc(s.Places, func(a, b Place) int { return slices.Compare(a.Codes[:], b.Codes[:]) })
	for _, p := range s.Places { // in order: sums of floats depend on it
		s.V4, s.V6 = s.V4+p.V4, s.V6+p.V6
	}
	return s
}

// Find returns the first network with a code, which is in upper case: of IPv4 or, if there is none, of IPv6. It walks up to there like
// Space.
func (d *DB) Find(code string) (network netip.Prefix, ok bool) {
	for network, codes := range d.state.Load().networks() {
		if slices.Contains(codes[:], code) {
			return network, true
		}
	}
	return netip.Prefix{}, false
}

// The routed IPv6 addresses, by their first 64 bits.
const (
	firstRouted = uint64(0x2000) << 48
	lastRouted  = uint64(0x4000)<<48 - 1
)

// networks yields the networks of IPv4, then the routed ones of IPv6, each as large as its codes are the same. One longer than 64 bits
// counts as its first address.
func (s *state) networks() iter.Seq2[netip.Prefix, *Codes] {
	return func(yield func(netip.Prefix, *Codes) bool) {
		for at := uint64(0); at < 1<<32; {
			addr := netip.AddrFrom4([4]byte{byte(at >> 24), byte(at >> 16), byte(at >> 8), byte(at)})
			codes, n := s.locate(addr, NeedPlace|NeedAS)
			if !yield(netip.PrefixFrom(addr, n).Masked(), codes) {
				return
			}
			at += 1 << (32 - n)
		}
		for at := firstRouted; at >= firstRouted && at <= lastRouted; {
			var octets [16]byte
			binary.BigEndian.PutUint64(octets[:], at)
			addr := netip.AddrFrom16(octets)
			codes, n := s.locate(addr, NeedPlace|NeedAS)
			n = min(max(n, 3), 64)
			if !yield(netip.PrefixFrom(addr, n).Masked(), codes) {
				return
			}
			// A network that begins before at cannot be: bits are those of the network around it.
			size := uint64(1) << (64 - n)
			at = at&^(size-1) + size
		}
	}
}

// doneAt returns which part of the networks lies before an address.
func doneAt(addr netip.Addr) float64 {
	octets := addr.AsSlice()
	if addr.Is4() {
		return float64(binary.BigEndian.Uint32(octets)) / (1 << 32) / 2
	}
	return 0.5 + float64(binary.BigEndian.Uint64(octets)-firstRouted)/float64(lastRouted-firstRouted)/2
}
