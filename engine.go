package kuadrant

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/source"
)

// engine is the hub: it takes what the sources publish, compiles it and keeps
// the snapshot that all server blocks answer from. One Corefile has one engine.
type engine struct {
	// snap is what queries are answered from; nil until something is known.
	snap atomic.Pointer[records.Snapshot]
	// made is when snap was made, in nanoseconds since 1970.
	made atomic.Int64
	// answers is set once ready has found something to answer from.
	answers atomic.Bool
	// locator finds clients; nil where the Corefile names no database. It is set
	// before the first query.
	locator *geo.DB
	// signings are the dnssec plugins of all server blocks. They are known before the
	// first query.
	signings []*signing

	// prober checks targets; nil where the Corefile turns that off. probing is when
	// it was given the targets of the first snapshot that can be answered from, nil
	// before that: a Time keeps counting where the clock is set.
	prober  *health.Prober
	probing atomic.Pointer[time.Time]
	// failing tells which hosts have no target left that is up.
	failing *failOpens
	// notifier tells secondaries of changes; ahead are those who know more than there is.
	notifier *notifier
	ahead    aheads

	// overrides are the operator's own words; overrideFile is where they come from,
	// nil where the Corefile names none. noted are those that were looked through;
	// only the compiling goroutine uses it.
	overrides    atomic.Pointer[api.Overrides]
	overrideFile *overrideFile
	noted        *api.Overrides

	// keeping is what the elected writer keeps: owners, and serials.
	keeping keeping

	opt       *records.Options
	noSecrets bool      // no Secret is to be used, whoever has read it
	writers   []*writer // one for each cluster of the Corefile that is written to
	// sources are those of the Corefile, stats are theirs; further has the names of those
	// that are not the main one's. pools says where each of them pools, by name.
	sources []source.Source
	stats   []*source.Stats
	further map[string]bool
	pools   map[string]api.Pools
	// remotes are the clusters that Secrets name. late is set when what is not the main
	// cluster's has had its time before the first answer.
	remotes remotes
	late    atomic.Bool
	// apiServers are the URLs of those that are read.
	apiServers []string
	now        func() time.Time
	random     func() uint64 // called by queries, any number at a time
	warnf      func(format string, args ...any)
	infof      func(format string, args ...any)

	// from is the engine that this one takes over from: its serials count for as
	// long as it goes on to publish (rule 6.7). nil for none. heir is the one that
	// takes over from this one.
	from, heir atomic.Pointer[engine]

	// keeper keeps the state on disk; nil where the Corefile says nothing of one.
	// served are the clusters that are answered for from there; nil before that was
	// looked at. watches and selection say what is read; watches nil is everything.
	keeper *stateKeeper
	recollection
	served    atomic.Pointer[[]string]
	watches   func(api.Kind) bool
	selection string

	cancel context.CancelFunc
	done   sync.WaitGroup
	ended  atomic.Bool // set once nothing is published any more
	wake   chan struct{}

	mu sync.Mutex
	// pending is what sources have published since the last compile, by cluster,
	// with everything that changed meanwhile. mu guards it.
	pending map[string]*api.Cluster
	// clusters is what was compiled last, sorted by name; origins says, by name,
	// what source.Identity the objects of each come from. Only the compiling
	// goroutine changes them while the engine runs; mu guards them.
	clusters []*api.Cluster
	origins  map[string]string
	// handover is what stands in for what the sources have not listed. mu guards
	// it; it is empty where nothing was taken over.
	handover handover
	// guard holds removals back that nobody has reported.
	guard *guard
}

// newEngine returns an engine that is not running. The sources come later, when
// the whole Corefile has been read.
func newEngine() *engine {
	e := &engine{
		now: time.Now, random: rand.Uint64, warnf: log.Warningf, infof: log.Infof, wake: make(chan struct{}, 1),
		pending: make(map[string]*api.Cluster), origins: make(map[string]string),
		further: make(map[string]bool), pools: make(map[string]api.Pools),
		remotes: newRemotes(),
	}
	e.failing = newFailOpens(e.snap.Load)
	e.failing.follow, e.failing.told = e.tellHealth, e.failOpenEvent
	e.notifier = newNotifier(e.snap.Load)
	e.guard = newGuard(e.ring, e.warnf, e.infof)
	return e
}

