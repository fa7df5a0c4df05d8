// Package controller writes results back to Kubernetes: objects' statuses, the DNSRecords and
// probes made for them, and values that must outlive all replicas.
//
//	writer.go    Writer: one cluster, from what is to be said to what is written
//	run.go       its run: what it follows, and what begins and ends with the Lease
//	lease.go     which replica writes, and for how long it may   docs/write-back.md
//	look.go      one object: what stands there, what is to be said, and whether they differ
//	work.go      which objects are to be looked at, and when again after a failure
//	cache.go     objects at the API server, as their source reads them
//	status.go    verdict → status, for each kind
//	child.go     the DNSRecords and probes of a policy, and the probes of a DNSRecord
//	apply.go     one request: server-side apply, delete, and what its failure means
//	undone.go    what somebody undoes each time
//	others.go    whether other controllers write the same
//	tell.go      what errors mean, and log lines about them
//	events.go    Events
//	registry.go  the registry, owners and serials in ConfigMaps: who follows and who writes them
//	registry_watch.go  the watch of these ConfigMaps
//	shards.go    which lines are in which ConfigMap
//	lines.go     the form of a line
//
// A Writer writes only differences. It knows the present state from the source's watches alone: it
// reads no object, and no answer to a write. Each write names the object's version, and is refused
// if that has changed.
package controller

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/direct"
)

// FieldManager is the field manager of all writes, for server-side apply.
const FieldManager = api.ManagedBy

// Options says what a Writer writes, and where.
type Options struct {
	// Cluster is the process's name for the cluster.
	Cluster string
	// Config says how to reach the API server. It is copied.
	Config *rest.Config
	// Namespace and Lease name the Lease that decides which replica writes. Identity is unique to
	// this replica and run.
	Namespace, Lease, Identity string
	// QPS is how many requests are sent in a second, Burst how many in a burst.
	QPS   float32
	Burst int
	// Selected is true if not all policies are read: the children of an unknown one may be another
	// deployment's.
	Selected bool
	// StatusOnly leaves out all but statuses, the Lease, the ConfigMaps and Events: labels and
	// children.
	StatusOnly bool
	// Keep has owners and serials kept in ConfigMaps of this cluster, and Kept told of them: once
	// before the first compile, then after changes. It must not block.
	Keep bool
	Kept func(Kept)
	// Unanswered is told of each failed attempt to read them before the first success; nil for
	// none.
	Unanswered func()
	Warnf      Logf // takes warnings
	Infof      Logf // takes information
}

// Says is what to say of one cluster's objects, at one moment. It is immutable; any goroutine may
// use it.
type Says interface {
	// Of returns what to say of an object; nil for nothing, or an unknown object.
	Of(ref api.Ref) *Report
	// Objects yields the names of all objects of a kind.
	Objects(kind api.Kind, yield func(name string) bool)
	// Meta returns an object's metadata, whether or not there is something to say of it; nil if
	// unknown.
	Meta(ref api.Ref) *api.Meta
	// Children returns the objects that a policy or a DNSRecord should have, sorted by kind and
	// name.
	Children(of api.Ref) []api.Child
	// Settled reports whether Children is complete: no unread object could add more.
	Settled(of api.Ref) bool
	// Listed reports whether all objects of a kind are known: others do not exist then.
	Listed(kind api.Kind) bool
}

// Report is what to say of one object.
type Report struct {
	*api.Verdict
	// UID and Generation are the object's, as of the verdict.
	UID        string
	Generation int64
	// Deleting is true if the object is about to go: it gets no writes.
	Deleting bool
	// Before is a Zone's status as of the verdict: the verdict's serial follows that one, and no
	// other (rule 6.7).
	Before api.Kept
	// Probe is the state of a DNSHealthCheckProbe's target, nil for other kinds.
	Probe *api.ProbeStatus
	// Endpoints are a DNSRecord's published ones, Entries the records of a Zone.
	Endpoints []api.WrittenEndpoint
	Entries   []api.Entry
}

// Writer keeps one API server's objects in line with the verdicts, while it holds the Lease. Any
// goroutine may call its methods.
type Writer struct {
	opts   Options
	http   *http.Client
	client rest.Interface
	timing timing
	now    func() time.Time

	cache    Cache
	lease    lease
	log      logged
	lacks    lacks
	undone   undone
	others   others
	events   events // mu guards its recorder
	limit    flowcontrol.RateLimiter
	registry *registry    // nil if nothing is kept
	requests atomic.Int64 // how many writes were sent

	says atomic.Pointer[Says]
	mu   sync.Mutex
	work *work // nil while this replica does not write; mu guards it
}

// timing has the durations.
type timing struct {
	lease, renew, retry time.Duration // as in client-go's leader election
	request             time.Duration // bounds one request
	workers             int           // concurrent requests
	backoff, most       time.Duration // of an object after a failed write
	// others bounds the time since another working controller last renewed its Lease: mostly two
	// seconds. One that is twelve times as late is no longer at work.
	others   time.Duration
	gather   time.Duration // how long changes to keep are gathered
	patience time.Duration // how long the first compile waits for kept values
}

