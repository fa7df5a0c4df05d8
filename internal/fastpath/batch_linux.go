package fastpath

import (
	"encoding/binary"
	"net/netip"
	"os"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/miekg/dns"
)

const (
	// batchSize is how many messages one system call reads or writes.
	batchSize = 64
	// querySize is how many octets of a message are read, as by CoreDNS.
	querySize = dns.MinMsgSize
	// replySize is the length of the longest reply that is written here.
	replySize = 2048
	// controlSize is room for the local address of a message and the number of those that were lost.
	controlSize = 96
)

// mmsghdr is struct mmsghdr of recvmmsg(2).
type mmsghdr struct {
	unix.Msghdr
	Len uint32
}

// batch is the memory of a worker, for so many messages at a time.
type batch struct {
	in, out       [batchSize]mmsghdr
	inVec, outVec [batchSize]unix.Iovec
	names         [batchSize]unix.RawSockaddrInet6 // or a RawSockaddrInet4
	control       [batchSize][controlSize]byte
	messages      [batchSize][querySize]byte
	replies       [batchSize][replySize]byte
	query         Query
	// pending are the replies not written yet.
	pending []mmsghdr
	n       int
}

func newBatch() *batch {
	b := new(batch)
	for i := range batchSize {
		b.inVec[i].Base = &b.messages[i][0]
		b.inVec[i].SetLen(querySize)
		in := &b.in[i].Msghdr
		in.Name, in.Iov, in.Control = (*byte)(unsafe.Pointer(&b.names[i])), &b.inVec[i], &b.control[i][0]
		in.SetIovlen(1)
		out := &b.out[i].Msghdr
		out.Iov = &b.outVec[i]
		out.SetIovlen(1)
	}
	return b
}

// canBatch returns an error if the system, or a sandbox, refuses the calls of read and write. It moves no message.
func canBatch(fd int) error {
	for name, call := range map[string]uintptr{"recvmmsg": unix.SYS_RECVMMSG, "sendmmsg": unix.SYS_SENDMMSG} {
		if _, _, err := unix.Syscall6(call, uintptr(fd), 0, 0, unix.MSG_DONTWAIT, 0, 0); err != 0 {
			return os.NewSyscallError(name, err)
		}
	}
	return nil
}

// The calls of read and write do not block, so the runtime is not told of them: it would hand the processor to another thread while a
// call takes long, which costs as much as the call.

// read reads messages, and reports whether that ended: false if there are none yet. b.n is their number, 0 at an error.
func (b *batch) read(fd uintptr) bool {
	for i := range batchSize {
		b.in[i].Namelen = unix.SizeofSockaddrInet6
		b.in[i].SetControllen(controlSize)
	}
	n, _, err := unix.RawSyscall6(unix.SYS_RECVMMSG, fd, uintptr(unsafe.Pointer(&b.in[0])), batchSize, unix.MSG_DONTWAIT, 0, 0)
	if b.n = int(n); err != 0 {
		b.n = 0
	}
	return err != unix.EAGAIN
}

// write writes the pending replies, and reports whether that ended: false if the socket takes no more yet. A reply that cannot be sent is
// left out, as by CoreDNS.
func (b *batch) write(fd uintptr) bool {
	for len(b.pending) > 0 {
		n, _, err := unix.RawSyscall6(unix.SYS_SENDMMSG, fd, uintptr(unsafe.Pointer(&b.pending[0])), uintptr(len(b.pending)), unix.MSG_DONTWAIT, 0, 0)
		switch err {
		case 0:
			b.pending = b.pending[n:]
		case unix.EINTR:
		case unix.EAGAIN:
			return false
		default:
			b.pending = b.pending[1:]
		}
	}
	return true
}

// message returns the i-th message that was read.
func (b *batch) message(i int) []byte { return b.messages[i][:min(b.in[i].Len, querySize)] }

// from returns the client's address and port; an IPv4 address is not in the form of IPv6.
func (b *batch) from(i int) netip.AddrPort {
	in6 := &b.names[i]
	in4 := (*unix.RawSockaddrInet4)(unsafe.Pointer(in6)) // the port lies in the same place
	addr := netip.AddrFrom4(in4.Addr)
	if in6.Family == unix.AF_INET6 {
		addr = netip.AddrFrom16(in6.Addr).Unmap()
		if in6.Scope_id != 0 {
			addr = addr.WithZone(strconv.Itoa(int(in6.Scope_id)))
		}
	}
	return netip.AddrPortFrom(addr, binary.BigEndian.Uint16((*[2]byte)(unsafe.Pointer(&in6.Port))[:]))
}

// addReply queues the first size octets of replies[i] as the reply to the i-th message. local, from controls, sets its source address.
func (b *batch) addReply(i, size int, local []byte) {
	n := len(b.pending)
	out := &b.out[n]
	b.outVec[n].Base = &b.replies[i][0]
	b.outVec[n].SetLen(size)
	out.Name, out.Namelen = b.in[i].Name, b.in[i].Namelen
	out.Control = unsafe.SliceData(local)
	out.SetControllen(len(local))
	b.pending = b.out[:n+1]
}

// controls reads the control messages of the i-th message. local is the one that makes a reply leave from the address that the message
// came to, nil if that is not told. lost is how many messages the kernel has dropped at the socket since it was opened, 0 if that is not
// told.
func (b *batch) controls(i int) (local []byte, lost uint32) {
	for rest := b.control[i][:b.in[i].Controllen]; len(rest) >= unix.SizeofCmsghdr; {
		header, data, after, err := unix.ParseOneSocketControlMessage(rest)
		if err != nil {
			break
		}
		this := rest[:len(rest)-len(after)]
		rest = after
		switch {
		case header.Level == unix.IPPROTO_IP && header.Type == unix.IP_PKTINFO && len(data) >= unix.SizeofInet4Pktinfo:
			info := (*unix.Inet4Pktinfo)(unsafe.Pointer(&data[0]))
			info.Spec_dst, info.Ifindex = info.Addr, 0
			local = this
		case header.Level == unix.IPPROTO_IPV6 && header.Type == unix.IPV6_PKTINFO && len(data) >= unix.SizeofInet6Pktinfo:
			info := (*unix.Inet6Pktinfo)(unsafe.Pointer(&data[0]))
			if !netip.AddrFrom16(info.Addr).IsLinkLocalUnicast() {
				info.Ifindex = 0
			}
			local = this
		case header.Level == unix.SOL_SOCKET && header.Type == unix.SO_RXQ_OVFL && len(data) >= 4:
			lost = binary.NativeEndian.Uint32(data)
		}
	}
	return local, lost
}