// start begins to read the sources. Where there is an engine before it, which
// still runs, that one's objects are compiled and answered from until the
// sources have been listed (rule 8.3).
func (e *engine) start(before *engine) {
	ctx, cancel := context.WithCancel(context.Background())
	e.cancel = cancel
	e.startRemotes(ctx, before)
	for _, s := range e.sources {
		e.clusters = append(e.clusters, &api.Cluster{Name: s.Name()})
		e.origins[s.Name()] = s.Identity()
	}
	slices.SortFunc(e.clusters, func(a, b *api.Cluster) int { return cmp.Compare(a.Name, b.Name) })
	state := e.recall(before)
	if before != nil {
		before.heir.Store(e)
		e.inherit(before)
	}
	if state != nil {
		e.resume(state)
	}
	for _, s := range e.sources {
		e.done.Go(func() { e.read(ctx, s) })
	}
	e.runWriters(ctx)
	e.followRemotes(ctx)
	e.done.Go(func() { e.compileLoop(ctx) })
	e.done.Go(func() { e.failing.run(ctx) })
	e.done.Go(func() { e.notifier.run(ctx) })
	if e.keeper != nil {
		e.done.Go(func() { e.keeper.run(ctx) })
	}
	if e.overrideFile != nil {
		e.done.Go(func() { e.overrideFile.watch(ctx) })
	}
	if e.prober != nil {
		e.done.Go(func() { e.prober.Run(ctx) })
	}
	if e.locator != nil {
		e.done.Go(func() { e.locator.Watch(ctx) })
	}
}

// stop ends everything that start began. Queries are answered from the last
// snapshot afterwards too: CoreDNS goes on asking until its lame duck time ends.
func (e *engine) stop() {
	if e.cancel != nil {
		e.cancel()
		e.done.Wait()
		e.guard.stop()
		if e.keeper != nil {
			e.keeper.save(true)
		}
	}
	e.stopRemotes()
	e.ended.Store(true)
}

// epochs counts what clusters' lists of changes begin anew from: the runs of
// sources in this process, and the steps of their hand-overs.
var epochs atomic.Uint64

// read runs one source until ctx ends.
func (e *engine) read(ctx context.Context, s source.Source) {
	epoch := epochs.Add(1)
	err := s.Run(ctx, func(c *api.Cluster) {
		own := *c
		own.Epoch = epoch
		e.take(&own)
	})
	if err != nil && ctx.Err() == nil {
		log.Errorf("Reading %s has ended: %v", s.Name(), err)
	}
}

// take takes in what a source has published, and hands it on to the compiling
// goroutine as far as its turn has come (rule 8.3).
func (e *engine) take(c *api.Cluster) {
	e.mu.Lock()
	e.receive(c)
	e.mu.Unlock()
	e.ring()
}

// receive puts a cluster where it is compiled next, as far as its turn has come. The caller
// holds mu.
func (e *engine) receive(c *api.Cluster) {
	for _, c := range e.handover.admit(c) {
		if waiting := e.pending[c.Name]; waiting != nil {
			c.After(waiting.Changed, waiting.Inferred)
		}
		e.pending[c.Name] = c
	}
}

// ring has everything compiled that is pending.
func (e *engine) ring() {
	select {
	case e.wake <- struct{}{}:
	default: // it will look at pending anyway
	}
}

// compileLoop compiles whenever something was published.
func (e *engine) compileLoop(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.wake:
		}
		e.compile()
	}
}

// compile makes and publishes the snapshot of what is pending. The first one waits until it
// is known what is kept of zones.
func (e *engine) compile() {
	if e.snap.Load() == nil && e.keeping.waits() {
		return
	}
	e.mu.Lock()
	e.clusters = e.next()
	next, recalled := e.clusters, e.recalled()
	e.mu.Unlock()

	begin := e.now()
	snap := e.compileGuarded(next, begin)
	compileDuration.Observe(e.now().Sub(begin).Seconds())
	if from := e.from.Load(); from != nil {
		ended := from.ended.Load()
		if last := from.snap.Load(); last != nil {
			snap = snap.After(last, begin)
		}
		if ended {
			e.from.Store(nil)
		}
	}
	e.publish(snap)
	e.noteRecalled(recalled)
	e.noteUnmet(snap)
}

