package kuadrant

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

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
	snap current
	// made is when snap was made, in nanoseconds since 1970.
	made atomic.Int64
	// answers is set once ready has found something to answer from.
	answers atomic.Bool
	// locator finds clients; nil where the Corefile names no database. It is set
	// before the first query.
	locator *geo.DB
	// lent find clients in its place, for those who ask without a query.
	lent lentLocators
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
	overridden   atomic.Pointer[overridden] // the same as text
	overrideFile *overrideFile
	noted        *api.Overrides

	// keeping is what the elected writer keeps: owners, and serials.
	keeping keeping

	opt       *records.Options
	reads     source.Selection
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
	// twins are the pairs of clusters that were said to be one.
	twins sync.Map
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

	// console shows what there is; nil where the Corefile says nothing of one.
	console *consoleServer
	// keeper keeps the state on disk; nil where the Corefile says nothing of one. watches and
	// selection say what is read; watches nil is everything.
	keeper *stateKeeper
	recollection
	// first is closed when there is a first snapshot, where that waits for what is kept; hurry
	// ends that wait. nil for none.
	first chan struct{}
	hurry *time.Timer
	// unsaid are the clusters of which nothing is said to writers; nil before any was told.
	unsaid    atomic.Pointer[[]string]
	watches   func(api.Kind) bool
	selection string

	// compiling is held while something is compiled: what comes of a snapshot shares trees with it.
	compiling sync.Mutex

	cancel context.CancelFunc
	done   sync.WaitGroup
	ended  atomic.Bool // set once nothing is published any more
	wake   chan struct{}

	mu sync.Mutex
	// came are the identities of the sources that have published what is pending, by cluster; what
	// is pending besides comes from where it came before.
	came map[string]string
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
		pending: make(map[string]*api.Cluster), came: make(map[string]string), origins: make(map[string]string),
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
	if e.console != nil {
		e.done.Go(func() { e.console.run(ctx) })
	}
}

// stop ends everything that start began. Queries are answered from the last
// snapshot afterwards too: CoreDNS goes on asking until its lame duck time ends.
func (e *engine) stop() {
	if e.console != nil {
		e.console.close()
	}
	if e.cancel != nil {
		e.cancel()
		e.done.Wait()
		e.guard.stop()
		if e.hurry != nil {
			e.hurry.Stop()
		}
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
	lines := e.receive(c)
	e.mu.Unlock()
	sayAll(lines)
	e.ring()
}

// receive puts a cluster where it is compiled next, as far as its turn has come, and with it those that have
// waited for it. It returns what there is to say. The caller holds mu.
func (e *engine) receive(c *api.Cluster) (lines []line) {
	for _, c := range e.handover.admit(c) {
		if e.reserved(c.Name) {
			lines = append(lines, e.goFirst(c)...)
		}
		if waiting := e.pending[c.Name]; waiting != nil {
			c.After(waiting.Changed, waiting.Inferred)
		}
		e.pending[c.Name], e.came[c.Name] = c, e.identity(c.Name)
		lines = append(lines, e.partTwins(c)...)
		e.giveWay(c)
	}
	return append(lines, e.dropRecalled()...)
}

// ring has everything compiled that is pending.
func (e *engine) ring() {
	select {
	case e.wake <- struct{}{}:
	default: // it will look at pending anyway
	}
}
