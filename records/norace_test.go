//go:build !race

package records

import "testing"

func oneGoroutine(*testing.T) {}
