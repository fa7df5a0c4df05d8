package controller

import (
	"net/http"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestUnreadEventsInOneNamespaceRefused: where Events may be written in one namespace and not in another, the log says so once, and
// not with each Event.
func TestUnreadEventsInOneNamespaceRefused(t *testing.T) {
	w, lines := unreachable(t, nil)
	s := &eventSink{w: w}
	err := &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden,
		Message: `events is forbidden in the namespace "b"`,
	}}
	for range 10 {
		s.note("a", nil)
		s.note("b", err)
	}
	if len(*lines) != 1 {
		t.Errorf("%d lines: %q", len(*lines), *lines)
	}
}
