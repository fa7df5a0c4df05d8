// Package fastpath answers UDP queries without the detour over one read, one goroutine, one unpacked message and one write for each: it
// opens sockets beside CoreDNS's, reads and writes many messages with one system call, and has what it does not answer itself answered by
// CoreDNS. It knows messages and sockets, and no rule: an Answerer has the answers. It needs Linux.
//
//	query.go           a message → Query; what is not a plain query is not read
//	reply.go           a reply → a message
//	filter_linux.go    which sockets get messages
//	batch_linux.go     many messages in one system call
//	listener_linux.go  the sockets of an address: opened, handed on, closed without a lost query
//	pass_linux.go      a message → what CoreDNS answers
//	sockets_linux.go   the sockets at an address, and those of CoreDNS
package fastpath

import (
	"net/netip"

	"github.com/miekg/dns"
)

// Server is what answers at an address.
type Server struct {
	// Answerer returns what answers the queries of one worker, which calls it from one goroutine.
	Answerer func() Answerer
	// Handler answers all other messages that Accept accepts. Secrets are its TSIG keys.
	Handler dns.Handler
	Accept  dns.MsgAcceptFunc
	Secrets map[string]string
	// Lost counts messages that the kernel dropped. Say logs why the fast path is off at an address, and that it is on again.
	Lost func(n uint32)
	Say  func(line string)
}

// Answerer answers queries.
type Answerer interface {
	// Answer puts the reply to a query from a client into out, and returns its length; 0 to leave it to Server.Handler, as it leaves nil,
	// which is a message that is not a plain query. It keeps nothing of q and out.
	Answer(q *Query, from netip.Addr, out []byte) int
}
