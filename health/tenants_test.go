package health

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// crowd returns a tenant's targets, n of them at addresses that begin with prefix.
func crowd(tenant, prefix string, n int) []*Target {
	all := make([]*Target, n)
	for i := range all {
		all[i] = target(fmt.Sprint(prefix, i), 10*time.Second, 3, 1)
		all[i].Tenant, all[i].Timeout = tenant, 30*time.Second
	}
	return all
}

// TestBug3A25SilentTargets: a tenant's targets are checked on time, also if others have 20,000 that do not answer, in one namespace or in
// several, from before or since then. A dead target is down when it would be alone.
func TestBug3A25SilentTargets(t *testing.T) {
	for _, c := range []struct {
		name    string
		tenants int
		late    bool // they come after the other tenant's target
	}{
		{"silent", 1, false},
		{"silent, of ten", 10, false},
		{"silent, after it", 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := NewProber(Options{Concurrent: DefaultConcurrent})
				p.run = func(ctx context.Context, target *Target) Outcome {
					take, o := 30*time.Second, Outcome{Reason: Timeout}
					if target.Tenant == "calm" {
						take, o = time.Second, Outcome{Reason: ConnectionRefused}
					}
					select {
					case <-ctx.Done():
					case <-time.After(take):
					}
					return o
				}
				var silent []*Target
				for i := range c.tenants {
					silent = append(silent, crowd(fmt.Sprint("busy", i), fmt.Sprintf("192.0.%d.", i), 20000/c.tenants)...)
				}
				dead := crowd("calm", "198.51.100.", 1)
				running(t, p)
				first, then := silent, dead
				if c.late {
					first, then = dead, silent
				}
				p.Follow(targets(first...), nil)
				time.Sleep(7 * time.Second) // before the places are free again
				p.Follow(targets(append(first, then...)...), nil)
				time.Sleep(3*(time.Second+11*time.Second) + time.Second)
				synctest.Wait()
				if w := dead[0].Cell.Load(); w.State() != Down {
					t.Errorf("it is %s after %d failures", w.State(), w.Failures())
				}
			})
		})
	}
}

// TestTenantsShare: tenants with more due than there are places share them, and leave some free.
func TestTenantsShare(t *testing.T) {
	for n := range 4 {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, Options{Concurrent: 100})
			b.take = time.Hour
			var all []*Target
			for i := range n + 1 {
				all = append(all, crowd(fmt.Sprint(i), fmt.Sprintf("192.0.%d.", i), 200)...)
			}
			b.Follow(targets(all...), nil)
			time.Sleep(10 * time.Second)
			synctest.Wait()
			b.Prober.mu.Lock()
			defer b.Prober.mu.Unlock()
			for tenant, l := range b.lines {
				if least := 100 / (n + 2) / 2; l.running < least {
					t.Errorf("of %d tenants, %s has %d places, want %d", n+1, tenant, l.running, least)
				}
			}
			if b.running > 100-100>>(n+1) {
				t.Errorf("%d tenants have %d places", n+1, b.running)
			}
		})
	}
}
