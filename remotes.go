package kuadrant

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/corefile"
	"github.com/coredns-kuadrant/kuadrant/source"
)

const (
	// maxRemotes bounds the clusters that Secrets name: each has its own connections,
	// goroutines and objects.
	maxRemotes = 100
	// remotePatience is how long a process that has just started is not ready for want of
	// clusters beside the main one. A cluster in reach takes a second.
	remotePatience = 30 * time.Second
)

// remotes are the clusters that Secrets name at run time (docs/decisions/0026). The maps are
// guarded by the engine's mu.
type remotes struct {
	// place says where the Secrets are; "" where there is nowhere to look.
	place string
	// follow tells of the Secrets until ctx ends, open makes the source of one cluster.
	follow func(ctx context.Context, publish func([]*source.Remote)) error
	open   func(r *source.Remote, stats *source.Stats, w *writer) source.Source
	// write makes what writes back to one cluster; it may return nil.
	write func(name string, config *rest.Config) (*writer, error)

	// read has a cluster be read from now on; nil before any is.
	read    func(*remote)
	running map[string]*remote // by name
	// recalled are the clusters that are answered for as they were, and that nothing reads: those from
	// the state on disk whose Secrets have not been read since, as what these hold is not in the state; those of
	// the engine before, where Secrets are looked for elsewhere now; and those
	// whose Secrets have gone or cannot be used, until the cluster is read under another name.
	recalled map[string]bool
	// lost are the clusters whose Secrets have gone without a report, by name.
	lost map[string]*lostRemote
	// unusable are the clusters that are not read, as their Secrets are wrong, or the Corefile has others of their
	// names, by name.
	unusable map[string]*source.Remote
	// problems say why a Secret is not followed, or not in full, by its namespace/name.
	problems map[string]string
	listed   bool             // the Secrets have been listed
	told     []*source.Remote // what was published of them last
	timers   []*time.Timer
	// expecting is true from the start of a process until the Secrets have been listed, and the
	// clusters that they name have: until then no name is denied (rule 7.4).
	expecting atomic.Bool
	// names are those of running, recalled and lost, for readers without mu.
	names atomic.Pointer[map[string]bool]
}

// remote is one cluster that a Secret names.
type remote struct {
	of     *source.Remote
	source source.Source
	stats  *source.Stats
	// writer is nil where nothing is written; write lets it run, once it is known that the
	// cluster is no other one under another name.
	writer *writer
	write  func()
	// unwrite ends the writer; nil where it does not run.
	unwrite context.CancelFunc
	cancel  context.CancelFunc
	heard   bool // the source has published
	// twin is the name of the cluster that it is another name of, "" for none: nothing of it is
	// answered with then. last is what the source has published meanwhile; nil for nothing.
	twin string
	last *api.Cluster
}

func newRemotes() remotes {
	return remotes{running: make(map[string]*remote), recalled: make(map[string]bool), lost: make(map[string]*lostRemote), problems: make(map[string]string)}
}

// configure lets the Secrets be followed that are in a namespace of the main cluster, which
// config leads to. sel says what is read of the clusters that they name, write what writes back
// to them.
func (r *remotes) configure(namespace string, config *rest.Config, sel source.Selection, write func(string, *rest.Config) (*writer, error)) {
	r.write = write
	r.place = fmt.Sprintf("%q path=%q namespace=%q", config.Host, config.APIPath, namespace)
	r.follow = func(ctx context.Context, publish func([]*source.Remote)) error {
		return source.FollowRemotes(ctx, source.RemotesOptions{
			Cluster: corefile.LocalCluster, Config: config, Namespace: namespace, Logf: log.Warningf, Infof: log.Infof,
		}, publish)
	}
	r.open = func(r *source.Remote, stats *source.Stats, w *writer) source.Source {
		own := sel
		own.Pools = r.Pools
		return clusterSource(r.Name, r.Config, own, stats, w)
	}
}

// has tells whether a Secret names the cluster, or did a moment ago.
func (r *remotes) has(cluster string) bool {
	names := r.names.Load()
	return names != nil && (*names)[cluster]
}

