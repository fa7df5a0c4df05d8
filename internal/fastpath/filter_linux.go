package fastpath

import (
	"os"

	"golang.org/x/sys/unix"
)

// loadRandom is the offset from which a program loads a random number: SKF_AD_OFF + SKF_AD_RANDOM of linux/filter.h.
const loadRandom = 0xfffff000 + 56

// filter returns a program for a group of sockets with SO_REUSEPORT: any of the first others gets what is not a plain query, any of the
// next fast a plain query. The program sees a DNS message, and its result is the index of a socket in the group, in the order in which
// they were bound. With an index that the group lacks the kernel chooses; a message that is too short goes to the first socket.
func filter(others, fast int) []unix.SockFilter {
	const (
		load16 = unix.BPF_LD | unix.BPF_H | unix.BPF_ABS
		load32 = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal  = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		above  = unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K
		bitSet = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
		modulo = unix.BPF_ALU | unix.BPF_MOD | unix.BPF_K
		add    = unix.BPF_ALU | unix.BPF_ADD | unix.BPF_K
		result = unix.BPF_RET | unix.BPF_A

		responseOrOpcode = 0xf800
	)
	one := func(n int, offset uint32) []unix.SockFilter {
		return []unix.SockFilter{{Code: load32, K: loadRandom}, {Code: modulo, K: uint32(n)}, {Code: add, K: offset}, {Code: result}}
	}
	if fast == 0 {
		return one(others, 0)
	}
	// Jumps count the instructions that they pass over; the last four are for what is not a plain query.
	return append(append([]unix.SockFilter{
		{Code: load16, K: 2},
		{Code: bitSet, K: responseOrOpcode, Jt: 10},
		{Code: load32, K: 4}, // QDCOUNT and ANCOUNT
		{Code: equal, K: 1 << 16, Jf: 8},
		{Code: load16, K: 8}, // NSCOUNT
		{Code: equal, K: 0, Jf: 6},
		{Code: load16, K: 10}, // ARCOUNT
		{Code: above, K: 1, Jt: 4},
	}, one(fast, uint32(others))...), one(others, 0)...)
}

// attach makes a program choose the sockets of fd's group.
func attach(fd, others, fast int) error {
	program := filter(others, fast)
	err := unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_REUSEPORT_CBPF, &unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]})
	return os.NewSyscallError("attach a filter", err)
}

// detach lets the kernel choose again.
func detach(fd int) error {
	return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DETACH_REUSEPORT_BPF, 0)
}
