package source

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/coredns-kuadrant/kuadrant/internal/direct"
	"github.com/coredns-kuadrant/kuadrant/internal/rewatch"
)

// server is one run's access to one API server: requests, and messages about it.
type server struct {
	cluster  string // the process's name for it
	timing   kubernetesTiming
	chunked  bool // turns off streaming lists
	config   *rest.Config
	http     *http.Client
	raw      rest.Interface // for requests by path
	troubles troubles
	dirty    chan struct{} // one place: something changed
	mu       sync.Mutex    // guards the user's data
}

// kubernetesTiming has the durations.
type kubernetesTiming struct {
	// gather is how long changes are collected before publication: an answer must not wait, and a
	// list must not be compiled object by object.
	gather time.Duration
	// retry paces attempts after a failure. Its cap bounds how long a server's return can go
	// unnoticed.
	retry wait.Backoff
	// recheck paces looks for missing kinds. Cap and jitter make 30 seconds.
	recheck wait.Backoff
	// confirm is how long a kind must be missing before its objects go without a report of their
	// deletion.
	confirm time.Duration
	// answer bounds requests with small answers, and pulse is the time between signs of life:
	// together they bound how long a hang goes unnoticed.
	answer, pulse time.Duration
	// watch bounds the time until a watch begins. A streaming list begins when the server's cache
	// is fresh, which takes seconds.
	watch time.Duration
	// fetch paces attempts to fetch one object by name.
	fetch wait.Backoff
	// spare is how long to wait for failing kinds that many clusters do without: until each has
	// been tried again at a server that has just started, because unread objects may own the known
	// names.
	spare time.Duration
}

// defaultTiming is the timing outside tests.
func defaultTiming() kubernetesTiming {
	return kubernetesTiming{
		gather:  10 * time.Millisecond,
		retry:   wait.Backoff{Duration: 500 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 10, Cap: 10 * time.Second},
		recheck: wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.2, Steps: 10, Cap: 25 * time.Second},
		confirm: 30 * time.Second,
		answer:  15 * time.Second,
		pulse:   15 * time.Second,
		watch:   30 * time.Second,
		fetch:   wait.Backoff{Duration: 500 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 10, Cap: 30 * time.Second},
		spare:   30 * time.Second,
	}
}

// newServer sets up the clients. It copies the configuration.
func newServer(cluster string, config *rest.Config, warnf, infof Logf) (*server, error) {
	if config == nil {
		return nil, errors.New("no rest.Config given")
	}
	config = rest.CopyConfig(config)
	config.ContentType, config.AcceptContentTypes = "application/json", "application/json"
	config.Timeout = 0                                    // it would end every watch
	config.NegotiatedSerializer = (&codec{}).serializer() // for errors; the rest is read raw
	if config.UserAgent == "" {
		config.UserAgent = "coredns-kuadrant"
	}
	if config.WarningHandler == nil && config.WarningHandlerWithContext == nil {
		config.WarningHandler = rest.NoWarnings{} // we chose the versions on purpose
	}
	if config.RateLimiter == nil && config.QPS == 0 {
		// One list for each kind and namespace at the start; little after that. All clients of the
		// source share the limit.
		config.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(50, 100)
	}
	shared, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	s := &server{
		cluster: cluster, timing: defaultTiming(), config: config, http: direct.Client(shared), dirty: make(chan struct{}, 1),
		troubles: troubles{warnf: warnf, infof: infof, changed: func() {}},
	}
	s.raw, err = rest.UnversionedRESTClientForConfigAndClient(config, s.http)
	return s, err
}

// close closes idle connections. One being set up stays until the server finds it idle; client-go
// shares it among clients with the same configuration.
func (s *server) close() { utilnet.CloseIdleConnectionsFor(s.http.Transport) }

// client returns a client for one version of a group; c reads its answers.
func (s *server) client(version schema.GroupVersion, c *codec) (rest.Interface, error) {
	config := rest.CopyConfig(s.config)
	config.APIPath = "/apis"
	if version.Group == "" {
		config.APIPath = "/api"
	}
	config.GroupVersion, config.NegotiatedSerializer = &version, c.serializer()
	return rest.RESTClientForConfigAndClient(config, s.http)
}

// quiet drops the reflector's own messages, one for each attempt: fail and good log instead.
var quiet klog.Logger

