package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/rewatch"
)

// listWatch returns the reflector's list and watch.
func (k *registry) listWatch() *cache.ListWatch {
	labelled := func(o metav1.ListOptions) metav1.ListOptions {
		o.LabelSelector = labelLease // those of other Leases have serials, too
		return o
	}
	list := func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		k.w.lease.look(ctx)
		return k.maps.List(ctx, labelled(o))
	}
	begin := func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		k.w.lease.look(ctx) // it may be a list that streams
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
	w.log.result("follow configmaps", attempt{
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
		delete(k.others, m.Namespace+"/"+m.Name)
		k.deliver(k.drop(m.Name))
		k.mu.Unlock()
	}
	return nil
}

// elsewhere returns the ConfigMaps of other namespaces that this server may read: a Lease may have been in one of them.
func (k *registry) elsewhere() []corev1.ConfigMap {
	ctx, cancel := context.WithTimeout(context.Background(), k.w.timing.request)
	defer cancel()
	list, err := k.everywhere.List(ctx, metav1.ListOptions{LabelSelector: labelLease})
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(list.Items, func(m corev1.ConfigMap) bool { return m.Namespace == k.w.opts.Namespace })
}

// farAhead is how far in the future a serial of another namespace may be dated: whoever may write ConfigMaps there must not move
// serials as they like. It is a year, in a serial with a date.
const farAhead = 1_000_000

// takeElsewhere takes in a ConfigMap of another namespace. k is locked.
func (k *registry) takeElsewhere(m *corev1.ConfigMap) {
	v, _ := k.serials.parse(m.Data[fieldSerials])
	y, month, d := k.w.now().UTC().Date()
	latest := uint32(y)*1_000_000 + uint32(month)*10_000 + uint32(d)*100 + farAhead
	maps.DeleteFunc(v.values, func(_ string, kept api.Kept) bool { return kept.Serial > latest })
	k.others[m.Namespace+"/"+m.Name] = v.values
}

// Replace implements cache.ReflectorStore.
func (s *registryStore) Replace(list []any, _ string) error {
	k := (*registry)(s)
	var elsewhere []corev1.ConfigMap
	if !k.listed { // only this goroutine sets it
		elsewhere = k.elsewhere()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	there := make(map[string]bool)
	var owners, serials []string
	maps.DeleteFunc(k.others, func(name string, _ map[string]api.Kept) bool { return strings.HasPrefix(name, k.w.opts.Namespace+"/") })
	for i := range elsewhere {
		k.takeElsewhere(&elsewhere[i])
	}
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
		k.delivered = false // what was delivered before came without reading
		serials = append(serials, k.resume()...)
	}
	slices.Sort(owners)
	slices.Sort(serials)
	k.deliver(slices.Compact(owners), slices.Compact(serials))
	return nil
}

// Resync implements cache.ReflectorStore; it does nothing.
func (s *registryStore) Resync() error { return nil }

// follow follows the ConfigMaps until ctx ends.
func (k *registry) follow(ctx context.Context) {
	late := time.AfterFunc(k.w.timing.patience, func() { k.giveUp("no answer yet", true) })
	defer late.Stop()
	r := cache.NewReflectorWithOptions(k.listWatch(), &corev1.ConfigMap{}, (*registryStore)(k), cache.ReflectorOptions{
		Logger: &quiet, Name: "configmaps", TypeDescription: "configmaps", Backoff: &rewatch.Unpaced,
	})
	r.RunWithContext(klog.NewContext(ctx, quiet))
}
