package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/coredns/caddy"

	"github.com/coredns-kuadrant/kuadrant/corefile"
	"github.com/coredns-kuadrant/kuadrant/source"
)

// TestConfigureChecks: the engine takes no Corefile that opens or closes a part of a zone by silence (rule 5.1).
func TestConfigureChecks(t *testing.T) {
	cfg := new(corefile.Options)
	text := "kuadrant open.test {\nmanifests " + t.TempDir() + "\npublish api.open.test api\n}"
	if _, err := corefile.Parse(caddy.NewTestController("dns", text), cfg); err != nil {
		t.Fatal(err)
	}
	if err := New(log, nil).Configure(cfg, nil); err == nil || !strings.HasPrefix(err.Error(), "Testfile:3 - Error during parsing: publish: ") {
		t.Error(err)
	}
}

// TestGuardDuration: the guard's time is that of the Corefile, 5 minutes without one.
func TestGuardDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{"": 5 * time.Minute, "guard 0": 0, "guard 1h30m": 90 * time.Minute, "guard 24h": 24 * time.Hour} {
		cfg := new(corefile.Options)
		if _, err := corefile.Parse(caddy.NewTestController("dns", "kuadrant k.example.com {\n"+text+"\n}"), cfg); err != nil {
			t.Fatal(err)
		}
		g := New(log, nil).guard
		if g.configure(cfg, source.Selection{}); g.period != want {
			t.Errorf("%q: %v, want %v", text, g.period, want)
		}
	}
}
