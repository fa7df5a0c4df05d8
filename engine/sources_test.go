package engine

import (
	"testing"
	"time"

	"github.com/coredns-kuadrant/kuadrant/source"
)

// TestGuardDuration: the guard's time is that of the Corefile, 5 minutes without one.
func TestGuardDuration(t *testing.T) {
	g := New(log, nil).guard
	for _, want := range []time.Duration{0, 90 * time.Minute, 24 * time.Hour} {
		if g.configure(&Options{Guard: &want}, source.Selection{}); g.period != want {
			t.Errorf("%v, want %v", g.period, want)
		}
	}
	if g.configure(new(Options), source.Selection{}); g.period != 5*time.Minute {
		t.Errorf("without one: %v", g.period)
	}
}
