package controller

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/coredns-kuadrant/kuadrant/internal/rewatch"
)

// listWatch returns the reflector's list and watch.
func (k *registry) listWatch() *cache.ListWatch {
	labelled := func(o metav1.ListOptions) metav1.ListOptions {
		o.LabelSelector = labelLease + "=" + k.w.opts.Lease
		return o
	}
	list := func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		if l := &k.w.lease; l.first.Load() == nil {
			_, _, _ = l.Get(ctx) // its own errors are logged; the first writer changes it
		}
		return k.maps.List(ctx, labelled(o))
	}
	begin := func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		return k.maps.Watch(ctx, labelled(o))
	}
	return rewatch.ListWatch(k.w.timing.request, rewatch.Retry, list, begin, k.note)
}

// note notes how a list or a watch went.
func (k *registry) note(ctx context.Context, o metav1.ListOptions, err error) {
	verb := "list"
	if o.Watch {
		verb = "watch"
	}
	if ctx.Err() != nil || o.Watch && (err == nil || o.SendInitialEvents != nil) {
		return
	}
	w := k.w
	w.told.result("follow configmaps", attempt{
		doing: fmt.Sprintf("%s the ConfigMaps with owners and serials in namespace %s", verb, w.opts.Namespace),
		grant: fmt.Sprintf("the verbs list, watch, create and update on configmaps in namespace %s, or set `write-back "+
			"off`", w.opts.Namespace),
	}, err)
	if sort := classify(err); sort == forbidden || sort == missing {
		k.giveUp(err.Error(), false)
	}
	if err != nil {
		k.unanswered()
	}
}

// registryStore is a registry as the store that its reflector writes to.
type registryStore registry

// Add implements cache.ReflectorStore.
func (s *registryStore) Add(obj any) error {
	if m, ok := obj.(*corev1.ConfigMap); ok {
		(*registry)(s).take(m)
	}
	return nil
}

// Update implements cache.ReflectorStore.
func (s *registryStore) Update(obj any) error { return s.Add(obj) }

// Delete implements cache.ReflectorStore.
func (s *registryStore) Delete(obj any) error {
	k := (*registry)(s)
	if m, ok := obj.(*corev1.ConfigMap); ok {
		k.mu.Lock()
		k.deliver(k.drop(m.Name))
		k.mu.Unlock()
	}
	return nil
}

// drop removes a ConfigMap. k is locked.
func (k *registry) drop(name string) (owners, serials []string) {
	return k.owners.put(name, nil), k.serials.put(name, nil)
}

// Replace implements cache.ReflectorStore.
func (s *registryStore) Replace(list []any, _ string) error {
	k := (*registry)(s)
	k.mu.Lock()
	defer k.mu.Unlock()
	there := make(map[string]bool)
	var owners, serials []string
	for _, obj := range list {
		if m, ok := obj.(*corev1.ConfigMap); ok {
			there[m.Name] = true
			o, z := k.put(m, true)
			owners, serials = append(owners, o...), append(serials, z...)
		}
	}
	for _, name := range slices.Concat(k.owners.names(), k.serials.names()) {
		if !there[name] {
			o, z := k.drop(name)
			owners, serials = append(owners, o...), append(serials, z...)
		}
	}
	fresh := !k.listed
	k.away = false
	if k.listed = true; fresh {
		k.told = false // what was told before came without reading
	}
	slices.Sort(owners)
	slices.Sort(serials)
	k.deliver(slices.Compact(owners), slices.Compact(serials))
	return nil
}

// Resync implements cache.ReflectorStore; it does nothing.
func (s *registryStore) Resync() error { return nil }