// New returns a Writer that is not running.
func New(opts Options) (*Writer, error) {
	if opts.Config == nil || opts.Namespace == "" || opts.Lease == "" || opts.Identity == "" {
		return nil, errors.New("no client configuration, or no Lease name")
	}
	w := &Writer{opts: opts, now: time.Now, timing: timing{
		lease: 15 * time.Second, renew: 10 * time.Second, retry: 2 * time.Second,
		request: 10 * time.Second, workers: 8,
		backoff: 250 * time.Millisecond, most: time.Minute,
		others: 5 * time.Second, gather: 500 * time.Millisecond, patience: 20 * time.Second,
	}}
	w.log = logged{cluster: opts.Cluster, now: time.Now, warnf: opts.Warnf, infof: opts.Infof}
	w.cache.init()
	config := rest.CopyConfig(opts.Config)
	config.ContentType, config.AcceptContentTypes = "application/json", "application/json"
	config.Timeout = 0
	config.UserAgent = "coredns-kuadrant"
	config.WarningHandler = rest.NoWarnings{}
	config.NegotiatedSerializer = serializer
	config.QPS = -1 // send has the limit; the Lease's renewals do not wait for it
	w.limit = flowcontrol.NewTokenBucketRateLimiter(opts.QPS, opts.Burst)
	shared, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("set up the client that writes to cluster %q: %w", opts.Cluster, err)
	}
	w.http = direct.Client(shared)
	if w.client, err = rest.UnversionedRESTClientForConfigAndClient(config, w.http); err != nil {
		return nil, fmt.Errorf("set up the client that writes to cluster %q: %w", opts.Cluster, err)
	}
	w.cache.changed = func(ref api.Ref) {
		if k := w.leading(); k != nil {
			k.add(ref)
		}
	}
	w.cache.listed = func(kind api.Kind) {
		// Objects of a kind that the API server lacked can be made now.
		if k := w.leading(); k != nil && (kind == api.KindDNSRecord || kind == api.KindProbe) {
			w.lookAtAll(k)
		}
	}
	err = errors.Join(w.lease.init(w, config), w.others.init(w, config), w.events.init(w, config))
	if err == nil && opts.Keep {
		w.registry, err = newRegistry(w, config)
	}
	return w, err
}

// Cluster returns the name of the cluster.
func (w *Writer) Cluster() string { return w.opts.Cluster }

// Leads reports whether this replica writes.
func (w *Writer) Leads() bool { return w.leading() != nil }

// Holder returns the identity of the Lease's holder, as this replica last saw it: a host's or pod's name, an underscore and a UID.
// "" for none or unknown.
func (w *Writer) Holder() string { return w.lease.holder() }

// Cache returns the observer for the source of the cluster.
func (w *Writer) Cache() *Cache { return &w.cache }

// Follow replaces what to say; calls come in the order of snapshots. changed are the objects that
// differ from the last time, nil for all.
func (w *Writer) Follow(says Says, changed []api.Ref) {
	before := w.says.Swap(&says)
	k := w.leading()
	if k == nil {
		return
	}
	if changed == nil || before == nil || listsMore(*before, says) {
		w.lookAtAll(k)
		return
	}
	w.Look(changed)
}

// Look has objects looked at again whose targets changed in health, without a new snapshot.
func (w *Writer) Look(changed []api.Ref) {
	if k := w.leading(); k != nil {
		for _, ref := range changed {
			k.add(ref)
		}
	}
}

// listsMore reports whether all objects of another kind are known now: its children wait for that.
func listsMore(before, now Says) bool {
	for kind := range api.NumKinds {
		if forms[kind] != nil && now.Listed(kind) && !before.Listed(kind) {
			return true
		}
	}
	return false
}

// Keep takes in what to keep.
func (w *Writer) Keep(keeps Keeps) {
	if w.registry != nil {
		w.registry.want(keeps)
	}
}

// Backlog returns how many objects are queued; 0 if this replica does not write.
func (w *Writer) Backlog() int {
	if k := w.leading(); k != nil {
		return k.backlog()
	}
	return 0
}

// Unregistered returns how many names have had no line in the registry for a minute, by zone (rule 5.4); nil if this replica does not write.
func (w *Writer) Unregistered() map[string]int {
	if w.registry == nil || w.leading() == nil {
		return nil
	}
	return w.registry.unregistered()
}

// leading returns the work queue, nil if this replica does not write.
func (w *Writer) leading() *work {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.work
}

// lookAtAll queues everything: the objects with something to say, and those present without.
func (w *Writer) lookAtAll(k *work) {
	if says := w.newest(); says != nil {
		for kind := range api.NumKinds {
			if forms[kind] != nil {
				says.Objects(kind, func(name string) bool {
					k.add(api.Ref{Kind: kind, Name: name})
					return true
				})
			}
		}
	}
	for _, owner := range w.cache.parents() {
		k.add(owner)
	}
}

// newest returns what to say, nil before anything is known.
func (w *Writer) newest() Says {
	if p := w.says.Load(); p != nil {
		return *p
	}
	return nil
}
