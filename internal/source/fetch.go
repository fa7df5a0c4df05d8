package source

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/klog/v2"

	"github.com/coredns-kuadrant/kuadrant/api"
)

const (
	// maxFetches bounds concurrent fetches of Secrets, fetchRate and fetchBurst their rate per
	// second and their burst. Separate limits keep fetches from delaying lists.
	maxFetches = 4
	fetchRate  = 20
	fetchBurst = 40
)

// withoutSecrets is the advice for operators who do not grant the right to read Secrets.
const withoutSecrets = ", or set `secrets off`, which reads neither headers of health checks nor DNS providers"

// fetcher fetches Secrets by name.
type fetcher struct {
	client rest.Interface
	slots  chan struct{} // one for each Secret being fetched
}

func newFetcher(s *server) (f fetcher, err error) {
	config := rest.CopyConfig(s.config)
	config.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(fetchRate, fetchBurst)
	f.client, err = rest.UnversionedRESTClientForConfigAndClient(config, s.http)
	f.slots = make(chan struct{}, maxFetches)
	return f, err
}

// fetchSecrets enables fetching of Secrets until ctx ends. wg counts the running fetches.
func (r *kubernetesRun) fetchSecrets(ctx context.Context, wg *sync.WaitGroup) {
	ctx = klog.NewContext(ctx, quiet) // a client may log what it reads
	r.secrets.fetch = func(name string, w *wantedSecret) {
		ctx, stop := context.WithCancel(ctx)
		w.stop = stop
		wg.Go(func() {
			defer stop()
			r.fetch(ctx, name, w)
		})
	}
}

// fetch fetches one Secret until it has the newest version, or ctx ends.
func (r *kubernetesRun) fetch(ctx context.Context, name string, w *wantedSecret) {
	retry := r.timing.fetch
	for {
		var announced version
		var ok bool
		r.mu.Lock()
		announced, ok = r.secrets.next(name, w)
		r.mu.Unlock()
		if !ok {
			break
		}
		got, value, err := r.fetchOnce(ctx, name)
		if err == nil {
			r.change(func() {
				w.failed = none
				r.secrets.fetched(name, w, announced, got, value)
			})
			r.opts.Stats.event()
			if r.answered(); r.noneFails() {
				r.good(namedSecrets)
			}
			retry = r.timing.fetch
			continue
		}
		r.failSecret(ctx, w, err)
		if !pause(ctx, &retry) {
			break
		}
	}
	r.mu.Lock()
	failed := w.failed != none
	r.mu.Unlock()
	if ctx.Err() != nil && failed && r.noneFails() {
		r.troubles.drop(namedSecrets) // the failed Secrets are no longer needed
	}
}

// namedSecrets is what log messages call the fetched Secrets.
const namedSecrets = "Secrets by name"

// failSecret records that a Secret could not be fetched. If several fail, it logs one.
func (r *kubernetesRun) failSecret(ctx context.Context, w *wantedSecret, err error) {
	if ctx.Err() != nil {
		return
	}
	sort := classify(err)
	others := false
	r.change(func() {
		others = r.secrets.failing(w)
		w.failed = sort
		w.settled = w.settled || sort.lasting()
	})
	switch sort {
	case forbidden, busy, refused, missing, expired:
		if others && r.troubles.has(namedSecrets) {
			return
		}
	}
	r.fail(ctx, namedSecrets, "the verb get on secrets"+withoutSecrets, err)
}

// noneFails reports whether every Secret's last fetch succeeded.
func (r *kubernetesRun) noneFails() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.secrets.failing(nil)
}

// fetchOnce asks the server for a Secret. It returns no value and no error if there is none.
func (r *kubernetesRun) fetchOnce(ctx context.Context, name string) (got version, value *api.Secret, err error) {
	select {
	case r.fetcher.slots <- struct{}{}:
		defer func() { <-r.fetcher.slots }()
	case <-ctx.Done():
		return "", nil, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, r.timing.answer)
	defer cancel()
	ns, bare, _ := strings.Cut(name, "/")
	path := "/api/v1/namespaces/" + ns + "/secrets/" + bare
	result := r.fetcher.client.Get().AbsPath(path).MaxRetries(0).Do(ctx)
	if err := result.Error(); err != nil {
		if classify(err) == missing && signed(err) {
			return "", nil, nil
		}
		return "", nil, unquoted(path, err)
	}
	data, err := result.Raw()
	if err != nil {
		return "", nil, unquoted(path, err)
	}
	if kind := kindField(data); kind != "Secret" {
		return "", nil, fmt.Errorf("GET %s: %w: not a Secret but a %.64q", path, errStranger, kind)
	}
	value, err = api.DecodeSecret(r.opts.Cluster, data)
	got = version(readWire(data).version)
	switch {
	case err != nil:
		return "", nil, fmt.Errorf("GET %s: %w: %w", path, errStranger, err)
	case value.Name != name:
		return "", nil, fmt.Errorf("GET %s: %w: another object", path, errStranger)
	}
	r.opts.Pools.Mark(value)
	return got, value, nil
}

// unquoted returns err without the body of an answer that no API server gave: a message must not
// quote what may be a Secret.
func unquoted(path string, err error) error {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) || signed(err) {
		return err
	}
	short := status.Status()
	short.Message = fmt.Sprintf("GET %s: status %d, which is not from an API server", path, short.Code)
	short.Details = &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: metav1.CauseTypeUnexpectedServerResponse}}}
	return &apierrors.StatusError{ErrStatus: short}
}
