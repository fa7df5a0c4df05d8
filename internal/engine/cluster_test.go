package engine

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// someKinds are the kinds of which clusterWorld has objects.
var someKinds = []api.Kind{api.KindGateway, api.KindDNSPolicy, api.KindProbe}

// clusterWorld is a cluster whose feeds list kinds in any order, go and come back.
type clusterWorld struct {
	*testing.T
	r     *rand.Rand
	at    *cluster
	feeds []*feed
	n     int // how many feeds there were
	// want is what the rule says of each kind: where it comes from, and the addresses by name. seen is what somebody knows
	// who looks at what has changed alone.
	want  map[api.Kind]map[string]string
	from  map[api.Kind]*feed
	seen  map[api.Kind]map[string]string
	epoch uint64
	story []string
}

// TestClusterProperty: whatever feeds do, for each kind the first of them that has listed it answers, and what was known last
// stands in until one has, with what the first feed has of it and less what that reports to be gone. All objects
// are those of a cluster with the name and the pools of the first feed, and what has changed is told.
func TestClusterProperty(t *testing.T) {
	for seed := range uint64(300) {
		w := &clusterWorld{
			T: t, r: rand.New(rand.NewPCG(seed, 1)), at: newCluster("u", "c"),
			want: make(map[api.Kind]map[string]string), from: make(map[api.Kind]*feed), seen: make(map[api.Kind]map[string]string),
		}
		for range 40 {
			w.step()
			w.check()
			if t.Failed() {
				t.Fatalf("seed %d: %s", seed, strings.Join(w.story, "; "))
			}
		}
	}
}

func (w *clusterWorld) tell(format string, args ...any) {
	w.story = append(w.story, fmt.Sprintf(format, args...))
}

func (w *clusterWorld) step() {
	switch n := w.r.IntN(10); {
	case len(w.feeds) == 0 || n == 0 && len(w.feeds) < 3:
		w.n++
		f := &feed{name: fmt.Sprintf("f%d", w.n), of: secretOf(fmt.Sprintf("f%d", w.n), "e")}
		f.source = &fakeSource{name: f.name}
		if w.r.IntN(2) == 0 {
			f.pools = api.PoolsIn("a")
		}
		w.feeds = slices.Insert(w.feeds, w.r.IntN(len(w.feeds)+1), f)
		w.tell("%s comes: %v", f.name, w.names())
		w.merge(nil)
	case n == 1 && len(w.feeds) > 1:
		i := w.r.IntN(len(w.feeds))
		w.tell("%s goes", w.feeds[i].name)
		w.feeds = slices.Delete(w.feeds, i, i+1)
		w.merge(nil)
	default:
		f := w.feeds[w.r.IntN(len(w.feeds))]
		w.publish(f)
		w.merge(f)
	}
}

func (w *clusterWorld) names() (all []string) {
	for _, f := range w.feeds {
		all = append(all, f.name)
	}
	return all
}

// publish has a feed publish something: some kinds are listed, others in a namespace alone, others not at all. What was listed
// stays so.
func (w *clusterWorld) publish(f *feed) {
	before := f.last
	if before == nil {
		before = new(api.Cluster)
	}
	c := *before
	c.Name, c.UID, c.Pools, c.Changed, c.Inferred = f.name, "u", f.pools, nil, nil
	for _, k := range someKinds {
		if before.Listings[k] != api.Listed {
			switch w.r.IntN(3) {
			case 0:
				c.Listings[k], c.ListedIn[k] = api.Listed, nil
			case 1:
				c.ListedIn[k] = []string{"a"}
			}
		}
		for _, name := range []string{"a/x", "a/y", "b/x", "b/y"} {
			ns, _, _ := strings.Cut(name, "/")
			if c.Knows(k, ns) && (w.r.IntN(3) == 0 || !before.Knows(k, ns)) {
				put(&c, k, name, f, fmt.Sprint(w.r.IntN(4)))
				c.Changed = append(c.Changed, api.Ref{Kind: k, Name: name})
			}
		}
	}
	f.last = &c
	w.tell("%s: %s", f.name, contentsOf(&c))
}

// put gives c an object of a kind with an address; "0" is none. The tree descends from that before.
func put(c *api.Cluster, k api.Kind, name string, f *feed, address string) {
	meta := api.Meta{Name: name, Cluster: f.name, UID: address}
	f.pools.Mark(&meta)
	with := new(api.Cluster)
	if address != "0" {
		switch k {
		case api.KindGateway:
			edit := with.Gateways.Edit()
			edit.Set(name, &api.Gateway{Meta: meta})
			with.Gateways = edit.Map()
		case api.KindDNSPolicy:
			edit := with.Policies.Edit()
			edit.Set(name, &api.DNSPolicy{Meta: meta})
			with.Policies = edit.Map()
		default:
			edit := with.Probes.Edit()
			edit.Set(name, &api.HealthCheckProbe{Meta: meta})
			with.Probes = edit.Map()
		}
	}
	c.Adopt(k, with, slices.Values([]string{name}))
}

