package records

import (
	"maps"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestUnreadHiddenCutIsNotOnRecord: NS records below a DNAME, or a DNAME below NS records, of Records of others hide nothing, as nobody gets to
// them. They were put on record all the same, and when the cluster of what is above them was away, queries were led to their servers.
func TestUnreadHiddenCutIsNotOnRecord(t *testing.T) {
	for _, c := range []struct{ above, below string }{{"DNAME", "NS"}, {"NS", "DNAME"}, {"NS", "NS"}, {"DNAME", "DNAME"}} {
		t.Run(c.below+" below "+c.above, func(t *testing.T) {
			w := newWorld("c", "d")
			w.setRecord(1, "b/r", &api.Record{Meta: api.Meta{Created: 1}, DomainName: "app.example.com.", Type: c.above, Class: "IN", TTL: api.NoTTL, RData: "b.example.net."})
			was := gives(w.kept(), "www.x.app.example.com.", dns.TypeA)
			w.record("evil/r", "x.app.example.com.", c.below, "evil.example.net.", 2)
			if got := gives(w.kept(), "www.x.app.example.com.", dns.TypeA); got != was {
				t.Fatalf("it was %q, and is %q", was, got)
			}
			meanwhile, after := w.outage(func() {})
			if got := gives(meanwhile, "www.x.app.example.com.", dns.TypeA); got != "unlisted" {
				t.Errorf("while the owner of app.example.com cannot be read it is %q: on record are %+v", got, maps.Collect(w.acquired.All()))
			}
			if got := gives(after, "www.x.app.example.com.", dns.TypeA); got != was {
				t.Errorf("after that it is %q", got)
			}
		})
	}
}
