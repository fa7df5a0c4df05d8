package kuadrant

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/source"
)

// openRemote makes what reads a cluster, which replaces what has read it. The caller holds mu.
func (e *engine) openRemote(of *source.Remote) *remote {
	m := &remote{of: of, stats: new(source.Stats), cancel: func() {}}
	if write := e.remotes.write; write != nil {
		var err error
		if m.writer, err = write(of.Name, of.Config); err != nil {
			log.Errorf("Writing back to cluster %q is not possible: %v", of.Name, err)
		}
	}
	m.source = e.remotes.open(of, m.stats, m.writer)
	m.heard = e.latest(of.Name) != nil
	if before := e.remotes.running[of.Name]; before != nil {
		before.cancel()
		m.heard = m.heard || before.heard
		m.goOn(before)
	}
	delete(e.remotes.recalled, of.Name)
	e.remotes.running[of.Name] = m
	return m
}

// goOn has m, which is not read yet, know of before what that had of a cluster under another name, where it is the
// same server: what has been read of it then is known.
func (m *remote) goOn(before *remote) {
	if m.source.Identity() == before.source.Identity() {
		m.twin, m.last = before.twin, before.last
		m.heard = m.heard || m.last != nil
	}
}

// keepRemote keeps what is known of a cluster whose Secret has changed, or was not known, until
// it has been read as the Secret has it now. Where it pools counts at once. The caller holds mu.
func (e *engine) keepRemote(of *source.Remote) {
	e.keepKnown(of, e.leadsTo(of, e.origin(of.Name)))
}

// leadsTo tells whether what a Secret says leads to the server that a source of that identity reads. The caller holds mu.
func (e *engine) leadsTo(of *source.Remote, identity string) bool {
	return e.remotes.open(of, nil, nil).Identity() == identity
}

// poolRecalled lets count where a cluster pools that is answered for from the state on disk, and
// whose Secret says that much. The caller holds mu.
func (e *engine) poolRecalled(of *source.Remote) {
	if c := e.latest(of.Name); c != nil && !c.Pools.Equal(of.Pools) {
		e.keepKnown(of, true)
	}
}

// keepKnown keeps what is known of a cluster, which pools as its Secret says now; same tells whether that
// leads to the server of before. The caller holds mu.
func (e *engine) keepKnown(of *source.Remote, same bool) {
	name, h := of.Name, &e.handover
	c, before, old := e.latest(name), h.standIns[name], h.isRecalled(name)
	delete(h.standIns, name)
	if c == nil {
		return
	}
	kept := e.standFor(c, of.Pools)
	if same {
		h.standIns[name].goOn(before, old)
		h.orphan(name, false)
	} else { // another server, which has other objects
		delete(h.standIns, name)
		h.orphan(name, old)
	}
	if kept != c {
		e.pending[name] = kept
	}
}

// removeRemote ends what is read of a cluster, and withdraws it. The caller holds mu.
func (e *engine) removeRemote(name string) {
	e.remotes.running[name].cancel()
	delete(e.remotes.running, name)
	e.withdraw(name)
}

// withdraw takes back what is known of a cluster that no Secret names any more. The caller holds
// mu.
func (e *engine) withdraw(name string) {
	delete(e.remotes.recalled, name)
	delete(e.remotes.lost, name)
	delete(e.pending, name)
	delete(e.came, name)
	delete(e.handover.standIns, name)
	e.handover.orphan(name, false)
	e.handover.end(name)
}

// readRemote reads one cluster until ctx ends, or it is to be read no more. The caller holds
// mu.
func (e *engine) readRemote(ctx context.Context, m *remote) {
	ctx, m.cancel = context.WithCancel(ctx)
	m.write = func() {
		if m.write = nil; m.writer != nil {
			w := m.writer
			ctx, cancel := context.WithCancel(ctx)
			m.unwrite = cancel
			e.done.Go(func() { w.Run(ctx) })
		}
	}
	epoch := epochs.Add(1)
	e.done.Go(func() {
		err := m.source.Run(ctx, func(c *api.Cluster) {
			own := *c
			own.Epoch = epoch
			e.takeRemote(m, &own)
		})
		if err != nil && ctx.Err() == nil {
			log.Errorf("Reading %s has ended: %v", m.source.Name(), err)
		}
	})
}

// takeRemote is take for a cluster that a Secret names.
func (e *engine) takeRemote(m *remote, c *api.Cluster) {
	e.mu.Lock()
	if e.remotes.running[c.Name] != m {
		e.mu.Unlock()
		return // it has been removed meanwhile, or is read in another way
	}
	if !m.heard {
		m.heard = true
		e.noteRemotes()
	}
	if twin := e.twin(c); twin != "" {
		lines := e.partTwins(c)
		m.last = c
		lines = append(lines, e.isTwin(m, twin)...)
		e.leaveServer(c)
		e.giveWay(e.latest(twin))
		lines = append(lines, e.dropRecalled()...)
		e.mu.Unlock()
		sayAll(lines)
		e.ring()
		return
	}
	m.twin, m.last = "", nil
	if m.write != nil {
		m.write()
	}
	lines := e.receive(c)
	if p := e.pending[c.Name]; p != nil {
		countKnown(p)
	}
	e.mu.Unlock()
	sayAll(lines)
	e.ring()
}

