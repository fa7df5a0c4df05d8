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
	"github.com/coredns-kuadrant/kuadrant/source"
)

const (
	// maxRemotes bounds the clusters that Secrets name: each has its own connections,
	// goroutines and objects.
	maxRemotes = 100
	// remotePatience is how long a process that has just started waits for clusters beside
	// the main one: before it is ready, and, for those that Secrets name, before it denies
	// names. A cluster in reach takes a second.
	remotePatience = 30 * time.Second
)

// remotes are the clusters that Secrets name at run time (docs/decisions/0026). The maps are
// guarded by the engine's mu.
type remotes struct {
	// place says where the Secrets are; "" where there is nowhere to look.
	place string
	// follow tells of the Secrets until ctx ends, open makes the source of one cluster.
	follow func(ctx context.Context, publish func([]*source.Remote)) error
	open   func(r *source.Remote, stats *source.Stats) source.Source

	running map[string]*remote // by name
	// problems say why a Secret is not followed, or not in full, by its namespace/name.
	problems map[string]string
	listed   bool // the Secrets have been listed
	timers   []*time.Timer
	// expecting is true at the start of a process, until the clusters that there are can be
	// told from those that there are not.
	expecting atomic.Bool
	// names are those of running, for readers without mu.
	names atomic.Pointer[map[string]bool]
}

// remote is one cluster that a Secret names.
type remote struct {
	of     *source.Remote
	source source.Source
	stats  *source.Stats
	cancel context.CancelFunc
	heard  bool   // the source has published
	twin   string // the name of the cluster that it is another name of, "" for none
}

func newRemotes() remotes {
	return remotes{running: make(map[string]*remote), problems: make(map[string]string)}
}

// configure lets the Secrets be followed that are in a namespace of the main cluster, which
// config leads to. sel says what is read of the clusters that they name.
func (r *remotes) configure(namespace string, config *rest.Config, sel source.Selection) {
	r.place = fmt.Sprintf("%q path=%q namespace=%q", config.Host, config.APIPath, namespace)
	r.follow = func(ctx context.Context, publish func([]*source.Remote)) error {
		return source.FollowRemotes(ctx, source.RemotesOptions{
			Cluster: localCluster, Config: config, Namespace: namespace, Logf: log.Warningf, Infof: log.Infof,
		}, publish)
	}
	r.open = func(r *source.Remote, stats *source.Stats) source.Source {
		own := sel
		own.Pools = r.Pools
		return clusterSource(r.Name, r.Config, own, stats)
	}
}

