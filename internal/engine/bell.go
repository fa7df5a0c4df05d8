package engine

import (
	"context"
	"time"
)

// bell wakes a goroutine once, however often it rang before.
type bell chan struct{}

func newBell() bell { return make(bell, 1) }

func (b bell) ring() {
	select {
	case b <- struct{}{}:
	default: // it will look anyway
	}
}

// wait returns a while after a ring, but not before the given time; false if ctx has ended.
func (b bell) wait(ctx context.Context, while time.Duration, before time.Time) bool {
	select {
	case <-ctx.Done():
		return false
	case <-b:
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(max(while, time.Until(before))):
	}
	return true
}
