package records

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestLosses counts names with data in a world with one object of each kind that has some.
func TestLosses(t *testing.T) {
	opt := &Options{Zones: []ZoneOptions{
		{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300, Nameservers: []Nameserver{{Name: "ns1.example.com."}}},
	}}
	w := newWorld("c")
	w.setGateway(0, "n1/g", &api.Gateway{
		Listeners: []api.Listener{{Name: "a", Hostname: "a.b.example.com", AttachedRoutes: 1}, {Name: "b", Hostname: "*.b.example.com", AttachedRoutes: 1}},
		Addresses: []api.Address{{Type: api.IPAddress, Value: "192.0.2.1"}},
	})
	w.setPolicy(0, "n1/p", &api.DNSPolicy{Target: api.Target{Name: "g"}, Strategy: api.WeightedGeo, DefaultWeight: 1})
	w.setZone(0, "n1/z", &api.Zone{DomainName: "z.example.com.", Delegations: []api.Delegation{{Records: []api.RecordDelegation{{Pattern: "*"}}}}})
	w.setRecord(0, "n1/r", &api.Record{DomainName: "r.z.example.com.", Type: "A", Class: "IN", TTL: api.NoTTL, RData: "192.0.2.2"})
	before := Compile(nil, w.objects(), opt, testTime)
	all := []string{"*.b.example.com.", "a.b.example.com."}
	for _, name := range append(slices.Clone(all), "r.z.example.com.") {
		if !before.hasData(name) {
			t.Errorf("%s has no data", name)
		}
	}
	for _, name := range []string{"example.com.", "ns1.example.com.", "b.example.com.", "klb.a.b.example.com.", "z.example.com.", "elsewhere."} {
		if before.hasData(name) {
			t.Errorf("%s has data", name)
		}
	}
	w.setPolicy(0, "n1/p", nil)
	w.setRecord(0, "n1/r", nil)
	after := Compile(before, w.objects(), opt, testTime)
	got := before.Losses(after)
	want := map[string]Loss{"example.com.": {2, 2}, "z.example.com.": {1, 1}}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if again := before.Losses(before); len(again) > 0 {
		t.Errorf("from itself: %v", again)
	}
}

// TestCompileTwice compiles from one snapshot what comes next, and before that something
// else, as the guard does (rule 8.5): neither sees anything of the other.
func TestCompileTwice(t *testing.T) {
	oneGoroutine(t)
	for seed := range seeds(t, 40) {
		opt := &Options{Zones: []ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300, Nameservers: []Nameserver{{Name: "ns1.example.com."}}}}}
		r := rand.New(rand.NewPCG(seed, 85))
		w := newWorld("c1", "c2")
		w.zoned = seed%2 == 0
		var snap *Snapshot
		for range 40 {
			for range 1 + r.IntN(3) {
				w.mutate(r)
			}
			in := w.objects()
			if snap != nil {
				other := lessObject(in, pickRef(r, in))
				tried := Compile(snap, other, opt, testTime)
				if got, want := dump(tried), dump(Compile(nil, other, opt, testTime)); got != want {
					t.Fatalf("seed %d, tried: %s", seed, differing(got, want))
				}
			}
			before := snap
			snap = Compile(snap, in, opt, testTime)
			if got, want := dump(snap), dump(Compile(nil, in, opt, testTime)); got != want {
				t.Fatalf("seed %d: %s", seed, differing(got, want))
			}
			if before != nil {
				checkSerials(t, before, snap)
			}
		}
	}
}

// located is an object of the cluster with that index.
type located struct {
	cluster int
	ref     api.Ref
}

// pickRef returns any object of in.
func pickRef(r *rand.Rand, in api.Objects) located {
	var all []located
	for i, c := range in.Clusters {
		for k := range api.NumKinds {
			for name := range c.Names(k, "") {
				all = append(all, located{i, api.Ref{Kind: k, Name: name}})
			}
		}
	}
	if len(all) == 0 {
		return located{}
	}
	return pick(r, all)
}

// lessObject returns in less one object.
func lessObject(in api.Objects, at located) api.Objects {
	in.Clusters = slices.Clone(in.Clusters)
	c := *in.Clusters[at.cluster]
	c.Adopt(at.ref.Kind, new(api.Cluster), slices.Values([]string{at.ref.Name}))
	if !slices.Contains(c.Changed, at.ref) {
		c.Changed = append(slices.Clip(c.Changed), at.ref)
	}
	in.Clusters[at.cluster] = &c
	return in
}
