//go:build linux

package checks

import (
	"context"
	"fmt"
	"net/netip"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/coredns-kuadrant/kuadrant/bench/process"
	"github.com/coredns-kuadrant/kuadrant/health"
)

// Window is what a prober did and used in one span of time.
type Window struct {
	Took, CPU    time.Duration
	Checks, Good int
	// Late is by how much a check was past its time at the most.
	Late time.Duration
}

// Figures are what one prober was measured with.
type Figures struct {
	Targets  int
	Interval time.Duration
	// First is the first check of every target, until the last of them has
	// ended; Windows are the intervals after it.
	First   Window
	Windows []Window
	// Memory is what the process holds at the end of each window, Most the most
	// that it has held. Both are in bytes.
	Memory []int64
	Most   int64
}

// Plan says what is checked, and for how long.
type Plan struct {
	Each      int // targets of each protocol
	Protocols []health.Protocol
	Ports     Ports
	Interval  time.Duration
	Windows   int // of one interval each
}

// settle bounds the first round.
const settle = time.Minute

// Measure checks targets with a Prober in this process, which should do nothing
// else. A check that does not succeed is an error: it costs something else than
// one that does.
func (p Plan) Measure(ctx context.Context) (*Figures, error) {
	if err := enoughFiles(); err != nil {
		return nil, err
	}
	self, err := process.Self()
	if err != nil {
		return nil, err
	}
	var all, good atomic.Int64
	prober := health.NewProber(health.Options{
		Guard: health.Guard{Allow: []netip.Prefix{Loopback}},
		Ended: func(_ *health.Target, o health.Outcome, _ time.Duration) {
			all.Add(1)
			if o.Reason == health.Good {
				good.Add(1)
			}
		},
	})
	targets := Targets(p.Each, p.Interval, p.Ports, p.Protocols...)
	f := &Figures{Targets: targets.Len(), Interval: p.Interval}
	window := func(wait func() error) (w Window, err error) {
		before, err := self.CPU()
		if err != nil {
			return w, err
		}
		began, checks, succeeded := time.Now(), all.Load(), good.Load()
		done := make(chan error)
		go func() { done <- wait() }()
		for tick := time.Tick(10 * time.Millisecond); ; {
			w.Late = max(w.Late, prober.Overdue())
			select {
			case <-tick:
				continue
			case err = <-done:
			}
			break
		}
		if err != nil {
			return w, err
		}
		after, err := self.CPU()
		w = Window{
			Took: time.Since(began), CPU: after - before, Late: w.Late,
			Checks: int(all.Load() - checks), Good: int(good.Load() - succeeded),
		}
		if err == nil && w.Good < w.Checks {
			err = fmt.Errorf("%d of %d checks did not succeed: %s", w.Checks-w.Good, w.Checks, reasons(targets.All()))
		}
		return w, err
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		prober.Run(ctx)
		close(ended)
	}()
	defer func() { cancel(); <-ended }()
	if f.First, err = window(func() error { prober.Follow(targets, nil); return settled(prober) }); err != nil {
		return nil, fmt.Errorf("first round: %w", err)
	}
	for range p.Windows {
		w, err := window(func() error { time.Sleep(p.Interval); return nil })
		if err != nil {
			return nil, err
		}
		var now int64
		if now, f.Most, err = self.Memory(); err != nil {
			return nil, err
		}
		f.Windows, f.Memory = append(f.Windows, w), append(f.Memory, now)
	}
	return f, nil
}

// settled waits until the first round is over.
func settled(prober *health.Prober) error {
	for end := time.Now().Add(settle); !prober.Settled(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("not over in %v", settle)
		}
	}
	return nil
}

// reasons counts why the targets' last checks have not succeeded.
func reasons(all func(func(string, *health.Target) bool)) string {
	count := make(map[string]int)
	for _, t := range all {
		if r := t.Cell.Load().Reason(); r != health.Good {
			count[r.String()]++
		}
	}
	return fmt.Sprint(count)
}

// enoughFiles checks that this process may have a connection for each check that
// may run at a time.
func enoughFiles() error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("read the limit of open files: %w", err)
	}
	const others = 100 // files that are open anyway
	if most := uint64(health.DefaultConcurrent + others); limit.Cur < most {
		return fmt.Errorf("%d files may be open, %d may be needed: raise ulimit -n", limit.Cur, most)
	}
	return nil
}