// reads tells whether what is in a cluster is read as a Secret says, and is not another one's.
func (r *remotes) reads(cluster string) bool {
	m := r.running[cluster]
	return m != nil && m.twin == ""
}

// hasTwin tells whether another cluster was found to be the one of that name.
func (r *remotes) hasTwin(cluster string) bool {
	for _, m := range r.running {
		if m.twin == cluster {
			return true
		}
	}
	return false
}

// startRemotes begins with what before, which may be nil, follows: its Secrets have not been
// read anew, and nothing of them is forgotten.
func (e *engine) startRemotes(ctx context.Context, before *engine) {
	r := &e.remotes
	if len(e.further) > 0 || r.follow != nil {
		e.after(remotePatience, func() { e.late.Store(true) })
	}
	if r.follow == nil {
		return
	}
	r.expecting.Store(true)
	if before == nil {
		return
	}
	before.mu.Lock()
	defer before.mu.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	moved := before.remotes.place != r.place
	r.expecting.Store(moved || before.remotes.expecting.Load())
	for name, m := range before.remotes.running {
		switch {
		case e.reserved(name):
		case !moved:
			e.openRemote(m.of).goOn(m)
		case before.latest(name) != nil:
			r.recalled[name] = true // what leads to it is not in a Secret that counts
		}
	}
	for name, of := range before.remotes.unusable {
		if !moved && of.Fault == "" && before.reserved(name) && !e.reserved(name) && len(r.running) < maxRemotes {
			e.openRemote(of) // it is the Secret's turn now
		}
	}
	for name := range before.remotes.recalled {
		if !e.reserved(name) {
			r.recalled[name] = true
		}
	}
	e.noteRemotes()
}

// after calls do in a while, unless e has stopped, and has everything compiled anew.
func (e *engine) after(while time.Duration, do func()) {
	e.remotes.timers = append(e.remotes.timers, time.AfterFunc(while, func() {
		do()
		e.ring()
	}))
}

// reserved tells whether the Corefile has a cluster of that name.
func (e *engine) reserved(name string) bool {
	return slices.ContainsFunc(e.sources, func(s source.Source) bool { return s.Name() == name })
}

// takeOverRemotes is takeOver for the clusters that Secrets name. The caller holds mu.
func (e *engine) takeOverRemotes(clusters []*api.Cluster, origins map[string]string) {
	e.endTwins()
	for _, c := range clusters {
		m, pools := e.remotes.running[c.Name], c.Pools
		if e.remotes.lost[c.Name] != nil {
			e.origins[c.Name] = origins[c.Name]
			e.clusters = append(e.clusters, c)
			continue
		}
		if !known(c) || m == nil && !e.remotes.recalled[c.Name] || e.handover.standIns[c.Name] != nil {
			continue // standIns: it was found to be one that the Corefile does not have any more
		}
		if m != nil {
			m.heard, pools = true, m.of.Pools
		}
		e.origins[c.Name] = origins[c.Name]
		e.clusters = append(e.clusters, e.standFor(c, pools))
		if m != nil && origins[c.Name] != m.source.Identity() {
			delete(e.handover.standIns, c.Name) // until that server has been listed, as in keepRemote
		}
	}
	e.noteRemotes()
	slices.SortFunc(e.clusters, func(a, b *api.Cluster) int { return cmp.Compare(a.Name, b.Name) })
}

// endTwins lets clusters be answered with that were found to be others which the Corefile does not have any more.
// The caller holds mu.
func (e *engine) endTwins() {
	r := &e.remotes
	for _, name := range r.byListings() {
		m := r.running[name]
		switch twin := m.twin; {
		case twin == "" || e.reserved(twin) || r.running[twin] != nil:
		case m.last == nil:
			r.recalled[twin] = true // until m has been listed
		default:
			for _, o := range r.running {
				if o.twin == twin {
					o.twin = name
				}
			}
			e.origins[name] = m.source.Identity()
			known := anew(m.last)
			countKnown(known)
			e.clusters = append(e.clusters, e.standFor(known, m.of.Pools))
			m.twin, m.last, m.heard = "", nil, true
		}
	}
}

