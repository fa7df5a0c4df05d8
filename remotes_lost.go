package kuadrant

import (
	"cmp"
	"fmt"
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

// origin returns the identity of the source that what is known of a cluster comes from; "" where nothing is. The caller
// holds mu.
func (e *engine) origin(name string) string {
	if from, came := e.came[name]; came {
		return from
	}
	return e.origins[name]
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
	e.pending[name] = anew(l.known)
	if l.standIn != nil {
		h.put(name, l.standIn)
	}
	h.orphan(name, l.orphan)
}

// findRemote goes on with a lost cluster that a Secret names again. The caller holds mu.
func (e *engine) findRemote(of *source.Remote) {
	e.putBack(of.Name)
	e.keepRemote(of)
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

// handed returns what before knows of clusters, for e to take over, with those that are lost, and where they come from. What has
// not been compiled yet of clusters that Secrets name is among it: which are read goes by that. The caller holds the mu of both.
func (e *engine) handed(before *engine) (all []*api.Cluster, origins map[string]string) {
	b := &before.remotes
	all, origins = slices.Clone(before.clusters), maps.Clone(before.origins)
	if e.remotes.follow == nil {
		return all, origins
	}
	pending := make(map[string]*api.Cluster)
	for name, p := range before.pending {
		if b.running[name] != nil || b.recalled[name] {
			pending[name] = p
		}
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
		case pending[c.Name] != nil:
			all[i], origins[c.Name] = p, before.origin(c.Name)
			delete(pending, c.Name)
		}
	}
	for name, p := range pending { // those that have come since
		all, origins[name] = append(all, p), before.came[name]
	}
	return all, origins
}

// idle returns the clusters that nothing reads, and of which something may be known. The caller holds mu.
func (e *engine) idle() (names []string) {
	r := &e.remotes
	names = slices.AppendSeq(slices.Collect(maps.Keys(r.recalled)), maps.Keys(r.lost))
	for name, m := range r.running {
		if m.twin != "" || e.hasLeft(m) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// isRead tells whether a cluster that nothing reads is read under another name, or is among wanted, which will be. The
// caller holds mu.
func (e *engine) isRead(name string, wanted map[string]*source.Remote) bool {
	known := e.latest(name)
	if known == nil {
		return false
	}
	for other, of := range wanted {
		o := e.latest(other)
		if e.remotes.running[other] == nil && o != nil && o.UID == known.UID && e.leadsTo(of, e.origin(other)) {
			return true
		}
	}
	return e.twin(known) != ""
}

// giveWay withdraws the clusters that nothing reads, and that are c under another name, once c has listed
// the kinds of which they have objects. c is what is compiled next of a cluster, or nil. The caller holds mu.
func (e *engine) giveWay(c *api.Cluster) {
	if c == nil || c.UID == "" {
		return
	}
	gone := false
	for _, name := range e.idle() {
		known := e.latest(name)
		if l := e.remotes.lost[name]; l != nil {
			known = l.known
		}
		if name != c.Name && known != nil && known.UID == c.UID && replaces(c, known) {
			e.withdraw(name)
			e.joinTwins(name, c.Name)
			gone = true
		}
	}
	if gone {
		e.noteRemotes()
	}
}

// heirOf returns the cluster among wanted that has been found to be the given one under another
// name, and leads to it still; "" for none. The caller holds mu.
func (e *engine) heirOf(name string, wanted map[string]*source.Remote) string {
	for _, other := range slices.Sorted(maps.Keys(wanted)) {
		if m := e.remotes.running[other]; m != nil && m.twin == name && e.leadsTo(wanted[other], m.source.Identity()) {
			return other
		}
	}
	return ""
}

// inheritRemote ends the reading of a cluster that another Secret names too, and lets that one's be answered with:
// what the first had stays until the other has been listed. It returns what is to be read. The caller holds mu.
func (e *engine) inheritRemote(name string, of *source.Remote) *remote {
	r := &e.remotes
	if m := r.running[name]; m != nil {
		m.cancel()
		delete(r.running, name)
	}
	if e.latest(name) != nil {
		r.recalled[name] = true
	}
	return e.succeed(name, of)
}

// succeed lets a cluster be answered with that was found to be another one, called name, which is not that any
// more; whatever else was found to be that one is now this one. It returns what is to be read. The caller
// holds mu.
func (e *engine) succeed(name string, of *source.Remote) *remote {
	before := e.remotes.running[of.Name]
	for _, m := range e.remotes.running {
		if m.twin == name && (before.last == nil || m.last == nil || m.last.UID == before.last.UID) {
			m.twin = of.Name
		}
	}
	before.twin = name
	if before.last != nil {
		before.twin = ""
		e.begin(before.last, before.source.Identity())
		e.keepRemote(of)
	}
	m := e.openRemote(of)
	if p := e.pending[of.Name]; p != nil {
		countKnown(p)
		e.giveWay(p)
	}
	return m
}

// standBeside lets a cluster among wanted be answered with, beside the one called twin that it was found to be, in place of another
// such one which was, as twin has been listed in part only. The caller holds mu.
func (e *engine) standBeside(twin, uid string, wanted map[string]*source.Remote) {
	for _, name := range e.remotes.byListings() {
		m := e.remotes.running[name]
		if m.twin != twin || m.last == nil || m.last.UID != uid || wanted[name] == nil || !e.leadsTo(wanted[name], m.source.Identity()) {
			continue
		}
		if e.latest(name) == nil {
			e.begin(m.last, m.source.Identity())
			countKnown(e.pending[name])
			e.giveWay(e.pending[name])
		}
		return
	}
}

// partTwins lets those clusters be answered with that were found to be the one of c's name, which is another one in c:
// the Secret or the Corefile leads to another server now. Those that are read under a third name are that one. It returns what
// there is to say. The caller holds mu.
func (e *engine) partTwins(c *api.Cluster) (lines []line) {
	r := &e.remotes
	for _, name := range r.byListings() {
		m := r.running[name]
		if m.twin != c.Name || m.last == nil || m.last.UID == c.UID || c.UID == "" {
			continue
		}
		if twin := e.twinBeside(m.last, c.Name); twin != "" {
			lines = append(lines, e.isTwin(m, twin)...)
			continue
		}
		delete(r.problems, m.of.Secret)
		if m = e.succeed(c.Name, m.of); r.read != nil {
			r.read(m)
		}
		lines = append(lines, line{e.infof, fmt.Sprintf("cluster %q: it is not cluster %q under another name any more, and is answered with", name, c.Name)})
	}
	return lines
}

// byListings returns the names of what is read. Of those that are other clusters under other names, the ones that have listed
// more come first.
func (r *remotes) byListings() []string {
	lacks := func(name string) (n int) {
		for k := range api.NumKinds {
			if last := r.running[name].last; k.HoldsNames() && (last == nil || !last.Listings[k].Certain()) {
				n++
			}
		}
		return n
	}
	names := slices.Sorted(maps.Keys(r.running))
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(lacks(a), lacks(b)) })
	return names
}

// begin makes c, which is read from where identity says, the first that is known of a cluster. The caller
// holds mu.
func (e *engine) begin(c *api.Cluster, identity string) {
	e.pending[c.Name], e.came[c.Name] = anew(c), identity
}

// anew returns c as what comes after anything that was known of it.
func anew(c *api.Cluster) *api.Cluster {
	own := *c
	own.Epoch, own.Changed, own.Inferred = epochs.Add(1), nil, nil
	return &own
}
