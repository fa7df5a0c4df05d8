package records

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestReviewChangedIsComplete: in random worlds, Changed names each object whose verdict
// differs from that before, and no other.
func TestReviewChangedIsComplete(t *testing.T) {
	kinds := map[string]int{}
	for seed := range uint64(30) {
		opt := &Options{Zones: []ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300}}}
		if seed%3 == 1 {
			opt.Zones[0].OwnerTXT = "_owner-"
		}
		r := rand.New(rand.NewPCG(seed, 21))
		w := newWorld("c1", "c2")
		w.zoned = true
		var snap *Snapshot
		for step := range 60 {
			for range 1 + r.IntN(3) {
				w.mutate(r)
			}
			before := snap
			if r.IntN(20) == 0 { // a reload
				o := *opt
				opt = &o
			}
			snap = Compile(snap, w.objects(), opt, testTime)
			if before == nil {
				continue
			}
			for _, m := range misreported(before, snap) {
				what := fmt.Sprintf("%s reported %v reload %v", m.ref.Kind, m.reported, before.opt != snap.opt)
				if kinds[what]++; kinds[what] <= 2 && !strings.Contains(m.text, reasonMismatch) {
					t.Errorf("seed %d step %d: %s %s", seed, step, what, m.text)
				}
			}
		}
	}
	t.Log(kinds)
}

// misreport is an object whose verdict differs, and which is not among those that have changed, or
// the other way round.
type misreport struct {
	ref      api.Ref
	reported bool
	text     string
}

// misreported returns them of a snapshot and the one before.
func misreported(before, snap *Snapshot) (all []misreport) {
	reported := make(map[string]bool)
	for _, c := range snap.Changed() {
		reported[c.Cluster+" "+fmt.Sprint(c.Ref)] = true
	}
	for i, c := range snap.in.Clusters {
		for _, kind := range []api.Kind{api.KindZone, api.KindRecord, api.KindDNSRecord, api.KindDNSEndpoint, api.KindDNSPolicy} {
			names := make(map[string]bool)
			for name := range c.Names(kind, "") {
				names[name] = true
			}
			for name := range before.in.Clusters[i].Names(kind, "") {
				names[name] = true
			}
			for name := range names {
				ref := api.Ref{Kind: kind, Name: name}
				was, is := before.Verdict(c.Name, ref), snap.Verdict(c.Name, ref)
				differ := (was == nil) != (is == nil) || was != nil && !was.Equal(is)
				if told := reported[c.Name+" "+fmt.Sprint(ref)]; differ != told {
					all = append(all, misreport{ref, told, fmt.Sprintf("%s %s\nwas %+v\nis  %+v", kind, name, was, is)})
				}
			}
		}
	}
	return all
}

// TestReviewIncremental is TestIncremental with worlds that it does not reach: zones at
// the names of owners' TXT records and of chains, the root as a zone, equal Zones.
func TestReviewIncremental(t *testing.T) {
	oneGoroutine(t)
	zones, owners := someZones, someOwners
	defer func() { someZones, someOwners = zones, owners }()
	type of = struct{ domain, parent string }
	failed := map[string]int{}
	for seed := range uint64(24) {
		origin := "example.com."
		if seed%4 == 3 {
			origin = "."
		}
		opt := &Options{Zones: []ZoneOptions{{Origin: origin, TTL: 60, LoadBalancedTTL: 300}}}
		if seed%2 == 1 {
			opt.Zones = append(opt.Zones, ZoneOptions{Origin: "a.example.com.", TTL: 60, LoadBalancedTTL: 300, Nameservers: []Nameserver{{Name: "ns1.a.example.com."}}})
		}
		someZones = append(zones[:len(zones):len(zones)], of{"default.klb.a.example.com.", ""}, of{"x.klb.a.example.com.", ""}, of{"b.a.example.com.", ""},
			of{"com.", ""}, of{".", ""}, of{"x", "n1/z2"}, of{"example.com.", ""}, of{"example.com.", ""})
		someOwners = append(owners[:len(owners):len(owners)], of{"*.", ""}, of{".", ""}, of{"com.", ""}, of{"*.com.", ""}, of{`x\.y.a.example.com.`, ""}, of{"*.klb.a.example.com.", ""},
			of{"default.klb.a.example.com.", ""}, of{"z.default.klb.a.example.com.", ""}, of{"*.b.a.example.com.", ""}, of{"*.*.a.example.com.", ""}, of{"x.*.a.example.com.", ""})
		r := rand.New(rand.NewPCG(seed, 31))
		w := newWorld("c1", "c2", "c3")
		w.crowded, w.zoned = seed%3 == 0, true
		if seed%5 == 0 {
			opt.Publish = []Publish{{Domain: "example.com.", Namespaces: []string{"n1"}}, {Domain: "klb.a.example.com.", Namespaces: []string{"n2"}}}
		}
		var snap *Snapshot
		for step := range 60 {
			for range 1 + r.IntN(3) {
				w.mutate(r)
			}
			snap = Compile(snap, w.objects(), opt, testTime)
			whole := Compile(nil, w.objects(), opt, testTime)
			if got, want := dump(snap), dump(whole); got != want {
				t.Errorf("seed %d step %d: %s", seed, step, differing(got, want))
				failed["incremental"]++
				break
			}
			for _, z := range snap.zones {
				for name := range z.names.All() {
					askAll(t, snap, name)
				}
			}
		}
		if failed["incremental"] > 3 {
			t.Fatal("and so on")
		}
	}
}
