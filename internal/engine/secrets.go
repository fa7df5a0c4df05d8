package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/source"
)

const (
	// maxSecrets bounds the clusters that Secrets name: each has its own connections,
	// goroutines and objects.
	maxSecrets = 100
	// clusterPatience is how long a new process may be unready because clusters beside the main one are away, and
	// registers nothing because lists are missing. A cluster in reach takes a second.
	clusterPatience = 30 * time.Second
)

// secretsConfig says where the Secrets that name clusters are, and how they are used.
type secretsConfig struct {
	place string       // their location, "" for none
	same  feedSettings // of the way to them; text covers how the clusters are read and written
	// follow reports the Secrets until ctx ends; open makes a usable one's feed.
	follow func(ctx context.Context, publish func([]*source.Remote)) error
	open   func(of *source.Remote) *feed
}

// secrets are the Secrets that name clusters (docs/decisions/0026). The engine's mu guards it.
type secrets struct {
	secretsConfig
	cancel    context.CancelFunc // ends follow
	listed    bool               // they have been listed
	withhold  bool               // a cluster is kept for a while after its last Secret has gone (rule 8.5)
	elsewhere bool               // they are looked for in a new place, as the operator wanted
	published []*source.Remote   // the last published ones
	unusable  map[string]*source.Remote
	faults    map[string]string // why a Secret is not followed in full, by namespace/name
	// expecting is true from the start of a process until the Secrets, and then their clusters,
	// have been listed: until then no name is denied (rule 7.4).
	expecting atomic.Bool
}

// mayBeNamed reports whether a cluster without a feed stays because a Secret may still name it: the Secrets are not listed yet, or
// its Secret is unusable. The caller holds mu.
func (a *clusters) mayBeNamed(c *cluster) bool {
	s, name := &a.secrets, c.now.Name
	return c.bySecret && s.follow != nil && !a.reserved(name) && (!s.listed || s.unusable[name] != nil)
}

// configureSecrets adopts the Corefile's settings for Secrets. The caller holds mu.
func (a *clusters) configureSecrets(to secretsConfig) {
	s := &a.secrets
	moved := to.place != s.place
	if goesOn := !moved && to.same.equal(s.same); goesOn {
		to.follow = s.follow
	} else if s.cancel != nil {
		s.cancel()
		s.cancel, s.listed = nil, false
	}
	s.elsewhere = s.elsewhere || moved && s.place != ""
	if s.secretsConfig = to; moved {
		s.published, s.unusable, s.faults = nil, nil, nil
		s.expecting.Store(to.follow != nil)
	}
	a.feeds = slices.DeleteFunc(a.feeds, func(f *feed) bool {
		gone := f.of != nil && (moved || a.reserved(f.name))
		if gone {
			f.end()
		}
		return gone
	})
	if s.published != nil {
		a.applySecrets()
	}
}

// followSecrets begins to follow the Secrets, unless it does already. The caller holds mu.
func (a *clusters) followSecrets() {
	s := &a.secrets
	if s.follow == nil || s.cancel != nil {
		return
	}
	ctx, cancel := context.WithCancel(a.ctx)
	s.cancel = cancel
	follow := s.follow
	a.done.Go(func() {
		if err := follow(ctx, func(all []*source.Remote) { a.setSecrets(ctx, all) }); err != nil && ctx.Err() == nil {
			a.log.Errorf("cluster Secrets: watching stopped: %v; restart the server", err)
			a.setSecrets(ctx, nil)
		}
	})
}

// setSecrets processes the Secrets that name clusters; nil means unknown. ctx belongs to the follower.
func (a *clusters) setSecrets(ctx context.Context, all []*source.Remote) {
	a.mu.Lock()
	s := &a.secrets
	switch {
	case ctx.Err() != nil: // they are looked for elsewhere now
	case all != nil:
		s.published, s.listed = all, true
		a.applySecrets()
	case !s.listed:
		s.expecting.Store(false)
	}
	a.settle()
	s.elsewhere = s.elsewhere && !s.listed
	a.mu.Unlock()
	a.wake.ring()
}

