package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/source"
)

const (
	// maxSecrets bounds the clusters that Secrets name: each has its own connections,
	// goroutines and objects.
	maxSecrets = 100
	// clusterPatience is how long a process that has just started is not ready for want of
	// clusters beside the main one. A cluster in reach takes a second.
	clusterPatience = 30 * time.Second
)

// secretsConfig says where the Secrets are that name clusters, and what is done with them.
type secretsConfig struct {
	// place is where they are; "" where there is nowhere to look.
	place string
	same  feedSettings // of the way to them; text says what is read of the clusters, and written
	// follow tells of the Secrets until ctx ends, open makes the feed of one that can be used.
	follow func(ctx context.Context, publish func([]*source.Remote)) error
	open   func(of *source.Remote) *feed
}

// secrets are the Secrets that name clusters (docs/decisions/0026). The engine's mu guards it.
type secrets struct {
	secretsConfig
	cancel   context.CancelFunc // ends follow
	listed   bool               // they have been listed
	told     []*source.Remote   // what was published of them last
	unusable map[string]*source.Remote
	// faults say why a Secret is not followed, or not in full, by its namespace/name. problems are
	// these, and what is wrong with the clusters.
	faults, problems map[string]string
	// expecting is true from the start of a process until the Secrets have been listed, and the
	// clusters that they name have: until then no name is denied (rule 7.4).
	expecting atomic.Bool
	// names are those of the clusters that Secrets name, or named a moment ago, for readers without mu.
	names atomic.Pointer[map[string]bool]
}

// has reports whether a Secret names the cluster, or did a moment ago.
func (s *secrets) has(cluster string) bool {
	names := s.names.Load()
	return names != nil && (*names)[cluster]
}

// mayBeNamed reports whether a cluster that nothing reads is to stay: a Secret may name it that has not been read yet, or that
// cannot be used. The caller holds mu.
func (e *Engine) mayBeNamed(c *cluster) bool {
	s, name := &e.secrets, c.now.Name
	return c.bySecret && s.follow != nil && !e.reserved(name) && (!s.listed || s.unusable[name] != nil)
}

// readSecrets returns where to look for Secrets: in a namespace of the main cluster, which config leads to. sel says what is
// read of the clusters that they name, write makes what writes to one.
func (e *Engine) readSecrets(namespace string, config *rest.Config, sel source.Selection, text string, write func(string, *rest.Config) (*Writer, error)) secretsConfig {
	return secretsConfig{
		place: fmt.Sprintf("%q path=%q namespace=%q", config.Host, config.APIPath, namespace),
		same:  settingsOf(config, text),
		follow: func(ctx context.Context, publish func([]*source.Remote)) error {
			return source.FollowRemotes(ctx, source.RemotesOptions{
				Cluster: LocalCluster, Config: config, Namespace: namespace, Logf: e.log.Warningf, Infof: e.log.Infof,
			}, publish)
		},
		open: func(of *source.Remote) *feed {
			w, err := write(of.Name, of.Config)
			if err != nil {
				e.log.Errorf("cluster %q: nothing is written back: %v", of.Name, err)
			}
			sel.Pools = of.Pools
			f := &feed{name: of.Name, pools: of.Pools, stats: new(source.Stats), writer: w}
			f.source = e.clusterSource(of.Name, of.Config, sel, f.stats, w)
			return f
		},
	}
}

// configureSecrets goes over to what the Corefile says of Secrets now. The caller holds mu.
func (e *Engine) configureSecrets(to secretsConfig) {
	s := &e.secrets
	goesOn := (&feed{same: to.same}).goesOn(&feed{same: s.same}) && to.place == s.place && (to.follow == nil) == (s.follow == nil)
	moved := to.place != s.place || to.follow == nil
	before := s.secretsConfig
	s.secretsConfig = to
	if !goesOn {
		if s.cancel != nil {
			s.cancel()
		}
		if s.cancel, s.listed = nil, false; moved {
			s.told, s.unusable, s.faults = nil, nil, nil
			s.expecting.Store(to.follow != nil)
		}
	} else if to.follow != nil {
		s.follow = before.follow
	}
	e.feeds = slices.DeleteFunc(e.feeds, func(f *feed) bool {
		gone := f.of != nil && (moved || e.reserved(f.name))
		if gone {
			f.end()
		}
		return gone
	})
	if s.told != nil {
		e.turnSecrets(s.told, false)
	}
}

// followSecrets begins to follow the Secrets, unless that is under way. The caller holds mu.
func (e *Engine) followSecrets() {
	s := &e.secrets
	if s.follow == nil || s.cancel != nil {
		return
	}
	ctx, cancel := context.WithCancel(e.ctx)
	s.cancel = cancel
	follow := s.follow
	e.done.Go(func() {
		if err := follow(ctx, func(all []*source.Remote) { e.setSecrets(ctx, all) }); err != nil && ctx.Err() == nil {
			e.log.Errorf("following the Secrets that name clusters has ended: %v", err)
			e.setSecrets(ctx, nil)
		}
	})
}

