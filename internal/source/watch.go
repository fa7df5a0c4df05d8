package source

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/rewatch"
)

// watch lists and watches kind in the given version until ctx ends, the server
// does not have the version any more.
func (r *kubernetesRun) watch(ctx context.Context, kind api.Kind, version string) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	client, err := r.client(kind, version)
	if err != nil {
		// The same configuration has made a client before.
		r.fail(ctx, kind.FullResource(), "", err)
		return
	}
	var wg sync.WaitGroup
	for _, ns := range r.opts.namespaces() {
		n := &namespaceWatch{
			kubernetesRun: r, kind: kind, namespace: ns, client: client, gone: stop,
			state:    r.states[kind].namespaces[ns],
			what:     kind.FullResource(),
			observer: r.opts.Observer,
		}
		if kinds[kind].byName {
			n.observer = nobody{}
		}
		if ns != "" {
			n.what += " in namespace " + ns
		}
		n.resume.Newest = n.newest
		wg.Go(func() { n.run(ctx) })
	}
	wg.Wait()
}

// client returns a client for kind in the given version.
func (r *kubernetesRun) client(kind api.Kind, version string) (rest.Interface, error) {
	config := rest.CopyConfig(r.config)
	config.APIPath = "/apis"
	if kind.Core() {
		config.APIPath = "/api"
	}
	config.GroupVersion = &schema.GroupVersion{Group: kind.Group(), Version: version}
	config.NegotiatedSerializer = (&codec{cluster: r.opts.Cluster, kind: kind, pools: r.opts.Pools, observer: r.opts.Observer}).serializer()
	return rest.RESTClientForConfigAndClient(config, r.http)
}

// namespaceWatch lists and watches one kind in one namespace, or in all. It is
// the reflector's access to the server and its store.
type namespaceWatch struct {
	*kubernetesRun
	kind      api.Kind
	namespace string // "" for all
	what      string // for messages
	client    rest.Interface
	gone      func()          // to call where the server does not know the version
	state     *namespaceState // guarded by mu
	observer  Observer        // nobody for kinds of which it is not told
	resume    rewatch.Check
}

// rights are what the part needs.
func (n *namespaceWatch) rights() string {
	rights := "the verbs list and watch on " + n.what
	if n.kind == api.KindSecret {
		rights += withoutSecrets
	}
	return rights
}

// quiet takes the reflector's own messages, one for each attempt: what is to be
// said is said by fail and good.
var quiet klog.Logger

// run follows the part until ctx ends.
func (n *namespaceWatch) run(ctx context.Context) {
	retry := n.timing.retry
	l := lists{&cache.ListWatch{ListWithContextFunc: n.list, WatchFuncWithContext: n.watch}, n.chunked}
	// The page size stays the default, 500 objects: a list from the server's
	// cache is sent whole whatever we ask for.
	r := cache.NewReflectorWithOptions(l, &wire{}, (*reflectorStore)(n), cache.ReflectorOptions{
		Logger:          &quiet,
		Name:            n.what,
		TypeDescription: n.what,
		Backoff:         &retry,
		Clock:           endingClock{ctx: ctx},
	})
	r.RunWithContext(klog.NewContext(ctx, quiet))
}

// endingClock is the real clock, whose waits end with ctx: between attempts to
// stream a list, the reflector waits for the clock alone.
type endingClock struct {
	clock.RealClock
	ctx context.Context
}

// After implements clock.Clock.
func (c endingClock) After(d time.Duration) <-chan time.Time {
	fired := make(chan time.Time, 1)
	t := time.NewTimer(d)
	go func() {
		defer t.Stop()
		select {
		case now := <-t.C:
			fired <- now
		case <-c.ctx.Done():
			fired <- time.Now()
		}
	}()
	return fired
}

// lists is what a reflector lists and watches with; chunked is true where it is to list in
// chunks, and not to have a list streamed by a watch.
type lists struct {
	*cache.ListWatch
	chunked bool
}

// IsWatchListSemanticsUnSupported is asked by the reflector.
func (l lists) IsWatchListSemanticsUnSupported() bool { return l.chunked }

// list lists, and notes what is wrong where that fails.
func (n *namespaceWatch) list(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
	list := new(wireList)
	err := n.request(&opts).Do(ctx).Into(list)
	if err == nil {
		n.resume.Listed()
		return list, nil
	}
	if n.left(err) {
		n.gone() // what that means is found out there
		return nil, err
	}
	sort := n.fail(ctx, n.what, n.rights(), err)
	n.change(func() {
		n.states[n.kind].failed = true
		if !sort.lasting() {
			return
		}
		n.state.fails++
		if !n.state.listed && (sort == forbidden || n.state.fails >= maxDenials) {
			n.state.denied = true
		}
	})
	return nil, err
}

// left reports whether an error may mean that the server does not have the kind in
// this version any more.
func (n *namespaceWatch) left(err error) bool {
	return classify(err) == missing && !n.kind.Core()
}

