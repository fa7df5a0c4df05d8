package controller

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestUndoneFlapsInLog: somebody undoes what is written to one object, and other objects are
// written all the while. That is one object's matter: it is said once, and it is not said each time
// that all objects of the kind can be written again.
func TestUndoneFlapsInLog(t *testing.T) {
	w, lines := unreachable(t, nil)
	undone := api.Ref{Kind: api.KindDNSPolicy, Name: "ns/undone"}
	for i := range 5 {
		_ = w.tell(undone, writeStatus, errUndone)
		_ = w.tell(api.Ref{Kind: api.KindDNSPolicy, Name: fmt.Sprint("ns/other", i)}, writeStatus, nil)
	}
	if len(*lines) > 1 {
		t.Errorf("%d lines:\n%s", len(*lines), strings.Join(*lines, "\n"))
	}
}

// TestUndoneHidesOutage: while somebody undoes what is written to one object, that the API server
// cannot be reached for all others is still to be said.
func TestUndoneHidesOutage(t *testing.T) {
	w, lines := unreachable(t, nil)
	undone := api.Ref{Kind: api.KindDNSPolicy, Name: "ns/undone"}
	_ = w.tell(undone, writeStatus, errUndone)
	_ = w.tell(api.Ref{Kind: api.KindDNSPolicy, Name: "ns/other"}, writeStatus, fmt.Errorf("no route to host"))
	if !strings.Contains(strings.Join(*lines, "\n"), "no route to host") {
		t.Errorf("nothing is said of the outage:\n%s", strings.Join(*lines, "\n"))
	}
}

// TestAbsentAfterOutage: while the API server was away, an object was tried again and again. The first
// time that the API server, which has just come back, says that it does not have it is no reason to
// leave it: it has only begun to serve the kind.
func TestAbsentAfterOutage(t *testing.T) {
	w, lines := unreachable(t, nil)
	k := newWork(w)
	defer k.queue.ShutDown()
	ref := api.Ref{Kind: api.KindDNSPolicy, Name: "ns/a"}
	for range maxMissing {
		k.queue.AddRateLimited(ref) // no answer
	}
	if !k.absent(ref) {
		t.Errorf("it is left for good, and this is said: %q", *lines)
	}
}

// TestContestedChildFlapsInLog: somebody has edited a field of a child, which is left to them. That
// its status can be written is no news about that, and the log says it once, whatever is written to
// the status.
func TestContestedChildFlapsInLog(t *testing.T) {
	w, lines := unreachable(t, nil)
	child := api.Ref{Kind: api.KindDNSRecord, Name: "ns/gw-a"}
	contested := apierrors.NewApplyConflict([]metav1.StatusCause{{
		Type:  metav1.CauseTypeFieldManagerConflict,
		Field: ".spec.endpoints",
	}}, "conflict with kubectl-edit")
	for range 5 {
		_ = w.tell(child, "write", contested)
		_ = w.tell(child, writeStatus, nil)
	}
	if len(*lines) != 1 {
		t.Errorf("%d lines:\n%s", len(*lines), strings.Join(*lines, "\n"))
	}
}

// TestChildInNamespaceThatEnds: the API server refuses new objects in a namespace that is being
// deleted, with Forbidden. No right is missing, and nothing comes of trying again.
func TestChildInNamespaceThatEnds(t *testing.T) {
	w, lines := unreachable(t, nil)
	err := apierrors.NewForbidden(schema.GroupResource{Group: "kuadrant.io", Resource: "dnsrecords"}, "gw-a",
		errors.New("unable to create new content in namespace ns because it is being terminated"))
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{Type: corev1.NamespaceTerminatingCause})
	if w.tell(api.Ref{Kind: api.KindDNSRecord, Name: "ns/gw-a"}, "create", err) == nil || len(*lines) > 0 {
		t.Errorf("the log says %q", *lines)
	}
}
