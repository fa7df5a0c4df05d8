package kuadrant

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/source"
)

// engine is the hub: it takes what the sources publish, compiles it and keeps
// the snapshot that all server blocks answer from. One Corefile has one engine.
type engine struct {
	// snap is what queries are answered from; nil until something is known.
	snap atomic.Pointer[records.Snapshot]
	// locator finds clients; nil where the Corefile names no database. It is set
	// before the first query.
	locator *geo.DB

	opt     *records.Options
	sources []source.Source
	stats   []*source.Stats // of the sources
	now     func() time.Time
	random  func() uint64 // called by queries, any number at a time

	cancel context.CancelFunc
	done   sync.WaitGroup
	wake   chan struct{}

	mu sync.Mutex
	// pending is what sources have published since the last compile, by cluster,
	// with everything that changed meanwhile. mu guards it.
	pending map[string]*api.Cluster
	// clusters is what was compiled last. Only the compiling goroutine uses it
	// while the engine runs; mu guards it for the engine that takes over.
	clusters []*api.Cluster
}

// newEngine returns an engine that is not running. The sources come later, when
// the whole Corefile has been read.
func newEngine() *engine {
	return &engine{now: time.Now, random: rand.Uint64, wake: make(chan struct{}, 1), pending: make(map[string]*api.Cluster)}
}

// start begins to read the sources. Where before, an engine that still runs,
// reads some of the same, its objects are compiled and answered from until the
// sources have been listed anew (rule 8.3).
func (e *engine) start(before *engine) {
	ctx, cancel := context.WithCancel(context.Background())
	e.cancel = cancel
	for _, s := range e.sources {
		e.clusters = append(e.clusters, &api.Cluster{Name: s.Name()})
	}
	slices.SortFunc(e.clusters, func(a, b *api.Cluster) int { return cmp.Compare(a.Name, b.Name) })
	if before != nil {
		e.inherit(before)
	}
	for i, s := range e.sources {
		e.done.Go(func() { e.read(ctx, s, e.stats[i]) })
	}
	e.done.Go(func() { e.compileLoop(ctx) })
	if e.locator != nil {
		e.done.Go(func() {
			if err := e.locator.Watch(ctx); err != nil {
				log.Errorf("Databases and networks are not read again when they change: %v", err)
			}
		})
	}
}

// stop ends everything that start began. Queries are answered from the last
// snapshot afterwards too: CoreDNS goes on asking until its lame duck time ends.
func (e *engine) stop() {
	if e.cancel != nil {
		e.cancel()
		e.done.Wait()
	}
}

// inherit takes over what before knows of the sources that both read.
func (e *engine) inherit(before *engine) {
	prev := before.snap.Load()
	if prev == nil {
		return
	}
	before.mu.Lock()
	defer before.mu.Unlock()
	for _, s := range before.sources {
		i := slices.IndexFunc(e.sources, func(own source.Source) bool { return own.Identity() == s.Identity() && own.Name() == s.Name() })
		j := slices.IndexFunc(before.clusters, func(c *api.Cluster) bool { return c.Name == s.Name() })
		k := slices.IndexFunc(e.clusters, func(c *api.Cluster) bool { return c.Name == s.Name() })
		if i >= 0 && j >= 0 && k >= 0 {
			e.clusters[k] = before.clusters[j]
		}
	}
	if slices.ContainsFunc(e.clusters, func(c *api.Cluster) bool { return c.UID != "" }) {
		e.publish(records.Compile(prev, api.Objects{Clusters: e.clusters}, e.opt, e.now()))
	}
}

// epochs counts the runs of sources in this process.
var epochs atomic.Uint64

// read runs one source until ctx ends.
func (e *engine) read(ctx context.Context, s source.Source, stats *source.Stats) {
	epoch := epochs.Add(1)
	err := s.Run(ctx, func(c *api.Cluster) {
		own := *c
		own.Epoch = epoch
		e.mu.Lock()
		if waiting := e.pending[own.Name]; waiting != nil {
			own.Changed = mergeChanged(waiting.Changed, own.Changed)
		}
		e.pending[own.Name] = &own
		e.mu.Unlock()
		select {
		case e.wake <- struct{}{}:
		default: // it will look at pending anyway
		}
		observeSource(s.Name(), stats)
	})
	if err != nil && ctx.Err() == nil {
		log.Errorf("Reading %s has ended: %v", s.Name(), err)
	}
}

