package kuadrant

import (
	"maps"
	"slices"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/source"
)

// lostRemote is a cluster whose Secret has gone without a report of its deletion. Nothing reads
// it. For the guard it has lost all objects in a list (rule 8.5), and it ends when the guard
// holds nothing of it back any more.
type lostRemote struct {
	known   *api.Cluster // what it was
	standIn *standIn     // that it had; nil for none
	orphan  bool         // it was one
}

// latest returns what is known of a cluster, nil for nothing. The caller holds mu.
func (e *engine) latest(name string) *api.Cluster {
	if c := e.pending[name]; c != nil || e.handover.over[name] {
		return c
	}
	if i := slices.IndexFunc(e.clusters, func(c *api.Cluster) bool { return c.Name == name }); i >= 0 {
		return e.clusters[i]
	}
	return nil
}

// takeOut ends what is read of a cluster, takes it out, and returns what it was; nil where
// nothing was known of it. The caller holds mu.
func (e *engine) takeOut(name string) *lostRemote {
	l := &lostRemote{known: e.latest(name), standIn: e.handover.standIns[name], orphan: e.handover.orphans[name]}
	if m := e.remotes.running[name]; m != nil {
		m.cancel()
		delete(e.remotes.running, name)
	}
	delete(e.remotes.lost, name)
	e.withdraw(name)
	if l.known == nil {
		return nil
	}
	return l
}

// putIn makes l what is known of a cluster, which may have another name than it had. The caller
// holds mu, and lets keep follow.
func (e *engine) putIn(l *lostRemote, name string) {
	own := *l.known
	own.Name, own.Epoch, own.Changed, own.Inferred = name, epochs.Add(1), nil, nil
	e.pending[name] = &own
	if delete(e.handover.standIns, name); l.standIn != nil {
		e.handover.standIns[name] = l.standIn
	}
	e.handover.orphan(name, l.orphan)
}

// loseRemote leaves it to the guard when a cluster goes whose Secret is missing. The caller holds
// mu.
func (e *engine) loseRemote(name string) {
	l := e.takeOut(name)
	if l == nil {
		return
	}
	none := &api.Cluster{Name: name, UID: l.known.UID, Pools: l.known.Pools, Epoch: epochs.Add(1)}
	for k := range none.Listings {
		none.Listings[k] = api.Listed
	}
	e.pending[name], e.remotes.lost[name] = none, l
	delete(e.handover.over, name)
}

// findRemote goes on with a lost cluster that a Secret names again. The caller holds mu.
func (e *engine) findRemote(of *source.Remote) {
	l := e.remotes.lost[of.Name]
	delete(e.remotes.lost, of.Name)
	e.putIn(l, of.Name)
	e.keepRemote(of, e.origins[of.Name])
}

// heir returns the cluster among wanted that has been found to be the given one under another
// name; "" for none.
func (r *remotes) heir(name string, wanted map[string]*source.Remote) string {
	for _, other := range slices.Sorted(maps.Keys(wanted)) {
		if m := r.running[other]; m != nil && m.twin == name {
			return other
		}
	}
	return ""
}

// inheritRemote makes what is known of a cluster what is known of its heir, which is the same
// cluster and has not been read so far. The caller holds mu.
func (e *engine) inheritRemote(name, heir string) {
	if l := e.takeOut(name); l != nil {
		e.putIn(l, heir)
	}
}

// succeed ends a lost cluster that c, which has been read, is under another name. Where a
// Secret names c, what was known goes on as c's until c has been listed; of is nil for a cluster
// of the Corefile. The caller holds mu.
func (e *engine) succeed(c *api.Cluster, of *remote) {
	for name, l := range e.remotes.lost {
		if l.known.UID != c.UID || c.UID == "" || name == c.Name {
			continue
		}
		if e.takeOut(name); of != nil && e.latest(c.Name) == nil {
			e.putIn(l, c.Name)
			e.keepRemote(of.of, of.source.Identity())
		}
	}
}

// dropLost withdraws the lost clusters of which the guard holds nothing back. It is called from
// the compiling goroutine, after a compile.
func (e *engine) dropLost() {
	e.mu.Lock()
	var gone []string
	for name := range e.remotes.lost {
		if g := e.guard.clusters[name]; e.pending[name] == nil && (g == nil || len(g.held) == 0) {
			delete(e.remotes.lost, name)
			e.withdraw(name)
			gone = append(gone, name)
		}
	}
	if len(gone) > 0 {
		e.noteRemotes()
	}
	e.mu.Unlock()
	for _, name := range gone {
		e.infof("cluster %q: nothing of it is held back any more: what came from it alone is withdrawn", name)
	}
	if len(gone) > 0 {
		e.ring()
	}
}