// compileGuarded compiles what comes of clusters after the snapshot before (rule 8.5).
func (e *engine) compileGuarded(clusters []*api.Cluster, now time.Time) *records.Snapshot {
	prev, in := e.snap.Load(), e.objects(clusters)
	return e.guard.compile(prev, clusters, now, func(clusters []*api.Cluster) *records.Snapshot {
		in := in
		in.Clusters = clusters
		return records.Compile(prev, in, e.opt, now)
	})
}

// objects returns what is to be compiled of the given clusters. Each call is for one step:
// what has changed of what is kept is told once.
func (e *engine) objects(clusters []*api.Cluster) api.Objects {
	in := api.Objects{Clusters: clusters, Expecting: e.remotes.expecting.Load(), Overrides: e.overrides.Load()}
	e.keeping.fill(&in)
	return in
}

// next returns the clusters to compile now, with what is pending. The caller
// holds mu.
func (e *engine) next() []*api.Cluster {
	pending, over := e.pending, e.handover.over
	e.pending = make(map[string]*api.Cluster, len(pending))
	e.handover.over = nil
	next := make([]*api.Cluster, 0, len(e.clusters)+len(pending))
	for _, c := range e.clusters {
		p := pending[c.Name]
		delete(pending, c.Name)
		switch {
		case p != nil:
			next = append(next, p)
			if is := e.identity(c.Name); e.origins[c.Name] != is {
				e.origins[c.Name], e.guard.foreign[c.Name] = is, true
			}
		case over[c.Name] && e.remotes.running[c.Name] == nil: // else a Secret names it now
			delete(e.origins, c.Name)
		case len(c.Changed) > 0:
			same := *c // nothing new here since the last compile
			same.Changed, same.Inferred = nil, nil
			next = append(next, &same)
		default:
			next = append(next, c)
		}
	}
	for _, c := range pending { // those that have come since
		next = append(next, c)
		e.origins[c.Name] = e.identity(c.Name)
	}
	slices.SortFunc(next, func(a, b *api.Cluster) int { return cmp.Compare(a.Name, b.Name) })
	return next
}

// identity returns where this engine reads the given cluster from.
func (e *engine) identity(cluster string) string {
	for _, s := range e.sources {
		if s.Name() == cluster {
			return s.Identity()
		}
	}
	if r := e.remotes.running[cluster]; r != nil {
		return r.source.Identity()
	}
	return ""
}

// publish makes snap what queries are answered from, and tells about it.
func (e *engine) publish(snap *records.Snapshot) {
	before := e.snap.Swap(snap)
	e.made.Store(e.now().UnixNano())
	logVerdicts(e.warnf, before, snap)
	logOpen(e.infof, before, snap)
	logStandIns(e.infof, e.opt.Zones, before, snap)
	logProbes(e.warnf, before, snap)
	if e.prober != nil {
		checks := snap.Checks()
		e.prober.Follow(checks, checks.Changed())
		if e.answerable(snap) {
			began := e.now()
			e.probing.CompareAndSwap(nil, &began)
		}
	}
	e.failing.compiled(snap)
	e.tellWriters(before, snap)
	e.conflictEvents(before, snap)
	e.notifier.ring()
	e.keeper.changed()
}

// ready tells whether there is something to answer from: of every cluster a kind
// that names come from is listed, or known not to be installed, or objects of one
// are known. A source that may read nothing leaves nothing to answer but SERVFAIL,
// and a process that takes over from one that answers must not look as good (rule
// 7.4). Once true, it stays so: what is known stays.
func (e *engine) ready() bool {
	snap := e.snap.Load()
	if snap == nil || e.answers.Load() {
		return snap != nil
	}
	if !e.answerable(snap) || !e.probed() {
		return false
	}
	e.answers.Store(true)
	return true
}

