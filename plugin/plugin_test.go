package plugin

import (
	"slices"
	"testing"

	"github.com/coredns/coredns/core/dnsserver"
)

func TestOrder(t *testing.T) {
	order := dnsserver.Directives
	at := slices.Index(order, "kuadrant")
	if at < 1 || order[at-1] != predecessor {
		t.Fatalf("kuadrant does not come after %s: %v", predecessor, order)
	}
	for _, later := range []string{"hosts", "kubernetes", "file", "forward"} {
		if slices.Index(order, later) < at {
			t.Errorf("%s comes before kuadrant", later)
		}
	}
}
