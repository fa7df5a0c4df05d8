package rdata

import (
	"net/netip"

	"github.com/miekg/dns"
)

var (
	thisNetwork = netip.MustParsePrefix("0.0.0.0/8")   // RFC 1122 §3.2.1.3
	futureUse   = netip.MustParsePrefix("240.0.0.0/4") // RFC 1112 §4, with the limited broadcast address
)

// NoHost returns why no host can have an address, so that no client can connect to it; "" if one can.
func NoHost(addr netip.Addr) (why string) {
	switch {
	case addr.Is4In6():
		return "it stands for an IPv4 address: write " + addr.Unmap().String()
	case addr.IsMulticast():
		return "it is a multicast address"
	case addr == netip.IPv6Unspecified():
		return "it is the unspecified address"
	case thisNetwork.Contains(addr):
		return "it is in " + thisNetwork.String()
	case futureUse.Contains(addr):
		return "it is in " + futureUse.String() + ", which is reserved"
	}
	return ""
}

// AddressOf returns the address of an A or AAAA record; the zero Addr for other records.
func AddressOf(rr dns.RR) (addr netip.Addr) {
	switch rr := rr.(type) {
	case *dns.A:
		addr, _ = netip.AddrFromSlice(rr.A.To4())
	case *dns.AAAA:
		addr, _ = netip.AddrFromSlice(rr.AAAA)
	}
	return addr
}
