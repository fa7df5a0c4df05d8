package source

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// KubernetesOptions says what a Kubernetes source reads.
type KubernetesOptions struct {
	// Cluster is the name that the process has for the cluster.
	Cluster string
	// Config says how to reach the API server. It is copied. Where it sets no
	// UserAgent, QPS or WarningHandler, suitable ones are used.
	Config *rest.Config
	Selection
	Logf  Logf   // takes what needs attention; nil drops it
	Infof Logf   // takes good news and the like; nil lets Logf have it
	Stats *Stats // kept up to date where it is not nil
	// Observer is told of the objects as they stand; nil for nobody.
	Observer Observer
}

// Kubernetes returns a Source that lists and watches the objects of one cluster
// at its API server.
//
// The best version of each kind that the server has and we can read is used for
// as long as the server has it. A kind that is not installed counts as listed,
// and is looked for every 30 seconds (rule 8.2).
//
// The first cluster is published when the cluster's UID is known and each kind
// has been listed, is known to be missing, or is refused in a way that will not
// soon pass (403): such a kind is NotListed, and tried again. A kind that holds
// no names is waited for until an attempt has failed, for whatever reason; one that
// fails and that many clusters do without, for 30 seconds, once all else has been
// listed. Nothing is published while the server is out of reach.
// Afterwards a kind that was listed stays so, with the last objects that were seen,
// for as long as it takes (rule 7.4).
//
// Of Secrets, the names of those with the label api.HeadersLabel are watched. One
// is fetched while a policy, a DNSRecord or a probe of the cluster refers to it, and whenever
// its version changes, and is forgotten when nothing does. They count as listed
// when all have been fetched that were referred to at the start, or the server
// refuses it. The first cluster does not wait for what they hold.
//
// A server that fails, or hangs, is tried again until it answers, and so is what
// answers in its place. That a server hangs is noticed within half a minute.
// Each state of a failure is logged once, not each attempt.
func Kubernetes(opts KubernetesOptions) Source {
	opts.Logf, opts.Infof = logs(opts.Logf, opts.Infof)
	if opts.Observer == nil {
		opts.Observer = nobody{}
	}
	opts.Stats = cmp.Or(opts.Stats, new(Stats))
	return &kubernetes{opts: opts, timing: defaultTiming()}
}

type kubernetes struct {
	opts   KubernetesOptions
	timing kubernetesTiming
	// chunked turns off streaming lists, as for a server that has none.
	chunked bool
}

// Name implements Source.
func (k *kubernetes) Name() string { return k.opts.Cluster }

// Identity implements Source.
func (k *kubernetes) Identity() string {
	return fmt.Sprintf("kubernetes %q path=%q cluster=%q", k.opts.Config.Host, k.opts.Config.APIPath, k.opts.Cluster)
}

// ServerIn returns the URL of the API server that is in the Identity of a source; "" if that
// reads another thing.
func ServerIn(identity string) (server string) {
	if _, err := fmt.Sscanf(identity, "kubernetes %q", &server); err != nil {
		return ""
	}
	return server
}

// Run implements Source. It fails where the configuration of the client cannot
// work, such as a CA file that is missing.
func (k *kubernetes) Run(ctx context.Context, publish func(*api.Cluster)) error {
	r, err := k.begin()
	if err != nil {
		return fmt.Errorf("set up the client of cluster %q: %w", k.opts.Cluster, err)
	}
	defer r.close()
	defer r.opts.Stats.setSynced(false)
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r.fetchSecrets(ctx, &wg)
	wg.Go(func() { r.identify(ctx) })
	wg.Go(func() { r.watchPulse(ctx) })
	for kind := range api.NumKinds {
		if r.opts.Watches(kind) {
			wg.Go(func() { r.follow(ctx, kind) })
		}
	}
	r.gather(ctx, func() {
		if c := r.cluster(); c != nil {
			publish(c)
		}
		r.updateStats()
	})
	return nil
}

// begin sets up one run.
func (k *kubernetes) begin() (*kubernetesRun, error) {
	s, err := newServer(k.opts.Cluster, k.opts.Config, k.opts.Logf, k.opts.Infof)
	if err != nil {
		return nil, err
	}
	s.timing, s.chunked = k.timing, k.chunked
	r := &kubernetesRun{server: s, opts: &k.opts, store: newClusterStore(k.opts.Cluster, k.opts.Pools)}
	s.troubles.changed = r.updateStats
	if r.fetcher, err = newFetcher(s); err != nil {
		return nil, err
	}
	r.secrets = newSecretStore()
	r.secrets.needs.noHeaders = k.opts.NoHeaders
	r.store.kinds[api.KindSecret] = r.secrets
	for kind := range api.NumKinds {
		r.states[kind].namespaces = make(map[string]*namespaceState)
		for _, ns := range k.opts.namespaces() {
			r.states[kind].namespaces[ns] = &namespaceState{}
		}
	}
	return r, nil
}

// kubernetesRun is one run of a Kubernetes source.
type kubernetesRun struct {
	*server
	opts    *KubernetesOptions
	fetcher fetcher

	// mu guards what follows.
	store   *clusterStore
	secrets *secretStore // store's
	uid     string       // "" until it is known or given up
	states  [api.NumKinds]kindState
	spare   time.Time // when it began to wait for kinds that fail, and that many clusters do without
}

// cluster returns what is to be published now, nil if there is nothing new,
// or the first time has not come.
func (r *kubernetesRun) cluster() *api.Cluster {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.uid == "" {
		return nil
	}
	if r.store.last == nil && !r.settled() {
		return nil
	}
	c := r.store.gather()
	if r.store.last == nil && r.awaitsProviders() {
		return nil
	}
	progress := &api.Cluster{UID: r.uid}
	for kind := range api.NumKinds {
		if !r.opts.Watches(kind) {
			progress.Listings[kind] = api.NotWatched
			continue
		}
		state := &r.states[kind]
		if kinds[kind].byName {
			state.noteFetched(r.secrets, func(ns string) bool {
				return progress.Listings[api.KindDNSPolicy].Complete() || r.states[api.KindDNSPolicy].namespaces[ns].listed
			})
		}
		progress.Listings[kind] = state.listing(r.timing.confirm)
		if progress.Listings[kind] == api.NotListed {
			progress.ListedIn[kind] = state.listedIn()
		}
	}
	return r.store.news(c, progress)
}

// updateStats keeps Stats.Synced true to the facts.
func (r *kubernetesRun) updateStats() {
	r.mu.Lock()
	// All kinds count here, not only those that names come from.
	synced := r.store.last != nil && !slices.Contains(r.store.last.Listings[:], api.NotListed)
	r.mu.Unlock()
	r.opts.Stats.setSynced(synced && !r.troubles.any())
}
