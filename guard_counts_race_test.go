package kuadrant

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/coredns-kuadrant/kuadrant/records"
)

// TestGuardIsTakenOverWhileItCounts: a reload takes over what zones have lost of late while the guard before counts
// losses of more zones: it is a data race, and may end the process, where the two share no mutex.
func TestGuardIsTakenOverWhileItCounts(t *testing.T) {
	quiet := func(string, ...any) {}
	before := newGuard(func() {}, quiet, quiet)
	begin := time.Unix(1e9, 0)
	var compiling sync.WaitGroup
	compiling.Go(func() {
		for i := range 1000 {
			s := &guardStep{guard: before, now: begin.Add(time.Duration(i) * time.Second)}
			lost := map[string]records.Loss{
				"example.com.":                 {Names: 20, Gone: []string{"a.example.com."}},
				fmt.Sprintf("z%d.example.", i): {Names: 20, Gone: []string{"a"}},
			}
			s.count(lost, nil)
			s.concerned(nil, lost, map[string]bool{"example.com.": true})
		}
	})
	for range 1000 {
		newGuard(func() {}, quiet, quiet).adopt(before, nil)
	}
	compiling.Wait()
}
