package controller

import (
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// namedKeeps has nothing to keep, and says of which clusters and zones there is something.
type namedKeeps struct {
	k           *registry
	named, gone bool
}

func (n *namedKeeps) Kept() uint64                              { return n.k.generation }
func (*namedKeeps) Holdings() map[string]api.Owner              { return nil }
func (*namedKeeps) Serials() map[string]api.Kept                { return nil }
func (n *namedKeeps) Gone(string, api.Owner) (gone, known bool) { return n.gone, n.named }
func (n *namedKeeps) Unserved(string) bool                      { return !n.named }

// TestUnreadForgetsAtOnce: docs/write-back.md and docs/decisions/0027 say that a line goes when nothing has named its
// cluster, or its zone, for ten minutes. A Secret that is deleted and made anew, or a Zone, does not cost it.
func TestUnreadForgetsAtOnce(t *testing.T) {
	for _, m := range []*corev1.ConfigMap{
		{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "lease-owners-0", UID: "u", ResourceVersion: "1"},
			Data:       map[string]string{fieldOwners: "www.example.com. east DNSPolicy ns/p -\n"},
		},
		{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "lease-serials", UID: "u", ResourceVersion: "1"},
			Data: map[string]string{fieldSerials: serialLine("there.example.com.",
				api.Kept{Hash: strings.Repeat("0", 32), Serial: 2026112201}) + "\n"},
		},
	} {
		w, _ := unreachable(t, func(o *Options) { o.Keep = true })
		_ = (*registryStore)(w.registry).Replace([]any{m}, "1")
		if w.registry.owners.values.Len()+w.registry.serials.values.Len() != 1 {
			t.Fatal("nothing was read")
		}
		keeps := &namedKeeps{k: w.registry, named: true}
		w.Keep(keeps)
		if err := w.registry.write(t.Context(), time.Hour); err != nil {
			t.Fatalf("something is written: %v", err)
		}
		keeps.named = false // the Secret, or the Zone, was deleted a second ago
		if err := w.registry.write(t.Context(), time.Hour+time.Second); err != nil {
			t.Errorf("%s: a line is dropped a second after its cluster or zone was named last", m.Name)
		}
	}
}

// TestNameIsKept: the line of an owner that has gone stays for 30 s, in which nobody but its namespace may have the name (rule 5.4), and
// for as long again where it was there in between.
func TestNameIsKept(t *testing.T) {
	w, _ := unreachable(t, func(o *Options) { o.Keep = true })
	m := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "lease-owners-0", UID: "u", ResourceVersion: "1"},
		Data:       map[string]string{fieldOwners: "www.example.com. east DNSPolicy ns/p -\n"},
	}
	_ = (*registryStore)(w.registry).Replace([]any{m}, "1")
	keeps := &namedKeeps{k: w.registry, named: true}
	w.Keep(keeps)
	for _, step := range []struct {
		gone    bool
		at      time.Duration
		written bool
	}{
		{true, time.Hour, false},
		{true, time.Hour + keepName, false},
		{false, time.Hour + keepName, false},
		{true, 2 * time.Hour, false},
		{true, 2*time.Hour + keepName, false},
		{true, 2*time.Hour + keepName + 1, true},
	} {
		keeps.gone = step.gone
		if err := w.registry.write(t.Context(), step.at); (err != nil) != step.written { // no server is there to write to
			t.Errorf("gone %v after %v: %v", step.gone, step.at, err)
		}
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