// contents returns what c has of a kind, by name.
func contents(c *api.Cluster, k api.Kind) map[string]string {
	all := make(map[string]string)
	for name := range c.Names(k, "") {
		all[name] = c.MetaOf(api.Ref{Kind: k, Name: name}).UID
	}
	return all
}

func contentsOf(c *api.Cluster) (text string) {
	for _, k := range someKinds {
		text += fmt.Sprintf("%s %d %v %v ", k, c.Listings[k], c.ListedIn[k], contents(c, k))
	}
	return text
}

// merge merges, and does by the rule what that should do.
func (w *clusterWorld) merge(news *feed) {
	w.at.merge(slices.Clone(w.feeds), news)
	for _, k := range someKinds {
		i := slices.IndexFunc(w.feeds, func(f *feed) bool { return f.last != nil && f.last.Listings[k] == api.Listed })
		if i >= 0 {
			w.want[k], w.from[k] = contents(w.feeds[i].last, k), w.feeds[i]
			continue
		}
		w.from[k] = nil
		i = slices.IndexFunc(w.feeds, func(f *feed) bool { return f.last != nil })
		if i < 0 {
			continue
		}
		all := maps.Clone(w.want[k])
		if all == nil {
			all = make(map[string]string)
		}
		if w.feeds[i] == news {
			for name := range changedOfKind(news.last, k) {
				delete(all, name)
			}
		}
		maps.Copy(all, contents(w.feeds[i].last, k))
		w.want[k] = all
	}
}

func (w *clusterWorld) check() {
	c := w.at.now
	if c.Name != w.feeds[0].name || !c.Pools.Equal(w.feeds[0].pools) {
		w.Errorf("the cluster is called %q and pools in %v", c.Name, c.Pools)
	}
	for _, k := range someKinds {
		got := contents(c, k)
		if !maps.Equal(got, w.want[k]) {
			w.Errorf("%s: %v, want %v", k, got, w.want[k])
		}
		if (w.from[k] != nil) != (w.at.kinds[k].from != nil) {
			w.Errorf("%s: %v answers", k, w.at.kinds[k].from)
		}
		for name := range c.Names(k, "") {
			m := c.MetaOf(api.Ref{Kind: k, Name: name})
			ns, _, _ := strings.Cut(name, "/")
			if m.Cluster != c.Name || m.Apart == c.Pools.Has(ns) {
				w.Errorf("%s %s is of the cluster %q, apart %v", k, name, m.Cluster, m.Apart)
			}
		}
		if c.Epoch != w.epoch {
			w.seen[k] = got
		}
		for _, ref := range c.Changed {
			if is, ok := got[ref.Name]; ref.Kind == k && ok {
				w.seen[k][ref.Name] = is
			} else if ref.Kind == k {
				delete(w.seen[k], ref.Name)
			}
		}
		if !maps.Equal(w.seen[k], got) {
			w.Errorf("%s: who looks at what has changed has %v, and there is %v", k, w.seen[k], got)
		}
	}
	w.epoch = c.Epoch
	if w.r.IntN(2) == 0 { // it was compiled
		next := *c
		next.Changed, next.Inferred = nil, nil
		w.at.now = &next
	}
}

// TestReloadSharesNoTree: the old source may edit its trees while the new engine
// completes what its own source has published.
func TestReloadSharesNoTree(t *testing.T) {
	f := &fakeSource{name: "c", place: "api"}
	old := f.cluster(hosts{"a": "192.0.2.1"})
	at := newCluster("api", "c")
	first := &feed{name: "c", source: f, last: old}
	at.merge([]*feed{first}, first)
	var source sync.WaitGroup
	source.Go(func() {
		old.Gateways.Edit()
		old.Policies.Edit()
	})
	again := &feed{name: "c", source: f, last: &api.Cluster{Name: "c", UID: "api"}}
	at.merge([]*feed{again}, again)
	source.Wait()
	c := at.now
	if c.Gateways.Len() != 1 || c.Policies.Len() != 1 {
		t.Errorf("%d Gateways and %d policies, want 1 of each", c.Gateways.Len(), c.Policies.Len())
	}
}