// followRemotes reads the clusters that are known, and follows the Secrets that name them.
func (e *engine) followRemotes(ctx context.Context) {
	r := &e.remotes
	if r.follow == nil {
		return
	}
	e.mu.Lock()
	r.read = func(m *remote) { e.readRemote(ctx, m) }
	for _, m := range r.running {
		r.read(m)
	}
	e.mu.Unlock()
	e.done.Go(func() {
		if err := r.follow(ctx, func(all []*source.Remote) { e.setRemotes(ctx, all) }); err != nil && ctx.Err() == nil {
			log.Errorf("Following the Secrets that name clusters has ended: %v", err)
			e.setRemotes(ctx, nil)
		}
	})
}

// stopRemotes ends what after has begun.
func (e *engine) stopRemotes() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, t := range e.remotes.timers {
		t.Stop()
	}
}

// setRemotes takes in what Secrets name; nil is that nobody can say. It is called from one
// goroutine.
func (e *engine) setRemotes(ctx context.Context, all []*source.Remote) {
	e.mu.Lock()
	r := &e.remotes
	var lines []line
	if all != nil {
		lines = e.turnRemotes(ctx, all)
		r.listed = true
	} else if !r.listed {
		r.expecting.Store(false)
	}
	e.noteRemotes()
	e.mu.Unlock()
	sayAll(lines)
	e.ring()
}

// named is what is known of clusters of which nothing has been read.
type named struct {
	awaited []*api.Cluster // those that Secrets name
	unsure  bool           // nobody has said which there are
}

// awaited returns what is known of clusters of which nothing has been read. The caller holds mu.
func (e *engine) awaited() named {
	r, all := &e.remotes, []*api.Cluster(nil)
	add := func(of *source.Remote) {
		known := func(c *api.Cluster) bool { return c.Name == of.Name }
		if !slices.ContainsFunc(e.clusters, known) {
			all = append(all, &api.Cluster{Name: of.Name, Pools: of.Pools})
		}
	}
	for _, m := range r.running {
		if !m.heard {
			add(m.of)
		}
	}
	for _, of := range r.unusable {
		add(of)
	}
	slices.SortFunc(all, func(a, b *api.Cluster) int { return cmp.Compare(a.Name, b.Name) })
	return named{all, r.follow != nil && !r.listed}
}

// noteRemotes keeps what others ask for true to the facts. The caller holds mu.
func (e *engine) noteRemotes() {
	r := &e.remotes
	names, waiting := make(map[string]bool, len(r.running)), false
	var servers []string
	unread := func(name string) {
		names[name] = true
		if server := source.ServerIn(e.origins[name]); server != "" {
			servers = append(servers, hostOf(server))
		}
	}
	for name := range r.recalled {
		unread(name)
	}
	for name := range r.lost {
		unread(name)
	}
	for name, m := range r.running {
		names[name] = true
		waiting = waiting || !m.heard
		servers = append(servers, hostOf(m.of.Config.Host))
	}
	r.names.Store(&names)
	if r.listed && !waiting {
		r.expecting.Store(false)
	}
	if e.prober != nil {
		e.prober.Deny(servers)
	}
}

// reading yields the name of every cluster that is read, and what its source says of itself.
func (e *engine) reading() iter.Seq2[string, *source.Stats] {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := make(map[string]*source.Stats, len(e.sources)+len(e.remotes.running))
	for i, s := range e.sources {
		all[s.Name()] = e.stats[i]
	}
	for name, m := range e.remotes.running {
		all[name] = m.stats
	}
	return maps.All(all)
}

// remoteProblems returns why Secrets that name clusters are not followed, or not in full, by
// their namespace/name. It holds nothing of their values.
func (e *engine) remoteProblems() map[string]string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return maps.Clone(e.remotes.problems)
}
