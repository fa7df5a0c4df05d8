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

// loseRemote leaves it to the guard when a cluster goes whose Secret is missing. The caller holds
// mu.
func (e *engine) loseRemote(name string) {
	l := &lostRemote{known: e.latest(name), standIn: e.handover.standIns[name], orphan: e.handover.orphans[name]}
	if m := e.remotes.running[name]; m != nil {
		m.cancel()
		delete(e.remotes.running, name)
	}
	if e.withdraw(name); l.known == nil {
		return
	}
	none := &api.Cluster{Name: name, UID: l.known.UID, Pools: l.known.Pools, Epoch: epochs.Add(1)}
	for k := range none.Listings {
		none.Listings[k] = api.Listed
	}
	e.pending[name], e.remotes.lost[name] = none, l
	delete(e.handover.over, name)
}

// putBack makes what a lost cluster was what is known of it. The caller holds mu, and lets keepKnown
// follow.
func (e *engine) putBack(name string) {
	l, h := e.remotes.lost[name], &e.handover
	delete(e.remotes.lost, name)
	own := *l.known
	own.Epoch, own.Changed, own.Inferred = epochs.Add(1), nil, nil
	e.pending[name] = &own
	if l.standIn != nil {
		h.put(name, l.standIn)
	}
	h.orphan(name, l.orphan)
}

// findRemote goes on with a lost cluster that a Secret names again. The caller holds mu.
func (e *engine) findRemote(of *source.Remote) {
	e.putBack(of.Name)
	e.keepRemote(of, e.origins[of.Name])
}

// dropLost withdraws the lost clusters of which the guard holds nothing back. It is called from
// the compiling goroutine, after a compile.
func (e *engine) dropLost() {
	e.mu.Lock()
	var gone []string
	for name := range e.remotes.lost {
		if g := e.guard.clusters[name]; e.pending[name] == nil && (g == nil || len(g.held) == 0) {
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

// handed returns what before knows of clusters, for e to take over, with those that are lost. What has not been
// compiled yet of clusters that Secrets name is among it: which are read goes by that. The caller holds the mu of both.
func (e *engine) handed(before *engine) []*api.Cluster {
	b, all := &before.remotes, slices.Clone(before.clusters)
	if b.place != e.remotes.place {
		return all
	}
	for i, c := range all {
		l, p := b.lost[c.Name], before.pending[c.Name]
		switch {
		case l != nil && (e.reserved(c.Name) || e.remotes.running[c.Name] != nil):
			all[i] = l.known
		case l != nil:
			if e.remotes.lost[c.Name] = l; p != nil {
				all[i], e.pending[c.Name] = l.known, p
			}
		case p != nil && (b.running[c.Name] != nil || b.recalled[c.Name]):
			all[i] = p
		}
	}
	return all
}

// idle returns the clusters that nothing reads, and of which something may be known. The caller holds mu.
func (r *remotes) idle() (names []string) {
	names = slices.AppendSeq(slices.Collect(maps.Keys(r.recalled)), maps.Keys(r.lost))
	for name, m := range r.running {
		if m.twin != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// isRead tells whether a cluster that nothing reads is read under another name. The caller holds mu.
func (e *engine) isRead(name string) bool {
	known := e.latest(name)
	return known != nil && e.twin(known) != ""
}

// giveWay withdraws the clusters that nothing reads, and that are c under another name, once c has listed
// the kinds of which they have objects. c is what is compiled next of a cluster, or nil. The caller holds mu.
func (e *engine) giveWay(c *api.Cluster) {
	if c == nil || c.UID == "" {
		return
	}
	gone := false
	for _, name := range e.remotes.idle() {
		known := e.latest(name)
		if l := e.remotes.lost[name]; l != nil {
			known = l.known
		}
		if name != c.Name && known != nil && known.UID == c.UID && replaces(c, known) {
			e.withdraw(name)
			gone = true
		}
	}
	if gone {
		e.noteRemotes()
	}
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

// inheritRemote ends the reading of a cluster that another Secret names too, and lets that one's be answered with:
// what the first had stays until the other has been listed. It returns what is to be read. The caller holds mu.
func (e *engine) inheritRemote(name string, of *source.Remote) *remote {
	r := &e.remotes
	before := r.running[of.Name]
	for _, m := range r.running {
		if m.twin == name {
			m.twin = of.Name
		}
	}
	if m := r.running[name]; m != nil {
		m.cancel()
		delete(r.running, name)
	}
	if e.latest(name) != nil {
		r.recalled[name] = true
	}
	before.twin = name
	if before.last != nil {
		before.twin = ""
		e.begin(before.last, before.source.Identity())
		e.keepRemote(of, before.source.Identity())
	}
	m := e.openRemote(of)
	if p := e.pending[of.Name]; p != nil {
		countKnown(p)
		e.giveWay(p)
	}
	return m
}

// begin makes c, which is read from where identity says, the first that is known of a cluster. The caller
// holds mu.
func (e *engine) begin(c *api.Cluster, identity string) {
	own := *c
	own.Epoch, own.Changed, own.Inferred = epochs.Add(1), nil, nil
	e.pending[c.Name], e.came[c.Name] = &own, identity
}
