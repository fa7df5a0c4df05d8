package controller

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestLogged: a matter of one object is said once, whatever is written to other objects and whatever else to that one; it hides nothing that
// concerns all; what goes with its namespace, where the API server refuses new objects with Forbidden, is no missing right.
func TestLogged(t *testing.T) {
	contested := apierrors.NewApplyConflict([]metav1.StatusCause{{Type: metav1.CauseTypeFieldManagerConflict, Field: ".spec.endpoints"}},
		"conflict with kubectl-edit")
	ending := apierrors.NewForbidden(schema.GroupResource{Group: "kuadrant.io", Resource: "dnsrecords"}, "gw-a",
		errors.New("unable to create new content in namespace ns because it is being terminated"))
	ending.ErrStatus.Details.Causes = append(ending.ErrStatus.Details.Causes, metav1.StatusCause{Type: corev1.NamespaceTerminatingCause})
	policy, other := api.Ref{Kind: api.KindDNSPolicy, Name: "ns/a"}, api.Ref{Kind: api.KindDNSPolicy, Name: "ns/b"}
	child := api.Ref{Kind: api.KindDNSRecord, Name: "ns/gw-a"}
	type write struct {
		ref  api.Ref
		verb string
		err  error
	}
	for name, c := range map[string]struct {
		writes []write // five times
		want   []string
	}{
		"undone":         {[]write{{policy, writeStatus, errUndone}, {other, writeStatus, nil}}, []string{"undoes"}},
		"undone, away":   {[]write{{policy, writeStatus, errUndone}, {other, writeStatus, errors.New("no route to host")}}, []string{"undoes", "no route"}},
		"contested":      {[]write{{child, "write", contested}, {child, writeStatus, nil}}, []string{"leaving it alone"}},
		"namespace ends": {[]write{{child, "create", ending}}, nil},
	} {
		w, lines := unreachable(t, nil)
		for range 5 {
			for _, one := range c.writes {
				if err := w.tell(one.ref, one.verb, one.err); err != one.err {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
		if !slices.EqualFunc(*lines, c.want, strings.Contains) {
			t.Errorf("%s: %d lines:\n%s", name, len(*lines), strings.Join(*lines, "\n"))
		}
	}
}

// TestAbsentAfterOutage: while the API server was away, an object was tried again and again. The first
// time that the API server, which has just come back, says that it does not have it is no reason to
// leave it: it has only begun to serve the kind.
func TestAbsentAfterOutage(t *testing.T) {
	w, lines := unreachable(t, nil)
	k := newWork(w, w.look)
	defer k.queue.ShutDown()
	ref := api.Ref{Kind: api.KindDNSPolicy, Name: "ns/a"}
	for range maxMissing {
		k.queue.AddRateLimited(ref) // no answer
	}
	if !k.absent(ref) {
		t.Errorf("it is left for good, and this is said: %q", *lines)
	}
}

// TestLoggedOfManyObjects: objects that the API server has refused, and that are gone, do not keep
// what the operator must know out of the log.
func TestLoggedOfManyObjects(t *testing.T) {
	w, lines := unreachable(t, nil)
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "DNSRecord"}, "x", nil)
	for i := range maxTold {
		ref := api.Ref{Kind: api.KindDNSRecord, Name: fmt.Sprintf("tenant/r%d", i)}
		w.cache.Stands(ref.Kind, ref.Name, &object{uid: "u", version: "1"})
		_ = w.tell(ref, writeStatus, invalid)
		w.cache.Gone(ref.Kind, ref.Name)
	}
	*lines = nil
	w.log.result("write lease", w.lease.what("update"), apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, "lease", nil))
	if len(*lines) == 0 {
		t.Error("that the Lease may not be renewed any more is not said")
	}
}

// TestLoggedTooOften: where more objects have failures than are kept, each is not said anew at each
// attempt.
func TestLoggedTooOften(t *testing.T) {
	w, lines := unreachable(t, nil)
	now := time.Unix(1000, 0)
	w.log.now = func() time.Time { return now }
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "DNSRecord"}, "x", nil)
	const objects = maxTold + 500
	fail := func() (said int) {
		*lines = nil
		for i := range objects {
			ref := api.Ref{Kind: api.KindDNSRecord, Name: fmt.Sprintf("tenant/r%d", i)}
			w.cache.Stands(ref.Kind, ref.Name, &object{uid: "u", version: "1"})
			_ = w.tell(ref, writeStatus, invalid)
		}
		return len(*lines)
	}
	if n := fail(); n != maxTold+1 || !strings.Contains((*lines)[maxTold], "others are not logged") {
		t.Errorf("%d lines, the last of which is %q", n, (*lines)[n-1])
	}
	now = now.Add(time.Minute)
	if n := fail(); n != 0 {
		t.Errorf("%d lines at the second attempt", n)
	}
	now = now.Add(forgetful)
	if n := fail(); n != maxTold+1 {
		t.Errorf("%d lines after some time", n)
	}
}

// TestUnreadEventsInOneNamespaceRefused: where Events may be written in one namespace and not in another, the log says so once, and
// not with each Event.
func TestUnreadEventsInOneNamespaceRefused(t *testing.T) {
	w, lines := unreachable(t, nil)
	s := &eventSink{w: w}
	err := apierrors.NewForbidden(schema.GroupResource{Resource: "events"}, "", errors.New("not in b"))
	for range 10 {
		s.note("a", nil)
		s.note("b", err)
	}
	if len(*lines) != 1 {
		t.Errorf("%d lines: %q", len(*lines), *lines)
	}
}

// TestUnreadEventsInNamespaceThatEnds: the API server refuses Events in a namespace that is being deleted, with
// Forbidden. No right is missing.
func TestUnreadEventsInNamespaceThatEnds(t *testing.T) {
	w, lines := unreachable(t, nil)
	s := &eventSink{w: w}
	err := &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden,
		Message: `events "x" is forbidden: unable to create new content in namespace shop because it is being terminated`,
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}},
	}}
	s.note("shop", err)
	if len(*lines) > 0 {
		t.Errorf("the log says %q", *lines)
	}
}