// reflect lists and watches with request's requests until ctx ends, and keeps store up to date. what names them in messages;
// noted is told how each list and each watch went.
func (s *server) reflect(ctx context.Context, what string, chunked bool, request func(*metav1.ListOptions) *rest.Request,
	noted func(context.Context, metav1.ListOptions, error), store cache.ReflectorStore,
) {
	list := func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
		list := new(wireList)
		return list, request(&opts).Do(ctx).Into(list)
	}
	begin := func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
		return beginWatch(ctx, s.timing.watch, request(&opts))
	}
	retry := s.timing.retry
	// The page size stays at the default of 500: a list from the server's cache comes whole anyway.
	from := lists{rewatch.ListWatch(s.timing.watch, list, begin, noted), chunked}
	r := cache.NewReflectorWithOptions(from, &wire{}, store, cache.ReflectorOptions{
		Logger: &quiet, Name: what, TypeDescription: what, Backoff: &retry, Clock: endingClock{ctx: ctx},
	})
	r.RunWithContext(klog.NewContext(ctx, quiet))
}

// beginWatch begins a watch, and gives up if the server does not begin to answer.
func beginWatch(ctx context.Context, within time.Duration, req *rest.Request) (watch.Interface, error) {
	ctx, cancel := context.WithCancel(ctx)
	late := time.AfterFunc(within, cancel)
	w, err := req.Watch(ctx)
	inTime := late.Stop()
	switch {
	case !inTime:
		err = fmt.Errorf("no answer within %v", within)
	case err == nil && reflect.TypeOf(w) == reflect.TypeOf(watch.NewEmptyWatch()):
		// The client reports a cut connection like this.
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

// begunWatch is a watch that ends its context.
type begunWatch struct {
	watch.Interface
	cancel context.CancelFunc
}

// Stop implements watch.Interface.
func (w *begunWatch) Stop() {
	w.Interface.Stop()
	w.cancel()
}

// endingClock is the real clock, but its waits end with ctx: between attempts to stream a list, the
// reflector waits for the clock alone.
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

// lists is a reflector's access; chunked makes it list in chunks, without streaming lists.
type lists struct {
	*cache.ListWatch
	chunked bool
}

// IsWatchListSemanticsUnSupported is asked by the reflector.
func (l lists) IsWatchListSemanticsUnSupported() bool { return l.chunked }

// change applies an edit and wakes up the publisher.
func (s *server) change(edit func()) {
	s.mu.Lock()
	edit()
	s.mu.Unlock()
	select {
	case s.dirty <- struct{}{}:
	default:
	}
}

// gather calls news after changes, once for those close together, until ctx ends.
func (s *server) gather(ctx context.Context, news func()) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.dirty:
		}
		if !pause(ctx, &wait.Backoff{Duration: s.timing.gather}) {
			return
		}
		news()
	}
}

// where names the cluster at the start of log lines.
func (s *server) where() string { return fmt.Sprintf("cluster %q", s.cluster) }

// fail notes a failed request: what names what was read, rights what a Role must grant for it. It
// returns the error's trouble, none if ctx has ended.
func (s *server) fail(ctx context.Context, what, rights string, err error) trouble {
	if ctx.Err() != nil {
		return none
	}
	sort := classify(err)
	switch sort {
	case none, expired:
		return sort
	case unreachable:
		s.troubles.begin("", sort, "%s: cannot reach the API server at %s: %v; names read so far stay as they are, and "+
			"until all are read unknown names get SERVFAIL; trying again", s.where(), s.config.Host, cause(err))
		return sort
	case stranger:
		s.troubles.begin("", sort, "%s: %s is not an API server: %v; check the URL and its path; "+
			"trying again until an API server answers", s.where(), s.config.Host, err)
		return sort
	case unauthorized:
		s.troubles.begin("", sort, "%s: the API server at %s refuses the credentials: %v; renew them", s.where(), s.config.Host, err)
		return sort
	}
	if signed(err) {
		s.answered()
	}
	switch sort {
	case forbidden:
		s.troubles.begin(what, sort, "%s: not allowed to read %s: %v; grant %s", s.where(), what, err, rights)
	case busy, refused, missing:
		s.troubles.begin(what, sort, "%s: cannot read %s: %v; trying again", s.where(), what, err)
	}
	return sort
}

// cause returns an error without the URL of its request.
func cause(err error) error {
	if request := (*url.Error)(nil); errors.As(err, &request) {
		return request.Err
	}
	return err
}

// answered notes that the API server has answered.
func (s *server) answered() {
	s.troubles.end("", "%s: the API server answers again", s.where())
}

// good notes that what could be read.
func (s *server) good(what string) {
	s.answered()
	s.troubles.end(what, "%s: %s can be read now", s.where(), what)
}

// get reads a JSON document by its path on the server.
func (s *server) get(ctx context.Context, path string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, s.timing.answer)
	defer cancel()
	result := s.raw.Get().AbsPath(path).MaxRetries(0).Do(ctx)
	// Error has the server's message; Raw leaves it in the body.
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

// pause waits for the next step of a backoff; false if ctx ends first.
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
