//go:build !linux

package fastpath

import "net/netip"

// Serve says that the fast path needs Linux: CoreDNS's sockets get everything.
func Serve(addr netip.AddrPort, s *Server) {
	s.Say("fast-udp: off at " + addr.String() + ": it needs Linux")
}

// Prepare does nothing.
func Prepare() {}

// Leave does nothing.
func Leave(netip.AddrPort) {}

// Release ends Serve.
func Release(netip.AddrPort, *Server) {}
