package console

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadTime returns the CPU time of the current thread.
func threadTime() (time.Duration, bool) {
	var now unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now)
	return time.Duration(now.Nano()), err == nil
}
