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

// clusters are the known clusters, with the feeds that read them. Any goroutine may use it.
type clusters struct {
	*life
	mu sync.Mutex // guards what follows
	// feeds are the Corefile's, in its order, then those of Secrets, the oldest first.
	feeds   []*feed
	secrets secrets
	// known are the clusters with known objects, or whose UID a feed has reported.
	known []*cluster
	// problems are what is wrong with feeds, by feed.
	problems map[string]string
	// selection is the Corefile's; deny takes the API servers that no check may go to; nil for none.
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

// learn notes the cluster that a feed reads. The name stands in for a UID that the API server refuses, for good if nothing
// else was known (docs/decisions/0010). The caller holds mu.
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

// cluster returns a known cluster, nil for none. The caller holds mu.
func (a *clusters) cluster(uid string) *cluster {
	if i := slices.IndexFunc(a.known, func(c *cluster) bool { return c.now.UID == uid }); i >= 0 && uid != "" {
		return a.known[i]
	}
	return nil
}

// feedsOf returns the feeds of a cluster, in order. A Secret's feed never stands in for one of the Corefile. The caller
// holds mu.
func (a *clusters) feedsOf(uid string) (feeds []*feed) {
	for _, f := range a.feeds {
		if f.uid == uid && uid != "" && (f.of == nil || len(feeds) == 0 || feeds[0].of != nil) {
			feeds = append(feeds, f)
		}
	}
	return feeds
}

// settle decides which clusters exist, which feeds belong to them, and which writes to them. The caller holds mu.
func (a *clusters) settle() {
	a.known = slices.DeleteFunc(a.known, func(c *cluster) bool {
		feeds := a.feedsOf(c.now.UID)
		if len(feeds) > 0 {
			c.goOn()
			if c.awaits = nil; !slices.Equal(feeds, c.feeds) || c.now.Group != feeds[0].group {
				c.merge(feeds, nil)
			}
			return false
		}
		c.feeds = nil
		awaits := slices.DeleteFunc(slices.Clone(c.awaits), func(f *feed) bool { return !slices.Contains(a.feeds, f) })
		switch waits := slices.ContainsFunc(awaits, func(f *feed) bool { return f.last == nil || !replaces(f.last, c.now) }); {
		case !waits && !a.mayBeNamed(c):
			return len(awaits) > 0 || a.leave(c)
		case waits || a.secrets.listed:
			c.goOn()
		}
		return false
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

// recognize gives a new feed the UID of the known cluster with the same name, server and kind of entry, Corefile or Secret. It
// reports whether there is one. The caller holds mu.
func (a *clusters) recognize(f *feed) (recognized bool) {
	for _, c := range a.known {
		if c.now.Name == f.name && c.identity == f.source.Identity() && c.bySecret == (f.of != nil) {
			f.uid = c.now.UID
			return true
		}
	}
	return false
}

// isServed reports whether answers include the objects of a cluster. A new cluster waits while the cluster that it replaces
// stays, until the new one's feeds have listed as much. The caller holds mu.
func (a *clusters) isServed(c *cluster) bool {
	return c.compiled || !slices.ContainsFunc(a.known, func(o *cluster) bool {
		return o != c && slices.ContainsFunc(o.awaits, func(f *feed) bool { return slices.Contains(c.feeds, f) })
	})
}

// next returns the objects to compile now, without registry and overrides: its clusters are sorted by name, with those of the
// Corefile that have no objects yet. from says where they come from; p is what is published of them. The caller holds the
// engine's compiling: each change is reported once.
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
		if c.compiled = true; c.gone == 0 {
			in.Clusters = append(in.Clusters, c.now)
		} else {
			in.Clusters, p.gone = append(in.Clusters, c.withoutObjects()), append(p.gone, name)
		}
		from[name] = of
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
			in.Clusters = append(in.Clusters, &api.Cluster{Name: f.name, Group: f.group})
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

// Reading yields the name of every feed, and its source's Stats.
func (a *clusters) Reading() iter.Seq2[string, *source.Stats] {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := make(map[string]*source.Stats, len(a.feeds))
	for _, f := range a.feeds {
		all[f.name] = f.stats
	}
	return maps.All(all)
}
