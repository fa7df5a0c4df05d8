package records

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

var unreadOptions = &Options{Zones: []ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300}}, Publish: grantAll}

func ownerIn(cluster string, kind api.Kind, name string) api.Owner {
	return api.Owner{Cluster: cluster, Kind: kind, Name: name}
}

// changeReading changes now and then what has been listed of a cluster, where that is to change.
func (w *world) changeReading(r *rand.Rand, cluster int) {
	if !w.reading || r.IntN(4) > 0 {
		return
	}
	switch r.IntN(6) {
	case 0:
		w.expecting = !w.expecting
	case 1:
		w.awaited = nil
		if r.IntN(2) == 0 {
			w.awaited = []*api.Cluster{{Name: "c3", Pools: pick(r, []api.Pools{{}, api.PoolsIn("n1")})}}
		}
	default:
		next := *w.clusters[cluster]
		kind := pick(r, []api.Kind{api.KindGateway, api.KindDNSPolicy, api.KindZone, api.KindRecord, api.KindDNSRecord, api.KindDNSEndpoint})
		next.Listings[kind] = pick(r, []api.Listing{api.Listed, api.Listed, api.NotListed, api.NotCounted})
		next.ListedIn[kind] = nil
		if !next.Knows(kind, "") && r.IntN(2) == 0 {
			next.ListedIn[kind] = []string{"n1"}
		}
		w.clusters[cluster] = &next
	}
}

// lackOf makes a kind of a cluster one that has not been listed.
func (w *world) lackOf(cluster int, l api.Listing, kinds ...api.Kind) {
	next := *w.clusters[cluster]
	for _, k := range kinds {
		next.Listings[k], next.ListedIn[k] = l, nil
	}
	w.clusters[cluster] = &next
}

// gives asks for a name; SERVFAIL says whether that is for what has not been listed.
func gives(s *Snapshot, name string, qtype uint16) string {
	z := s.Zone(name)
	var a Answer
	s.Lookup(z, &Query{Name: name, Owner: name, Type: qtype}, &a)
	switch {
	case a.Rcode == dns.RcodeServerFailure && a.Unlisted:
		return "unlisted"
	case a.Rcode != dns.RcodeSuccess:
		return dns.RcodeToString[a.Rcode]
	case a.Referral:
		return "referral"
	}
	var all []string
	for _, rr := range a.Answer {
		all = append(all, strings.Fields(rr.String())[4])
	}
	return strings.Join(all, " ")
}

