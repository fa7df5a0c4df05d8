package records

import (
	"maps"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestUnreadSitesAboveOwners: a Zone that would take names from owners on record is not served (rule 5.4, prior.go). While these cannot be
// read, it is not put on record: it would keep their names for good when they are back.
func TestUnreadSitesAboveOwners(t *testing.T) {
	everything := []api.Delegation{{Zones: []string{"*"}, Records: []api.RecordDelegation{{Pattern: "*"}}}}
	for _, c := range []struct {
		name string
		has  func(*world)
		host string
	}{
		{"a host", func(w *world) { w.gatewayIn(1, "b/p", "app.sub.example.com", api.Simple, 5, "192.0.2.1") }, "app.sub.example.com."},
		{"a Zone with a host", func(w *world) {
			w.setZone(1, "b/z", &api.Zone{Meta: api.Meta{Created: 5}, DomainName: "b.sub.example.com.", TTL: 360, Minimum: 60, Delegations: everything})
			w.gatewayIn(1, "b/p", "app.b.sub.example.com", api.Simple, 5, "192.0.2.1")
		}, "app.b.sub.example.com."},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld("c", "d")
			c.has(w)
			w.kept()
			w.zone("e/z", "sub.example.com.", 1)
			if got := gives(w.kept(), c.host, dns.TypeA); got != "192.0.2.1" {
				t.Fatalf("all is listed, and %s is %q", c.host, got)
			}
			w = newWorld("c", "d")
			c.has(w)
			w.kept()
			_, after := w.outage(func() { w.zone("e/z", "sub.example.com.", 1) })
			if got := gives(after, c.host, dns.TypeA); got != "192.0.2.1" {
				t.Errorf("after its cluster was away, %s is %q for good: on record are %+v", c.host, got, maps.Collect(w.acquired.All()))
			}
		})
	}
}
