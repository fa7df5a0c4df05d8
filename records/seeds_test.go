package records

import (
	"fmt"
	"iter"
	"os"
	"testing"
)

// seeds are those of a test with random worlds: the first of n, as many as a run that is made often has time
// for; or the ones that the environment names, KUADRANT_SEEDS=FROM+COUNT. They end with the first one that failed.
func seeds(t *testing.T, n uint64) iter.Seq[uint64] {
	t.Helper()
	from := uint64(0)
	n = (n + oftenSeeds - 1) / oftenSeeds
	if v := os.Getenv("KUADRANT_SEEDS"); v != "" {
		if _, err := fmt.Sscanf(v, "%d+%d", &from, &n); err != nil {
			t.Fatalf("KUADRANT_SEEDS is %q, want FROM+COUNT, such as 1000+500", v)
		}
	}
	return func(yield func(uint64) bool) {
		for seed := from; seed < from+n; seed++ {
			more := yield(seed)
			if t.Failed() {
				t.Logf("that was seed %d", seed)
				return
			}
			if !more {
				return
			}
		}
	}
}

// oftenSeeds is the share of seeds that tests play by default: one of so many.
const oftenSeeds = 4

// step compiles what a world has become since a snapshot, and tells where that is not what it is from nothing.
func (w *world) step(t *testing.T, before *Snapshot, opt *Options) *Snapshot {
	t.Helper()
	in := w.objects()
	s := Compile(before, in, opt, testTime)
	if got, want := dump(s), dump(Compile(nil, in, opt, testTime)); got != want {
		t.Errorf("step by step it is not what it is from nothing: %s", differing(got, want))
	}
	return s
}
