// Package cpu measures what benchmarks cost in processor time.
package cpu

import (
	"runtime"
	"runtime/debug"
	"syscall"
	"testing"
	"time"

	"github.com/coredns-kuadrant/kuadrant/bench/stats"
)

// WithoutCollections returns the CPU microseconds of one change while no garbage
// is collected: the means of five parts.
func WithoutCollections(b *testing.B, change func(i int)) stats.Spread {
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	const parts, each = 5, 2000 // some 100 MB of garbage in each part at most
	var used []float64
	for part := range parts {
		before := Time(b)
		for i := range each {
			change(part*each + i)
		}
		used = append(used, float64((Time(b)-before).Nanoseconds())/1e3/each)
	}
	return stats.Of(used)
}

// Time returns the CPU time that this process has used, in the kernel too.
func Time(tb testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
