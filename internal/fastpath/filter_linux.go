package fastpath

import (
	"os"

	"golang.org/x/sys/unix"
)

// loadRandom is the offset from which a program loads a random number: SKF_AD_OFF + SKF_AD_RANDOM of linux/filter.h.
const loadRandom = 0xfffff000 + 56

// attach makes a program choose among the sockets of fd's group with SO_REUSEPORT: at random one of n, from the one with the index first.
// They are in the order in which they were bound; where one closes, the last takes its place. Without one at the index the kernel chooses.
func attach(fd, first, n int) error {
	program := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: loadRandom},
		{Code: unix.BPF_ALU | unix.BPF_MOD | unix.BPF_K, K: uint32(n)},
		{Code: unix.BPF_ALU | unix.BPF_ADD | unix.BPF_K, K: uint32(first)},
		{Code: unix.BPF_RET | unix.BPF_A},
	}
	err := unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_REUSEPORT_CBPF, &unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]})
	return os.NewSyscallError("attach a filter", err)
}

// detach lets the kernel choose again.
func detach(fd int) error {
	return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DETACH_REUSEPORT_BPF, 0)
}
