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
// each are under way.
func Open(server string, sources []string, outstanding int) (*Generator, error) {
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
	return &socket{fd: fd}, nil
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
	next := func() []byte {
		sent++
		g.position++
		return queries[g.position%len(queries)]
	}
	deadline := time.Now().Add(limit)
	for range g.outstanding {
		for _, s := range g.sockets {
			if sent == n {
				break
			}
			if err := s.send(next()); err != nil {
				return err
			}
		}
	}
	for idle := 0; got < n; idle++ {
		for _, s := range g.sockets {
			for {
				ok, err := s.receive(want)
				if err != nil {
					return err
				}
				if !ok {
					break
				}
				got++
				idle = 0
				if sent == n {
					continue
				}
				if err := s.send(next()); err != nil {
					return err
				}
			}
		}
		if idle%1000 == 999 && time.Now().After(deadline) {
			return fmt.Errorf("%d replies have not come in %v", sent-got, limit)
		}
	}
	return nil
}

// socket is one source of queries.
type socket struct {
	fd    int
	id    uint16
	open  [1 << 16 / 64]uint64 // by ID: whether a reply is awaited
	query [512]byte
	reply [4096]byte
}

// send sends a query under the next ID.
func (s *socket) send(q []byte) error {
	s.id++
	n := copy(s.query[:], q)
	binary.BigEndian.PutUint16(s.query[:], s.id)
	s.open[s.id/64] |= 1 << (s.id % 64)
	_, err := unix.Write(s.fd, s.query[:n])
	return err
}

// receive takes one reply, if there is one.
func (s *socket) receive(want Expect) (bool, error) {
	n, err := unix.Read(s.fd, s.reply[:])
	switch {
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
		return false, nil
	case err != nil:
		return false, err
	}
	return true, s.check(s.reply[:n], want)
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
