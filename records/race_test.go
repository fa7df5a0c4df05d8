//go:build race

package records

import "testing"

// oneGoroutine is for tests of seconds in which nothing runs beside anything else. The race detector makes them five times as
// long and has nothing to look at: they run without it.
func oneGoroutine(t *testing.T) { t.Skip("one goroutine: it runs without the race detector") }
