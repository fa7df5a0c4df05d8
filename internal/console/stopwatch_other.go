//go:build !linux

package console

import "time"

// threadTime tells that the system does not say how long the thread has kept a processor busy.
func threadTime() (time.Duration, bool) { return 0, false }
