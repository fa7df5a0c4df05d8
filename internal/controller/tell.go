package controller

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// trouble is the meaning of an error for the writer.
type trouble int

const (
	none trouble = iota
	// missing: the object, or its kind, is not there.
	missing
	// conflict: the object has changed since, or existed already. The watch reports it.
	conflict
	// contested: another field manager owns the fields.
	contested
	// forbidden: no rights.
	forbidden
	// ending: nothing can be made in a namespace that is being deleted.
	ending
	// refused: the API server rejects the object.
	refused
	// undoing: another writer undoes the write.
	undoing
	// lost: the Lease is no longer held, or the writer ends.
	lost
	// away: no answer, or not now.
	away
)

// errLost means that this replica may write no more.
var errLost = errors.New("the lease is lost")

// classify returns the trouble of a request's error.
func classify(err error) trouble {
	switch {
	case err == nil:
		return none
	case errors.Is(err, errUndone):
		return undoing
	case errors.Is(err, errLost):
		return lost
	case apierrors.IsNotFound(err), apierrors.IsGone(err):
		return missing
	case apierrors.IsConflict(err) && apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict):
		return contested
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		return conflict
	case apierrors.IsForbidden(err) && apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return ending
	case apierrors.IsForbidden(err):
		return forbidden
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsRequestEntityTooLargeError(err),
		apierrors.IsMethodNotSupported(err):
		return refused
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Code == http.StatusUnprocessableEntity {
		return refused
	}
	return away
}

// attempt is what was tried, and the right it needs.
type attempt struct{ doing, grant string }

// logged keeps the logged failures: each state of a failure is logged once, not each attempt.
type logged struct {
	cluster      string
	now          func() time.Time
	warnf, infof Logf

	mu sync.Mutex
	// states are by part of the work: those that concern one object, of which there may be any
	// number, and the others.
	objects, states map[string]trouble
	// overflown is since when more objects have failures than are kept; zero if none do.
	overflown time.Time
}

// maxTold bounds the objects whose failures are kept and logged. More are logged once, and after a
// while all are forgotten: some are gone, and the rest are logged again.
const (
	maxTold   = 1000
	forgetful = time.Hour
)

// about is the start of a part of the work that concerns one object.
const about = "object "

// note keeps the state of a part, and returns the previous one; full is true if there is no room
// for it, which is logged the first time.
func (t *logged) note(part string, now trouble) (before trouble, full bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	of, bounded := &t.states, strings.HasPrefix(part, about)
	if bounded {
		of = &t.objects
		if !t.overflown.IsZero() && t.now().Sub(t.overflown) > forgetful {
			t.objects, t.overflown = nil, time.Time{}
		}
	}
	if *of == nil {
		*of = make(map[string]trouble)
	}
	before, known := (*of)[part]
	switch {
	case now == none:
		delete(*of, part)
	case bounded && !known && len(*of) >= maxTold:
		if t.overflown.IsZero() {
			t.overflown = t.now()
			t.warn("%d objects that cannot be written were logged; others are not logged for an hour", maxTold)
		}
		return none, true
	default:
		(*of)[part] = now
	}
	return before, false
}

// result notes the result of a part of the work, and logs changes.
func (t *logged) result(part string, tried attempt, err error) {
	sort := classify(err)
	if sort == lost {
		return
	}
	before, full := t.note(part, sort)
	if sort == before || full {
		return
	}
	switch sort {
	case none:
		t.info("can %s again", tried.doing)
	case forbidden:
		t.warn("not allowed to %s: %v; grant %s", tried.doing, err, tried.grant)
	case refused:
		t.warn("cannot %s: the API server refuses it: %v; compare the installed CRD with config/crd", tried.doing, err)
	case contested:
		t.warn("cannot %s: %v; another controller writes the same field; leaving it alone", tried.doing, err)
	default:
		t.warn("cannot %s: %v; trying again", tried.doing, err)
	}
}

// once logs a line the first time for a part of the work.
func (t *logged) once(part, format string, args ...any) {
	before, full := t.note(part, contested)
	if before == none && !full {
		t.warn(format, args...)
	}
}

// warn logs warnings, and info information.
func (t *logged) warn(format string, args ...any) {
	t.warnf("cluster %q: "+format, append([]any{t.cluster}, args...)...)
}

func (t *logged) info(format string, args ...any) {
	t.infof("cluster %q: "+format, append([]any{t.cluster}, args...)...)
}

// errUndone means that a write is not repeated for now.
var errUndone = errors.New("another writer undoes what is written")

// Logf takes one line for the operator, in the manner of fmt.Printf and without a line feed.
// It may be called from several goroutines at a time.
type Logf func(format string, args ...any)
