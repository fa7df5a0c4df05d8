package kuadrant

import (
	"testing"
	"time"

	"github.com/coredns/caddy"

	"github.com/coredns-kuadrant/kuadrant/corefile"
	"github.com/coredns-kuadrant/kuadrant/source"
)

// TestGuardDuration: the guard's time is that of the Corefile, 5 minutes without one.
func TestGuardDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{"": 5 * time.Minute, "guard 0": 0, "guard 1h30m": 90 * time.Minute, "guard 24h": 24 * time.Hour} {
		cfg := new(corefile.Options)
		if _, err := corefile.Parse(caddy.NewTestController("dns", "kuadrant k.example.com {\n"+text+"\n}"), cfg); err != nil {
			t.Fatal(err)
		}
		g := newEngine().guard
		if g.configure(cfg, source.Selection{}); g.period != want {
			t.Errorf("%q: %v, want %v", text, g.period, want)
		}
	}
}
