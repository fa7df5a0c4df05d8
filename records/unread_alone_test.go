package records

import (
	"maps"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestUnreadAlone: whether an owner has a name, or its chain, alone is not known while what stands there beside it, or below, cannot be
// read. A line that says so meanwhile ends older data of others when they are back (rules 5.3 and 5.4, decision 23), and
// records that are on record themselves.
func TestUnreadAlone(t *testing.T) {
	record := func(name, rtype, data string) func(*world) {
		return func(w *world) {
			w.setRecord(1, "r/r", &api.Record{Meta: api.Meta{Created: 5}, DomainName: name, Type: rtype, Class: "IN", TTL: api.NoTTL, RData: data})
		}
	}
	for _, c := range []struct {
		name     string
		strategy api.Strategy
		older    func(*world)
		ask      string
		qtype    uint16
		want     string
	}{
		{"a text below klb", api.WeightedGeo, record("default.klb.app.example.com.", "TXT", "x"), "default.klb.app.example.com.", dns.TypeTXT, `"x"`},
		{"NS records below klb, on record", api.WeightedGeo, record("x.klb.app.example.com.", "NS", "ns.example.net."), "y.x.klb.app.example.com.", dns.TypeA, "referral"},
		{"a DNAME below klb, on record", api.WeightedGeo, record("x.klb.app.example.com.", "DNAME", "example.net."), "y.x.klb.app.example.com.", dns.TypeA, "example.net. y.example.net."},
		{"a DNSEndpoint's text below klb", api.WeightedGeo, func(w *world) {
			w.setDNSEndpoint(1, "r/e", &api.DNSEndpoint{Meta: api.Meta{Created: 5}, Endpoints: []api.Endpoint{endpoint("default.klb.app.example.com.", "TXT", "x")}})
		}, "default.klb.app.example.com.", dns.TypeTXT, `"x"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld("c", "d")
			c.older(w)
			w.kept()
			w.gatewayIn(0, "b/p", "app.example.com", c.strategy, 9, "192.0.2.1")
			if got := gives(w.kept(), c.ask, c.qtype); got != c.want {
				t.Fatalf("at first it is %q", got)
			}
			_, after := w.outage(func() {})
			if got := gives(after, c.ask, c.qtype); got != c.want {
				t.Errorf("after its cluster was away it is %q: on record are %+v", got, maps.Collect(w.acquired.All()))
			}
		})
	}
}

// TestUnreadAloneWithHostname: the same for a text beside a host that leads to a hostname since.
func TestUnreadAloneWithHostname(t *testing.T) {
	w := newWorld("c", "d")
	w.setDNSEndpoint(1, "r/e", &api.DNSEndpoint{Meta: api.Meta{Created: 5}, Endpoints: []api.Endpoint{endpoint("app.example.com.", "TXT", "x")}})
	w.kept()
	w.gatewayIn(0, "b/p", "app.example.com", api.Simple, 9, "192.0.2.1")
	w.kept()
	o, _ := w.acquired.Get("app.example.com.")
	w.outage(func() {})
	if now, _ := w.acquired.Get("app.example.com."); now.Alone != o.Alone {
		t.Errorf("on record was %+v, and is %+v since the cluster with the text at the name was away", o, now)
	}
}
