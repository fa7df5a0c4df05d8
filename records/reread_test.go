package records

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// reread returns a cluster as it is after its objects were written and read back.
func reread(t *testing.T, c *api.Cluster) *api.Cluster {
	t.Helper()
	again := &api.Cluster{Name: c.Name, UID: c.UID, Listings: c.Listings, ListedIn: c.ListedIn}
	l := api.NewLoader(again)
	var text bytes.Buffer
	for k := range api.NumKinds {
		for object := range c.All(k) {
			text.Reset()
			err := api.Encode(&text, object)
			if err == nil {
				err = l.Add(k, text.Bytes())
			}
			if err != nil {
				t.Fatalf("%s of %+v: %v", text.Bytes(), object, err)
			}
		}
	}
	l.Done()
	return again
}

// TestRereadWorlds: what is compiled of objects that were written and read back is what is
// compiled of the objects themselves, but that no Secret has headers.
func TestRereadWorlds(t *testing.T) {
	for seed := range uint64(30) {
		opt := &Options{Zones: []ZoneOptions{
			{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300, Flatten: seed%2 == 0}, {Origin: "deep.example.com.", TTL: 60},
		}, ProbesOff: seed%4 == 0}
		r := rand.New(rand.NewPCG(seed, 24))
		w := newWorld("c1", "c2")
		w.crowded, w.zoned = seed%3 == 0, seed%2 == 0
		for step := range 120 {
			if w.mutate(r); step%20 != 19 {
				continue
			}
			in := w.objects()
			again := in
			again.Clusters = nil
			for i, c := range in.Clusters {
				own := *c
				own.Share(api.KindSecret, reread(t, c)) // without headers
				in.Clusters[i] = &own
				again.Clusters = append(again.Clusters, reread(t, c))
			}
			if got, want := dump(Compile(nil, again, opt, testTime)), dump(Compile(nil, in, opt, testTime)); got != want {
				t.Fatalf("seed %d step %d: %s", seed, step, differing(got, want))
			}
		}
	}
}
