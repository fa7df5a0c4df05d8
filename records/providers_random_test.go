package records

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestDefaultsFollowed: default Secrets come and go, while owners are registered and children written, and Secrets may
// not be listed at times. Step by step as from nothing.
func TestDefaultsFollowed(t *testing.T) {
	oneGoroutine(t)
	kept, back, beside := 0, 0, 0
	for seed := range seeds(t, 60) {
		w, opt := randomWorld(seed)
		r := rand.New(rand.NewPCG(seed, 11))
		var snap *Snapshot
		for step := range 40 {
			for range 1 + r.IntN(2) {
				w.mutate(r)
			}
			for i := range w.clusters {
				w.mutateDefaults(r, i)
				if snap != nil && r.IntN(2) == 0 {
					w.writeAll(snap, i)
					w.register(t, snap)
				}
				if r.IntN(4) == 0 {
					w.setSecret(i, "n1/"+pick(r, someDefaults), nil)
				}
			}
			snap = Compile(snap, w.objects(), opt, testTime)
			whole := Compile(nil, w.objects(), opt, testTime)
			got, want := dump(snap), dump(whole)
			if got != want {
				t.Fatalf("seed %d step %d: %s", seed, step, differing(got, want))
			}
			for _, of := range allParents(w) {
				if got, want := childrenOf(snap, of), childrenOf(whole, of); got != want {
					t.Fatalf("seed %d step %d: children of %v step by step\n%s\nfrom nothing\n%s", seed, step, of, got, want)
				}
			}
			kept += strings.Count(want, "the host is served as before")
			back += strings.Count(want, "which hosts of the policy were published through")
			beside += strings.Count(want, "the zone that it has for")
		}
	}
	if kept == 0 || back == 0 || beside == 0 {
		t.Errorf("hosts were served for a Secret that is gone %d times, and others not %d times; a Secret's zone was not served beside another's %d times: this has tried nothing", kept, back, beside)
	}
}

// writeAll writes the children of all policies of n1.
func (w *world) writeAll(s *Snapshot, cluster int) {
	for _, name := range someGateways {
		w.writeChildren(s, cluster, ofPolicy("n1/"+name))
	}
}

// someDefaults are Secrets that may be the default of n1.
var someDefaults = []string{"provider", "other"}

// mutateDefaults changes a Secret that may be the default, or whether Secrets are listed, or gives a
// policy no reference, or one by labels.
func (w *world) mutateDefaults(r *rand.Rand, cluster int) {
	switch r.IntN(8) {
	case 0, 1, 2:
		s := randomSecret(r)
		if s != nil && r.IntN(3) > 0 {
			s.Labels = map[string]string{"team": "a", api.LabelDefaultProvider: api.DefaultProviderOn}
		}
		w.setSecret(cluster, "n1/"+pick(r, someDefaults), s)
	case 3, 4, 5:
		p := w.randomPolicy(r)
		p.Deleting, p.Invalid, p.UID = false, "", "u1"
		p.Provider = pick(r, []api.Provider{{}, {}, {}, {Selector: labels.SelectorFromSet(labels.Set{"team": "a"})}})
		w.setPolicy(cluster, "n1/"+pick(r, someGateways), p)
	case 6:
		w.secretsListed(cluster, pick(r, []api.Listing{api.Listed, api.Listed, api.NotListed}), pick(r, [][]string{nil, {"n1"}})...)
	}
	if w.clusters[cluster].Listings[api.KindSecret] == api.NotWatched { // a matter of options
		w.secretsListed(cluster, api.Listed)
	}
}

// secretsListed says how Secrets are listed.
func (w *world) secretsListed(cluster int, l api.Listing, in ...string) {
	next := *w.clusters[cluster]
	next.Listings[api.KindSecret], next.ListedIn[api.KindSecret] = l, in
	w.clusters[cluster] = &next
}

// defaultWorld is one policy without a reference, three hosts, and a default Secret that has two
// of them; these are registered, and their children are written.
func defaultWorld(t *testing.T) (*world, *Snapshot) {
	w := newWorld("c")
	w.setGateway(0, "n/gw", gatewayOf([]string{"a.k.example.com", "b.k.example.com", "app.example.com"}, "192.0.2.1"))
	w.setPolicy(0, "n/p", parentOf("gw", "u", api.Simple))
	w.setSecret(0, "n/s", defaultSecret("k.example.com."))
	s := Compile(nil, w.objects(), childOptions, testTime)
	w.register(t, s)
	w.writeChildren(s, 0, ofPolicy("n/p"))
	return w, Compile(s, w.objects(), childOptions, testTime)
}

func defaultSecret(zones ...string) *api.Secret {
	return &api.Secret{Meta: api.Meta{Labels: map[string]string{api.LabelDefaultProvider: api.DefaultProviderOn}}, Provider: api.ProviderSecret{Zones: zones}}
}