// setSecrets takes in what Secrets name; nil is that nobody can say. ctx is that of who follows them.
func (e *Engine) setSecrets(ctx context.Context, all []*source.Remote) {
	e.mu.Lock()
	s := &e.secrets
	switch {
	case ctx.Err() != nil: // they are looked for elsewhere now
	case all != nil:
		first := !s.listed
		s.listed, s.told = true, all
		e.turnSecrets(all, first)
	case !s.listed:
		s.expecting.Store(false)
	}
	e.settle()
	e.mu.Unlock()
	e.wake.ring()
}

// turnSecrets makes the feeds of Secrets what all says. Those that the first list after a start lacks are missing.
// The caller holds mu, and lets settle follow.
func (e *Engine) turnSecrets(all []*source.Remote, first bool) {
	s := &e.secrets
	wanted := e.chooseSecrets(all)
	e.feeds = slices.DeleteFunc(e.feeds, func(f *feed) bool {
		if f.of == nil || wanted[f.name] != nil && wanted[f.name].Same(f.of) && f.same.text == s.same.text {
			return false
		}
		f.end()
		return true
	})
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if slices.ContainsFunc(e.feeds, func(f *feed) bool { return f.name == name }) {
			continue
		}
		of := wanted[name]
		f := s.open(of)
		f.of, f.same, f.selection = of, feedSettings{text: s.same.text}, e.settings().selection
		e.log.Infof("cluster %q: Secret %s names it: reading it from %s", name, of.Secret, of.Config.Host)
		e.claim(f)
		e.feeds = append(e.feeds, f)
		e.begin(f)
	}
	i := slices.IndexFunc(e.feeds, func(f *feed) bool { return f.of != nil })
	if i >= 0 {
		slices.SortFunc(e.feeds[i:], byAge)
	}
	for _, c := range e.known {
		if c.bySecret && len(e.feedsOf(c.now.UID)) == 0 {
			e.leaveSecret(c, all, first)
		}
	}
}

// leaveSecret finds out what becomes of a cluster that Secrets named, and which nothing reads now. The caller holds mu.
func (e *Engine) leaveSecret(c *cluster, all []*source.Remote, first bool) {
	name := c.now.Name
	c.awaits = slices.DeleteFunc(slices.Clone(c.awaits), func(f *feed) bool { return !slices.Contains(e.feeds, f) })
	i := slices.IndexFunc(e.feeds, func(f *feed) bool { return f.of != nil && f.name == name })
	of := e.secrets.unusable[name]
	if i >= 0 {
		of = e.feeds[i].of
	}
	if of != nil && !c.now.Pools.Equal(of.Pools) { // a right that is taken away goes at once
		next := *c.now
		next.As(name, of.Pools)
		next.Epoch = epochs.Add(1)
		c.now = &next
		for k := range c.kinds {
			c.kinds[k].own = false
		}
	}
	switch gone := slices.ContainsFunc(all, func(of *source.Remote) bool { return of.Name == name && of.Missing }); {
	case i >= 0: // its Secret leads to another server, or to another cluster there
		c.missing = false
		if !slices.Contains(c.awaits, e.feeds[i]) {
			c.awaits = append(c.awaits, e.feeds[i])
		}
	case e.mayBeNamed(c):
		c.missing = false
	case len(c.awaits) > 0 || c.missing:
	case gone || first:
		c.missing = true
		e.log.Warningf("cluster %q: its Secret is missing, and no deletion was reported: its names go in %s, or are held by `guard` if they are many. Restore the Secret, or release them with `guard 0` and a reload", name, gatherTime)
	default:
		e.log.Infof("cluster %q: its Secret is gone: the cluster is removed", name)
	}
}

// reserved reports whether the Corefile has a cluster of that name. The caller holds mu.
func (e *Engine) reserved(name string) bool {
	return slices.ContainsFunc(e.feeds, func(f *feed) bool { return f.of == nil && f.name == name })
}