// TestOwnerThatCannotBeRead: while it is not known whether the owner on record of a name is
// there, nobody else's data are given for the name, at it and where the owner would have it
// (rules 5.4 and 7.4). They are where the owner is known to be gone, or consents (rule 5.6).
func TestOwnerThatCannotBeRead(t *testing.T) {
	const served = "192.0.2.1"
	simple := func(w *world) { w.gateway("a/p", "app.example.com", api.Simple, 1, api.IPAddress, served) }
	steered := func(w *world) { w.gateway("a/p", "app.example.com", api.WeightedGeo, 1, api.IPAddress, served) }
	owner := func(kind api.Kind, name string) api.Owner { return api.Owner{Cluster: "d", Kind: kind, Name: name} }
	policies := []api.Kind{api.KindGateway, api.KindDNSPolicy}
	lacking := func(w *world) { w.lackOf(1, api.NotListed, policies...) }
	for _, c := range []struct {
		name       string
		has        func(*world)
		key        string
		owner      api.Owner
		reads      func(*world)
		ask        string
		qtype      uint16
		want, then string // then is the answer when all has been listed
	}{
		{"its policies are not listed", simple, "app.example.com.", owner(api.KindDNSPolicy, "b/p"), lacking, "app.example.com.", dns.TypeA, "unlisted", served},
		{"nor counted", simple, "app.example.com.", owner(api.KindDNSPolicy, "b/p"), func(w *world) { w.lackOf(1, api.NotCounted, policies...) }, "app.example.com.", dns.TypeA, "unlisted", served},
		{"listed in another namespace", simple, "app.example.com.", owner(api.KindDNSPolicy, "b/p"), func(w *world) {
			lacking(w)
			w.clusters[1].ListedIn[api.KindGateway], w.clusters[1].ListedIn[api.KindDNSPolicy] = []string{"a"}, []string{"a"}
		}, "app.example.com.", dns.TypeA, "unlisted", served},
		{"listed in its own namespace", simple, "app.example.com.", owner(api.KindDNSPolicy, "b/p"), func(w *world) {
			lacking(w)
			w.clusters[1].ListedIn[api.KindGateway], w.clusters[1].ListedIn[api.KindDNSPolicy] = []string{"b"}, []string{"b"}
		}, "app.example.com.", dns.TypeA, served, served},
		{"another kind is not listed", simple, "app.example.com.", owner(api.KindDNSPolicy, "b/p"), func(w *world) { w.lackOf(1, api.NotListed, api.KindRecord) }, "app.example.com.", dns.TypeA, served, served},
		{"its cluster is named, and has said nothing", simple, "app.example.com.", api.Owner{Cluster: "x", Kind: api.KindDNSPolicy, Name: "b/p"}, func(w *world) { w.awaited = []*api.Cluster{{Name: "x"}} }, "app.example.com.", dns.TypeA, "unlisted", served},
		{"there may be more clusters", simple, "app.example.com.", api.Owner{Cluster: "x", Kind: api.KindDNSPolicy, Name: "b/p"}, func(w *world) { w.expecting = true }, "app.example.com.", dns.TypeA, "unlisted", served},
		{"nothing names its cluster", simple, "app.example.com.", api.Owner{Cluster: "x", Kind: api.KindDNSPolicy, Name: "b/p"}, lacking, "app.example.com.", dns.TypeA, served, served},
		{"another type at a name of a policy", simple, "app.example.com.", owner(api.KindDNSPolicy, "b/p"), lacking, "app.example.com.", dns.TypeTXT, "unlisted", ""},
		{"a name above it exists", func(*world) {}, "app.deep.example.com.", owner(api.KindDNSPolicy, "b/p"), func(w *world) { w.lackOf(1, api.NotCounted, policies...) }, "deep.example.com.", dns.TypeA, "", "NXDOMAIN"},
		{"one object in two clusters", simple, "app.example.com.", owner(api.KindDNSPolicy, "a/p"), lacking, "app.example.com.", dns.TypeA, served, served},
		{"another of the namespace", simple, "app.example.com.", owner(api.KindDNSPolicy, "a/q"), lacking, "app.example.com.", dns.TypeA, "unlisted", served},
		{"another of the namespace, by weight", steered, "app.example.com.", owner(api.KindDNSPolicy, "a/q"), lacking, "app.example.com.", dns.TypeA, "klb.app.example.com. default.klb.app.example.com. " + leafOf("c", "p", "a") + served, "klb.app.example.com. default.klb.app.example.com. " + leafOf("c", "p", "a") + served},
		{"a namespace of that name that does not pool", steered, "app.example.com.", owner(api.KindDNSPolicy, "a/q"), func(w *world) {
			lacking(w)
			w.setPools(1, api.PoolsIn("b"))
		}, "app.example.com.", dns.TypeA, "unlisted", "klb.app.example.com. default.klb.app.example.com. " + leafOf("c", "p", "a") + served},
		{"of its chain", func(*world) {}, "app.example.com.", owner(api.KindDNSPolicy, "b/p"), lacking, "x.klb.app.example.com.", dns.TypeA, "unlisted", "NXDOMAIN"},
		{"nobody else's", func(*world) {}, "app.example.com.", owner(api.KindDNSPolicy, "b/p"), func(w *world) { w.lackOf(1, api.NotCounted, policies...) }, "app.example.com.", dns.TypeA, "unlisted", "NXDOMAIN"},
		{"beside it, nothing is kept back", func(*world) {}, "app.example.com.", owner(api.KindDNSPolicy, "b/p"), func(w *world) { w.lackOf(1, api.NotCounted, policies...) }, "other.example.com.", dns.TypeA, "NXDOMAIN", "NXDOMAIN"},
		{"under a wildcard", func(w *world) { w.gateway("a/p", "*.example.com", api.Simple, 1, api.IPAddress, served) }, "app.example.com.", owner(api.KindDNSPolicy, "b/p"), lacking, "app.example.com.", dns.TypeA, "unlisted", served},
		{"a wildcard on record", func(w *world) { w.gateway("a/p", "*.example.com", api.Simple, 1, api.IPAddress, served) }, "*.app.example.com.", owner(api.KindDNSPolicy, "b/p"), lacking, "y.app.example.com.", dns.TypeA, "unlisted", served},
		{"of a DNSEndpoint", simple, "app.example.com.", owner(api.KindDNSEndpoint, "b/e"), func(w *world) { w.lackOf(1, api.NotListed, api.KindDNSEndpoint) }, "app.example.com.", dns.TypeA, "unlisted", served},
		{"the zone's own Zone", simple, api.ZoneKey("example.com."), owner(api.KindZone, "dns/z"), func(w *world) { w.lackOf(1, api.NotListed, api.KindZone) }, "app.example.com.", dns.TypeA, "unlisted", served},
		{"a Zone below", simple, api.ZoneKey("app.example.com."), owner(api.KindZone, "dns/z"), func(w *world) { w.lackOf(1, api.NotListed, api.KindZone) }, "app.example.com.", dns.TypeA, "unlisted", served},
		{"a Zone beside", simple, api.ZoneKey("sub.example.com."), owner(api.KindZone, "dns/z"), func(w *world) { w.lackOf(1, api.NotListed, api.KindZone) }, "app.example.com.", dns.TypeA, served, served},
		{"at the end of a chain", func(w *world) {
			simple(w)
			w.record("a/r", "www.example.com.", "CNAME", "app.example.com.", 1)
		}, "app.example.com.", owner(api.KindDNSPolicy, "b/p"), lacking, "www.example.com.", dns.TypeA, "unlisted", "app.example.com. " + served},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld("c", "d")
			c.has(w)
			w.acquireAs(c.key, c.owner)
			opt := &Options{Zones: []ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300}}}
			before := Compile(nil, w.objects(), opt, testTime)
			if got := gives(before, c.ask, c.qtype); got != c.then {
				t.Fatalf("all is listed: %q, want %q", got, c.then)
			}
			c.reads(w)
			s := w.step(t, before, opt)
			if got := gives(s, c.ask, c.qtype); got != c.want {
				t.Errorf("the answer is %q, want %q", got, c.want)
			}
			if c.want == "unlisted" && s.Lists(s.Zone("example.com.")) {
				t.Error("a transfer of the zone would lack the name")
			}
			w.awaited, w.expecting = nil, false
			w.lackOf(1, api.Listed, api.KindGateway, api.KindDNSPolicy, api.KindZone, api.KindRecord, api.KindDNSEndpoint)
			if got := gives(w.step(t, s, opt), c.ask, c.qtype); got != c.then {
				t.Errorf("then: %q, want %q", got, c.then)
			}
		})
	}
}

