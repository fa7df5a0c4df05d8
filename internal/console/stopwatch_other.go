//go:build !linux

package console

import "time"

// threadTime reports that this system offers no CPU time per thread.
func threadTime() (time.Duration, bool) { return 0, false }
