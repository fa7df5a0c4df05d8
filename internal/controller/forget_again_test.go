package controller

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// heldKeeps has what is on record to keep while it is named.
type heldKeeps struct {
	namedKeeps
	owners  map[string]api.Owner
	serials map[string]api.Kept
}

func (h *heldKeeps) Holdings() map[string]api.Owner {
	if h.named {
		return h.owners
	}
	return nil
}

func (h *heldKeeps) Serials() map[string]api.Kept {
	if h.named {
		return h.serials
	}
	return nil
}

// TestUnreadMoreForgetsTheSecondTime: a line goes when nothing has named its cluster, or its zone, for ten minutes. One that was
// deleted and made anew yesterday has ten minutes today as well.
func TestUnreadMoreForgetsTheSecondTime(t *testing.T) {
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
		keeps := &heldKeeps{
			namedKeeps: namedKeeps{k: w.registry, named: true}, owners: make(map[string]api.Owner),
			serials: make(map[string]api.Kept),
		}
		for key, o := range w.registry.owners.values.All() {
			keeps.owners[key] = o
		}
		for key, s := range w.registry.serials.values.All() {
			keeps.serials[key] = s
		}
		w.Keep(keeps)
		for _, at := range []struct {
			after time.Duration
			named bool
		}{
			{time.Hour, true},
			{2 * time.Hour, false},              // deleted
			{2*time.Hour + time.Minute, true},   // made anew, and there is what there was
			{26 * time.Hour, true},              // a day later still
			{26*time.Hour + time.Second, false}, // deleted a second ago
		} {
			keeps.named = at.named
			if err := w.registry.write(t.Context(), at.after); err != nil {
				t.Errorf("%s: after %v, named %v: a line is dropped, or something else written: %v", m.Name, at.after, at.named, err)
			}
		}
	}
}
