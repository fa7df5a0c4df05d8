package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"iter"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/source"
)

// feed is one way to read a cluster: a line of the Corefile, or a Secret. The right to pool, and the one to write, are
// its own.
type feed struct {
	name   string
	source source.Source
	stats  *source.Stats
	pools  api.Pools
	writer *Writer        // nil where nothing is written
	keeps  bool           // the writer keeps the registry and serials, and runs from the beginning
	extra  bool           // a cluster of the Corefile beside the main one
	of     *source.Remote // what the Secret says; nil for a line of the Corefile
	same   feedSettings

	// selection says which objects are read, but for their kinds.
	selection string

	// What follows is guarded by the engine's mu. uid is that of the cluster; "" until it is known.
	uid     string
	last    *api.Cluster       // what the source has published last; nil before that
	written chan struct{}      // closed once the writer has ended; nil before it was let run
	cancel  context.CancelFunc // ends the source; nil where it does not run
	unwrite context.CancelFunc // ends the writer; nil where it does not run
}

// feedSettings say how a feed reads and writes. Feeds with equal ones are the same: a reload lets the first go on.
type feedSettings struct {
	text   string
	config *rest.Config
	files  [sha256.Size]byte // what the files hold that config names
}

// settingsOf returns the settings of a feed that reads an API server.
func settingsOf(config *rest.Config, text string) feedSettings {
	c := rest.CopyConfig(config)
	if c.BearerTokenFile != "" {
		c.BearerToken = "" // it is read again from the file
	}
	sum := sha256.New()
	for _, file := range []string{c.CAFile, c.CertFile, c.KeyFile} {
		data, err := os.ReadFile(file)
		fmt.Fprintf(sum, "%s %d %v ", file, len(data), file != "" && err != nil)
		sum.Write(data)
	}
	s := feedSettings{text: text, config: c}
	sum.Sum(s.files[:0])
	return s
}

// goesOn reports whether f is to be read as o is. Functions in a configuration, such as that of a proxy, cannot be
// compared: they count as different.
func (f *feed) goesOn(o *feed) bool { return reflect.DeepEqual(f.same, o.same) }

// take takes in what the source of a feed has published.
func (e *Engine) take(f *feed, c *api.Cluster) {
	own := *c
	e.mu.Lock()
	if slices.Contains(e.feeds, f) {
		e.learn(f, own.UID)
		own.UID, f.last = f.uid, &own
		if at := e.cluster(f.uid); at != nil {
			if feeds := e.feedsOf(f.uid); slices.Contains(feeds, f) {
				at.merge(feeds, f)
			}
		}
		e.settle()
	}
	e.mu.Unlock()
	e.wake.ring()
}

// learn takes in which cluster a feed says that it reads. The name stands in for a UID that the API server refuses, and does
// so for good where nothing else was known (docs/decisions/0010). The caller holds mu.
func (e *Engine) learn(f *feed, uid string) {
	at := e.cluster(f.uid)
	switch {
	case f.uid == uid || f.uid != "" && uid == f.name || f.uid == f.name && f.uid != "" && (at == nil || !at.fromState()):
		return
	case f.uid == f.name && f.uid != "" && e.cluster(uid) == nil: // what the state has was read when the UID was refused
		same := *at.now
		same.UID, same.Epoch = uid, epochs.Add(1)
		at.now = &same
	case at != nil: // another cluster is there now
		at.awaits = append(at.awaits, f)
	}
	f.uid = uid
	if e.cluster(uid) == nil {
		e.known = append(e.known, newCluster(uid, f.name))
	}
}

// cluster returns what is known of a cluster; nil for nothing. The caller holds mu.
func (e *Engine) cluster(uid string) *cluster {
	if i := slices.IndexFunc(e.known, func(c *cluster) bool { return c.now.UID == uid }); i >= 0 && uid != "" {
		return e.known[i]
	}
	return nil
}

// feedsOf returns the feeds of a cluster, in order. A Secret's never stands in for one of the Corefile. The caller holds
// mu.
func (e *Engine) feedsOf(uid string) (feeds []*feed) {
	for _, f := range e.feeds {
		if f.uid == uid && uid != "" && (f.of == nil || len(feeds) == 0 || feeds[0].of != nil) {
			feeds = append(feeds, f)
		}
	}
	return feeds
}

// settle finds out which clusters there are, what is theirs, and who writes to them. The caller holds mu.
func (e *Engine) settle() {
	e.known = slices.DeleteFunc(e.known, func(c *cluster) bool {
		feeds := e.feedsOf(c.now.UID)
		if len(feeds) > 0 {
			if c.missing, c.awaits = false, nil; !slices.Equal(feeds, c.feeds) {
				c.merge(feeds, nil)
			}
			return false
		}
		c.feeds = nil
		return !c.missing && !e.mayBeNamed(c) && !slices.ContainsFunc(c.awaits, func(f *feed) bool {
			return slices.Contains(e.feeds, f) && (f.last == nil || !replaces(f.last, c.now))
		})
	})
	for _, f := range e.feeds {
		first := f.keeps
		if feeds := e.feedsOf(f.uid); len(feeds) > 0 {
			first = feeds[0] == f
			if f.of == nil && !first && !e.doubled[f.name] {
				e.doubled[f.name] = true
				e.log.Warningf("cluster %q of the Corefile is the cluster %q, which goes first (both have the same UID of the namespace kube-system): it stands by for kinds that %q cannot list. Take one of them out", f.name, feeds[0].name, feeds[0].name)
			}
		}
		e.letWrite(f, first)
	}
	e.noteSecrets()
}

