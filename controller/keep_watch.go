package controller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/coredns-kuadrant/kuadrant/internal/rewatch"
)

// keptMaps lists and watches the ConfigMaps, and says what goes wrong.
type keptMaps struct {
	k      *keeper
	resume rewatch.Check
}

func newKeptMaps(k *keeper) *keptMaps {
	m := &keptMaps{k: k}
	m.resume.Newest = func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		ctx, cancel := context.WithTimeout(ctx, k.w.timing.request)
		defer cancel()
		m.options(&o)
		return k.maps.List(ctx, o)
	}
	return m
}

func (m *keptMaps) options(o *metav1.ListOptions) {
	o.LabelSelector = labelLease + "=" + m.k.w.opts.Lease
}

func (m *keptMaps) note(verb string, err error) {
	w := m.k.w
	w.told.result(w, "follow configmaps", attempt{
		doing: fmt.Sprintf("%s the ConfigMaps with owners and serials of namespace %s", verb, w.opts.Namespace),
		grant: fmt.Sprintf("the verbs list, watch, create and update on configmaps in namespace %s, or write the property `write-back off`", w.opts.Namespace),
	}, err)
	if sort := classify(err); sort == forbidden || sort == missing {
		m.k.giveUp(err.Error(), false)
	}
	if err != nil {
		m.k.unanswered()
	}
}

// ListWithContext implements cache.ListerWithContext.
func (m *keptMaps) ListWithContext(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	m.options(&o)
	list, err := m.k.maps.List(ctx, o)
	if ctx.Err() == nil {
		m.note("list", err)
	}
	if err == nil {
		m.resume.Listed()
	}
	return list, err
}

// WatchWithContext implements cache.WatcherWithContext.
func (m *keptMaps) WatchWithContext(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	m.options(&o)
	events, err := m.resume.Begin(ctx, &o, func() (watch.Interface, error) { return m.k.maps.Watch(ctx, o) })
	if err != nil && o.SendInitialEvents == nil && ctx.Err() == nil {
		m.note("watch", err)
	}
	return events, err
}

// List implements cache.Lister, which the reflector does not call.
func (m *keptMaps) List(o metav1.ListOptions) (runtime.Object, error) {
	return m.ListWithContext(context.Background(), o)
}

// Watch implements cache.Watcher, which the reflector does not call.
func (m *keptMaps) Watch(o metav1.ListOptions) (watch.Interface, error) {
	return m.WatchWithContext(context.Background(), o)
}

// keptStore is a keeper as the store that its reflector writes to.
type keptStore keeper

// Add implements cache.ReflectorStore.
func (s *keptStore) Add(obj any) error {
	if m, ok := obj.(*corev1.ConfigMap); ok {
		(*keeper)(s).take(m)
	}
	return nil
}

// Update implements cache.ReflectorStore.
func (s *keptStore) Update(obj any) error { return s.Add(obj) }

// Delete implements cache.ReflectorStore.
func (s *keptStore) Delete(obj any) error {
	k := (*keeper)(s)
	if m, ok := obj.(*corev1.ConfigMap); ok {
		k.mu.Lock()
		k.ends++
		k.deliver(k.owners.put(m.Name, nil), k.serials.put(m.Name, nil))
		k.mu.Unlock()
	}
	return nil
}

// Replace implements cache.ReflectorStore.
func (s *keptStore) Replace(list []any, _ string) error {
	k := (*keeper)(s)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ends++
	there := make(map[string]bool)
	var owners, serials []string
	for _, obj := range list {
		if m, ok := obj.(*corev1.ConfigMap); ok {
			there[m.Name] = true
			o, z := k.put(m, true)
			owners, serials = append(owners, o...), append(serials, z...)
		}
	}
	for _, name := range k.owners.names() {
		if !there[name] {
			owners = append(owners, k.owners.put(name, nil)...)
		}
	}
	for _, name := range k.serials.names() {
		if !there[name] {
			serials = append(serials, k.serials.put(name, nil)...)
		}
	}
	fresh := !k.listed
	k.away = false
	if k.listed = true; fresh {
		k.told = false // whatever was told before it could be read
	}
	k.deliver(unique(owners), unique(serials))
	return nil
}

// Resync implements cache.ReflectorStore; there is nothing to do.
func (s *keptStore) Resync() error { return nil }
