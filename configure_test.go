package kuadrant

import (
	"strings"
	"testing"

	"github.com/coredns/caddy"

	"github.com/coredns-kuadrant/kuadrant/corefile"
)

// TestConfigureChecks: a server takes no Corefile that opens or closes a part of a zone by silence (rule 5.1).
func TestConfigureChecks(t *testing.T) {
	i := newInstance()
	text := "kuadrant open.test {\nmanifests " + t.TempDir() + "\npublish api.open.test api\n}"
	if _, err := corefile.Parse(caddy.NewTestController("dns", text), i.config); err != nil {
		t.Fatal(err)
	}
	if err := i.server.configure(i); err == nil || !strings.HasPrefix(err.Error(), "Testfile:3 - Error during parsing: publish: ") {
		t.Error(err)
	}
}