func twinProblem(twin string) string {
	return fmt.Sprintf("it is the cluster %q under another name (both have the same UID of the namespace kube-system), and is not read twice", twin)
}

// isTwin notes that a cluster which a Secret names is another one under another name, and so are those that were found to be
// it: what is known of it gives way to that.
// It returns what there is to say. The caller holds mu.
func (e *engine) isTwin(m *remote, twin string) (lines []line) {
	if m.unwrite != nil {
		m.unwrite() // it was not known when it began
		m.writer = nil
	}
	if m.twin != twin {
		lines = []line{{e.warnf, fmt.Sprintf("Secret %s, which names a cluster: %s", m.of.Secret, twinProblem(twin))}}
	}
	e.joinTwins(m.of.Name, twin)
	m.twin = twin
	e.remotes.problems[m.of.Secret] = twinProblem(twin)
	return lines
}

// goFirst lets c, which is one of the Corefile's, be answered with instead of those clusters that Secrets name which are the
// same. One that leads elsewhere by now is no twin, and gives way with what is known of it. It returns what there is to say.
// The caller holds mu.
func (e *engine) goFirst(c *api.Cluster) (lines []line) {
	r := &e.remotes
	for _, name := range slices.Sorted(maps.Keys(r.running)) {
		m, known := r.running[name], e.latest(name)
		if r.reads(name) && known != nil && known.UID == c.UID && c.UID != "" && !e.hasLeft(m) {
			m.last = known
			lines = append(lines, e.isTwin(m, c.Name)...)
		}
	}
	if twin := e.twin(c); e.reserved(twin) {
		lines = append(lines, e.warnTwin(c.Name, twin)...)
	}
	return lines
}

// joinTwins notes that those which were found to be a cluster are another one, as that is. The caller holds mu.
func (e *engine) joinTwins(name, twin string) {
	for _, m := range e.remotes.running {
		if m.twin == name {
			m.twin = twin
			e.remotes.problems[m.of.Secret] = twinProblem(twin)
		}
	}
}

// hasLeft tells whether what is known of a cluster that a Secret names comes from a server that this does not lead to any
// more. The caller holds mu.
func (e *engine) hasLeft(m *remote) bool {
	from := e.origin(m.of.Name)
	return from != "" && from != m.source.Identity()
}

// leaveServer withdraws what is known of a cluster from a server that its Secret does not lead to any more: c has been
// listed at another, and is not answered with. The caller holds mu.
func (e *engine) leaveServer(c *api.Cluster) {
	known, goesOn := e.latest(c.Name), e.handover.standIns[c.Name] != nil
	if known != nil && known.UID != c.UID && (!goesOn || replaces(c, known)) {
		e.withdraw(c.Name)
		e.noteRemotes()
	}
}

// twin returns the name of another cluster that is the same as c, and is read; "" for none. The caller
// holds mu.
func (e *engine) twin(c *api.Cluster) string { return e.twinBeside(c, "") }

// twinBeside is twin for others than the one called besides.
func (e *engine) twinBeside(c *api.Cluster, besides string) string {
	same := func(o *api.Cluster) bool {
		return o != nil && o.Name != c.Name && o.Name != besides && o.UID == c.UID && o.UID != "" && (e.reserved(o.Name) || e.remotes.reads(o.Name))
	}
	for _, o := range e.clusters {
		if same(e.latest(o.Name)) {
			return o.Name
		}
	}
	for _, name := range slices.Sorted(maps.Keys(e.pending)) {
		if same(e.pending[name]) {
			return name
		}
	}
	return ""
}

// warnTwin returns what says, once, that two clusters of the Corefile are one. Both are read: what the
// Corefile says is done.
func (e *engine) warnTwin(one, other string) (lines []line) {
	pair := min(one, other) + " " + max(one, other)
	if _, said := e.twins.LoadOrStore(pair, true); !said {
		lines = append(lines, line{e.warnf, fmt.Sprintf("Cluster %q of the Corefile is cluster %q under another name (both have the same UID of the namespace kube-system): its objects count twice, and so do weights. Take one of them out", one, other)})
	}
	return lines
}

// countKnown makes a cluster that a Secret names count for what is known of it, and no more:
// a kind that could not be listed holds nothing. A Secret that is wrong, or a right that is
// missing there, would keep names from being denied everywhere otherwise.
func countKnown(c *api.Cluster) {
	for k, l := range c.Listings {
		if api.Kind(k).HoldsNames() && l == api.NotListed {
			c.Listings[k] = api.NotCounted
		}
	}
}
