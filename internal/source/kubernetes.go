package source

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/direct"
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
	return &kubernetes{opts: opts, timing: kubernetesTiming{
		gather:  10 * time.Millisecond,
		retry:   wait.Backoff{Duration: 500 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 10, Cap: 10 * time.Second},
		recheck: wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.2, Steps: 10, Cap: 25 * time.Second},
		confirm: 30 * time.Second,
		answer:  15 * time.Second,
		pulse:   15 * time.Second,
		watch:   30 * time.Second,
		fetch:   wait.Backoff{Duration: 500 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 10, Cap: 30 * time.Second},
		spare:   30 * time.Second,
	}}
}

type kubernetes struct {
	opts   KubernetesOptions
	timing kubernetesTiming
	// chunked turns off streaming lists, as for a server that has none.
	chunked bool
}

type kubernetesTiming struct {
	// gather is how long changes are collected before they are published: an answer must not
	// wait, and a list must not be compiled object by object.
	gather time.Duration
	// retry paces attempts after a failure. Its cap bounds how long an API
	// server can be back without being noticed.
	retry wait.Backoff
	// recheck paces looks for kinds that are missing.
	// Cap and jitter make 30 seconds.
	recheck wait.Backoff
	// confirm is how long a kind must be missing before objects of it that
	// nobody has reported as deleted go.
	confirm time.Duration
	// answer bounds requests whose answers are small, and pulse is the time
	// between signs of life: together they bound how long a server can hang
	// without being noticed.
	answer, pulse time.Duration
	// watch bounds the time until a watch begins. A streaming list begins when
	// the server's cache is fresh, which takes seconds.
	watch time.Duration
	// fetch paces attempts to fetch one object by its name.
	fetch wait.Backoff
	// spare is how long it waits for kinds that many clusters do without, and that
	// fail: as long as it takes until each has been tried again at a server that has
	// just started, for what is not known yet may own the names that are.
	spare time.Duration
}

// Name implements Source.
func (k *kubernetes) Name() string { return k.opts.Cluster }

// Identity implements Source.
func (k *kubernetes) Identity() string {
	return fmt.Sprintf("kubernetes %q path=%q cluster=%q", k.opts.Config.Host, k.opts.Config.APIPath, k.opts.Cluster)
}

// ServerIn returns the URL of the API server that is in the Identity of a source; "" where that
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
	// One that is being set up now stays until the server finds it idle; client-go
	// shares it among all clients with the same configuration.
	defer utilnet.CloseIdleConnectionsFor(r.http.Transport)
	defer r.opts.Stats.synced.Store(false)
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

// gather calls news after changes, those that come close together at once, until ctx ends.
func (r *kubernetesRun) gather(ctx context.Context, news func()) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.dirty:
		}
		if !pause(ctx, &wait.Backoff{Duration: r.timing.gather}) {
			return
		}
		news()
	}
}