// leafOf names a member's own name below app.example.com, with a space after it.
func leafOf(cluster, name, namespace string) string {
	return endpoint.Hash("uid-"+cluster) + "-" + endpoint.Hash(name+"-"+namespace) + ".klb.app.example.com. "
}

// TestOwnerThatCannotBeReadIsTold: whoever wants a name meanwhile is told whose it is.
func TestOwnerThatCannotBeReadIsTold(t *testing.T) {
	w := newWorld("c", "d")
	w.gateway("a/p", "app.example.com", api.Simple, 1, api.IPAddress, "192.0.2.1")
	w.endpoints("a/e", 1, apiEndpoint("e.example.com.", "A", "192.0.2.2"))
	w.record("a/r", "r.example.com.", "A", "192.0.2.3", 1)
	for _, name := range []string{"app", "e", "r"} {
		w.acquireAs(name+".example.com.", api.Owner{Cluster: "d", Kind: api.KindDNSPolicy, Name: "b/p"})
	}
	w.lackOf(1, api.NotListed, api.KindDNSPolicy)
	opt := &Options{Zones: []ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300}}}
	s := Compile(nil, w.objects(), opt, testTime)
	said := func(s *Snapshot) (all string) {
		for _, ref := range []api.Ref{{Kind: api.KindDNSPolicy, Name: "a/p"}, {Kind: api.KindDNSEndpoint, Name: "a/e"}, {Kind: api.KindRecord, Name: "a/r"}} {
			all += fmt.Sprintf("%+v\n", *s.Verdict("c", ref))
		}
		return all
	}
	for _, want := range []string{
		"Status:False Reason:Unknown Message:DNSPolicy has encountered some issues: \"app.example.com\" is owned by DNSPolicy b/p in cluster \"d\", which is not synced; answering SERVFAIL until it is",
		"Reason:OwnerUnreadable Message:e.example.com: \"e.example.com\" is owned by DNSPolicy b/p",
		"Reason:OwnerUnreadable Message:\"r.example.com\" is owned by DNSPolicy b/p",
	} {
		if got := said(s); !strings.Contains(got, want) {
			t.Errorf("it says\n%s\nwithout %q", got, want)
		}
	}
	w.lackOf(1, api.Listed, api.KindDNSPolicy)
	if s = w.step(t, s, opt); strings.Contains(said(s), "not synced") || len(s.Changed()) != 3 {
		t.Errorf("when all is listed it says\n%s\nchanged are %v", said(s), s.Changed())
	}
}