// watch watches, and notes what is wrong where that fails.
func (n *namespaceWatch) watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	opts.Watch = true
	w, err := n.resume.Begin(ctx, &opts, func() (watch.Interface, error) { return n.begin(ctx, &opts) })
	if err == nil {
		n.good("changes of " + n.what)
		return w, nil
	}
	sort := classify(err)
	switch {
	case n.left(err):
		n.gone()
	case opts.SendInitialEvents != nil && sort.lasting():
		// The reflector lists then, and that tells more. Many servers, and
		// many Roles, know no streaming lists.
	default:
		n.fail(ctx, "changes of "+n.what, n.rights(), err)
		n.change(func() { n.states[n.kind].failed = true })
	}
	return nil, err
}

// newest lists one object, for the version that the server is at.
func (n *namespaceWatch) newest(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
	ctx, cancel := context.WithTimeout(ctx, n.timing.watch)
	defer cancel()
	list := new(wireList)
	return list, n.request(&opts).Do(ctx).Into(list)
}

// begin begins a watch, and gives up where the server does not begin to answer.
func (n *namespaceWatch) begin(ctx context.Context, opts *metav1.ListOptions) (watch.Interface, error) {
	ctx, cancel := context.WithCancel(ctx)
	late := time.AfterFunc(n.timing.watch, cancel)
	w, err := n.request(opts).Watch(ctx)
	inTime := late.Stop()
	switch {
	case !inTime:
		err = fmt.Errorf("no answer within %v", n.timing.watch)
	case err == nil && reflect.TypeOf(w) == reflect.TypeOf(watch.NewEmptyWatch()):
		// This is how the client reports a connection that was cut.
		err = errors.New("the connection was closed or timed out")
	}
	if err == nil {
		return &begunWatch{w, cancel}, nil
	}
	cancel()
	if w != nil {
		w.Stop()
	}
	return nil, err
}

// begunWatch is a watch whose context ends with it.
type begunWatch struct {
	watch.Interface
	cancel context.CancelFunc
}

// Stop implements watch.Interface.
func (w *begunWatch) Stop() {
	w.Interface.Stop()
	w.cancel()
}

// request prepares a list or a watch.
func (n *namespaceWatch) request(opts *metav1.ListOptions) *rest.Request {
	opts.LabelSelector, opts.FieldSelector = n.opts.selector(n.kind), kinds[n.kind].fields
	req := n.client.Get().
		MaxRetries(0). // the reflector tries again, and says so
		NamespaceIfScoped(n.namespace, n.namespace != "").
		Resource(n.kind.Resource()).
		SpecificallyVersionedParams(opts, metav1.ParameterCodec, metav1.Unversioned)
	if kinds[n.kind].byName {
		// With no other form beside it: what cannot leave the values out is to
		// answer 406.
		const metadata = "application/json;g=meta.k8s.io;v=v1;as=PartialObjectMetadata"
		if opts.Watch {
			return req.SetHeader("Accept", metadata)
		}
		return req.SetHeader("Accept", metadata+"List")
	}
	return req
}

// reflectorStore is a namespaceWatch as the store that its reflector writes to: the
// objects go into the trees, and are kept nowhere else.
type reflectorStore namespaceWatch

// usable reports whether obj is to be stored, and says why not.
func (s *reflectorStore) usable(obj any) (w *wire, ok bool) {
	if w, ok = obj.(*wire); !ok || w.name == "" {
		return nil, false
	}
	if w.err != nil {
		s.opts.Logf("%s: %s: skipping %s: %v", s.where(), s.what, w.name, w.err)
	}
	return w, w.err == nil
}

// Add implements cache.ReflectorStore.
func (s *reflectorStore) Add(obj any) error {
	if w, ok := s.usable(obj); ok {
		s.change(func() { s.store.kinds[s.kind].put(w.name, w.value) })
		s.observer.Stands(s.kind, w.name, w.seen)
	}
	s.opts.Stats.event()
	return nil
}

// Update implements cache.ReflectorStore.
func (s *reflectorStore) Update(obj any) error { return s.Add(obj) }

// Delete implements cache.ReflectorStore.
func (s *reflectorStore) Delete(obj any) error {
	if w, ok := obj.(*wire); ok {
		s.change(func() { s.store.kinds[s.kind].remove(w.name) })
		s.observer.Gone(s.kind, w.name)
	}
	s.opts.Stats.event()
	return nil
}

// Replace implements cache.ReflectorStore. It is a list, the first one or one
// after an interruption: what it lacks was deleted unseen.
func (s *reflectorStore) Replace(list []any, _ string) error {
	fresh, seen := make(map[string]any, len(list)), make(map[string]any)
	for _, obj := range list {
		if w, ok := s.usable(obj); ok {
			fresh[w.name], seen[w.name] = w.value, w.seen
		}
	}
	s.change(func() {
		s.store.kinds[s.kind].replace(prefixOf(s.namespace), fresh)
		lacks := kinds[s.kind].byName && (s.state.lacks || !s.state.listed)
		*s.state = namespaceState{listed: true, lacks: lacks}
		state := &s.states[s.kind]
		state.emptied = false
		if state.listing(0) == api.Listed {
			state.absent = false
		}
	})
	s.observer.Listed(s.kind, s.namespace, seen)
	s.good(s.what)
	s.opts.Stats.event()
	return nil
}

// Resync implements cache.ReflectorStore; there is nothing to do.
func (s *reflectorStore) Resync() error { return nil }

// Bookmark implements cache.ReflectorBookmarkStore: the server is alive.
func (s *reflectorStore) Bookmark(string) error {
	s.opts.Stats.event()
	return nil
}
