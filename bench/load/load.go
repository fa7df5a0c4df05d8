//go:build linux

// Package load puts DNS queries to a server over UDP in a closed loop: a fixed
// number of queries is under way at any time, so that the server always has work
// and never more than it takes.
package load

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Generator is a set of sockets to one server. It is not safe for concurrent use.
type Generator struct {
	sockets     []*socket
	outstanding int // for each socket
	position    int // in the list of queries
}

// Expect is what every reply has to be.
type Expect struct {
	Rcode   int
	Answers int // records in the answer section
}

// limit is how long the replies to one Run may take, whatever the number: far
// more than on a busy machine. A reply that has not come by then was lost.
const limit = time.Minute

// Open opens one socket for each source address, from which outstanding queries
// each are under way, 16 at most.
func Open(server string, sources []string, outstanding int) (*Generator, error) {
	outstanding = min(outstanding, atOnce)
	to, err := netip.ParseAddrPort(server)
	if err != nil {
		return nil, err
	}
	g := &Generator{outstanding: outstanding}
	for _, source := range sources {
		from, err := netip.ParseAddr(source)
		if err != nil {
			g.Close()
			return nil, err
		}
		s, err := connect(from, to)
		if err != nil {
			g.Close()
			return nil, fmt.Errorf("open a socket from %s to %s: %w", source, server, err)
		}
		g.sockets = append(g.sockets, s)
	}
	return g, nil
}

func connect(from netip.Addr, to netip.AddrPort) (*socket, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(
		unix.Bind(fd, &unix.SockaddrInet4{Addr: from.As4()}),
		unix.Connect(fd, &unix.SockaddrInet4{Addr: to.Addr().As4(), Port: int(to.Port())}),
	); err != nil {
		unix.Close(fd)
		return nil, err
	}
	s := &socket{fd: fd}
	s.out.init()
	s.in.init()
	return s, nil
}

// Close closes the sockets.
func (g *Generator) Close() {
	for _, s := range g.sockets {
		unix.Close(s.fd)
	}
}

// Run asks n queries and returns when the last reply has come. It goes through
// the list again and again, and begins where the last Run has ended. Each reply is checked; the
// first that is wrong or lost is an error.
//
// It never sleeps: a client that does has to be woken for a reply, which costs
// the server more than some of the plugins that are compared.
func (g *Generator) Run(n int, queries [][]byte, want Expect) error {
	sent, got := 0, 0
	send := func(s *socket, most int) error {
		most = min(most, n-sent)
		for i := range most {
			g.position++
			s.put(i, queries[g.position%len(queries)])
		}
		sent += most
		return s.send(most)
	}
	deadline := time.Now().Add(limit)
	for _, s := range g.sockets {
		if err := send(s, g.outstanding); err != nil {
			return err
		}
	}
	for idle := 0; got < n; idle++ {
		for _, s := range g.sockets {
			some, err := s.receive(want)
			if err != nil {
				return err
			}
			if some == 0 {
				continue
			}
			got += some
			idle = 0
			if err := send(s, some); err != nil {
				return err
			}
		}
		if idle%1000 == 999 && time.Now().After(deadline) {
			return fmt.Errorf("%d replies have not come in %v", sent-got, limit)
		}
	}
	return nil
}

// atOnce is how many messages one system call sends or receives: fewer calls, so
// that the load keeps up with servers that do the same.
const atOnce = 16

// messages are the memory for one system call.
type messages struct {
	heads [atOnce]struct { // struct mmsghdr of recvmmsg(2)
		unix.Msghdr
		size uint32
	}
	vectors [atOnce]unix.Iovec
	data    [atOnce][4096]byte
}

func (m *messages) init() {
	for i := range m.heads {
		m.vectors[i].Base = &m.data[i][0]
		m.vectors[i].SetLen(len(m.data[i]))
		m.heads[i].Iov = &m.vectors[i]
		m.heads[i].SetIovlen(1)
	}
}

// call makes recvmmsg or sendmmsg of the messages from the first to the last. n is 0 if there is nothing, or no room.
func (m *messages) call(trap uintptr, fd, first, last int) (n int, err error) {
	moved, _, errno := unix.Syscall6(trap, uintptr(fd), uintptr(unsafe.Pointer(&m.heads[first])), uintptr(last-first), unix.MSG_DONTWAIT, 0, 0)
	switch errno {
	case 0:
		return int(moved), nil
	case unix.EAGAIN, unix.EINTR:
		return 0, nil
	}
	return 0, errno
}

// socket is one source of queries.
type socket struct {
	fd      int
	id      uint16
	open    [1 << 16 / 64]uint64 // by ID: whether a reply is awaited
	out, in messages
}

// put makes a query the i-th of those to send, under the next ID.
func (s *socket) put(i int, q []byte) {
	s.id++
	s.out.vectors[i].SetLen(copy(s.out.data[i][:], q))
	binary.BigEndian.PutUint16(s.out.data[i][:], s.id)
	s.open[s.id/64] |= 1 << (s.id % 64)
}

// send sends the first n queries.
func (s *socket) send(n int) error {
	for sent := 0; sent < n; {
		some, err := s.out.call(unix.SYS_SENDMMSG, s.fd, sent, n)
		if err != nil {
			return err
		}
		sent += some
	}
	return nil
}

// receive takes the replies that there are.
func (s *socket) receive(want Expect) (n int, err error) {
	if n, err = s.in.call(unix.SYS_RECVMMSG, s.fd, 0, atOnce); err != nil {
		return 0, err
	}
	for i := range n {
		if err := s.check(s.in.data[i][:s.in.heads[i].size], want); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// check looks at the header of a reply (RFC 1035 §4.1.1).
func (s *socket) check(m []byte, want Expect) error {
	const header = 12
	if len(m) < header {
		return fmt.Errorf("a reply of %d octets", len(m))
	}
	id := binary.BigEndian.Uint16(m)
	if s.open[id/64]&(1<<(id%64)) == 0 {
		return errors.New("a reply to nothing")
	}
	s.open[id/64] &^= 1 << (id % 64)
	flags, answers := binary.BigEndian.Uint16(m[2:]), int(binary.BigEndian.Uint16(m[6:]))
	const qr, tc = 1 << 15, 1 << 9
	if flags&qr == 0 || flags&tc != 0 || int(flags&0xf) != want.Rcode || answers != want.Answers {
		return fmt.Errorf("a reply with flags %#x and %d answers: want rcode %d and %d answers", flags, answers, want.Rcode, want.Answers)
	}
	return nil
}