// begin sets up one run.
func (k *kubernetes) begin() (*kubernetesRun, error) {
	if k.opts.Config == nil {
		return nil, errors.New("no rest.Config given")
	}
	config := rest.CopyConfig(k.opts.Config)
	config.ContentType, config.AcceptContentTypes = "application/json", "application/json"
	config.Timeout = 0                                    // it would end every watch
	config.NegotiatedSerializer = (&codec{}).serializer() // for errors; the rest is read as it is
	if config.UserAgent == "" {
		config.UserAgent = "coredns-kuadrant"
	}
	if config.WarningHandler == nil && config.WarningHandlerWithContext == nil {
		config.WarningHandler = rest.NoWarnings{} // the versions that we read are our own choice
	}
	if config.RateLimiter == nil && config.QPS == 0 {
		// One list for each kind and namespace at the start; little after that.
		// All clients of the source share the limit.
		config.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(50, 100)
	}
	shared, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	client := direct.Client(shared)
	r := &kubernetesRun{
		opts:    &k.opts,
		timing:  k.timing,
		chunked: k.chunked,
		config:  config,
		http:    client,
		dirty:   make(chan struct{}, 1),
		store:   newClusterStore(k.opts.Cluster, k.opts.Pools),
	}
	r.troubles = troubles{warnf: k.opts.Logf, infof: k.opts.Infof, changed: r.updateStats}
	if r.raw, err = rest.UnversionedRESTClientForConfigAndClient(config, client); err != nil {
		return nil, err
	}
	if r.fetcher, err = newFetcher(config, r); err != nil {
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
	opts     *KubernetesOptions
	timing   kubernetesTiming
	chunked  bool
	config   *rest.Config
	http     *http.Client
	raw      rest.Interface // for requests by path
	fetcher  fetcher
	troubles troubles
	dirty    chan struct{} // one place: something changed

	mu      sync.Mutex // guards what follows
	store   *clusterStore
	secrets *secretStore // store's
	uid     string       // "" until it is known or given up
	states  [api.NumKinds]kindState
	spare   time.Time // when it began to wait for kinds that fail, and that many clusters do without
}

// change applies an edit and wakes up the publisher.
func (r *kubernetesRun) change(edit func()) {
	r.mu.Lock()
	edit()
	r.mu.Unlock()
	select {
	case r.dirty <- struct{}{}:
	default:
	}
}

// cluster returns what is to be published now, nil where there is nothing new,
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
	r.opts.Stats.synced.Store(synced && !r.troubles.any())
}

// where names the cluster at the beginning of log lines.
func (r *kubernetesRun) where() string { return fmt.Sprintf("cluster %q", r.opts.Cluster) }

// fail notes that a request failed: what is what was read, rights what a Role
// must give for it. It returns what the error means, none where it is that ctx
// has ended.
func (r *kubernetesRun) fail(ctx context.Context, what, rights string, err error) trouble {
	if ctx.Err() != nil {
		return none
	}
	sort := classify(err)
	switch sort {
	case none, expired:
		return sort
	case unreachable:
		r.troubles.begin("", sort, "%s: cannot reach the API server at %s: %v; trying again until it answers", r.where(), r.config.Host, err)
		return sort
	case stranger:
		r.troubles.begin("", sort, "%s: what answers at %s is not an API server: %v; check the server's URL, its path included; "+
			"trying again until an API server answers", r.where(), r.config.Host, err)
		return sort
	case unauthorized:
		r.troubles.begin("", sort, "%s: the API server at %s refuses the credentials: %v; renew them", r.where(), r.config.Host, err)
		return sort
	}
	if signed(err) {
		r.answered()
	}
	switch sort {
	case forbidden:
		r.troubles.begin(what, sort, "%s: not allowed to read %s: %v; grant %s", r.where(), what, err, rights)
	case busy, refused, missing:
		r.troubles.begin(what, sort, "%s: cannot read %s: %v; trying again", r.where(), what, err)
	}
	return sort
}

// answered notes that the API server has answered.
func (r *kubernetesRun) answered() {
	r.troubles.end("", "%s: the API server answers", r.where())
}

// good notes that what could be read.
func (r *kubernetesRun) good(what string) {
	r.answered()
	r.troubles.end(what, "%s: %s can be read", r.where(), what)
}

// get reads a JSON document by its path on the server.
func (r *kubernetesRun) get(ctx context.Context, path string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, r.timing.answer)
	defer cancel()
	result := r.raw.Get().AbsPath(path).MaxRetries(0).Do(ctx)
	// Error reads the server's words, which Raw leaves in the body.
	if err := result.Error(); err != nil {
		if classify(err) == stranger {
			err = fmt.Errorf("GET %s: %w: %w", path, errStranger, err)
		}
		return err
	}
	data, err := result.Raw()
	if err != nil || into == nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("GET %s: %w: %w", path, errStranger, err)
	}
	return nil
}

// pause waits for the next step of a backoff; false where ctx ends first.
func pause(ctx context.Context, b *wait.Backoff) bool {
	t := time.NewTimer(b.Step())
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