// chooseSecrets returns those of all that are to be read, by name, and notes what is wrong with the others. One that is read
// goes on with what its Secret held last that could be used. The caller holds mu.
func (e *Engine) chooseSecrets(all []*source.Remote) (wanted map[string]*source.Remote) {
	s := &e.secrets
	wanted, s.unusable, s.faults = make(map[string]*source.Remote), make(map[string]*source.Remote), make(map[string]string)
	read := make(map[string]*source.Remote)
	for _, f := range e.feeds {
		if f.of != nil {
			read[f.name] = f.of
		}
	}
	rank := func(of *source.Remote) int { // what is answered for goes first: it would be removed
		switch {
		case read[of.Name] != nil:
			return 0
		case s.has(of.Name):
			return 1
		default:
			return 2
		}
	}
	all = slices.DeleteFunc(slices.Clone(all), func(of *source.Remote) bool { return of.Missing })
	slices.SortStableFunc(all, func(a, b *source.Remote) int { return rank(a) - rank(b) })
	for _, of := range all {
		switch was := read[of.Name]; {
		case of.Name == LocalCluster:
			s.faults[of.Secret] = fmt.Sprintf("%q is the name of the main cluster: give the Secret another name", LocalCluster)
		case e.reserved(of.Name):
			s.faults[of.Secret] = fmt.Sprintf("the Corefile has a cluster %q, which goes first: give the Secret another name", of.Name)
			s.unusable[of.Name] = of
		case of.Fault != "" && was != nil:
			s.faults[of.Secret] = of.Fault + "; the cluster is read as before"
			as := *was
			as.Pools = of.Pools // which counts at once
			wanted[of.Name] = &as
		case of.Fault != "":
			s.faults[of.Secret] = of.Fault
			if e.heard(of.Name) {
				s.faults[of.Secret] += "; the cluster is answered for as it was, and not read"
			}
			s.unusable[of.Name] = of
		case len(wanted) == maxSecrets:
			s.unusable[of.Name] = of
			s.faults[of.Secret] = fmt.Sprintf("there are %d such clusters already, which is the most", maxSecrets)
		default:
			wanted[of.Name] = of
			if of.Warning != "" {
				s.faults[of.Secret] = of.Warning
			}
		}
	}
	return wanted
}

// heard reports whether anything is known of what a feed reads. The caller holds mu.
func (e *Engine) heard(name string) bool {
	return slices.ContainsFunc(e.known, func(c *cluster) bool { return c.now.Name == name }) ||
		slices.ContainsFunc(e.feeds, func(f *feed) bool { return f.name == name && f.last != nil })
}

// noteSecrets keeps what others ask for true to the facts. The caller holds mu.
func (e *Engine) noteSecrets() {
	s := &e.secrets
	names, problems, waiting := make(map[string]bool), maps.Clone(s.faults), false
	if problems == nil {
		problems = make(map[string]string)
	}
	var servers []string
	for _, c := range e.known {
		if c.bySecret {
			names[c.now.Name] = true
			if server := source.ServerIn(c.identity); server != "" {
				servers = append(servers, hostOf(server))
			}
		}
	}
	for _, f := range e.feeds {
		if f.of == nil {
			continue
		}
		names[f.name] = true
		servers = append(servers, hostOf(f.of.Config.Host))
		waiting = waiting || !e.heard(f.name)
		if feeds := e.feedsOf(f.uid); len(feeds) > 0 && feeds[0] != f && problems[f.of.Secret] == "" {
			does := "it stands by for it"
			if feeds[0].of == nil {
				does = "it is not used"
			}
			problems[f.of.Secret] = fmt.Sprintf("it is the cluster %q under another name (both have the same UID of the namespace kube-system): %s", feeds[0].name, does)
		}
	}
	for _, secret := range slices.Sorted(maps.Keys(problems)) {
		if problems[secret] != s.problems[secret] {
			e.log.Warningf("Secret %s, which names a cluster: %s", secret, problems[secret])
		}
	}
	s.problems = problems
	s.names.Store(&names)
	if s.listed && !waiting {
		s.expecting.Store(false)
	}
	if p := e.settings().prober; p != nil {
		p.Deny(servers)
	}
}

// named is what is known of clusters of which nothing has been read.
type named struct {
	awaited []*api.Cluster // those that Secrets name
	unsure  bool           // nobody has said which there are
}

// awaited returns what is known of clusters of which nothing has been read. The caller holds mu.
func (e *Engine) awaited() named {
	var all []*api.Cluster
	add := func(of *source.Remote) {
		if !e.heard(of.Name) {
			all = append(all, &api.Cluster{Name: of.Name, Pools: of.Pools})
		}
	}
	for _, f := range e.feeds {
		if f.of != nil {
			add(f.of)
		}
	}
	for _, of := range e.secrets.unusable {
		add(of)
	}
	slices.SortFunc(all, func(a, b *api.Cluster) int { return strings.Compare(a.Name, b.Name) })
	return named{all, e.secrets.follow != nil && !e.secrets.listed}
}

// SecretProblems returns why Secrets that name clusters are not followed, or not in full, by
// their namespace/name. It holds nothing of their values.
func (e *Engine) SecretProblems() map[string]string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return maps.Clone(e.secrets.problems)
}
