package records

import (
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// moreEndpoints changes an object with endpoints on few names: of codes and weights, on
// the host, its wildcard, klb and below.
func (w *world) moreEndpoints(r *rand.Rand) {
	h := "a.example.com."
	names := []string{h, "*." + h, "klb." + h, "ie.klb." + h, "one.klb." + h, "two.klb." + h, "b." + h, "_owner-a-a.example.com.", "_owner-cname-a.example.com.", "ns.example.com."}
	var all []api.Endpoint
	for range r.IntN(8) {
		ep := api.Endpoint{DNSName: pick(r, names), Type: pick(r, []string{"CNAME", "CNAME", "CNAME", "A", "AAAA", "TXT", "DNAME", "NS"}), TTL: int64(r.IntN(3) * 60), Weight: api.NoWeight}
		switch ep.Type {
		case "CNAME":
			ep.Targets = []string{pick(r, append(names, "lb.example.net."))}
		case "A":
			ep.Targets = []string{pick(r, []string{"192.0.2.1", "192.0.2.2", "192.0.2.77"})}
		case "AAAA":
			ep.Targets = []string{"2001:db8::77"}
		case "TXT":
			ep.Targets = []string{pick(r, []string{"text", `"text"`, `"te" "xt"`})}
		case "DNAME":
			ep.Targets = []string{"example.net."}
		case "NS":
			ep.Targets = []string{"ns.example.net."}
		}
		if r.IntN(2) == 0 {
			ep.SetID, ep.Weight = pick(r, []string{"s1", "s2", "s3"}), int64(r.IntN(3))
		}
		if r.IntN(3) == 0 {
			ep.Geo = pick(r, []string{"*", "IE", "US", "UK"})
		}
		ep.Index = len(all)
		all = append(all, ep)
	}
	name := pick(r, []string{"n1/", "n1/", "n2/"}) + pick(r, []string{"e1", "e2", "e3", "e4"})
	if r.IntN(2) == 0 {
		var e *api.DNSEndpoint
		if r.IntN(6) > 0 {
			e = &api.DNSEndpoint{Endpoints: all}
			e.Created = int64(r.IntN(5))
		}
		w.setDNSEndpoint(r.IntN(2), name, e)
		return
	}
	var rec *api.DNSRecord
	if r.IntN(6) > 0 {
		rec = &api.DNSRecord{RootHost: pick(r, []string{h, "*." + h, "example.com."}), Endpoints: all}
		rec.Created = int64(r.IntN(5))
		rec.Labels = map[string]string{api.LabelZoneName: "example.com"}
		if r.IntN(3) == 0 {
			rec.HealthCheck = pick(r, someChecks)
		}
	}
	w.setDNSRecord(r.IntN(2), name, rec)
}

// TestReviewEndpointWorlds: in worlds with many endpoints on few names, what is compiled step by step is
// what is compiled from nothing, and journals lead from one transfer to the next.
func TestReviewEndpointWorlds(t *testing.T) {
	oneGoroutine(t)
	fails := 0
	for seed := range seeds(t, 12) {
		r := rand.New(rand.NewPCG(seed, 3333))
		w := newWorld("c1", "c2")
		w.crowded, w.zoned = true, true
		opt := worldOptions(seed)
		if seed%2 == 0 {
			opt.Zones[0].OwnerTXT = "_owner-"
		}
		if seed%3 == 0 {
			opt.Zones[0].Nameservers = nil
		}
		if seed%5 == 1 {
			opt.Zones[0].Flatten = true
		}
		tell := opt.Zones[0]
		p := make(published)
		snap := Compile(nil, w.objects(), opt, testTime)
		p.note(t, snap, 1)
		for step := range 60 {
			for range 1 + r.IntN(3) {
				if r.IntN(3) > 0 {
					w.moreEndpoints(r)
				} else {
					w.mutate(r)
				}
				if r.IntN(12) == 0 {
					w.overrides = overridesOf(t, pick(r, []string{"cluster c1 down", "cluster c2 drain", "target 192.0.2.1 down", ""}))
				}
			}
			before := snap
			if r.IntN(10) == 0 {
				o := *opt
				o.Zones = append([]ZoneOptions(nil), opt.Zones...)
				o.Zones[0] = tell
				if r.IntN(2) == 0 {
					o.Zones[0].OwnerTXT = pick(r, []string{"", "_owner-"})
				}
				opt = &o
			}
			snap = Compile(snap, w.objects(), opt, testTime.Add(time.Duration(r.IntN(40))*time.Hour))
			p.note(t, snap, 1)
			checkReach(t, before, snap)
			p.check(t, snap)
			whole := Compile(nil, w.objects(), opt, testTime)
			if got, want := dump(snap), dump(whole); got != want {
				t.Errorf("seed %d step %d: %s", seed, step, differing(got, want))
				fails++
				break
			}
			for i, z := range snap.zones {
				if got, want := contentOf(t, z), contentOf(t, whole.zones[i]); !maps.Equal(got, want) {
					t.Fatalf("seed %d, zone %s: step by step %v, from nothing %v", seed, z.origin, got, want)
				}
				for name := range z.names.All() {
					askAll(t, snap, name)
				}
			}
		}
		if fails > 2 {
			t.FailNow()
		}
	}
}
