package engine

import (
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"
	statefile "github.com/coredns-kuadrant/kuadrant/internal/state"
)

// stateRead is what an engine has from the state on disk besides its clusters.
type stateRead struct {
	// unused are clusters that nothing in the Corefile reads. The state keeps them until all others
	// have been listed: a mistake in the Corefile must not cost them.
	unused []statefile.Cluster
	// place is Contents.Place.
	place string
	// groups are Contents.Groups, which stand in until they can be read.
	groups map[string]*api.ActiveGroups
}

// readState reads the state on disk if s has one that was not read yet. It gives serials their start, and stands in for
// unknown owners, health and clusters.
func (e *Engine) readState(s, was *settings) {
	if s.state == nil || was.state == s.state {
		return
	}
	serials, err := statefile.ReadSerials(s.state.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		e.log.Warningf("state %s: ignored: %v; serials that are kept nowhere else begin with the date. Compare them with those of secondaries",
			filepath.Join(s.state.dir, statefile.SerialsName), err)
	}
	s.state.begin(serials)
	s.opt.Published = newest(s.opt.Published, serials)
	c, err := statefile.Read(s.state.dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return
	case err != nil:
		e.log.Warningf("state %s: ignored: %v; starting without it. It is rewritten after the first list",
			filepath.Join(s.state.dir, statefile.Name), err)
		return
	case e.Snapshot() != nil:
		return
	}
	s.opt.Health = make(map[string]health.State)
	for key, word := range c.Health {
		if h, ok := health.ParseState(word); ok {
			s.opt.Health[key] = h
		}
	}
	if e.registry.waits() {
		e.registry.lend(c, serials) // the cluster's kept values go on
	}
	e.unused, e.place, e.groups = c.Clusters, c.Place, c.Groups
}

// newest returns the newer publication of each zone (rule 6.7).
func newest(known, more map[string]api.Kept) map[string]api.Kept {
	all := maps.Clone(more)
	if all == nil {
		all = make(map[string]api.Kept)
	}
	for zone, kept := range known {
		all[zone] = kept.Newer(all[zone])
	}
	return all
}

// resume makes the state's clusters known that are read now: the state is the feed that is there first. That includes those that
// Secrets named: whether they still do is known when the Secrets have been listed. The caller holds mu.
func (e *Engine) resume() {
	all := e.unused
	e.unused = nil
	for _, one := range all {
		if !e.resumes(one) || e.cluster(one.UID) != nil || e.heard(one.Name) {
			e.unused = append(e.unused, one)
			continue
		}
		own := *one.Cluster
		own.Epoch = epochs.Add(1)
		k := &cluster{now: &own, identity: one.Identity, bySecret: one.Place != "", heard: one.Heard}
		for kind := range api.NumKinds {
			l := &own.Listings[kind]
			if *l == api.NotWatched || one.Selection != e.selection { // more kinds or objects are read than when the state was written
				*l, own.ListedIn[kind] = api.NotListed, nil
			}
			k.kinds[kind].origin = one.Identity + " " + one.Selection
			k.kinds[kind].old = own.Count(kind) > 0 || kind.HoldsNames() && !l.Left() && l.Complete()
			if k.bySecret && kind.HoldsNames() && *l == api.NotListed {
				*l = api.NotCounted
			}
		}
		k.leaveOut(e.settings().reads.Watches)
		e.known = append(e.known, k)
		until := one.Identity + " can be listed"
		if k.bySecret {
			until = "its Secret has been read and " + until
		}
		e.log.Infof("cluster %q: answering from the state of %s until %s", one.Name, one.Heard.Format(time.RFC3339), until)
	}
	for _, f := range e.feeds {
		if f.uid == "" {
			e.recognize(f)
		}
	}
	if len(all) > 0 && e.place != "" && e.place == e.secrets.place && len(e.unused) == 0 { // else a Secret may name a former Corefile's
		e.secrets.expecting.Store(false) // names were denied in view of the same clusters
	}
}

// answerFromState answers from the state on disk. The caller holds compiling.
func (e *Engine) answerFromState() {
	e.mu.Lock()
	nothing := len(e.known) == 0
	e.mu.Unlock()
	if !nothing {
		e.compileNow()
	}
}

// resumes reports whether a feed reads a cluster of the state at the same place, or the Secrets will tell. The caller holds
// mu.
func (e *Engine) resumes(c statefile.Cluster) bool {
	if c.Place != "" {
		return c.Place == e.secrets.place && !e.reserved(c.Name)
	}
	return slices.ContainsFunc(e.feeds, func(f *feed) bool { return f.name == c.Name && f.source.Identity() == c.Identity })
}

// noteFromState logs which of the clusters in before are no longer served from the state on disk.
func (e *Engine) noteFromState(before []string, p *Publication) {
	ended := slices.DeleteFunc(slices.Clone(before), func(name string) bool {
		return p.Snapshot.ObjectsOf(name) == nil || slices.Contains(p.FromState, name)
	})
	for _, name := range ended {
		e.log.Infof("cluster %q: listed; no longer answering from the state", name)
	}
	if opt := e.settings().opt; !p.Stale() && opt.Health != nil && e.structure.aside == nil && e.answerable(p) {
		opt.Health = nil // all health from here on is new; only compiling reads it, and nothing is compiled aside
	}
}
