package console

import (
	"bytes"
	"context"
	"math"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// load limits the cost of requests. It is safe for concurrent use.
type load struct {
	// work limits the CPU time of all requests together: workShare of one core, with a burst of workSaved.
	work   *rate.Limiter
	logins *rate.Limiter // limits wrong tokens, however cheap each is
	// turn has capacity 1: only one request computes at a time.
	turn chan struct{}
	// previewing has capacity 1. previews limits the CPU time of all previews together.
	previewing chan struct{}
	previews   *rate.Limiter
	// watch starts measuring CPU time.
	watch func() stopwatch
	// uploads has a slot for each body of manifests being read or processed.
	uploads chan struct{}
	answers atomic.Int64 // octets of answers being sent
}

// Long-term limits. A page takes a few milliseconds, and each browser that follows it requests it every two seconds.
const (
	workShare    = 0.03
	workSaved    = 250 * time.Millisecond
	loginRate    = 2
	loginBurst   = 20
	previewShare = 0.025
	previewSaved = 250 * time.Millisecond
	maxUploads   = 8
	// patience is how long a request waits for its turn.
	patience = 5 * time.Second
)

func newLoad() *load {
	return &load{
		work: timeOf(workShare, workSaved), logins: rate.NewLimiter(loginRate, loginBurst), turn: make(chan struct{}, 1), watch: watchThread,
		previewing: make(chan struct{}, 1), previews: timeOf(previewShare, previewSaved), uploads: make(chan struct{}, maxUploads),
	}
}

// timeOf returns a limiter of CPU time in microseconds: share of one core, with a burst of saved.
func timeOf(share float64, saved time.Duration) *rate.Limiter {
	return rate.NewLimiter(rate.Limit(share*float64(time.Second/time.Microsecond)), int(saved.Microseconds()))
}

// kind is the kind of a request, by cost.
type kind uint8

const (
	loadPage    kind = iota // everything else
	loadAsset               // a static file
	loadLogin               // a wrong token
	loadPreview             // a preview: of any cost, one at a time
)

// allow reports whether one more request of a kind is allowed, or else how long to wait.
func (l *load) allow(k kind) (wait time.Duration, ok bool) {
	switch k {
	case loadLogin:
		return time.Second, l.logins.Allow()
	case loadPage:
		return positive(l.work)
	case loadPreview:
		return positive(l.previews)
	case loadAsset:
	}
	return 0, true
}

// positive reports whether a limiter has tokens left, or else how long until it has.
func positive(of *rate.Limiter) (wait time.Duration, ok bool) {
	left := of.Tokens()
	if left > 0 {
		return 0, true
	}
	return time.Duration((1 - left) / float64(of.Limit()) * float64(time.Second)), false
}

// enter waits for a turn. It refuses the request if earlier ones have used up the budget; wait is then when to retry.
// If ok, the goroutine that entered must call leave.
func (l *load) enter(ctx context.Context) (leave func(), wait time.Duration, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, time.Second, false
	}
	return l.begin(l.turn, l.work)
}

// preview is enter for a preview, but does not wait for a turn.
func (l *load) preview() (leave func(), wait time.Duration, ok bool) {
	select {
	case l.previewing <- struct{}{}:
	default:
		return nil, 0, false
	}
	return l.begin(l.previewing, l.previews)
}

// begin starts measuring the work of the holder of a slot. leave charges it to from and frees the slot.
func (l *load) begin(place chan struct{}, from *rate.Limiter) (leave func(), wait time.Duration, ok bool) {
	if wait, ok := positive(from); !ok {
		<-place
		return nil, wait, false
	}
	w := l.watch()
	return func() {
		spend(from, w.stop())
		<-place
	}, 0, true
}

// spend charges took to from, even beyond its balance.
func spend(from *rate.Limiter, took time.Duration) {
	now := time.Now()
	for left := int(took.Microseconds()); left > 0; left -= from.Burst() {
		from.ReserveN(now, min(left, from.Burst())) // a reservation cannot exceed the burst
	}
}

// bounded returns the handler of one endpoint, within the limits.
func (c *console) bounded(e endpoint) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodHead && e.method == http.MethodGet:
		case r.Method != e.method:
			w.Header().Set("Allow", e.method)
			fail(w, r, http.StatusMethodNotAllowed, "method %.20q is not allowed; use %s", r.Method, e.method)
			return
		}
		if e.method == http.MethodGet && r.ContentLength != 0 {
			fail(w, r, http.StatusBadRequest, "no body is allowed here")
			return
		}
		if wait, ok := c.load.allow(e.load); !ok {
			busy(w, r, wait)
			return
		}
		switch e.load {
		case loadAsset, loadPreview: // a preview takes its slot once its manifests have arrived
			e.serve(w, r)
			return
		case loadPage, loadLogin:
		}
		leave, wait, ok := c.load.enter(r.Context())
		if !ok {
			busy(w, r, wait)
			return
		}
		made := kept{ResponseWriter: w, status: http.StatusOK}
		func() {
			defer leave()
			e.serve(&made, r)
		}()
		c.send(&made, r) // after leave: a slow reader delays nobody
	})
}

// kept is an answer that is computed in full before console.send sends it.
type kept struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (k *kept) WriteHeader(status int) { k.status = status }

func (k *kept) Write(p []byte) (int, error) { return k.body.Write(p) }

// maxAnswers is the maximum of octets of answers being sent at a time. A single answer may exceed it.
const maxAnswers = 32 << 20

// send sends a finished answer, unless the answers being sent would exceed maxAnswers. This limits the memory that
// slow readers hold.
func (c *console) send(k *kept, r *http.Request) {
	n := int64(k.body.Len())
	defer c.load.answers.Add(-n)
	if held := c.load.answers.Add(n); held > maxAnswers && held != n {
		for _, name := range []string{"ETag", "Content-Length"} { // they describe the dropped body
			k.Header().Del(name)
		}
		k.Header().Set("Cache-Control", "no-store")
		busy(k.ResponseWriter, r, time.Second)
		return
	}
	k.ResponseWriter.WriteHeader(k.status)
	_, _ = k.ResponseWriter.Write(k.body.Bytes())
}

// busy answers that the server is busy, and when to retry.
func busy(w http.ResponseWriter, r *http.Request, wait time.Duration) {
	again(w, r, wait, "too many requests")
}

// again refuses a request for now, with the reason and when to retry.
func again(w http.ResponseWriter, r *http.Request, wait time.Duration, why string) {
	seconds := max(1, int(math.Ceil(wait.Seconds())))
	w.Header().Set("Retry-After", strconv.Itoa(seconds))
	fail(w, r, http.StatusTooManyRequests, "%s; try again in %s", why, plural(seconds, "second"))
}
