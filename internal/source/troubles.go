package source

import (
	"errors"
	"net/http"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/coredns-kuadrant/kuadrant/internal/rewatch"
)

// trouble is a class of failure to read something.
type trouble uint8

const (
	none         trouble = iota
	unreachable          // no answer
	stranger             // an answer that no API server gives
	unauthorized         // 401
	forbidden            // 403
	missing              // 404
	busy                 // 429 ("later"), or a server error: 5xx
	refused              // any other answer
	expired              // 410, which lists and watches recover from
)

var (
	// errStranger marks answers that no API server gives.
	errStranger = errors.New("unexpected answer")
	// errNotReady marks the answer of an API server that is starting or shutting down.
	errNotReady = errors.New("the API server is not ready")
)

// classify returns the trouble of a request's error. What stands in front of an API server (a load
// balancer, a proxy with a login page) may return the same status codes for a while; classify does
// not take it for the server.
func classify(err error) trouble {
	status := apierrors.APIStatus(nil)
	switch {
	case err == nil:
		return none
	case errors.Is(err, errStranger):
		return stranger
	case errors.Is(err, errNotReady), errors.Is(err, rewatch.ErrSetBack):
		return busy
	case !errors.As(err, &status):
		return unreachable
	}
	switch code := status.Status().Code; {
	case code >= http.StatusInternalServerError, code == http.StatusTooManyRequests:
		return busy
	case code == http.StatusUnauthorized:
		return unauthorized
	case code == http.StatusNotFound:
		return missing
	case !signed(err):
		return stranger
	case code == http.StatusForbidden:
		return forbidden
	case code == http.StatusGone:
		return expired
	case code < http.StatusBadRequest:
		return stranger
	}
	return refused
}

// signed reports whether an error came as a Status object, which proves that it is the API server's
// own. An error without one may be the server's too, except for 403 and for objects requested by
// name.
func signed(err error) bool {
	status := apierrors.APIStatus(nil)
	return errors.As(err, &status) && !apierrors.IsUnexpectedServerError(err)
}

// lasting reports whether a retry is unlikely to help soon, so that nothing should wait for it.
func (t trouble) lasting() bool { return t == forbidden || t == refused }

// troubles logs one line for each change of state, however many retries there are. It is safe for
// concurrent use.
type troubles struct {
	warnf   Logf
	infof   Logf   // takes good news
	changed func() // called without locks after a change of state

	mu   sync.Mutex
	open map[string]trouble // by what is affected
}

// begin records that what suffers from t, and logs the line if that is new.
func (t *troubles) begin(what string, sort trouble, format string, args ...any) {
	t.mu.Lock()
	isNew := t.open[what] != sort
	if t.open == nil {
		t.open = make(map[string]trouble)
	}
	t.open[what] = sort
	t.mu.Unlock()
	if isNew {
		t.warnf(format, args...)
		t.changed()
	}
}

// end records that what works again, and logs the line if it did not before.
func (t *troubles) end(what, format string, args ...any) {
	t.mu.Lock()
	_, was := t.open[what]
	delete(t.open, what)
	t.mu.Unlock()
	if was {
		t.infof(format, args...)
		t.changed()
	}
}

// has reports whether what has a trouble.
func (t *troubles) has(what string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.open[what] != none
}

// drop forgets the trouble of what, without a log line.
func (t *troubles) drop(what string) {
	t.mu.Lock()
	delete(t.open, what)
	t.mu.Unlock()
	t.changed()
}

// any reports whether anything has a trouble.
func (t *troubles) any() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.open) > 0
}
