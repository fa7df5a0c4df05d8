package records

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// dumpMore writes down what dump leaves out: what is counted above unread owners, what is checked for other
// controllers' policies, what is to be kept, and the answers to some queries.
func dumpMore(s *Snapshot, w *world) (text string) {
	for at, n := range s.unread.above.All() {
		text += fmt.Sprintf("above %s %d\n", at, n)
	}
	text += fmt.Sprintf("withholds %v awaited %v complete %v\n", s.withholds, s.awaited, s.complete)
	for _, of := range allParents(w) {
		text += fmt.Sprintf("%v %s\n", of, childrenOf(s, of))
		if of.Of.Kind == api.KindDNSPolicy {
			if v := s.StatusNow(of.Cluster, of.Of.Name); v != nil {
				text += fmt.Sprintf("%v\n", *v)
			}
		}
	}
	kept := make(map[string]api.Owner)
	for key, o := range s.SiteHoldings() {
		kept[key] = o
	}
	for g := range s.Groups() {
		for key, o := range s.Holdings(g) {
			kept[key] = o
		}
	}
	text += fmt.Sprintf("kept %v\n", kept)
	for key, o := range w.acquired.All() {
		gone, known := s.Gone(key, o)
		text += fmt.Sprintf("gone %s %v %v %v\n", key, o, gone, known)
	}
	for _, name := range []string{"a.example.com.", "b.a.example.com.", "x.b.a.example.com.", "deep.example.com.", "x.deep.example.com.", "klb.a.example.com.", "default.klb.a.example.com.", "no.example.com.", "example.com.", "ns1.example.com."} {
		for _, qtype := range []uint16{dns.TypeA, dns.TypeTXT, dns.TypeNS, dns.TypeSOA} {
			text += fmt.Sprintf("%s %d %q\n", name, qtype, gives(s, name, qtype))
		}
	}
	return text
}

// TestUnreadMoreRandom: unread owners, and policies of other controllers, step by step as from nothing, through reloads too;
// nothing is checked once all is gone.
func TestUnreadMoreRandom(t *testing.T) {
	oneGoroutine(t)
	const withChains = false
	for seed := range seeds(t, 60) {
		r := rand.New(rand.NewPCG(seed, 91))
		options := func() *Options {
			opt := &Options{Zones: []ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300, Nameservers: []Nameserver{{Name: "ns1.example.com."}}}}}
			if r.IntN(2) == 0 {
				opt.Zones = append(opt.Zones, ZoneOptions{Origin: "a.example.com.", TTL: 60, LoadBalancedTTL: 300})
			}
			opt.ProbesOff = r.IntN(4) == 0
			if r.IntN(3) == 0 {
				opt.ProbeAllow = mustPrefixes("192.0.2.0/24")
			}
			return opt
		}
		opt := options()
		w := newWorld("c1", "c2")
		w.crowded, w.zoned, w.reading = seed%3 == 0, seed%2 == 0, true
		var snap *Snapshot
		for step := range 50 {
			for range 1 + r.IntN(3) {
				w.mutate(r)
			}
			for range r.IntN(3) {
				p := w.randomPolicy(r)
				p.Provider = pick(r, []api.Provider{{Kind: "ExternalDNS", Name: "x"}, {Kind: "ExternalDNS", Name: "x"}, {}})
				p.HealthCheck = pick(r, someChecks)
				w.setPolicy(r.IntN(2), pick(r, []string{"n1/", "n2/"})+pick(r, someGateways), p)
			}
			if snap != nil && r.IntN(3) == 0 {
				of := pick(r, allParents(w))
				i := 0
				if of.Cluster == "c2" {
					i = 1
				}
				w.writeChildren(snap, i, of.Of)
			}
			if r.IntN(3) == 0 {
				w.acquire(r)
			}
			if r.IntN(3) == 0 {
				name := pick(r, []string{"klb.a.example.com.", "x.klb.a.example.com.", "deep.example.com.", "klb.deep.example.com.", "q.klb.deep.example.com.", "b.a.example.com.", "a.example.com.", "example.com."})
				key := pick(r, []func(string) string{api.ZoneKey, func(n string) string { return n }, func(n string) string { return rdata.Wildcard + n }})(name)
				if nameOf(key) != key && groupKey(name) != name && !withChains {
					key = name // TestUnreadMoreNamesOfAChainUnderAnUnreadZone
				}
				w.acquireAs(key, api.Owner{
					Cluster: pick(r, []string{"c1", "c2", "c3"}), Kind: pick(r, []api.Kind{api.KindDNSPolicy, api.KindZone, api.KindDNSRecord, api.KindDNSEndpoint, api.KindRecord}),
					Name: pick(r, []string{"n1/", "n2/"}) + pick(r, []string{"g1", "g2", "z1", "z2", "e1", "e2"}), Chain: r.IntN(2) == 0, Alone: r.IntN(2) == 0,
				})
			}
			if snap != nil && r.IntN(3) == 0 {
				for g := range snap.Groups() {
					for key, o := range snap.Holdings(g) {
						w.acquireAs(key, o)
					}
				}
			}
			for i := range w.clusters { // `kinds` does not change
				if w.clusters[i].Listings[api.KindSecret] == api.NotWatched {
					w.lackOf(i, api.NotListed, api.KindSecret)
				}
			}
			if r.IntN(12) == 0 {
				opt = options()
			}
			in := w.objects()
			snap = Compile(snap, in, opt, testTime)
			whole := Compile(nil, in, opt, testTime)
			got, want := dump(snap)+dumpMore(snap, w), dump(whole)+dumpMore(whole, w)
			if got != want {
				t.Fatalf("seed %d step %d: %s", seed, step, differing(got, want))
			}
			for key, watched := range snap.checks.all.All() {
				n := 0
				for user := range watched.users.all() {
					_ = user
					n++
				}
				m := 0
				other, _ := whole.checks.all.Get(key)
				for user := range other.users.all() {
					_ = user
					m++
				}
				if watched.users.many.Len() == 0 && other.users.many.Len() == 0 && n != m {
					t.Fatalf("seed %d step %d: %s has %d users, from nothing %d", seed, step, key, n, m)
				}
			}
		}
		for i, c := range w.clusters {
			for name := range c.Policies.All() {
				w.setPolicy(i, name, nil)
			}
			for name := range c.Probes.All() {
				w.setProbe(i, name, nil)
			}
			for name := range c.DNSRecords.All() {
				w.setDNSRecord(i, name, nil)
			}
			for name := range c.DNSEndpoints.All() {
				w.setDNSEndpoint(i, name, nil)
			}
		}
		if snap = Compile(snap, w.objects(), opt, testTime); snap.Checks().Len() != 0 {
			t.Fatalf("seed %d: %d targets are checked when all is gone", seed, snap.Checks().Len())
		}
	}
}
