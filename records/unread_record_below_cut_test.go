package records

import (
	"maps"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestUnreadRecordInAZoneBelowACut: a Record that somebody else wants the name of is put on record in a Zone below NS records too: queries come
// to the Zone itself. It was not, and the name went to the other one while the Record's cluster was away.
func TestUnreadRecordInAZoneBelowACut(t *testing.T) {
	for _, cut := range []bool{false, true} {
		w := newWorld("c", "d")
		w.zone("team/z", "a.b.example.com.", 1, api.Delegation{Records: []api.RecordDelegation{{Pattern: "*"}}})
		if cut {
			w.record("team/ns", "b.example.com.", "NS", "ns.example.net.", 1)
		}
		w.setRecord(1, "team/www", &api.Record{Meta: api.Meta{Created: 1}, DomainName: "www.a.b.example.com.", Type: "A", Class: "IN", TTL: api.NoTTL, RData: "192.0.2.1"})
		w.gateway("e/p", "www.a.b.example.com", api.Simple, 2, api.IPAddress, "192.0.2.66")
		if got := gives(w.kept(), "www.a.b.example.com.", dns.TypeA); got != "192.0.2.1" {
			t.Fatalf("cut %v: at first it is %q", cut, got)
		}
		meanwhile, _ := w.outage(func() {})
		if got := gives(meanwhile, "www.a.b.example.com.", dns.TypeA); got != "unlisted" {
			t.Errorf("cut %v: while the Record cannot be read it is %q: on record are %+v", cut, got, maps.Collect(w.acquired.All()))
		}
	}
}
