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

	"github.com/coredns-kuadrant/kuadrant/internal/direct"
	"github.com/coredns-kuadrant/kuadrant/internal/rewatch"
)

// server is one run's access to an API server: requests, and log messages about it.
type server struct {
	cluster  string // the process's name for it
	timing   kubernetesTiming
	chunked  bool // turns off streaming lists
	config   *rest.Config
	http     *http.Client
	raw      rest.Interface // for requests by path
	troubles troubles
	dirty    chan struct{} // capacity 1: something changed
	mu       sync.Mutex    // guards the user's data
}

// kubernetesTiming has the intervals and time limits of a source.
type kubernetesTiming struct {
	// gather is how long to collect changes before publishing: answers must not wait, and a list
	// must not be compiled object by object.
	gather time.Duration
	// retry paces attempts after a failure.
	retry wait.Backoff
	// recheck paces checks for missing kinds. Cap and jitter make that 30 seconds.
	recheck wait.Backoff
	// confirm is how long a kind must be missing before its objects are removed without a report of
	// their deletion.
	confirm time.Duration
	// answer bounds requests with small answers, and pulse is the time between two polls of the
	// server: together they bound how long a hang goes unnoticed.
	answer, pulse time.Duration
	// watch bounds the start of a watch. A streaming list starts once the server's cache is fresh,
	// which takes seconds.
	watch time.Duration
	// fetch paces attempts to fetch one object by name.
	fetch wait.Backoff
	// spare is how long to wait for failing optional kinds. It allows a retry of each at a server
	// that has just started, because unread objects may own the known names.
	spare time.Duration
}

// defaultTiming is the timing outside tests.
func defaultTiming() kubernetesTiming {
	return kubernetesTiming{
		gather:  10 * time.Millisecond,
		retry:   rewatch.Retry,
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
	config.Timeout = 0                                    // a timeout would end every watch
	config.NegotiatedSerializer = (&codec{}).serializer() // for errors; all else is read raw
	if config.UserAgent == "" {
		config.UserAgent = "coredns-kuadrant"
	}
	if config.WarningHandler == nil && config.WarningHandlerWithContext == nil {
		config.WarningHandler = rest.NoWarnings{} // the versions are chosen on purpose
	}
	if config.RateLimiter == nil && config.QPS == 0 {
		// A start takes one list for each kind and namespace; little follows. All clients of the
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

// close closes idle connections. One that is still being opened stays until the server finds it
// idle; client-go shares it among clients with the same configuration.
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

// quiet drops the reflector's own messages, one for each attempt: fail and good log changes
// instead.
var quiet klog.Logger

// reflect lists and watches with the requests that request makes until ctx ends, and keeps store up
// to date. what names them in messages; noted receives the result of each list and watch.
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
	// The page size stays at the default of 500: a list from the server's cache is not paged
	// anyway.
	from := lists{rewatch.ListWatch(s.timing.watch, s.timing.retry, list, begin, noted), chunked}
	r := cache.NewReflectorWithOptions(from, &wire{}, store, cache.ReflectorOptions{
		Logger: &quiet, Name: what, TypeDescription: what, Backoff: &rewatch.Unpaced,
	})
	r.RunWithContext(klog.NewContext(ctx, quiet))
}

// beginWatch starts a watch, and gives up if the server does not start to answer.
func beginWatch(ctx context.Context, within time.Duration, req *rest.Request) (watch.Interface, error) {
	ctx, cancel := context.WithCancel(ctx)
	late := time.AfterFunc(within, cancel)
	w, err := req.Watch(ctx)
	inTime := late.Stop()
	switch {
	case !inTime:
		err = fmt.Errorf("no answer within %v", within)
	case err == nil && reflect.TypeOf(w) == reflect.TypeOf(watch.NewEmptyWatch()):
		// This is how the client reports a cut connection.
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

// begunWatch is a watch whose Stop also ends its context.
type begunWatch struct {
	watch.Interface
	cancel context.CancelFunc
}

// Stop implements watch.Interface.
func (w *begunWatch) Stop() {
	w.Interface.Stop()
	w.cancel()
}

// lists is what a reflector lists and watches with; chunked turns off streaming lists.
type lists struct {
	*cache.ListWatch
	chunked bool
}

// IsWatchListSemanticsUnSupported tells the reflector whether to do without streaming lists.
func (l lists) IsWatchListSemanticsUnSupported() bool { return l.chunked }

// change applies an edit and wakes the publisher.
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

// fail records a failed request: what names what was read, rights what a Role must grant for it. It
// returns the error's trouble, or none if ctx has ended.
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

// answered records that the API server has answered.
func (s *server) answered() {
	s.troubles.end("", "%s: the API server answers again", s.where())
}

// good records that what was read successfully.
func (s *server) good(what string) {
	s.answered()
	s.troubles.end(what, "%s: %s can be read now", s.where(), what)
}

// get reads the JSON document at a path of the server into into.
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

// pause waits for the next step of a backoff; it returns false if ctx ends first.
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
