package source

import (
	"context"
	"errors"
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
)

// watch lists and watches kind in the given version until ctx ends, the server
// does not have the version any more, or has a better one.
func (f *following) watch(ctx context.Context, kind api.Kind, version string) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	client, err := f.client(kind, version)
	if err != nil {
		// The same configuration has made a client before.
		f.fail(ctx, kinds[kind].fullResource(), "", err)
		return
	}
	var wg sync.WaitGroup
	for _, ns := range f.opts.namespaces() {
		p := &partFollower{
			following: f, kind: kind, namespace: ns, client: client, gone: stop,
			state: f.states[kind].parts[ns],
			what:  kinds[kind].fullResource(),
		}
		if ns != "" {
			p.what += " in namespace " + ns
		}
		wg.Go(func() { p.run(ctx) })
	}
	if version != kinds[kind].versions[0] {
		wg.Go(func() { f.awaitBetter(ctx, kind, version); stop() })
	}
	wg.Wait()
}

// client returns a client for kind in the given version.
func (f *following) client(kind api.Kind, version string) (rest.Interface, error) {
	config := rest.CopyConfig(f.config)
	config.APIPath = "/apis"
	config.GroupVersion = &schema.GroupVersion{Group: kinds[kind].group, Version: version}
	config.NegotiatedSerializer = (&codec{cluster: f.opts.Cluster, kind: kind}).serializer()
	return rest.RESTClientForConfigAndClient(config, f.http)
}

// partFollower lists and watches one kind in one namespace, or in all. It is
// the reflector's access to the server and its store.
type partFollower struct {
	*following
	kind      api.Kind
	namespace string // "" for all
	what      string // for messages
	client    rest.Interface
	gone      func()     // to call where the server does not know the version
	state     *partState // guarded by mu
}

// rights are what the part needs.
func (p *partFollower) rights() string { return "the verbs list and watch on " + p.what }

// quiet takes the reflector's own messages, one for each attempt: what is to be
// said is said by fail and good.
var quiet klog.Logger

// run follows the part until ctx ends.
func (p *partFollower) run(ctx context.Context) {
	retry := p.timing.retry
	// The page size stays the default, 500 objects: a list from the server's
	// cache is sent whole whatever we ask for.
	r := cache.NewReflectorWithOptions(p, &wire{}, (*partStore)(p), cache.ReflectorOptions{
		Logger:          &quiet,
		Name:            p.what,
		TypeDescription: p.what,
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

// IsWatchListSemanticsUnSupported tells the reflector whether to list in chunks.
func (p *partFollower) IsWatchListSemanticsUnSupported() bool { return p.chunked }

// List implements cache.Lister, which the reflector does not call.
func (p *partFollower) List(opts metav1.ListOptions) (runtime.Object, error) {
	return p.ListWithContext(context.Background(), opts)
}

// Watch implements cache.Watcher, which the reflector does not call.
func (p *partFollower) Watch(opts metav1.ListOptions) (watch.Interface, error) {
	return p.WatchWithContext(context.Background(), opts)
}

// ListWithContext implements cache.ListerWithContext.
func (p *partFollower) ListWithContext(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
	list := new(wireList)
	err := p.request(&opts).Do(ctx).Into(list)
	if err == nil {
		return list, nil
	}
	switch sort := p.fail(ctx, p.what, p.rights(), err); {
	case sort == missing:
		p.gone()
	case sort.lasting():
		p.change(func() {
			p.state.fails++
			if !p.state.listed && (sort == forbidden || p.state.fails >= maxDenials) {
				p.state.denied = true
			}
		})
	}
	return nil, err
}

// WatchWithContext implements cache.WatcherWithContext.
func (p *partFollower) WatchWithContext(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	opts.Watch = true
	w, err := p.request(&opts).Watch(ctx)
	if err == nil && reflect.TypeOf(w) == emptyWatch {
		// This is how the client reports a connection that was cut.
		err = errors.New("the connection was closed or timed out")
	}
	if err == nil {
		p.good("changes of " + p.what)
		return w, nil
	}
	sort := classify(err)
	switch {
	case sort == missing:
		p.gone()
	case opts.SendInitialEvents != nil && sort.lasting():
		// The reflector lists then, and that tells more. Many servers, and
		// many Roles, know no streaming lists.
	default:
		p.fail(ctx, "changes of "+p.what, p.rights(), err)
	}
	return nil, err
}

var emptyWatch = reflect.TypeOf(watch.NewEmptyWatch())

// request prepares a list or a watch.
func (p *partFollower) request(opts *metav1.ListOptions) *rest.Request {
	opts.LabelSelector = p.opts.selector(p.kind)
	return p.client.Get().
		NamespaceIfScoped(p.namespace, p.namespace != "").
		Resource(kinds[p.kind].resource).
		SpecificallyVersionedParams(opts, metav1.ParameterCodec, metav1.Unversioned)
}

// partStore is a partFollower as the store that its reflector writes to: the
// objects go into the trees, and are kept nowhere else.
type partStore partFollower

// usable tells whether obj is to be stored, and says why not.
func (s *partStore) usable(obj any) (w *wire, ok bool) {
	if w, ok = obj.(*wire); !ok || w.name == "" {
		return nil, false
	}
	if w.err != nil {
		s.opts.Logf("%s: %s: skipping %s: %v", s.where(), s.what, w.name, w.err)
	}
	return w, w.err == nil
}

// Add implements cache.ReflectorStore.
func (s *partStore) Add(obj any) error {
	if w, ok := s.usable(obj); ok {
		s.change(func() { s.all.kinds[s.kind].put(w.name, w.value) })
	}
	s.opts.Stats.event()
	return nil
}

// Update implements cache.ReflectorStore.
func (s *partStore) Update(obj any) error { return s.Add(obj) }

// Delete implements cache.ReflectorStore.
func (s *partStore) Delete(obj any) error {
	if w, ok := obj.(*wire); ok {
		s.change(func() { s.all.kinds[s.kind].remove(w.name) })
	}
	s.opts.Stats.event()
	return nil
}

// Replace implements cache.ReflectorStore. It is a list, the first one or one
// after an interruption: what it lacks was deleted unseen.
func (s *partStore) Replace(list []any, _ string) error {
	fresh := make(map[string]any, len(list))
	for _, obj := range list {
		if w, ok := s.usable(obj); ok {
			fresh[w.name] = w.value
		}
	}
	prefix := ""
	if s.namespace != "" {
		prefix = s.namespace + "/"
	}
	s.change(func() {
		s.all.kinds[s.kind].replace(prefix, fresh)
		*s.state = partState{listed: true}
		if state := &s.states[s.kind]; state.listing() == api.Listed {
			state.absent = false
		}
	})
	s.good(s.what)
	s.opts.Stats.event()
	return nil
}

// Resync implements cache.ReflectorStore; there is nothing to do.
func (s *partStore) Resync() error { return nil }

// Bookmark implements cache.ReflectorBookmarkStore: the server is alive.
func (s *partStore) Bookmark(string) error {
	s.opts.Stats.event()
	return nil
}
