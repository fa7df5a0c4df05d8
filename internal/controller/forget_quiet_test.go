package controller

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// askedKeeps says when it was asked about a line last.
type askedKeeps struct {
	namedKeeps
	now   func() time.Time
	asked time.Time
}

func (a *askedKeeps) Gone(string, api.Owner) (gone, known bool) {
	a.asked = a.now()
	return false, false
}

// TestUnreadForgetsWhileNothingHappens: a line goes when nothing has named its cluster for ten minutes (docs/write-back.md), whether
// or not anything else changes then.
func TestUnreadForgetsWhileNothingHappens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := unreachable(t, func(o *Options) { o.Keep = true })
		m := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "lease-owners-0", UID: "u", ResourceVersion: "1"},
			Data:       map[string]string{fieldOwners: "www.example.com. east DNSPolicy ns/p -\n"},
		}
		_ = (*registryStore)(w.registry).Replace([]any{m}, "1")
		keeps, begin := &askedKeeps{namedKeeps: namedKeeps{k: w.registry}, now: w.now}, w.now()
		w.Keep(keeps)
		ctx, cancel := context.WithCancel(t.Context())
		w.registry.began, w.work = begin, newWork(w)
		w.work.add(registryRef)
		go w.work.run(ctx)
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		if after := keeps.asked.Sub(begin); after <= forget {
			t.Errorf("nothing has named the cluster for a day, and the line was looked at last after %v: it stays", after)
		}
		cancel()
		synctest.Wait()
	})
}
