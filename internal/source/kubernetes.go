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
	// Cluster is the process's name for the cluster.
	Cluster string
	// Config says how to reach the API server. It is copied. UserAgent, QPS and WarningHandler have
	// defaults.
	Config *rest.Config
	Selection
	Logf  Logf   // takes warnings; nil drops them
	Infof Logf   // takes information; nil sends it to Logf
	Stats *Stats // kept up to date unless nil
	// Observer is told of the objects; nil for none.
	Observer Observer
}

// Kubernetes returns a Source that lists and watches the objects of one cluster
// at its API server.
//
// It uses the best readable version of each kind for as long as the server has it. A kind that is
// not installed counts as listed, and is checked again every 30 seconds (rule 8.2).
//
// It publishes the first cluster once it knows the cluster's UID and each kind is listed, known to
// be missing, or persistently refused (403). A refused kind is NotListed, and retried. A kind
// without names holds nothing up after a failed attempt, whatever the reason; nor does an optional
// kind that fails, 30 seconds after all else has been listed. It publishes nothing while the server
// is unreachable. Afterwards a listed kind stays listed, with its last objects, for however long
// the server is away (rule 7.4).
//
// Of Secrets, it watches only names, of those with the label api.HeadersLabel. It fetches a Secret
// while a policy, a DNSRecord or a probe of the cluster refers to it, and again when its version
// changes; it forgets the Secret when nothing refers to it. Secrets count as listed once all those
// referred to at the start have been fetched or refused. The first cluster does not wait for their
// content.
//
// It retries a server that fails or hangs, or another server in its place, until the right one
// answers. It notices a hang within half a minute. It logs each change of state once, not each
// attempt.
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
	// chunked turns off streaming lists, for a server without them.
	chunked bool
}

// Name implements Source.
func (k *kubernetes) Name() string { return k.opts.Cluster }

// Identity implements Source.
func (k *kubernetes) Identity() string {
	return fmt.Sprintf("kubernetes %q path=%q cluster=%q", k.opts.Config.Host, k.opts.Config.APIPath, k.opts.Cluster)
}

// ServerIn returns the URL of the API server in a source's Identity; "" if the source reads
// something else.
func ServerIn(identity string) (server string) {
	if _, err := fmt.Sscanf(identity, "kubernetes %q", &server); err != nil {
		return ""
	}
	return server
}

// Run implements Source. It fails if the client configuration cannot work, such as with a missing
// CA file.
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

	// mu guards the fields below.
	store   *clusterStore
	secrets *secretStore // store's
	uid     string       // "" until it is known or given up
	states  [api.NumKinds]kindState
	spare   time.Time // when the wait for failing optional kinds began
}

// cluster returns the cluster to publish; nil if nothing changed, or it is too early.
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

// updateStats updates Stats.Synced.
func (r *kubernetesRun) updateStats() {
	r.mu.Lock()
	// All kinds count here, not only those with names.
	synced := r.store.last != nil && !slices.Contains(r.store.last.Listings[:], api.NotListed)
	r.mu.Unlock()
	r.opts.Stats.setSynced(synced && !r.troubles.any())
}
