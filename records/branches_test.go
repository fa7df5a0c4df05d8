package records

import (
	"math/rand/v2"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestBranches compiles what might be beside what is, from one snapshot: neither that one nor what comes
// of it otherwise is another one for it.
func TestBranches(t *testing.T) {
	oneGoroutine(t)
	same := 0
	for seed := range uint64(40) {
		opt := &Options{Zones: []ZoneOptions{
			{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300, Nameservers: []Nameserver{{Name: "ns1.example.com."}}},
			{Origin: "klb.deep.example.com.", TTL: 60, LoadBalancedTTL: 300, Flatten: true},
		}}
		r := rand.New(rand.NewPCG(seed, 80))
		w := newWorld("c1", "c2")
		step := func(w *world) {
			w.mutate(r)
			w.pair(r)
			w.mutateHealth(r)
			w.mutateZones(r, r.IntN(2))
			w.mutateEndpoints(r, r.IntN(2))
		}
		for range 20 {
			step(w)
		}
		snap := Compile(nil, w.objects(), opt, testTime)
		for range 15 {
			before := dump(snap)
			might := w.copied()
			for range 1 + r.IntN(4) {
				step(might)
			}
			branch := Compile(snap, might.objects(), opt, testTime)
			if got := dump(snap); got != before {
				t.Fatalf("seed %d: the snapshot was\n%s\nand is\n%s", seed, before, got)
			}
			same += checkSame(t, branch, snap)
			step(w)
			snap = Compile(snap, w.objects(), opt, testTime)
			if got, want := dump(snap), dump(Compile(nil, w.objects(), opt, testTime)); got != want {
				t.Fatalf("seed %d: after a branch:\n%s\nfrom nothing:\n%s", seed, got, want)
			}
		}
	}
	if same < 1000 {
		t.Errorf("%d names are the same: too few to tell", same)
	}
}

// checkSame checks that names that do not differ are the same.
func checkSame(t *testing.T, a, b *Snapshot) (same int) {
	t.Helper()
	differing := make(map[string]bool)
	for name := range a.Differing(b) {
		differing[name] = true
	}
	for _, z := range a.zones {
		for n := range a.Names(z, "", "") {
			name := dns.Fqdn(n.Name)
			if differing[name] {
				continue
			}
			same++
			x, _ := a.Tree(name)
			y, ok := b.Tree(name)
			if !ok || x.Owner == nil != (y.Owner == nil) || x.Owner != nil && *x.Owner != *y.Owner || x.Addresses != y.Addresses {
				t.Errorf("%s is the same, and is %+v and %+v", name, x, y)
			}
		}
	}
	return same
}

// copied returns a world that goes on from w by itself.
func (w *world) copied() *world {
	next := *w
	next.clusters = append(next.clusters[:0:0], w.clusters...)
	next.changed = append(next.changed[:0:0], w.changed...)
	for i, changed := range w.changed {
		next.changed[i] = make(map[api.Ref]bool)
		for ref := range changed {
			next.changed[i][ref] = true
		}
	}
	return &next
}
