package fastpath

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// socketsAt returns the inodes of the UDP sockets that are bound to exactly an address, of any process in this network namespace, in
// order, each once.
func socketsAt(addr netip.AddrPort) (inodes []string, err error) {
	const readings = 10 // while sockets come and go, one may miss some
	for i := range readings {
		again, err := readSocketsAt(addr)
		if err != nil || i > 0 && slices.Equal(again, inodes) {
			return again, err
		}
		inodes = again
	}
	return nil, errors.New("the list of sockets changes all the time")
}

func readSocketsAt(addr netip.AddrPort) (inodes []string, err error) {
	name := "/proc/net/udp"
	if addr.Addr().Is6() {
		name = "/proc/net/udp6"
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	local := written(addr)
	for line := range strings.Lines(string(text)) {
		// "sl: local_address remote_address st tx:rx tr:when retrnsmt uid timeout inode": proc(5)
		const localField, inodeField = 1, 9
		if strings.Contains(line, local) {
			if f := strings.Fields(line); len(f) > inodeField && f[localField] == local {
				inodes = append(inodes, f[inodeField])
			}
		}
	}
	slices.Sort(inodes)
	return slices.Compact(inodes), nil
}

// written returns an address as /proc/net/udp has it: words in the machine's order of octets, and the port.
func written(addr netip.AddrPort) string {
	var b strings.Builder
	for octets := addr.Addr().AsSlice(); len(octets) > 0; octets = octets[4:] {
		fmt.Fprintf(&b, "%08X", binary.NativeEndian.Uint32(octets))
	}
	fmt.Fprintf(&b, ":%04X", addr.Port())
	return b.String()
}

// inodeOf returns the inode of a socket, as in /proc/net/udp.
func inodeOf(fd int) (string, error) {
	var stat unix.Stat_t
	err := unix.Fstat(fd, &stat)
	return fmt.Sprint(stat.Ino), err
}

// isLast reports whether held is the last descriptor of its socket: CoreDNS has closed it.
func (l *listener) isLast() bool {
	inode, _ := inodeOf(l.held)
	descriptors, _ := os.ReadDir("/proc/self/fd")
	n := 0
	for _, d := range descriptors {
		if to, _ := os.Readlink("/proc/self/fd/" + d.Name()); to == "socket:["+inode+"]" {
			n++
		}
	}
	return n == 1
}

// addrOf returns the address that a socket is bound to.
func addrOf(conn *net.UDPConn) netip.AddrPort {
	at := conn.LocalAddr().(*net.UDPAddr).AddrPort()
	return netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
}

// with calls do with a socket's descriptor, which stays open meanwhile. It returns an error if the socket is closed.
func with(conn *net.UDPConn, do func(fd int) error) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	closed := raw.Control(func(fd uintptr) { err = do(int(fd)) })
	return errors.Join(closed, err)
}

// Prepare is to be called with each socket of CoreDNS before a reload has the fast path answer. It bounds reads that block: a reload hands
// sockets on with net.FilePacketConn, and that lets reads block for a moment. A read that begins then gets nothing while the fast path
// gets everything: it would hold up the reload, and its message be lost.
func Prepare(conn *net.UDPConn) {
	listeners.Lock()
	defer listeners.Unlock()
	timeout := unix.NsecToTimeval(int64(settle))
	_ = with(conn, func(fd int) error {
		inode, err := inodeOf(fd)
		own[inode] = true
		return errors.Join(err, unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout))
	})
}

// Leave has other processes that are bound to the address, if any, get all that comes to it from now on. It is for a process that ends,
// after Release: CoreDNS stops reading first, and what its sockets have got by then is lost.
func (s *Serving) Leave() {
	l := s.of
	if all, err := socketsAt(l.addr); err != nil || len(all) <= len(l.conns) {
		return
	}
	for _, conn := range l.conns {
		_ = with(conn, leave)
	}
	time.Sleep(settle) // CoreDNS reads what they have got
}

// leave has a socket get no more messages: it is connected to a port of its own address where nobody is, so none matches it. It may still
// send replies.
func leave(fd int) error {
	const discard = 9
	name, err := unix.Getsockname(fd)
	switch name := name.(type) {
	case *unix.SockaddrInet4:
		name.Port = discard
	case *unix.SockaddrInet6:
		name.Port = discard
	}
	if err == nil {
		err = unix.Connect(fd, name)
	}
	return err
}