// answerable tells whether of every cluster something is known that names come
// from, or that there is nothing. That kinds are not installed which most clusters do
// without says nothing. Clusters beside the main one have a while to be heard of: one that
// is away must not keep a process from answering for the others.
func (e *engine) answerable(snap *records.Snapshot) bool {
	if e.remotes.expecting.Load() && !e.late.Load() {
		return false
	}
	for _, c := range snap.Objects().Clusters {
		if e.further[c.Name] && e.late.Load() || e.remotes.has(c.Name) {
			continue
		}
		known := false
		for k := range api.NumKinds {
			l := c.Listings[k]
			absent := (l == api.NotInstalled || l == api.Missing) && (k == api.KindGateway || k == api.KindDNSPolicy)
			known = known || k.HoldsNames() && (c.Count(k) > 0 || l == api.Listed || absent)
		}
		if !known {
			return false
		}
	}
	return true
}

// firstRound is how long readiness waits for the first check of each target: the
// next server should not be taken down for one that still sends queries to all.
const firstRound = 10 * time.Second

// probed tells whether the first round of checks has ended, or has had its time.
func (e *engine) probed() bool {
	if e.prober == nil {
		return true
	}
	began := e.probing.Load()
	return began != nil && (e.prober.Settled() || e.now().Sub(*began) >= firstRound)
}

// configure fills in what the Corefile says. It opens databases, and fails
// where the Corefile cannot work.
func (e *engine) configure(cfg *config) error {
	e.opt = cfg.options()
	sel, err := cfg.selection()
	if err != nil {
		return err
	}
	e.noSecrets, e.watches, e.selection = !sel.Watches(api.KindSecret), sel.Watches, cfg.selectionText(sel.Namespaces)
	e.guard.configure(cfg, sel)
	if err := e.addSources(cfg, sel); err != nil {
		return err
	}
	if e.locator, err = cfg.openGeo(); err != nil {
		return err
	}
	if cfg.override != "" {
		if e.overrideFile, err = openOverrides(cfg.override, e.override); err != nil {
			return cfg.places["override"].errorf("override: %w", err)
		}
	}
	if err := e.openState(cfg); err != nil {
		return err
	}
	if !cfg.probesOff {
		e.prober = health.NewProber(cfg.probing(e.apiServers, e.targetChanged))
	}
	return nil
}

func (e *engine) addSources(cfg *config, sel source.Selection) error {
	if len(cfg.zones) == 0 {
		return errors.New("no zones")
	}
	for _, m := range cfg.manifests {
		own := sel
		own.Pools = cfg.pools[m.cluster]
		stats := new(source.Stats)
		e.addSource(source.Directory(source.DirectoryOptions{
			Cluster: m.cluster, Dir: m.dir, Selection: own, Logf: log.Warningf, Infof: log.Infof, Stats: stats,
		}), stats, own.Pools)
	}
	if len(e.sources) > 0 {
		return cfg.readsFiles()
	}
	rc, namespace, err := cfg.restConfig()
	if err != nil {
		return err
	}
	if e.opt.ZoneNamespaces == nil {
		namespace, _ := cfg.leaseOf(namespace)
		e.opt.ZoneNamespaces = []string{namespace} // rule 5.2
	}
	if err := e.addCluster(cfg, localCluster, rc, sel, namespace, e.takeKept); err != nil {
		return cfg.places[pluginName].errorf("%w", err)
	}
	for _, c := range cfg.clusters {
		config, _, err := loadKubeconfig([]string{c.file}, c.context)
		if err != nil {
			return cfg.places[c.place()].errorf("cluster %s: %w", c.name, err)
		}
		own := sel
		own.Pools = c.pools
		if err := e.addCluster(cfg.writingTo(c), c.name, config, own, namespace, nil); err != nil {
			return cfg.places[c.place()].errorf("cluster %s: %w", c.name, err)
		}
		e.further[c.name] = true
	}
	if ns, _ := cfg.leaseOf(namespace); !e.noSecrets {
		e.remotes.configure(ns, rc, sel, func(name string, config *rest.Config) (*writer, error) {
			return cfg.newWriter(name, config, namespace, nil)
		})
	}
	return nil
}
