package records

import (
	"maps"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// gatewayIn is gateway for an IP address in any cluster. The namespace has one letter.
func (w *world) gatewayIn(cluster int, name, host string, strategy api.Strategy, created int64, value string) {
	w.setGateway(cluster, name, &api.Gateway{
		Listeners: []api.Listener{{Name: "l", Hostname: host, AttachedRoutes: 1}}, Addresses: []api.Address{{Type: api.IPAddress, Value: value}},
	})
	w.setPolicy(cluster, name, &api.DNSPolicy{Meta: api.Meta{Created: created}, Target: api.Target{Name: name[2:]}, Strategy: strategy})
}

// keepAll puts on record what the elected replica would, and leaves lines of others that are not gone.
func (w *world) keepAll(s *Snapshot) {
	put := func(key string, o api.Owner) {
		if was, ok := w.acquired.Get(key); ok && (was.Cluster != o.Cluster || was.Kind != o.Kind || was.Name != o.Name) {
			if gone, _ := s.Gone(key, was); !gone {
				return
			}
		}
		w.acquireAs(key, o)
	}
	for key, o := range s.SiteHoldings() {
		put(key, o)
	}
	for g := range s.Groups() {
		for key, o := range s.Holdings(g) {
			put(key, o)
		}
	}
}

// kept compiles the world from nothing, with what is put on record of it.
func (w *world) kept() *Snapshot {
	for range 2 {
		w.keepAll(Compile(nil, w.objects(), unreadOptions, testTime))
	}
	return Compile(nil, w.objects(), unreadOptions, testTime)
}

// outage has the second cluster away while do changes the first one, and the writer writes on.
func (w *world) outage(do func()) (meanwhile, after *Snapshot) {
	d := w.clusters[1]
	w.clusters[1] = &api.Cluster{Name: d.Name, UID: d.UID}
	do()
	meanwhile = w.kept()
	w.clusters[1] = d
	return meanwhile, w.kept()
}

// TestUnreadKeptPartOfAClaim: a weightedGeo claim is one claim on its host, klb.H' and all below it (rule 5.7). Where part of
// it is on record as that of an owner that cannot be read, the claim is not put on record, nor answered with: with two
// lines that contradict each other age decides when the owner is back, and it has lost its host (rule 5.4).
func TestUnreadKeptPartOfAClaim(t *testing.T) {
	for _, c := range []struct {
		owner     string
		strategy  api.Strategy
		newcomer  string
		asks, got string
	}{
		{"app.example.com", api.WeightedGeo, "*.app.example.com", "y.app.example.com.", "unlisted"},
		{"*.app.example.com", api.WeightedGeo, "app.example.com", "app.example.com.", "unlisted"},
	} {
		t.Run(c.owner+" and "+c.newcomer, func(t *testing.T) {
			moves := func(w *world) { w.gatewayIn(0, "e/p", c.newcomer, api.WeightedGeo, 1, "192.0.2.66") }
			has := func(s *Snapshot) bool {
				o, ok := s.Owner(c.owner + ".")
				return ok && o.Cluster == "d" && o.Name == "b/p"
			}
			w := newWorld("c", "d")
			w.gatewayIn(1, "b/p", c.owner, c.strategy, 2, "192.0.2.1")
			w.kept()
			moves(w)
			if !has(w.kept()) {
				t.Fatal("all is listed, and the owner loses its host")
			}
			w = newWorld("c", "d")
			w.gatewayIn(1, "b/p", c.owner, c.strategy, 2, "192.0.2.1")
			w.kept()
			meanwhile, after := w.outage(func() { moves(w) })
			if got := gives(meanwhile, c.asks, dns.TypeA); got != c.got {
				t.Errorf("while the owner cannot be read, %s is %q", c.asks, got)
			}
			if !has(after) {
				t.Errorf("after that the owner has lost %s to an older object that came meanwhile: on record are %+v", c.owner, maps.Collect(w.acquired.All()))
			}
		})
	}
}