// hostsOf returns which of the three hosts of defaultWorld are served.
func hostsOf(s *Snapshot) (served []string) {
	for _, host := range []string{"a.k.example.com", "b.k.example.com", "app.example.com"} {
		if _, ok := s.Owner(host + "."); ok {
			served = append(served, strings.SplitN(host, ".", 2)[0])
		}
	}
	return served
}

// TestFormerDefaultEnds: when a default that does not exist narrows no more, and when it does.
func TestFormerDefaultEnds(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(w *world)
		served []string
		waits  bool
	}{
		{"nothing happens", func(*world) {}, []string{"a", "b"}, false},
		{"a child goes", func(w *world) { w.setDNSRecord(0, "n/gw-l0", nil) }, []string{"a", "b"}, false},
		{"both lines go", func(w *world) { w.writeOwners(nil) }, []string{"a", "b", "app"}, false},
		{"another default that has all hosts", func(w *world) { w.setSecret(0, "n/t", defaultSecret("example.com.")) }, []string{"a", "b", "app"}, false},
		{"another default that has another host", func(w *world) {
			t := defaultSecret("example.com.")
			t.Provider.Domain = "app.example.com."
			w.setSecret(0, "n/t", t)
		}, []string{"a", "b", "app"}, false},
		{"a Secret without the label", func(w *world) { w.setSecret(0, "n/t", providerSecret("example.com.")) }, []string{"a", "b"}, false},
		{"the Secret is there again", func(w *world) { w.setSecret(0, "n/s", defaultSecret("k.example.com.")) }, []string{"a", "b"}, false},
		{"it is there again without the label", func(w *world) { w.setSecret(0, "n/s", providerSecret("k.example.com.")) }, []string{"a", "b", "app"}, false},
		{"the policy refers to another", func(w *world) {
			p := parentOf("gw", "u", api.Simple)
			p.Provider = api.Provider{Kind: "Secret", Name: "t"}
			w.setSecret(0, "n/t", providerSecret("example.com."))
			w.setPolicy(0, "n/p", p)
		}, []string{"a", "b", "app"}, false},
		{"the policy is another one", func(w *world) { w.setPolicy(0, "n/p", parentOf("gw", "v", api.Simple)) }, []string{"a", "b"}, false},
		{"no Secrets are read", func(w *world) { w.secretsListed(0, api.NotWatched) }, []string{"a", "b", "app"}, false},
		{"Secrets cannot be listed", func(w *world) { w.secretsListed(0, api.NotListed) }, nil, true},
		{"they can in the namespace", func(w *world) { w.secretsListed(0, api.NotListed, "n") }, []string{"a", "b"}, false},
		{"they never will be, in another cluster", func(w *world) { w.secretsListed(0, api.NotCounted) }, []string{"a", "b", "app"}, false},
		{"a new host", func(w *world) {
			w.setGateway(0, "n/gw", gatewayOf([]string{"a.k.example.com", "new.k.example.com", "app.example.com"}, "192.0.2.1"))
		}, []string{"a"}, false},
	} {
		w, s := defaultWorld(t)
		w.setSecret(0, "n/s", nil)
		s = Compile(s, w.objects(), childOptions, testTime)
		if got := hostsOf(s); !slices.Equal(got, []string{"a", "b"}) {
			t.Fatalf("without the default, served are %v", got)
		}
		c.change(w)
		s = Compile(s, w.objects(), childOptions, testTime)
		if got := hostsOf(s); !slices.Equal(got, c.served) {
			t.Errorf("%s: served are %v, want %v", c.name, got, c.served)
		}
		if got := s.Waits("c", ofPolicy("n/p")); got != c.waits {
			t.Errorf("%s: it waits: %v, want %v", c.name, got, c.waits)
		}
		if got, want := dump(s), dump(Compile(nil, w.objects(), childOptions, testTime)); got != want {
			t.Errorf("%s: %s", c.name, differing(got, want))
		}
	}
}

// TestFormerDefaultStays: children and lines stay as they are without the default, round after round.
func TestFormerDefaultStays(t *testing.T) {
	w, s := defaultWorld(t)
	before := childrenOf(s, ParentRef{"c", ofPolicy("n/p")})
	w.setSecret(0, "n/s", nil)
	for range 3 {
		s = Compile(s, w.objects(), childOptions, testTime)
		if got := childrenOf(s, ParentRef{"c", ofPolicy("n/p")}); got != before {
			t.Fatalf("the children were\n%s\nand are\n%s", before, got)
		}
		w.writeChildren(s, 0, ofPolicy("n/p"))
		w.register(t, s)
	}
	v := s.Verdict("c", ofPolicy("n/p"))
	if v.TotalRecords != 2 || len(v.Records) != 3 || v.Records[1].Host != "app.example.com" || !strings.Contains(v.Records[1].Conditions[0].Message, "create it, or another default") {
		t.Errorf("the verdict is %+v", v)
	}
}
