//go:build !linux

package fastpath

import "net"

// Serving is a server that would answer.
type Serving struct{}

// Serve says that the fast path needs Linux: CoreDNS's sockets get everything.
func Serve(conns []*net.UDPConn, s *Server) *Serving {
	s.Say("fast-udp: off at " + conns[0].LocalAddr().String() + ": it needs Linux")
	return nil
}

// Release ends Serve.
func (*Serving) Release() {}

// Prepare does nothing.
func Prepare(*net.UDPConn) {}

// Leave does nothing.
func (*Serving) Leave() {}
