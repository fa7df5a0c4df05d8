package console

import (
	"bytes"
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// load bounds what requests cost. Any number of goroutines may use one.
type load struct {
	// work is the time that requests may take together, in milliseconds: each second adds
	// workRate, and workBurst may be saved up.
	work *rate.Limiter
	// explains and logins bound how many there are of these, however little each takes.
	explains, logins *rate.Limiter
	// turn has one place: two requests do not compute at a time.
	turn chan struct{}
	// previewing has one place. previews is the time that previews may take together, in milliseconds.
	previewing chan struct{}
	previews   *rate.Limiter
	// uploaded is how many octets of bodies are held, and answers how many of answers that are being sent.
	uploaded, answers atomic.Int64
}

// The bounds of load. A tenth of one core, in the long run, is the console's; a person who looks
// at it needs far less.
const (
	workRate     = 100
	workBurst    = 500
	explainRate  = 20
	explainBurst = 60
	loginRate    = 2
	loginBurst   = 20
	previewRate  = 100
	previewBurst = 1000
	// patience is how long a request waits for its turn.
	patience = 5 * time.Second
)

func newLoad() *load {
	return &load{
		work: rate.NewLimiter(workRate, workBurst), explains: rate.NewLimiter(explainRate, explainBurst), logins: rate.NewLimiter(loginRate, loginBurst),
		turn: make(chan struct{}, 1), previewing: make(chan struct{}, 1), previews: rate.NewLimiter(previewRate, previewBurst),
	}
}

// kind is what a request asks for.
type kind uint8

const (
	loadPage    kind = iota // whatever else
	loadAsset               // a file that is never computed
	loadExplain             // one explanation
	loadLogin               // a token that is wrong
	loadPreview             // a preview, which takes what it takes, one at a time, and a tenth of a core in the long run
)

// allow tells whether there may be one more of a kind.
func (l *load) allow(k kind) bool {
	switch k {
	case loadExplain:
		return l.explains.Allow() && l.work.Tokens() > 0
	case loadLogin:
		return l.logins.Allow()
	case loadPage:
		return l.work.Tokens() > 0
	case loadPreview:
		return l.previews.Tokens() > 0
	case loadAsset:
	}
	return true
}

// enter waits for a turn; leave has to be called where ok.
func (l *load) enter(ctx context.Context) (leave func(), ok bool) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, false
	}
	begin := time.Now()
	return func() {
		<-l.turn
		spend(l.work, begin)
	}, true
}

// spend takes what has been done since begin from what may be done next, however much that is.
func spend(from *rate.Limiter, begin time.Time) {
	now := time.Now()
	for left := int(now.Sub(begin).Milliseconds()); left > 0; left -= from.Burst() {
		from.ReserveN(now, min(left, from.Burst())) // more than the burst cannot be reserved at once
	}
}

// preview begins a preview; leave has to be called where ok.
func (l *load) preview() (leave func(), ok bool) {
	select {
	case l.previewing <- struct{}{}:
	default:
		return nil, false
	}
	begin := time.Now()
	return func() {
		spend(l.previews, begin)
		<-l.previewing
	}, true
}

// bounded answers what one endpoint is asked for, within the bounds.
func (c *console) bounded(e endpoint) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodHead && e.method == http.MethodGet:
		case r.Method != e.method:
			unread(w, r)
			w.Header().Set("Allow", e.method)
			fail(w, r, http.StatusMethodNotAllowed, "%.20q cannot be done here: use %s", r.Method, e.method)
			return
		}
		if e.method == http.MethodGet && r.ContentLength != 0 {
			unread(w, r)
			fail(w, r, http.StatusBadRequest, "there is a body, and nothing here reads one")
			return
		}
		if !c.load.allow(e.load) {
			unread(w, r)
			busy(w, r)
			return
		}
		switch e.load {
		case loadAsset, loadPreview: // a preview takes its turn when its manifests are there
			e.serve(w, r)
			return
		case loadPage, loadExplain, loadLogin:
		}
		leave, ok := c.load.enter(r.Context())
		if !ok {
			busy(w, r)
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
		busy(k.ResponseWriter, r)
		return
	}
	k.ResponseWriter.WriteHeader(k.status)
	_, _ = k.ResponseWriter.Write(k.body.Bytes())
}

// busy says that there is more to do than may be done.
func busy(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Retry-After", "1")
	fail(w, r, http.StatusTooManyRequests, "too much is asked for at a time: try again in a second")
}
