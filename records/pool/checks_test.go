package pool

import (
	"testing"

	"github.com/coredns-kuadrant/kuadrant/health"
)

// TestTenantsOfTarget: a target that several namespaces have is all of theirs, in whatever order they come, and keeps its cell.
func TestTenantsOfTarget(t *testing.T) {
	var none, before Checks
	for generation, c := range []struct {
		tenants []string
		want    string
	}{
		{[]string{"b"}, "b"},
		{[]string{"b", "a", "b"}, "a b"},
		{[]string{"a", "c"}, "a b c"},
	} {
		edit := none.Edit(before, uint32(generation), nil)
		edit.Begin("host")
		target := &health.Target{Check: health.Check{Address: "192.0.2.1"}}
		for _, tenant := range c.tenants {
			next := *target
			next.Tenant = tenant
			edit.Watch(&next, func() *health.Target { return nil })
		}
		now := edit.Finish(false)
		got, _ := now.Get(target.Key())
		if old, known := before.Get(target.Key()); got.Tenant != c.want || known && old.Cell != got.Cell {
			t.Errorf("%d: it is of %q, want %q", generation, got.Tenant, c.want)
		}
		before = now
	}
}