// mergeChanged returns both lists as one without repetition.
func mergeChanged(a, b []api.Ref) []api.Ref {
	seen := make(map[api.Ref]struct{}, len(a)+len(b))
	out := make([]api.Ref, 0, len(a)+len(b))
	for _, list := range [][]api.Ref{a, b} {
		for _, r := range list {
			if _, ok := seen[r]; !ok {
				seen[r] = struct{}{}
				out = append(out, r)
			}
		}
	}
	return out
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

// compile makes and publishes the snapshot of what is pending.
func (e *engine) compile() {
	e.mu.Lock()
	pending := e.pending
	e.pending = make(map[string]*api.Cluster, len(pending))
	next := make([]*api.Cluster, len(e.clusters))
	for i, c := range e.clusters {
		next[i] = c
		if p := pending[c.Name]; p != nil {
			next[i] = p
		} else if len(c.Changed) > 0 {
			same := *c // nothing new here since the last compile
			same.Changed = nil
			next[i] = &same
		}
	}
	e.clusters = next
	e.mu.Unlock()

	prev := e.snap.Load()
	begin := e.now()
	snap := records.Compile(prev, api.Objects{Clusters: next}, e.opt, begin)
	compileDuration.Observe(e.now().Sub(begin).Seconds())
	e.publish(snap)
}

// publish makes snap what queries are answered from, and tells about it.
func (e *engine) publish(snap *records.Snapshot) {
	e.snap.Store(snap)
	observeSnapshot(snap, e.clusters, e.now())
	logVerdicts(snap.Changed())
}

// maxLoggedVerdicts bounds the lines of one compile: the first list of a large
// cluster may hold thousands of policies with the same fault.
const maxLoggedVerdicts = 20

// logVerdicts writes one line for each object that is not served in full.
func logVerdicts(changed []records.Reported) {
	logged := 0
	for _, r := range changed {
		if r.Verdict == nil {
			continue
		}
		line := r.Verdict.Problem()
		if line == "" {
			continue
		}
		if logged++; logged <= maxLoggedVerdicts {
			log.Warningf("%s %s of cluster %s: %s", r.Ref.Kind, r.Ref.Name, r.Cluster, line)
		}
	}
	if logged > maxLoggedVerdicts {
		log.Warningf("%d more objects have conditions like these: see their status", logged-maxLoggedVerdicts)
	}
}

// configure fills in what the Corefile says. It opens databases, and fails
// where the Corefile cannot work.
func (e *engine) configure(cfg *config) error {
	e.opt = &records.Options{Zones: cfg.zones}
	sel, err := cfg.selection()
	if err != nil {
		return err
	}
	if err := e.addSources(cfg, sel); err != nil {
		return err
	}
	if len(cfg.geoip) > 0 || cfg.nets != "" {
		db, err := geo.Open(cfg.geoip, cfg.nets, log.Warningf)
		if err != nil {
			return fmt.Errorf("geoip: %w", err)
		}
		e.locator = db
	}
	return nil
}

func (e *engine) addSources(cfg *config, sel source.Selection) error {
	if len(cfg.zones) == 0 {
		return errors.New("no zones")
	}
	for _, m := range cfg.manifests {
		stats := new(source.Stats)
		e.stats = append(e.stats, stats)
		e.sources = append(e.sources, source.Directory(source.DirectoryOptions{
			Cluster: m.cluster, Dir: m.dir, Selection: sel, Logf: log.Warningf, Stats: stats,
		}))
	}
	if len(e.sources) > 0 {
		return nil
	}
	rc, err := cfg.restConfig()
	if err != nil {
		return err
	}
	stats := new(source.Stats)
	e.stats = append(e.stats, stats)
	e.sources = append(e.sources, source.Kubernetes(source.KubernetesOptions{
		Cluster: localCluster, Config: rc, Selection: sel, Logf: log.Warningf, Stats: stats,
	}))
	return nil
}
