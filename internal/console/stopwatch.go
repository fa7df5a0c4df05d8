package console

import (
	"runtime"
	"time"
)

// stopwatch measures the CPU time of the goroutine that starts it until the same goroutine stops it. Without support
// from the system it measures wall time, which includes waiting.
type stopwatch struct {
	begin time.Time
	busy  time.Duration
	known bool
}

// watchThread starts a stopwatch. It locks the goroutine to its thread until stop, as the system measures CPU time
// per thread.
func watchThread() stopwatch {
	runtime.LockOSThread()
	s := stopwatch{begin: time.Now()}
	s.busy, s.known = threadTime()
	return s
}

// stop returns the time measured.
func (s stopwatch) stop() time.Duration {
	defer runtime.UnlockOSThread()
	if now, ok := threadTime(); ok && s.known {
		return now - s.busy
	}
	return time.Since(s.begin)
}