// TestOwnerThatWaitsForSecrets: a policy that has a host on record waits for its Secret, and
// another one wants the host meanwhile.
func TestOwnerThatWaitsForSecrets(t *testing.T) {
	w := newWorld("c")
	opt := &Options{Zones: []ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300}}}
	w.publish("b/p", "app.example.com", &api.DNSPolicy{Provider: api.Provider{Name: "s"}, Meta: api.Meta{Created: 2}}, "192.0.2.2")
	w.acquireAs("app.example.com.", api.Owner{Cluster: "c", Kind: api.KindDNSPolicy, Name: "b/p"})
	w.lackOf(0, api.NotListed, api.KindSecret)
	w.publish("a/p", "app.example.com", &api.DNSPolicy{Meta: api.Meta{Created: 1}}, "192.0.2.1")
	s := Compile(nil, w.objects(), opt, testTime)
	if got := gives(s, "app.example.com.", dns.TypeA); got != "unlisted" {
		t.Errorf("the answer is %q", got)
	}
	if gone, _ := s.Gone("app.example.com.", api.Owner{Cluster: "c", Kind: api.KindDNSPolicy, Name: "b/p"}); gone {
		t.Error("the owner on record counts as gone")
	}
	w.lackOf(0, api.Listed, api.KindSecret)
	if got := gives(w.step(t, s, opt), "app.example.com.", dns.TypeA); got != "192.0.2.1" {
		t.Errorf("without the Secret the answer is %q", got)
	}
}

// TestUnreadIncremental: what is kept back step by step is what is kept back from nothing, and what
// is told of is what has changed.
func TestUnreadIncremental(t *testing.T) {
	oneGoroutine(t)
	kept := 0
	for seed := range seeds(t, 40) {
		opt := &Options{Zones: []ZoneOptions{
			{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300, Nameservers: []Nameserver{{Name: "ns1.example.com."}}},
		}}
		r := rand.New(rand.NewPCG(seed, 71))
		w := newWorld("c1", "c2")
		w.crowded, w.zoned, w.pooling, w.reading = seed%3 == 0, seed%2 == 0, seed%5 < 2, true
		var snap *Snapshot
		for step := range 60 {
			for range 1 + r.IntN(3) {
				w.mutate(r)
			}
			if r.IntN(3) == 0 {
				w.acquire(r)
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
			for key, cl := range snap.unread.hosts.All() {
				if chainHost("", key) != "" {
					continue // it goes with its host (rule 2.8)
				}
				name := strings.TrimPrefix(key, rdata.Wildcard)
				now, owned := snap.Owner(key)
				switch got := gives(snap, name, dns.TypeA); {
				case name != key:
					askAll(t, snap, name)
				case owned && now.Kind == cl.kind && now.Cluster == cl.by.Cluster && now.Name == cl.by.Name:
				case owned && now.Kind == cl.kind && strings.HasPrefix(now.Name, cl.by.Name[:2]):
				case got == "SERVFAIL": // a loop of CNAMEs
				case got == "referral": // NS records hide the name
				case got != "unlisted":
					t.Fatalf("seed %d step %d: %s, which is on record as %+v's and is %+v's now, is answered with %q", seed, step, key, cl.by, now, got)
				default:
					kept++
				}
			}
		}
	}
	if kept < 100 {
		t.Errorf("%d names were kept back: too few to tell", kept)
	}
}

// TestUnreadManyKeys is TestUnreadIncremental with owners of clusters that are awaited, with chains, cuts and
// policies that wait for Secrets, in several zones of the Corefile.
func TestUnreadManyKeys(t *testing.T) {
	oneGoroutine(t)
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
					Name: pick(r, []string{"n1/", "n2/"}) + pick(r, []string{"g1", "g2", "z1", "z2", "e1", "e2"}),
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

// checkWithheldReported checks that the objects whose names are kept back now, or not any more, are told.
func checkWithheldReported(t *testing.T, before, snap *Snapshot, seed uint64, step int) {
	t.Helper()
	for _, m := range misreported(before, snap) {
		if strings.Contains(m.text, reasonOwnerUnread) {
			t.Errorf("seed %d step %d: reported %v: %s", seed, step, m.reported, m.text)
		}
	}
}

// BenchmarkUnreadChange changes one Gateway while 100,000 owners on record, of one cluster, are read, or
// are not.
func BenchmarkUnreadChange(b *testing.B) {
	for _, l := range []api.Listing{api.Listed, api.NotCounted} {
		b.Run(map[bool]string{true: "read", false: "unread"}[l.Certain()], func(b *testing.B) {
			w := newWorld("c", "d")
			e := w.acquired.Edit()
			for i := range 100_000 {
				e.Set(fmt.Sprintf("h%d.example.com.", i), ownerIn("d", api.KindDNSPolicy, fmt.Sprintf("b/p%d", i)))
			}
			w.acquired = e.Map()
			w.lackOf(1, l, api.KindDNSPolicy)
			s := Compile(nil, w.objects(), unreadOptions, testTime)
			for i := 0; b.Loop(); i++ {
				w.gateway("a/p", "app.example.com", api.Simple, 1, api.IPAddress, fmt.Sprintf("192.0.2.%d", 1+i%200))
				s = Compile(s, w.objects(), unreadOptions, testTime)
			}
		})
	}
}