// has tells whether a Secret names the cluster.
func (r *remotes) has(cluster string) bool {
	names := r.names.Load()
	return names != nil && (*names)[cluster]
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
	if before.remotes.place != r.place {
		return
	}
	r.expecting.Store(before.remotes.expecting.Load())
	for name, m := range before.remotes.running {
		if !e.reserved(name) {
			e.openRemote(m.of)
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
	for _, c := range clusters {
		m := e.remotes.running[c.Name]
		if m == nil || !known(c) || origins[c.Name] != m.source.Identity() {
			continue
		}
		m.heard = true
		e.origins[c.Name] = origins[c.Name]
		e.clusters = append(e.clusters, e.standFor(c, m.of.Pools))
	}
	slices.SortFunc(e.clusters, func(a, b *api.Cluster) int { return cmp.Compare(a.Name, b.Name) })
}

// followRemotes reads the clusters that are known, and follows the Secrets that name them.
func (e *engine) followRemotes(ctx context.Context) {
	r := &e.remotes
	if r.follow == nil {
		return
	}
	e.mu.Lock()
	for _, m := range r.running {
		e.readRemote(ctx, m)
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
		if !r.listed && r.expecting.Load() {
			e.after(remotePatience, func() { r.expecting.Store(false) })
		}
		r.listed = true
	} else if !r.listed {
		r.expecting.Store(false)
	}
	e.noteRemotes()
	e.mu.Unlock()
	for _, l := range lines {
		l.logf("%s", l.text)
	}
	e.ring()
}

// line is one line of the log.
type line struct {
	logf func(format string, args ...any)
	text string
}

// turnRemotes lets those run that are to run, and returns what there is to say. The caller
// holds mu.
func (e *engine) turnRemotes(ctx context.Context, all []*source.Remote) (lines []line) {
	r := &e.remotes
	wanted, problems := e.chooseRemotes(all)
	say := func(logf func(string, ...any), format string, args ...any) {
		lines = append(lines, line{logf, fmt.Sprintf(format, args...)})
	}
	for _, name := range slices.Sorted(maps.Keys(r.running)) {
		if wanted[name] == nil {
			e.removeRemote(name)
			say(e.infof, "cluster %q: its Secret is gone: what comes from it alone is withdrawn", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		of, m := wanted[name], r.running[name]
		switch {
		case m == nil:
			say(e.infof, "cluster %q: Secret %s names it: reading it from %s", name, of.Secret, of.Config.Host)
		case m.twin != "" && r.running[m.twin] == nil && !e.reserved(m.twin):
		case m.of.Same(of):
			if m.twin != "" {
				problems[of.Secret] = twinProblem(m.twin)
			}
			continue
		default:
			say(e.infof, "cluster %q: Secret %s has changed: reading it from %s", name, of.Secret, of.Config.Host)
			e.keepRemote(m, of)
		}
		e.readRemote(ctx, e.openRemote(of))
	}
	for _, secret := range slices.Sorted(maps.Keys(problems)) {
		if problems[secret] != r.problems[secret] {
			say(e.warnf, "Secret %s, which names a cluster: %s", secret, problems[secret])
		}
	}
	r.problems = problems
	return lines
}

// chooseRemotes returns those of all that are to run, by name, and what is wrong with the
// others, by Secret. One that runs goes on with what its Secret held last that could be used.
// The caller holds mu.
func (e *engine) chooseRemotes(all []*source.Remote) (wanted map[string]*source.Remote, problems map[string]string) {
	r := &e.remotes
	wanted, problems = make(map[string]*source.Remote), make(map[string]string)
	running := func(of *source.Remote) int {
		if r.running[of.Name] != nil {
			return 0
		}
		return 1
	}
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b *source.Remote) int { return running(a) - running(b) })
	for _, of := range all {
		m := r.running[of.Name]
		switch {
		case of.Name == localCluster:
			problems[of.Secret] = fmt.Sprintf("%q is the name of the main cluster: give the Secret another name", localCluster)
		case e.reserved(of.Name):
			problems[of.Secret] = fmt.Sprintf("the Corefile has a cluster %q, which goes first: give the Secret another name", of.Name)
		case of.Fault != "" && m != nil:
			problems[of.Secret] = of.Fault + "; the cluster is read as before"
			wanted[of.Name] = m.of
		case of.Fault != "":
			problems[of.Secret] = of.Fault
		case len(wanted) == maxRemotes:
			problems[of.Secret] = fmt.Sprintf("there are %d such clusters already, which is the most", maxRemotes)
		default:
			wanted[of.Name] = of
			if of.Warning != "" {
				problems[of.Secret] = of.Warning
			}
		}
	}
	return wanted, problems
}

// openRemote makes what reads a cluster, which replaces what has read it. The caller holds mu.
func (e *engine) openRemote(of *source.Remote) *remote {
	m := &remote{of: of, stats: new(source.Stats), cancel: func() {}}
	m.source = e.remotes.open(of, m.stats)
	if before := e.remotes.running[of.Name]; before != nil {
		before.cancel()
		m.heard = before.heard
	}
	e.remotes.running[of.Name] = m
	return m
}

// keepRemote keeps what is known of a cluster whose Secret has changed, until it has been
// read as the Secret has it now. Where it pools counts at once. The caller holds mu.
func (e *engine) keepRemote(m *remote, of *source.Remote) {
	name := of.Name
	c := e.pending[name]
	if i := slices.IndexFunc(e.clusters, func(c *api.Cluster) bool { return c.Name == name }); c == nil && i >= 0 {
		c = e.clusters[i]
	}
	delete(e.handover.standIns, name)
	if c == nil {
		return
	}
	kept := e.standFor(c, of.Pools)
	if e.remotes.open(of, nil).Identity() != m.source.Identity() {
		delete(e.handover.standIns, name) // another server, which has other objects
	}
	if kept != c {
		e.pending[name] = kept
	}
}

// removeRemote ends what is read of a cluster, and withdraws it. The caller holds mu.
func (e *engine) removeRemote(name string) {
	e.remotes.running[name].cancel()
	delete(e.remotes.running, name)
	delete(e.pending, name)
	delete(e.handover.standIns, name)
	if e.handover.over == nil {
		e.handover.over = make(map[string]bool)
	}
	e.handover.over[name] = true
}

// noteRemotes keeps what others ask for true to the facts. The caller holds mu.
func (e *engine) noteRemotes() {
	r := &e.remotes
	names, waiting := make(map[string]bool, len(r.running)), false
	var servers []string
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

// readRemote reads one cluster until ctx ends, or it is to be read no more. The caller holds
// mu.
func (e *engine) readRemote(ctx context.Context, m *remote) {
	ctx, m.cancel = context.WithCancel(ctx)
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
	twin := e.twin(c)
	said := m.twin
	if m.twin = twin; twin != "" {
		e.remotes.problems[m.of.Secret] = twinProblem(twin)
		e.mu.Unlock()
		if said != twin {
			e.warnf("Secret %s, which names a cluster: %s", m.of.Secret, twinProblem(twin))
		}
		e.ring()
		return
	}
	e.receive(c)
	if p := e.pending[c.Name]; p != nil {
		countKnown(p)
	}
	e.mu.Unlock()
	e.ring()
}

func twinProblem(twin string) string {
	return fmt.Sprintf("it is the cluster %q under another name (both have the same UID of the namespace kube-system), and is not read twice", twin)
}

// twin returns the name of another cluster that is the same as c; "" for none. The caller
// holds mu.
func (e *engine) twin(c *api.Cluster) string {
	for _, o := range e.clusters {
		if p := e.pending[o.Name]; p != nil {
			o = p
		}
		if o.Name != c.Name && o.UID == c.UID && o.UID != "" {
			return o.Name
		}
	}
	return ""
}

// countKnown makes a cluster that a Secret names count for what is known of it, and no more:
// a kind that could not be listed holds nothing. A Secret that is wrong, or a right that is
// missing there, would keep names from being denied everywhere otherwise.
func countKnown(c *api.Cluster) {
	for k, l := range c.Listings {
		if api.Kind(k).HoldsNames() && l == api.NotListed {
			c.Listings[k], c.ListedIn[k] = api.NotWatched, nil
		}
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
