package console

import (
	"runtime"
	"time"
)

// stopwatch measures how long the goroutine that has started it keeps a processor busy, until that one stops it. What it waits for
// in between does not count, where the system knows that.
type stopwatch struct {
	begin time.Time
	busy  time.Duration
	known bool
}

// watchThread starts one. The goroutine keeps its thread until then: the system knows the time of each thread.
func watchThread() stopwatch {
	runtime.LockOSThread()
	s := stopwatch{begin: time.Now()}
	s.busy, s.known = threadTime()
	return s
}

// stop returns what was measured.
func (s stopwatch) stop() time.Duration {
	defer runtime.UnlockOSThread()
	if now, ok := threadTime(); ok && s.known {
		return now - s.busy
	}
	return time.Since(s.begin)
}
