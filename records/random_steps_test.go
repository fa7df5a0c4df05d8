package records

import (
	"iter"
	"math/rand/v2"
	"slices"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// RandomSteps yields snapshots of a random world of all kinds, of which everything is listed, each compiled from the one before after one
// change.
func RandomSteps(seed uint64, steps int) iter.Seq[*Snapshot] {
	return func(yield func(*Snapshot) bool) {
		r := rand.New(rand.NewPCG(seed, 83))
		w := newWorld("c1", "c2")
		w.crowded, w.zoned, w.written = seed%3 == 0, seed%4 > 0, true
		opt := worldOptions(seed)
		opt.Zones[0].Flatten = seed%5 == 1
		var snap *Snapshot
		for i := range 40 + steps {
			overrides := w.overrides
			switch {
			case i == 39:
				w.setDNSEndpoint(0, "n1/beneath", &api.DNSEndpoint{Endpoints: []api.Endpoint{
					apiEndpoint("one.example.com.", "A", "192.0.2.1"), apiEndpoint("x.klb.one.example.com.", "A", "192.0.2.7"), apiEndpoint("lead.example.com.", "CNAME", "x.klb.one.example.com."),
				}})
			case i > 40 && r.IntN(3) > 0:
				w.tweakEndpoint(r)
			default:
				w.mutate(r)
			}
			if i > 40 && seed%2 == 0 {
				w.overrides = overrides // which would change something at each step
			}
			for j, c := range w.clusters {
				listed := *c
				for k := range listed.Listings {
					listed.Listings[k], listed.ListedIn[k] = api.Listed, nil
				}
				w.clusters[j] = &listed
			}
			if i < 40 {
				continue
			}
			if snap = Compile(snap, w.objects(), opt, testTime); !yield(snap) {
				return
			}
		}
	}
}

// tweakEndpoint changes one thing of one endpoint.
func (w *world) tweakEndpoint(r *rand.Rand) {
	i := r.IntN(len(w.clusters))
	tweak := func(all []api.Endpoint) []api.Endpoint {
		if all = slices.Clone(all); len(all) > 0 {
			switch e := &all[r.IntN(len(all))]; {
			case r.IntN(2) == 0:
				e.TTL = int64(r.IntN(3) * 100)
			case e.Type == "A":
				e.Targets = []string{pick(r, []string{"192.0.2.1", "192.0.2.9"})}
			case e.Weight > 0:
				e.Weight = int64(1 + r.IntN(3))
			}
		}
		return all
	}
	if r.IntN(2) == 0 {
		if name, was := anyOf(r, w.clusters[i].DNSRecords.All()); was != nil {
			is := *was
			is.Endpoints = tweak(was.Endpoints)
			w.setDNSRecord(i, name, &is)
		}
		return
	}
	if name, was := anyOf(r, w.clusters[i].DNSEndpoints.All()); was != nil {
		is := *was
		is.Endpoints = tweak(was.Endpoints)
		w.setDNSEndpoint(i, name, &is)
	}
}

// anyOf returns one of the objects; nil where there is none.
func anyOf[T any](r *rand.Rand, all iter.Seq2[string, *T]) (name string, object *T) {
	n := 0
	for k, o := range all {
		if n++; r.IntN(n) == 0 {
			name, object = k, o
		}
	}
	return name, object
}
