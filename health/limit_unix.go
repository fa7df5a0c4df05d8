//go:build unix

package health

import (
	"math"

	"golang.org/x/sys/unix"
)

// descriptors returns how many file descriptors this process may have.
func descriptors() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || uint64(limit.Cur) > math.MaxInt32 {
		return math.MaxInt32
	}
	return int(limit.Cur)
}
