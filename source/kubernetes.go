package source

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"

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
	Logf  Logf   // nil drops the lines
	Stats *Stats // kept up to date where it is not nil
}

// Kubernetes returns a Source that lists and watches the objects of one cluster
// at its API server.
//
// The best version of each kind that the server has and we can read is used,
// and changed when that changes. A kind that is not installed counts as listed,
// and is looked for every 30 seconds (rule 8.2).
//
// The first cluster is published when the cluster's UID is known and each kind
// has been listed, is known to be missing, or is refused in a way that will not
// soon pass (403): such a kind is NotListed, and tried again. Nothing is
// published while the server is out of reach. Afterwards a kind that was listed
// stays so, with the last objects that were seen, for as long as it takes
// (rule 7.4).
//
// Each state of a failure is logged once, not each attempt.
func Kubernetes(opts KubernetesOptions) Source {
	if opts.Logf == nil {
		opts.Logf = func(string, ...any) {}
	}
	return &kubernetes{opts: opts, timing: kubernetesTiming{
		quiet:   5 * time.Millisecond,
		most:    100 * time.Millisecond,
		retry:   wait.Backoff{Duration: 500 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 10, Cap: 10 * time.Second},
		recheck: wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.2, Steps: 10, Cap: 25 * time.Second},
		confirm: 30 * time.Second,
	}}
}

type kubernetes struct {
	opts   KubernetesOptions
	timing kubernetesTiming
	// chunked turns off streaming lists, as for a server that has none.
	chunked bool
}

type kubernetesTiming struct {
	// quiet and most bound how long changes are collected before they are
	// published: an answer must not wait, and a rollout must not be compiled
	// object by object.
	quiet, most time.Duration
	// retry paces attempts after a failure. Its cap bounds how long an API
	// server can be back without being noticed.
	retry wait.Backoff
	// recheck paces looks for kinds that are missing, and for better versions.
	// Cap and jitter make 30 seconds.
	recheck wait.Backoff
	// confirm is how long a kind must be missing before objects of it that
	// nobody has reported as deleted go.
	confirm time.Duration
}

// Name implements Source.
func (k *kubernetes) Name() string { return k.opts.Cluster }

// Identity implements Source.
func (k *kubernetes) Identity() string {
	return fmt.Sprintf("kubernetes %q path=%q cluster=%q", k.opts.Config.Host, k.opts.Config.APIPath, k.opts.Cluster)
}

// Run implements Source. It fails where the configuration of the client cannot
// work, such as a CA file that is missing.
func (k *kubernetes) Run(ctx context.Context, publish func(*api.Cluster)) error {
	f, err := k.begin()
	if err != nil {
		return fmt.Errorf("set up the client of cluster %q: %w", k.opts.Cluster, err)
	}
	// One that is being set up now stays until the server finds it idle; client-go
	// shares it among all clients with the same configuration.
	defer utilnet.CloseIdleConnectionsFor(f.http.Transport)
	defer f.opts.Stats.setSynced(false)
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	wg.Go(func() { f.identify(ctx) })
	for kind := range api.NumKinds {
		if f.opts.watches(kind) {
			wg.Go(func() { f.follow(ctx, kind) })
		}
	}
	burst := newDebounce(k.timing.quiet, k.timing.most)
	defer burst.done()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-f.dirty:
			burst.touch()
		case <-burst.C:
			burst.done()
			if c := f.cluster(); c != nil {
				publish(c)
			}
			f.updateStats()
		}
	}
}

// begin sets up one run.
func (k *kubernetes) begin() (*following, error) {
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
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	f := &following{
		opts:    &k.opts,
		timing:  k.timing,
		chunked: k.chunked,
		config:  config,
		http:    client,
		dirty:   make(chan struct{}, 1),
		all:     newGathering(k.opts.Cluster),
	}
	f.troubles = troubles{logf: k.opts.Logf, changed: f.updateStats}
	if f.raw, err = rest.UnversionedRESTClientForConfigAndClient(config, client); err != nil {
		return nil, err
	}
	for kind := range api.NumKinds {
		f.states[kind].parts = make(map[string]*partState)
		for _, ns := range k.opts.namespaces() {
			f.states[kind].parts[ns] = &partState{}
		}
	}
	return f, nil
}

// following is one run of a Kubernetes source.
type following struct {
	opts     *KubernetesOptions
	timing   kubernetesTiming
	chunked  bool
	config   *rest.Config
	http     *http.Client
	raw      rest.Interface // for requests by path
	troubles troubles
	dirty    chan struct{} // one place: something changed

	mu     sync.Mutex // guards what follows
	all    *gathering
	uid    string // "" until it is known or given up
	states [api.NumKinds]kindState
}

