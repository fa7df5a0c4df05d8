package engine

import (
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/source"
)

// clusters are those of which something is known, with the feeds that read them. Any goroutine may use it.
type clusters struct {
	*life
	mu sync.Mutex // guards what follows
	// feeds are those of the Corefile, in its order, and those of Secrets, in the order of their age.
	feeds   []*feed
	secrets secrets
	// known are the clusters of which something is known, or a feed has told the UID.
	known []*cluster
	// problems say what is wrong with feeds, by what these are.
	problems map[string]string
	// selection is that of the Corefile, deny takes the API servers that no check may go to; nil for nobody.
	selection string
	deny      func(servers []string)
}

// take processes what the source of a feed has published.
func (a *clusters) take(f *feed, c *api.Cluster) {
	a.mu.Lock()
	if slices.Contains(a.feeds, f) {
		own := *c
		a.learn(f, c.UID)
		own.UID, f.last = f.uid, &own
		if feeds := a.feedsOf(f.uid); slices.Contains(feeds, f) {
			a.cluster(f.uid).merge(feeds, f)
		}
		a.settle()
	}
	a.mu.Unlock()
	a.wake.ring()
}

// learn takes in which cluster a feed says that it reads. The name stands in for a UID that the API server refuses, and does
// so for good where nothing else was known (docs/decisions/0010). The caller holds mu.
func (a *clusters) learn(f *feed, uid string) {
	at := a.cluster(f.uid)
	switch {
	case f.uid == uid || f.uid != "" && uid == f.name || f.uid == f.name && f.uid != "" && (at == nil || !at.fromState()):
		return
	case f.uid == f.name && f.uid != "" && a.cluster(uid) == nil: // what the state has was read when the UID was refused
		same := *at.now
		same.UID, same.Epoch = uid, epochs.Add(1)
		at.now = &same
	case at != nil: // another cluster is there now
		at.awaits = append(at.awaits, f)
	}
	f.uid = uid
	if a.cluster(uid) == nil {
		a.known = append(a.known, newCluster(uid, f.name))
	}
}

// cluster returns what is known of a cluster; nil for nothing. The caller holds mu.
func (a *clusters) cluster(uid string) *cluster {
	if i := slices.IndexFunc(a.known, func(c *cluster) bool { return c.now.UID == uid }); i >= 0 && uid != "" {
		return a.known[i]
	}
	return nil
}

// feedsOf returns the feeds of a cluster, in order. A Secret's never stands in for one of the Corefile. The caller holds
// mu.
func (a *clusters) feedsOf(uid string) (feeds []*feed) {
	for _, f := range a.feeds {
		if f.uid == uid && uid != "" && (f.of == nil || len(feeds) == 0 || feeds[0].of != nil) {
			feeds = append(feeds, f)
		}
	}
	return feeds
}

// settle decides which clusters exist, what belongs to them, and who writes to them. The caller holds mu.
func (a *clusters) settle() {
	a.known = slices.DeleteFunc(a.known, func(c *cluster) bool {
		feeds := a.feedsOf(c.now.UID)
		if len(feeds) > 0 {
			if c.awaits = nil; !slices.Equal(feeds, c.feeds) {
				c.merge(feeds, nil)
			}
			return false
		}
		c.feeds = nil
		return !a.mayBeNamed(c) && !slices.ContainsFunc(c.awaits, func(f *feed) bool {
			return slices.Contains(a.feeds, f) && (f.last == nil || !replaces(f.last, c.now))
		})
	})
	for _, f := range a.feeds {
		first := f.writesRegistry
		if feeds := a.feedsOf(f.uid); len(feeds) > 0 {
			first = feeds[0] == f
		}
		a.letWrite(f, first)
	}
	a.note()
}

// recognize gives a new feed the UID of the known cluster that has its name, came from the same server and by the same way, Corefile
// or Secret. It reports whether there is one. The caller holds mu.
func (a *clusters) recognize(f *feed) (recognized bool) {
	for _, c := range a.known {
		if c.now.Name == f.name && c.identity == f.source.Identity() && c.bySecret == (f.of != nil) {
			f.uid = c.now.UID
			return true
		}
	}
	return false
}

// isServed reports whether answers hold the objects of a cluster. A new cluster waits while one that it replaces stays until the
// feeds of the new one have listed as much. The caller holds mu.
func (a *clusters) isServed(c *cluster) bool {
	return c.compiled || !slices.ContainsFunc(a.known, func(o *cluster) bool {
		return o != c && slices.ContainsFunc(o.awaits, func(f *feed) bool { return slices.Contains(c.feeds, f) })
	})
}

// next returns what is to be compiled now, but for what is kept and overridden: its clusters are sorted by name, with those of the
// Corefile of which nothing is known. from says where they come from, p is what is published of them. The caller holds the engine's
// compiling: what has changed is told once.
func (a *clusters) next() (in api.Objects, from map[string]origins, p *Publication) {
	a.mu.Lock()
	defer a.mu.Unlock()
	from, p = make(map[string]origins), new(Publication)
	for _, c := range a.known {
		if !a.isServed(c) {
			continue
		}
		name := c.now.Name
		var of origins
		for k := range of {
			of[k] = c.kinds[k].origin
		}
		from[name], in.Clusters, c.compiled = of, append(in.Clusters, c.now), true
		if c.fromState() {
			p.FromState = append(p.FromState, name)
		}
		if c.bySecret {
			p.bySecret = append(p.bySecret, name)
		}
		if len(c.now.Changed) > 0 {
			same := *c.now // nothing new here after this
			same.Changed, same.Inferred = nil, nil
			c.now = &same
		}
	}
	for _, f := range a.feeds {
		if f.of == nil && !slices.ContainsFunc(in.Clusters, func(c *api.Cluster) bool { return c.Name == f.name || f.uid != "" && c.UID == f.uid }) {
			in.Clusters = append(in.Clusters, &api.Cluster{Name: f.name})
		}
	}
	byName := func(a, b *api.Cluster) int { return strings.Compare(a.Name, b.Name) }
	slices.SortFunc(in.Clusters, byName)
	slices.Sort(p.FromState)
	p.listed = !slices.ContainsFunc(a.feeds, func(f *feed) bool { return f.last == nil || !f.last.Complete() })
	in.Awaited, in.Unsure, in.Expecting = a.unread(), a.secrets.follow != nil && !a.secrets.listed, a.secrets.expecting.Load()
	slices.SortFunc(in.Awaited, byName)
	return in, from, p
}

// Reading yields the name of every feed, and what its source says of itself.
func (a *clusters) Reading() iter.Seq2[string, *source.Stats] {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := make(map[string]*source.Stats, len(a.feeds))
	for _, f := range a.feeds {
		all[f.name] = f.stats
	}
	return maps.All(all)
}