// applySecrets applies the last published Secrets to the feeds. The caller holds mu, and calls settle next.
func (a *clusters) applySecrets() {
	s := &a.secrets
	wanted := a.chooseSecrets()
	a.feeds = slices.DeleteFunc(a.feeds, func(f *feed) bool {
		if f.of == nil || wanted[f.name] != nil && wanted[f.name].Same(f.of) && f.same.text == s.same.text {
			return false
		}
		f.end()
		return true
	})
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if a.reads(name) != nil {
			continue
		}
		of := wanted[name]
		f := s.open(of)
		f.of, f.group, f.same, f.selection = of, of.Group, feedSettings{text: s.same.text}, a.selection
		a.log.Infof("cluster %q: reading it from %s, as Secret %s says", name, of.Config.Host, of.Secret)
		a.recognize(f)
		a.feeds = append(a.feeds, f)
		a.begin(f)
	}
	i := slices.IndexFunc(a.feeds, func(f *feed) bool { return f.of != nil })
	if i >= 0 {
		slices.SortFunc(a.feeds[i:], byAge)
	}
	for _, c := range a.known {
		if c.bySecret && len(a.feedsOf(c.now.UID)) == 0 {
			a.leaveSecret(c)
		}
	}
}

// leaveSecret decides about a cluster that came from a Secret and has no feed now. It loses pools that its Secret no longer
// grants. It stays while a Secret may name it, or until the feed that now has its name has listed as much. Else settle removes it.
// The caller holds mu.
func (a *clusters) leaveSecret(c *cluster) {
	name := c.now.Name
	c.awaits = slices.DeleteFunc(slices.Clone(c.awaits), func(f *feed) bool { return !slices.Contains(a.feeds, f) })
	of, f := a.secrets.unusable[name], a.reads(name)
	if f != nil {
		of = f.of
	}
	if of != nil && !c.now.Pools.Equal(of.Pools) { // a withdrawn right goes at once
		next := *c.now
		next.As(name, of.Pools)
		next.Epoch = epochs.Add(1)
		c.now = &next
		for k := range c.kinds {
			c.kinds[k].own = false
		}
	}
	switch {
	case f != nil: // its Secret leads to another server, or another cluster there
		if !slices.Contains(c.awaits, f) {
			c.awaits = append(c.awaits, f)
		}
	}
}

// leave takes leave of a cluster that no Secret names any more, and reports whether it goes at once. Else the guard decides: forget
// ends it. The caller holds mu.
func (a *clusters) leave(c *cluster) (now bool) {
	s, name := &a.secrets, c.now.Name
	switch {
	case !c.bySecret || !c.compiled || !s.withhold || s.elsewhere || s.follow == nil || a.reserved(name):
		if c.bySecret {
			a.log.Infof("cluster %q: removed: no Secret names it", name)
		}
		return true
	case c.gone == 0:
		a.log.Warningf("cluster %q: its last Secret is gone; keeping its last objects for %v. Restore the Secret to keep the cluster; "+
			"override it with `down` to withdraw it now", name, gatherTime)
		c.gone = epochs.Add(1)
	}
	return false
}

// forget ends the clusters without a Secret of which the guard keeps nothing any more. compiled are those of the last compile.
func (a *clusters) forget(compiled []*api.Cluster, kept map[string]*guarded) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := len(a.known)
	a.known = slices.DeleteFunc(a.known, func(c *cluster) bool {
		ends := c.gone != 0 && kept[c.now.Name] == nil && slices.ContainsFunc(compiled, func(o *api.Cluster) bool { return o.Epoch == c.gone })
		if ends {
			a.log.Infof("cluster %q: removed: no Secret names it", c.now.Name)
		}
		return ends
	})
	if len(a.known) < n {
		a.settle()
		a.wake.ring()
	}
}

// reads returns the feed of the Secret of that name; nil for none. The caller holds mu.
func (a *clusters) reads(name string) *feed {
	if i := slices.IndexFunc(a.feeds, func(f *feed) bool { return f.of != nil && f.name == name }); i >= 0 {
		return a.feeds[i]
	}
	return nil
}

// reserved reports whether the Corefile has a cluster of that name. The caller holds mu.
func (a *clusters) reserved(name string) bool {
	return slices.ContainsFunc(a.feeds, func(f *feed) bool { return f.of == nil && f.name == name })
}

