package records

import (
	"math/rand/v2"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// TestUnreadUnreadMoreKeys is TestUnreadIncremental with owners of clusters that are awaited, with chains, cuts and
// policies that wait for Secrets, in several zones of the Corefile.
func TestUnreadUnreadMoreKeys(t *testing.T) {
	oneGoroutine(t)
	const chains = true // without, nothing is found
	for seed := range seeds(t, 60) {
		opt := &Options{Zones: []ZoneOptions{
			{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300, Nameservers: []Nameserver{{Name: "ns1.example.com."}}},
			{Origin: "a.example.com.", TTL: 60, LoadBalancedTTL: 300, Nameservers: []Nameserver{{Name: "ns1.example.com."}}},
		}}
		if seed%2 == 0 {
			opt.Zones = opt.Zones[:1]
		}
		r := rand.New(rand.NewPCG(seed, 72))
		w := newWorld("c1", "c2")
		w.crowded, w.zoned, w.reading = seed%3 == 0, true, true
		var snap *Snapshot
		for step := range 60 {
			for range 1 + r.IntN(3) {
				w.mutate(r)
			}
			if r.IntN(4) == 0 {
				next := *w.clusters[0]
				next.Listings[api.KindSecret] = pick(r, []api.Listing{api.Listed, api.NotListed})
				w.clusters[0] = &next
			}
			if r.IntN(3) == 0 {
				host := pick(r, []string{"a.example.com.", "*.a.example.com.", "b.a.example.com.", "deep.example.com.", "example.com.", "klb.a.example.com.", api.ZoneKey("a.example.com."), api.ZoneKey("example.com.")})
				w.acquireAs(host, api.Owner{
					Cluster: pick(r, []string{"c1", "c2"}), Kind: pick(r, []api.Kind{api.KindDNSPolicy, api.KindZone, api.KindDNSRecord, api.KindDNSEndpoint, api.KindRecord}),
					Name: pick(r, []string{"n1/", "n2/"}) + pick(r, []string{"g1", "g2", "z1", "z2", "e1", "e2"}), Chain: chains && r.IntN(2) == 0, Alone: r.IntN(2) == 0,
				})
			}
			in := w.objects()
			before := snap
			snap = Compile(snap, in, opt, testTime)
			whole := Compile(nil, in, opt, testTime)
			if got, want := dump(snap), dump(whole); got != want {
				t.Fatalf("seed %d step %d: %s", seed, step, differing(got, want))
			}
			if before != nil {
				checkWithheldReported(t, before, snap, seed, step)
			}
		}
	}
}

// TestUnreadToldIsGiven: a host that is SERVFAIL for its owner on record is told so, and one that is told so is not answered.
func TestUnreadToldIsGiven(t *testing.T) {
	for seed := range seeds(t, 100) {
		opt := &Options{Zones: []ZoneOptions{
			{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300, Nameservers: []Nameserver{{Name: "ns1.example.com."}}},
		}}
		r := rand.New(rand.NewPCG(seed, 73))
		w := newWorld("c1", "c2")
		w.crowded, w.zoned, w.reading = seed%3 == 0, seed%2 == 0, true
		for range 60 {
			w.mutate(r)
			if r.IntN(3) == 0 {
				w.acquire(r)
			}
			s := Compile(nil, w.objects(), opt, testTime)
			for key, g := range s.groups.All() {
				for _, cl := range g.claims {
					if g.loses(cl) || rdata.Base(cl.host) != cl.host || cl.kind == api.KindRecord {
						continue
					}
					z := s.Zone(cl.host)
					n, turn := z.search(cl.host, dns.TypeA)
					if turn != nil || n == nil || n.steered.owner != cl {
						continue
					}
					told := g.withheld(cl) != nil
					q := &Query{Name: cl.host, Owner: cl.host, Type: dns.TypeA}
					if given := s.withheld(z, q, n, turn); given != told {
						t.Fatalf("seed %d: group %s host %s of %s %s: told %v, kept back %v", seed, key, cl.host, cl.kind, cl.by.Name, told, given)
					}
				}
			}
		}
	}
}
