package health

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestOthersAreCheckedInTime: targets that never answer, of one tenant that has very
// many, do not keep those of others from being checked at their intervals: a dead
// address would be answered with for minutes (rule 4.3).
func TestOthersAreCheckedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const many, interval, timeout = 1000, 5 * time.Second, 5 * time.Second
		p := NewProber(Options{Concurrent: 100})
		own := target("203.0.113.1", interval, 3, 1)
		own.Owner = "another"
		var checked atomic.Int32
		p.run = func(ctx context.Context, t *Target) Outcome {
			if t == own {
				checked.Add(1)
				return Outcome{}
			}
			time.Sleep(timeout)
			return Outcome{Reason: Timeout}
		}
		all := []*Target{own}
		for i := range many { // ten times what there are places for
			all = append(all, target(fmt.Sprintf("198.51.100.%d", i), interval, 3, 1))
		}
		p.Follow(targets(all...), nil)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { p.Run(ctx); close(done) }()
		time.Sleep(2 * time.Minute) // until all have had their first
		checked.Store(0)
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		cancel()
		<-done
		if n, want := checked.Load(), int32(5*time.Minute/interval); n < want/2 {
			t.Errorf("the target of another was checked %d times in 5 minutes, want about %d", n, want)
		}
	})
}
