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

// load bounds what requests cost. Any number of goroutines may use one.
type load struct {
	// work is the time of a processor that requests may take together: workShare of one core, of which workSaved may be saved up.
	work   *rate.Limiter
	logins *rate.Limiter // bounds wrong tokens, however little each takes
	// turn has one place: two requests do not compute at a time.
	turn chan struct{}
	// previewing has one place. previews is the time that previews may take together.
	previewing chan struct{}
	previews   *rate.Limiter
	// watch measures what has been done.
	watch func() stopwatch
	// uploads has a place for each body of manifests that is read or looked at.
	uploads chan struct{}
	answers atomic.Int64 // how many octets of answers are being sent
}

// The bounds of load, in the long run. A page takes some milliseconds, and is looked at every two seconds by who follows it.
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

// timeOf returns a limiter of time, in microseconds: a share of one core, of which so much may be saved up.
func timeOf(share float64, saved time.Duration) *rate.Limiter {
	return rate.NewLimiter(rate.Limit(share*float64(time.Second/time.Microsecond)), int(saved.Microseconds()))
}

// kind is what a request asks for.
type kind uint8

const (
	loadPage    kind = iota // whatever else
	loadAsset               // a file that is never computed
	loadLogin               // a token that is wrong
	loadPreview             // a preview, which takes what it takes, one at a time
)

// allow reports whether there may be one more of a kind, and else after how long there may be one.
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

// positive reports whether there is something left in a limiter, and else after how long there is.
func positive(of *rate.Limiter) (wait time.Duration, ok bool) {
	left := of.Tokens()
	if left > 0 {
		return 0, true
	}
	return time.Duration((1 - left) / float64(of.Limit()) * float64(time.Second)), false
}

// enter waits for a turn, and is refused where those before have left nothing to spend: wait is after how long it may be
// tried again. leave has to be called where ok, by the goroutine that has entered.
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

// preview begins a preview, as enter does a request, and does not wait for its turn.
func (l *load) preview() (leave func(), wait time.Duration, ok bool) {
	select {
	case l.previewing <- struct{}{}:
	default:
		return nil, 0, false
	}
	return l.begin(l.previewing, l.previews)
}

// begin begins what has taken its place, and spends from a limiter.
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

// spend takes what has been done from what may be done next, however much that is.
func spend(from *rate.Limiter, took time.Duration) {
	now := time.Now()
	for left := int(took.Microseconds()); left > 0; left -= from.Burst() {
		from.ReserveN(now, min(left, from.Burst())) // more than the burst cannot be reserved at once
	}
}

// bounded answers what one endpoint is asked for, within the bounds.
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
		case loadAsset, loadPreview: // a preview takes its turn when its manifests are there
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
		c.send(&made, r) // whoever reads slowly keeps nobody waiting
	})
}

// kept is an answer that is made first, and sent later, by console.send.
type kept struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

// WriteHeader implements http.ResponseWriter.
func (k *kept) WriteHeader(status int) { k.status = status }

// Write implements http.ResponseWriter.
func (k *kept) Write(p []byte) (int, error) { return k.body.Write(p) }

// maxAnswers is how many octets of answers are held at a time while they are sent, but for a single one.
const maxAnswers = 32 << 20

// send sends an answer that has been made, unless those that are being sent hold too much: whoever does not read
// costs no more than that.
func (c *console) send(k *kept, r *http.Request) {
	n := int64(k.body.Len())
	defer c.load.answers.Add(-n)
	if held := c.load.answers.Add(n); held > maxAnswers && held != n {
		for _, name := range []string{"ETag", "Content-Length"} { // they are of what is not sent
			k.Header().Del(name)
		}
		k.Header().Set("Cache-Control", "no-store")
		busy(k.ResponseWriter, r, time.Second)
		return
	}
	k.ResponseWriter.WriteHeader(k.status)
	_, _ = k.ResponseWriter.Write(k.body.Bytes())
}

// busy says that there is more to do than may be done, and after how long it may be tried again.
func busy(w http.ResponseWriter, r *http.Request, wait time.Duration) {
	again(w, r, wait, "too many requests")
}

// again refuses a request for now, with the reason why.
func again(w http.ResponseWriter, r *http.Request, wait time.Duration, why string) {
	seconds := max(1, int(math.Ceil(wait.Seconds())))
	w.Header().Set("Retry-After", strconv.Itoa(seconds))
	fail(w, r, http.StatusTooManyRequests, "%s; try again in %s", why, plural(seconds, "second"))
}
