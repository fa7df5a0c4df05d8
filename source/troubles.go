package source

import (
	"errors"
	"net/http"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// trouble is a sort of failure to read something.
type trouble uint8

const (
	none         trouble = iota
	unreachable          // no answer, or none from an API server
	unauthorized         // 401
	forbidden            // 403
	missing              // 404
	busy                 // the server says "later": 429, 503, 504
	refused              // any other answer
	expired              // 410, a part of how lists and watches go on
)

// classify tells what an error of a request means.
func classify(err error) trouble {
	status := apierrors.APIStatus(nil)
	if err == nil {
		return none
	}
	if !errors.As(err, &status) {
		return unreachable
	}
	switch status.Status().Code {
	case http.StatusUnauthorized:
		return unauthorized
	case http.StatusForbidden:
		return forbidden
	case http.StatusNotFound:
		return missing
	case http.StatusGone:
		return expired
	case http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return busy
	}
	return refused
}

// lasting tells whether trying again soon is not likely to help, so that
// everything else should not wait for it.
func (t trouble) lasting() bool { return t == forbidden || t == refused }

// troubles keeps the log to one line for each change of state, however often
// something is tried again. Any number of goroutines may use it at a time.
type troubles struct {
	logf    Logf
	changed func() // called, without locks, after a change of state

	mu   sync.Mutex
	open map[string]trouble // by what is affected
}

// begin notes that what suffers from t, and logs the line where that is new.
func (t *troubles) begin(what string, sort trouble, format string, args ...any) {
	t.mu.Lock()
	isNew := t.open[what] != sort
	if t.open == nil {
		t.open = make(map[string]trouble)
	}
	t.open[what] = sort
	t.mu.Unlock()
	if isNew {
		t.logf(format, args...)
		t.changed()
	}
}

// end notes that what is in order, and logs the line where it was not.
func (t *troubles) end(what, format string, args ...any) {
	t.mu.Lock()
	_, was := t.open[what]
	delete(t.open, what)
	t.mu.Unlock()
	if was {
		t.logf(format, args...)
		t.changed()
	}
}

// drop forgets that what was in trouble.
func (t *troubles) drop(what string) {
	t.mu.Lock()
	delete(t.open, what)
	t.mu.Unlock()
	t.changed()
}

// any tells whether something is in trouble.
func (t *troubles) any() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.open) > 0
}