// change applies an edit and wakes up the publisher.
func (f *following) change(edit func()) {
	f.mu.Lock()
	edit()
	f.mu.Unlock()
	select {
	case f.dirty <- struct{}{}:
	default:
	}
}

// cluster returns what is to be published now, nil where there is nothing new,
// or the first time has not come.
func (f *following) cluster() *api.Cluster {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.uid == "" {
		return nil
	}
	var listings [api.NumKinds]api.Listing
	for kind := range api.NumKinds {
		if !f.opts.watches(kind) {
			listings[kind] = api.NotWatched
			continue
		}
		state := &f.states[kind]
		if f.all.last == nil && !state.settled() {
			return nil
		}
		listings[kind] = state.listing()
	}
	return f.all.cluster(f.uid, listings)
}

// updateStats keeps Stats.Synced true to the facts.
func (f *following) updateStats() {
	f.mu.Lock()
	synced := f.all.last != nil && f.all.last.Complete()
	f.mu.Unlock()
	f.opts.Stats.setSynced(synced && !f.troubles.any())
}

// where names the cluster at the beginning of log lines.
func (f *following) where() string { return fmt.Sprintf("cluster %q", f.opts.Cluster) }

// fail notes that a request failed: what is what was read, rights what a Role
// must give for it. It returns what the error means, none where it is that ctx
// has ended.
func (f *following) fail(ctx context.Context, what, rights string, err error) trouble {
	if ctx.Err() != nil {
		return none
	}
	sort := classify(err)
	switch sort {
	case none, expired:
		return sort
	case unreachable:
		f.troubles.begin("", sort, "%s: cannot reach the API server at %s: %v; trying again until it answers", f.where(), f.config.Host, err)
		return sort
	case unauthorized:
		f.troubles.begin("", sort, "%s: the API server at %s refuses the credentials: %v; renew them", f.where(), f.config.Host, err)
		return sort
	}
	f.answered()
	switch sort {
	case forbidden:
		f.troubles.begin(what, sort, "%s: not allowed to read %s: %v; grant %s", f.where(), what, err, rights)
	case busy, refused:
		f.troubles.begin(what, sort, "%s: cannot read %s: %v; trying again", f.where(), what, err)
	}
	return sort
}

// answered notes that the API server has answered.
func (f *following) answered() {
	f.troubles.end("", "%s: the API server answers", f.where())
}

// good notes that what could be read.
func (f *following) good(what string) {
	f.answered()
	f.troubles.end(what, "%s: %s can be read", f.where(), what)
}

// requestTimeout bounds the requests whose answers are small.
const requestTimeout = 15 * time.Second

// get reads a JSON document by its path on the server.
func (f *following) get(ctx context.Context, path string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	data, err := f.raw.Get().AbsPath(path).Do(ctx).Raw()
	if err != nil || into == nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("read the answer to %s: %w", path, err)
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

// identify finds out the cluster's UID: that of its namespace kube-system.
// Without the permission to read it, the cluster's name stands in, for as long
// as the process runs: the names of leaves depend on it (rule 2.3).
func (f *following) identify(ctx context.Context) {
	const path, what = "/api/v1/namespaces/kube-system", "namespace kube-system"
	retry := f.timing.retry
	for denials := 0; ; {
		var ns struct {
			Metadata struct {
				UID string `json:"uid"`
			} `json:"metadata"`
		}
		err := f.get(ctx, path, &ns)
		if err == nil && ns.Metadata.UID == "" {
			err = fmt.Errorf("the answer to %s has no UID", path)
		}
		uid := ns.Metadata.UID
		switch sort := classify(err); {
		case err == nil:
			f.good(what)
		case sort == missing || sort.lasting():
			// Permissions and the namespace itself may come a moment after us.
			f.answered()
			if denials++; denials >= maxDenials {
				uid = f.opts.Cluster
				f.opts.Logf("%s: cannot read the UID of namespace kube-system: %v; using the cluster's name %q in the names of leaves until the next start: grant the verb get on it, or give the cluster the same name on every server", f.where(), err, uid)
				f.troubles.drop(what)
			}
		default:
			f.fail(ctx, what, "", err)
		}
		if uid != "" {
			f.change(func() { f.uid = uid })
			return
		}
		if !pause(ctx, &retry) {
			return
		}
	}
}

// maxDenials is after how many refusals in a row something counts as refused
// for good.
const maxDenials = 3