// chooseSecrets returns the Secrets to read, by name, and notes what is wrong with the others. One that is read already keeps the
// last usable content of its Secret. The caller holds mu.
func (a *clusters) chooseSecrets() (wanted map[string]*source.Remote) {
	s := &a.secrets
	wanted, s.unusable, s.faults = make(map[string]*source.Remote), make(map[string]*source.Remote), make(map[string]string)
	// Those already read go first: else they would be removed.
	isRead := func(of *source.Remote) bool { return a.reads(of.Name) != nil }
	others := slices.DeleteFunc(slices.Clone(s.published), isRead)
	for _, of := range append(slices.DeleteFunc(slices.Clone(s.published), func(of *source.Remote) bool { return !isRead(of) }), others...) {
		switch was := a.reads(of.Name); {
		case a.reserved(of.Name):
			s.faults[of.Secret] = fmt.Sprintf("the Corefile has a cluster %q, which takes precedence; rename the Secret", of.Name)
		case of.Fault != "" && was != nil:
			s.faults[of.Secret] = of.Fault + "; still reading the cluster with the previous settings"
			as := *was.of
			as.Pools, as.Group = of.Pools, of.Group // which count at once
			wanted[of.Name] = &as
		case of.Fault != "":
			s.faults[of.Secret], s.unusable[of.Name] = of.Fault, of
			if a.heard(of.Name) {
				s.faults[of.Secret] += "; not reading the cluster, and answering with its last objects"
			}
		case len(wanted) == maxSecrets:
			s.faults[of.Secret], s.unusable[of.Name] = fmt.Sprintf("only %d clusters are read from Secrets", maxSecrets), of
		default:
			wanted[of.Name] = of
			if of.Warning != "" {
				s.faults[of.Secret] = of.Warning
			}
		}
	}
	return wanted
}

// heard reports whether a feed's cluster is known. The caller holds mu.
func (a *clusters) heard(name string) bool {
	return slices.ContainsFunc(a.known, func(c *cluster) bool { return c.now.Name == name }) ||
		slices.ContainsFunc(a.feeds, func(f *feed) bool { return f.name == name && f.last != nil })
}

// note logs what is wrong with feeds, once, and updates what others read. The caller holds mu.
func (a *clusters) note() {
	problems, waiting := make(map[string]string), false
	for secret, fault := range a.secrets.faults {
		problems["cluster Secret "+secret] = fault
	}
	var servers []string
	for _, k := range a.known {
		if server := source.ServerIn(k.identity); k.bySecret && server != "" {
			servers = append(servers, hostOf(server))
		}
	}
	for _, f := range a.feeds {
		subject, does := "cluster "+strconv.Quote(f.name), "standing by"
		if f.of != nil {
			subject = "cluster Secret " + f.of.Secret
			servers = append(servers, hostOf(f.of.Config.Host))
			waiting = waiting || !a.heard(f.name)
		}
		if feeds := a.feedsOf(f.uid); len(feeds) > 0 && feeds[0] != f && problems[subject] == "" {
			if f.of != nil && feeds[0].of == nil {
				does = "not used"
			}
			problems[subject] = fmt.Sprintf("same cluster as %q (UID of kube-system): %s", feeds[0].name, does)
		}
	}
	for _, subject := range slices.Sorted(maps.Keys(problems)) {
		if problems[subject] != a.problems[subject] {
			a.log.Warningf("%s: %s", subject, problems[subject])
		}
	}
	a.problems = problems
	if a.secrets.listed && !waiting {
		a.secrets.expecting.Store(false)
	}
	if a.deny != nil {
		a.deny(servers)
	}
}

// unread returns the clusters that Secrets name but that are not read yet, with their names and pools. The caller holds mu.
func (a *clusters) unread() (all []*api.Cluster) {
	for _, f := range a.feeds {
		if f.of != nil && !a.heard(f.name) {
			all = append(all, &api.Cluster{Name: f.name, Pools: f.of.Pools})
		}
	}
	for name, of := range a.secrets.unusable {
		if !a.heard(name) {
			all = append(all, &api.Cluster{Name: name, Pools: of.Pools})
		}
	}
	return all
}
