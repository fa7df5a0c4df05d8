package source

import (
	"context"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// watch lists and watches kind in the given version until ctx ends, or the server no longer has the
// version.
func (r *kubernetesRun) watch(ctx context.Context, kind api.Kind, version string) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	client, err := r.client(schema.GroupVersion{Group: kind.Group(), Version: version},
		&codec{cluster: r.opts.Cluster, kind: kind, pools: r.opts.Pools, observer: r.opts.Observer})
	if err != nil {
		// This is unexpected: the same configuration has made a client before.
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
		wg.Go(func() { r.reflect(ctx, n.what, r.chunked, n.request, n.noted, (*reflectorStore)(n)) })
	}
	wg.Wait()
}

// namespaceWatch lists and watches one kind in one namespace, or in all. It is the reflector's
// access to the server, and its store.
type namespaceWatch struct {
	*kubernetesRun
	kind      api.Kind
	namespace string // "" for all
	what      string // for messages
	client    rest.Interface
	gone      func()          // called if the server does not know the version
	state     *namespaceState // guarded by mu
	observer  Observer        // nobody for kinds that it does not observe
}

// rights returns the rights that the watch needs, as a Role names them.
func (n *namespaceWatch) rights() string {
	rights := "the verbs list and watch on " + n.what
	if n.kind == api.KindSecret {
		rights += withoutSecrets
	}
	return rights
}

// left reports whether an error may mean that the server no longer has the kind in this version.
func (n *namespaceWatch) left(err error) bool {
	return classify(err) == missing && !n.kind.Core()
}

// noted records the result of a list or a watch.
func (n *namespaceWatch) noted(ctx context.Context, opts metav1.ListOptions, err error) {
	what := n.what
	if opts.Watch {
		what = "changes of " + what
	}
	sort := classify(err)
	switch {
	case err == nil && opts.Watch:
		n.good(what)
		return
	case err == nil:
		return // Replace records it
	case n.left(err):
		n.gone() // discovery finds out what that means
		return
	case opts.SendInitialEvents != nil && sort.lasting():
		// The reflector then lists instead, and that result says more. Many servers, and many
		// Roles, do not support streaming lists.
		return
	}
	n.fail(ctx, what, n.rights(), err)
	n.change(func() {
		n.states[n.kind].failed = true
		if opts.Watch || !sort.lasting() {
			return
		}
		n.state.fails++
		if !n.state.listed && (sort == forbidden || n.state.fails >= maxDenials) {
			n.state.denied = true
		}
	})
}

// request prepares a list or a watch.
func (n *namespaceWatch) request(opts *metav1.ListOptions) *rest.Request {
	opts.LabelSelector, opts.FieldSelector = n.opts.selector(n.kind), kinds[n.kind].fields
	req := n.client.Get().
		MaxRetries(0). // the reflector retries, and logs that
		NamespaceIfScoped(n.namespace, n.namespace != "").
		Resource(n.kind.Resource()).
		SpecificallyVersionedParams(opts, metav1.ParameterCodec, metav1.Unversioned)
	if kinds[n.kind].byName {
		// No other form is accepted: a server that cannot leave the values out must answer 406.
		const metadata = "application/json;g=meta.k8s.io;v=v1;as=PartialObjectMetadata"
		if opts.Watch {
			return req.SetHeader("Accept", metadata)
		}
		return req.SetHeader("Accept", metadata+"List")
	}
	return req
}

// reflectorStore is a namespaceWatch as its reflector's store: it puts the objects into the trees,
// and keeps no other copy.
type reflectorStore namespaceWatch

// usable reports whether obj can be stored, and logs why not.
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

// Replace implements cache.ReflectorStore. It takes a full list, the first one or one after an
// interruption: objects that it lacks were deleted unseen.
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

// Resync implements cache.ReflectorStore; it does nothing.
func (s *reflectorStore) Resync() error { return nil }

// Bookmark implements cache.ReflectorBookmarkStore: the server is alive.
func (s *reflectorStore) Bookmark(string) error {
	s.opts.Stats.event()
	return nil
}