// letWrite lets the writer of a feed run, or ends it. The caller holds mu.
func (e *Engine) letWrite(f *feed, may bool) {
	switch {
	case f.writer == nil || f.cancel == nil || may == (f.unwrite != nil):
	case !may:
		f.unwrite()
		f.unwrite = nil
	default:
		before, ended := f.written, make(chan struct{})
		ctx, cancel := context.WithCancel(e.ctx)
		f.unwrite, f.written = cancel, ended
		e.done.Go(func() {
			defer close(ended)
			if before != nil {
				<-before
			}
			f.writer.Run(ctx)
		})
	}
}

// begin reads a feed until ctx of the engine ends, or it is ended. The caller holds mu.
func (e *Engine) begin(f *feed) {
	ctx, cancel := context.WithCancel(e.ctx)
	f.cancel = cancel
	e.done.Go(func() {
		err := f.source.Run(ctx, func(c *api.Cluster) { e.take(f, c) })
		if err != nil && ctx.Err() == nil {
			e.log.Errorf("reading %s has ended: %v", f.source.Name(), err)
		}
	})
}

// end reads a feed no more. The caller holds mu, and has taken it from the feeds.
func (f *feed) end() {
	for _, cancel := range []context.CancelFunc{f.cancel, f.unwrite} {
		if cancel != nil {
			cancel()
		}
	}
	f.cancel, f.unwrite = nil, nil
}

// claim lets a feed that is new have the cluster of its name, where it reads the server which that came from: its UID is known
// then. The caller holds mu.
func (e *Engine) claim(f *feed) (claimed bool) {
	for _, c := range e.known {
		if c.now.Name == f.name && c.identity == f.source.Identity() && c.bySecret == (f.of != nil) {
			f.uid = c.now.UID
			return true
		}
	}
	return false
}

// shows reports whether a cluster is answered with: not while another one stays until its feeds have listed as much.
// The caller holds mu.
func (e *Engine) shows(c *cluster) bool {
	return c.shown || !slices.ContainsFunc(e.known, func(o *cluster) bool {
		return o != c && slices.ContainsFunc(o.awaits, func(f *feed) bool { return slices.Contains(c.feeds, f) })
	})
}

// next returns the clusters to compile now, sorted by name, with those of the Corefile of which nothing is known, and where they come
// from. The caller holds mu, and compiling.
func (e *Engine) next() (all []*api.Cluster, from map[string]origins) {
	from = make(map[string]origins)
	for _, c := range e.known {
		if !e.shows(c) {
			continue
		}
		out := c.now
		if c.missing {
			out = c.gone()
		} else if c.empty != nil {
			c.empty = nil
			again := *c.now // what is there again was nothing a moment ago
			again.Epoch = epochs.Add(1)
			c.now, out = &again, &again
		}
		var of origins
		for k := range of {
			of[k] = c.kinds[k].origin
		}
		from[c.now.Name], all, c.shown = of, append(all, out), true
		if len(c.now.Changed) > 0 {
			same := *c.now // nothing new here after this
			same.Changed, same.Inferred = nil, nil
			c.now = &same
		}
	}
	for _, f := range e.feeds {
		if f.of == nil && !slices.ContainsFunc(all, func(c *api.Cluster) bool { return c.Name == f.name || f.uid != "" && c.UID == f.uid }) {
			all = append(all, &api.Cluster{Name: f.name})
		}
	}
	slices.SortFunc(all, func(a, b *api.Cluster) int { return strings.Compare(a.Name, b.Name) })
	return all, from
}

// gone returns what stands for a cluster whose Secret is missing: one that has lost all objects in a list (rule 8.5).
func (c *cluster) gone() *api.Cluster {
	if c.empty == nil {
		c.empty = &api.Cluster{Name: c.now.Name, UID: c.now.UID, Pools: c.now.Pools, Epoch: epochs.Add(1)}
		for k := range c.empty.Listings {
			c.empty.Listings[k] = api.Listed
		}
	}
	return c.empty
}

// dropMissing ends the clusters whose Secrets are missing and of which the guard holds nothing back. It is called from the
// compiling goroutine, after a compile.
func (e *Engine) dropMissing() {
	e.mu.Lock()
	n := len(e.known)
	e.known = slices.DeleteFunc(e.known, func(c *cluster) bool {
		gone := c.missing && c.empty != nil && !e.guard.holds(c.now.Name)
		if gone {
			e.log.Infof("cluster %q: its Secret has not come back, and nothing of it is held any more: it is removed", c.now.Name)
		}
		return gone
	})
	gone := len(e.known) < n
	e.settle()
	e.mu.Unlock()
	if gone {
		e.wake.ring()
	}
}

// fromState returns the names of the clusters of which something is served from the state on disk. The caller holds mu.
func (e *Engine) fromState() (names []string) {
	for _, c := range e.known {
		if !c.missing && e.shows(c) && c.fromState() {
			names = append(names, c.now.Name)
		}
	}
	slices.Sort(names)
	return names
}

// Reading yields the name of every feed, and what its source says of itself.
func (e *Engine) Reading() iter.Seq2[string, *source.Stats] {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := make(map[string]*source.Stats, len(e.feeds))
	for _, f := range e.feeds {
		all[f.name] = f.stats
	}
	return maps.All(all)
}

// byAge orders the feeds of Secrets: the older Secret goes first.
func byAge(a, b *feed) int {
	return cmp.Or(cmp.Compare(a.of.Created, b.of.Created), strings.Compare(a.name, b.name))
}
