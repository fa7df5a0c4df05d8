package fastpath

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// socketsAt returns the inodes of the UDP sockets that are bound to exactly an address, of any process in this network namespace, in order,
// each once. While others come and go, it may miss some.
func socketsAt(addr netip.AddrPort) (inodes []string, err error) {
	name := "/proc/net/udp"
	if addr.Addr().Is6() {
		name = "/proc/net/udp6"
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	local := written(addr)
	for lines := bufio.NewScanner(file); lines.Scan(); {
		// "sl: local_address remote_address st tx:rx tr:when retrnsmt uid timeout inode": proc(5)
		const localField, inodeField = 1, 9
		if line := lines.Text(); strings.Contains(line, local) {
			if f := strings.Fields(line); len(f) > inodeField && f[localField] == local {
				inodes = append(inodes, f[inodeField])
			}
		}
	}
	slices.Sort(inodes)
	return slices.Compact(inodes), nil
}

// ownAt returns the inodes of this process's UDP sockets with SO_REUSEPORT at an address, in order.
func ownAt(addr netip.AddrPort) (inodes []string, err error) {
	own, err := ownSockets()
	for _, s := range own {
		if at, ok := boundTo(s.fd); ok && at == netip.AddrPortFrom(addr.Addr().WithZone(""), addr.Port()) {
			inodes = append(inodes, s.inode)
		}
	}
	slices.Sort(inodes)
	return slices.Compact(inodes), err
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

// ownSocket is a descriptor of this process for a socket, which may have several.
type ownSocket struct {
	inode string
	fd    int
}

// ownSockets returns the descriptors of this process for sockets. Some may be closed meanwhile.
func ownSockets() (own []ownSocket, err error) {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		to, err := os.Readlink("/proc/self/fd/" + e.Name())
		inode, is := strings.CutPrefix(to, "socket:[")
		if fd, bad := strconv.Atoi(e.Name()); err == nil && bad == nil && is {
			own = append(own, ownSocket{strings.TrimSuffix(inode, "]"), fd})
		}
	}
	return own, nil
}

// borrow calls do with a copy of a descriptor of a socket of this process, which others may close meanwhile.
func borrow(inode string, do func(fd int) error) error {
	own, err := ownSockets()
	if err != nil {
		return err
	}
	for _, s := range own {
		if s.inode != inode {
			continue
		}
		fd, err := unix.FcntlInt(uintptr(s.fd), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			continue
		}
		defer unix.Close(fd)
		var stat unix.Stat_t
		if err := unix.Fstat(fd, &stat); err == nil && strconv.FormatUint(stat.Ino, 10) == inode {
			return do(fd)
		}
	}
	return fmt.Errorf("socket %s is closed", inode)
}

// Prepare bounds reads that block on the UDP sockets of this process with SO_REUSEPORT. A reload of CoreDNS hands sockets on with
// net.FilePacketConn, and that lets reads block for a moment. A read that begins then gets nothing while the fast path gets everything: it
// would hold up the reload, and its message be lost. It is to be called before a reload has the fast path answer.
func Prepare() {
	timeout := unix.NsecToTimeval(int64(settle))
	own, _ := ownSockets() // Serve says what is wrong with /proc
	for _, s := range own {
		if _, ok := boundTo(s.fd); ok {
			_ = unix.SetsockoptTimeval(s.fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout)
		}
	}
}

// boundTo returns the address, without a zone, of a UDP socket with SO_REUSEPORT.
func boundTo(fd int) (at netip.AddrPort, ok bool) {
	kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil || kind != unix.SOCK_DGRAM {
		return at, false
	}
	if shared, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT); err != nil || shared == 0 {
		return at, false
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		return at, false
	}
	switch name := name.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(name.Addr), uint16(name.Port)), true
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(name.Addr), uint16(name.Port)), true
	}
	return at, false
}
