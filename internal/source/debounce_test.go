package source

import (
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// newRand returns a source of random numbers whose seed a failed test logs.
func newRand(t *testing.T) *rand.Rand {
	seed := rand.Uint64()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	})
	return rand.New(rand.NewPCG(seed, 0))
}

func TestDebounce(t *testing.T) {
	// Times are in milliseconds after the start.
	for _, tt := range []struct {
		name   string
		events []int
		fires  []int
	}{
		{"one", []int{0}, []int{5}},
		{"burst", []int{0, 1, 2, 3}, []int{8}},
		{"two bursts", []int{0, 1, 50}, []int{6, 55}},
		{"without end", []int{0, 3, 6, 9, 12, 15, 18, 21, 24, 27, 30, 33, 36, 39, 42}, []int{20, 41, 47}},
		{"event at the limit", []int{0, 4, 8, 12, 16, 19}, []int{20}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDebounce(5*time.Millisecond, 20*time.Millisecond)
				events := make(chan struct{})
				start := time.Now()
				go func() {
					for _, at := range tt.events {
						time.Sleep(time.Until(start.Add(time.Duration(at) * time.Millisecond)))
						events <- struct{}{}
					}
				}()
				var fires []int
				end := time.After(time.Second)
				for {
					select {
					case <-events:
						d.touch()
						continue
					case <-d.C:
						fires = append(fires, int(time.Since(start)/time.Millisecond))
						d.done()
						continue
					case <-end:
					}
					break
				}
				if !slices.Equal(fires, tt.fires) {
					t.Errorf("fired at %v, want %v", fires, tt.fires)
				}
			})
		})
	}
}
