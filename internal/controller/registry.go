package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
)

// Kept is what outlives all replicas: who has acquired which name (rule 5.4), and the serials of
// zones without a Zone (rule 6.7). The trees are immutable.
type Kept struct {
	// Generation tells one Kept from the next.
	Generation uint64
	// Known is false if it could not be read: Kept is empty then. Away is true then if no API
	// server has answered: the kept values may be known from elsewhere.
	Known, Away bool
	// Idle is true if nobody had written for a minute when they were first read: names may have been given up unseen.
	Idle    bool
	Owners  tree.Map[api.Owner] // by api.Objects.Acquired's keys
	Serials tree.Map[api.Kept]  // by origin
	// Former are the highest serials under other Leases, by origin, as of the first list, or the moment when this replica began to
	// write. It is immutable. So two deployments in one namespace do not drive one another up.
	Former map[string]api.Kept
	// OwnersChanged and SerialsChanged list the keys that differ from the Kept before, each once.
	OwnersChanged, SerialsChanged []string
}

// Keeps is what to keep, at one moment. Any goroutine may use it.
type Keeps interface {
	// Kept returns the generation of the Kept that it is based on.
	Kept() uint64
	// Owners returns the owners to register, by api.Objects.Acquired's keys.
	Owners() map[string]api.Owner
	// Serials returns the serials to keep of zones without a Zone, by origin.
	Serials() map[string]api.Kept
	// Gone reports whether a registered owner that has nothing under its key is gone, not just
	// unread. known is false if no cluster has that name.
	Gone(key string, o api.Owner) (gone, known bool)
	// Ended reports whether a line ends at once: its object was gone before anybody watched.
	Ended(key string, o api.Owner) bool
	// Contested reports whether objects of several namespaces want a name. Zone returns the zone that it is in.
	Contested(key string) bool
	Zone(key string) string
	// Unserved reports whether a zone without a serial to keep is known not to be served now or
	// later.
	Unserved(origin string) bool
}

// registry keeps a Kept in ConfigMaps in the Lease's namespace. Every replica follows them; the
// elected one writes them.
type registry struct {
	w    *Writer
	maps typedcorev1.ConfigMapInterface
	// everywhere are those of all namespaces, which this server may be unable to read.
	everywhere typedcorev1.ConfigMapInterface

	mu         sync.Mutex // guards what follows
	owners     sharded[api.Owner]
	serials    sharded[api.Kept]
	generation uint64
	delivered  bool // a Kept was delivered
	away       bool // it was delivered because no API server answered
	listed     bool
	keeps      Keeps
	// others are the serials in ConfigMaps of other Leases, by namespace/name; former is Kept.Former.
	others map[string]map[string]api.Kept
	former map[string]api.Kept

	// refused has the ConfigMaps that could not be made the last time, as they stood then. The watch
	// reports them if they have the label. Only the goroutine that writes uses it, and waiting.
	refused map[string]bool
	// waiting has when unused lines may go, counted from when this replica began to write.
	waiting map[string]time.Duration
	began   time.Time // when this replica began to write
	// lacking has when names without a line were first to have one. mu guards it.
	lacking map[string]time.Time
}

// labelLease is the label with the name of the Lease that the ConfigMaps belong to.
const labelLease = "kuadrant.io/dns-lease"

// The fields of the ConfigMaps' data.
const (
	fieldOwners  = "owners"
	fieldSerials = "serials"
)

func newRegistry(w *Writer, config *rest.Config) (*registry, error) {
	client, err := typedcorev1.NewForConfigAndClient(config, w.http)
	if err != nil {
		return nil, err
	}
	return &registry{
		w: w, maps: client.ConfigMaps(w.opts.Namespace), everywhere: client.ConfigMaps(metav1.NamespaceAll),
		others: make(map[string]map[string]api.Kept), refused: make(map[string]bool), waiting: make(map[string]time.Duration),
		owners: sharded[api.Owner]{
			field: fieldOwners, prefix: w.opts.Lease + "-owners", write: ownerLine, read: parseOwner,
			same: sameOwner, shards: make(map[string]*shard[api.Owner]),
		},
		serials: sharded[api.Kept]{
			field: fieldSerials, prefix: w.opts.Lease + "-serials", bare: true, write: serialLine,
			read: parseSerial, shards: make(map[string]*shard[api.Kept]),
		},
	}, nil
}

// giveUp lets the first compile proceed without unknown kept values; away reports whether no API
// server answered.
func (k *registry) giveUp(why string, away bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.delivered && (away || !k.away) {
		return
	}
	k.w.log.warn("cannot read owners and serials from ConfigMaps in namespace %s: %s; using the age of objects, or the state on disk",
		k.w.opts.Namespace, why)
	k.delivered, k.away = false, away
	k.deliver(nil, nil)
}

// unanswered reports the first failed attempt to read the kept values.
func (k *registry) unanswered() {
	k.mu.Lock()
	listed := k.listed
	k.mu.Unlock()
	if tell := k.w.opts.Unanswered; tell != nil && !listed {
		tell()
	}
}

// take takes in a ConfigMap.
func (k *registry) take(m *corev1.ConfigMap) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.deliver(k.put(m, false))
}

// put takes in a ConfigMap, unless a newer one is known. listed is true if it comes from a list: a
// restored server begins versions anew. k is locked.
func (k *registry) put(m *corev1.ConfigMap, listed bool) (owners, serials []string) {
	fault := ""
	switch {
	case m.Labels[labelLease] != k.w.opts.Lease:
		v, _ := k.serials.parse(m.Data[fieldSerials])
		k.others[m.Namespace+"/"+m.Name] = v.values
		return k.drop(m.Name)
	case isOf(&k.owners, m.Name):
		owners, fault = k.owners.take(m, listed)
	case isOf(&k.serials, m.Name):
		serials, fault = k.serials.take(m, listed)
	}
	if fault != "" {
		k.w.log.once(about+"configmap "+m.Name, "ConfigMap %s/%s: ignoring a part of it: %s", m.Namespace, m.Name, fault)
	}
	return owners, serials
}

func isOf[T comparable](s *sharded[T], name string) bool {
	_, ok := s.number(name)
	return ok
}

// deliver reports the kept values if they have changed. k is locked.
func (k *registry) deliver(owners, serials []string) {
	if k.delivered && len(owners)+len(serials) == 0 {
		return
	}
	k.delivered = true
	k.generation++
	k.w.opts.Kept(Kept{
		Generation: k.generation, Known: k.listed, Away: k.away, Idle: k.w.lease.wasIdle(), Owners: k.owners.values, Serials: k.serials.values,
		Former:        k.former,
		OwnersChanged: owners, SerialsChanged: serials,
	})
}

// resume renews Kept.Former, and returns the origins with a serial there. k is locked.
func (k *registry) resume() []string {
	former := make(map[string]api.Kept)
	for name, serials := range k.others {
		for origin, kept := range serials {
			if _, known := former[origin]; !known || former[origin].Newer(kept) != former[origin] {
				former[origin] = kept
			}
		}
		if len(serials) > 0 {
			k.w.log.info("ConfigMap %s has serials of another Lease; zones go on above them", name)
		}
	}
	k.former = former
	return slices.Sorted(maps.Keys(former))
}

// lead begins to write.
func (k *registry) lead() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.began, k.waiting, k.lacking = k.w.now(), make(map[string]time.Duration), nil
	if before := k.former; k.listed {
		if origins := k.resume(); !maps.Equal(before, k.former) {
			k.deliver(nil, origins)
		}
	}
}

// want takes in what to keep.
func (k *registry) want(keeps Keeps) {
	k.mu.Lock()
	k.keeps = keeps
	k.mu.Unlock()
	k.queue()
}

// queue has the registry written soon: changes are gathered for a while. After a failure the work
// queue sets the time.
func (k *registry) queue() {
	if q := k.w.leading(); q != nil && q.queue.NumRequeues(registryRef) == 0 {
		q.queue.AddAfter(registryRef, k.w.timing.gather)
	}
}

// registryRef stands for the registry in the work queue.
var registryRef = api.Ref{Name: "registry"}

// look writes the registry, and returns when to write it again even without changes: when the first
// unused line may go; 0 for never.
func (k *registry) look(ctx context.Context) (again time.Duration, err error) {
	led := k.w.now().Sub(k.began)
	if err := k.write(ctx, led); err != nil {
		return 0, err
	}
	for _, end := range k.waiting {
		if left := end - led + k.w.timing.gather; left > 0 && (again == 0 || left < again) {
			again = left
		}
	}
	return again, nil
}

const (
	// forget is how long lines of unknown clusters and zones are kept: a Secret, or a Zone, that is
	// deleted and made anew does not lose them.
	forget = 10 * time.Minute
	// keepName is how long a name is kept for the namespace of an owner that has gone (rule 5.4).
	keepName = 30 * time.Second
)

// isOver reports whether something has lasted for a time. led is the time since this replica began to write; still notes when
// it will be over.
func (k *registry) isOver(what string, is bool, after, led time.Duration, still map[string]time.Duration) bool {
	if !is {
		return false
	}
	end, known := k.waiting[what]
	if !known {
		end = led + after
	}
	still[what] = end
	return led > end
}

// write writes the ConfigMaps that differ. led is the time since this replica began to write.
func (k *registry) write(ctx context.Context, led time.Duration) error {
	k.mu.Lock()
	if k.keeps == nil || !k.listed || k.keeps.Kept() != k.generation {
		k.mu.Unlock()
		return nil // newer values are coming
	}
	// Gather without the lock: it looks at every name.
	keeps, ownersNow, serialsNow := k.keeps, k.owners.copied(), k.serials.copied()
	k.mu.Unlock()
	still := make(map[string]time.Duration)
	wanted := keeps.Owners()
	k.noteLacking(wanted, ownersNow)
	owners, left := ownersNow.plan(wanted, func(missing []string) { inTurns(missing, wanted, keeps.Contested) }, func(key string, o api.Owner) bool {
		gone, known := keeps.Gone(key, o)
		return keeps.Ended(key, o) || k.isOver("cluster "+cmp.Or(o.ClusterUID, o.Cluster), !known, forget, led, still) || k.isOver("name "+key, gone, keepName, led, still)
	})
	serials, more := serialsNow.plan(keeps.Serials(), slices.Sort, func(origin string, _ api.Kept) bool {
		return k.isOver("zone "+origin, keeps.Unserved(origin), forget, led, still)
	})
	k.waiting = still
	if left+more > 0 {
		k.w.log.once("room", "ConfigMaps of namespace %s: no room for %d names; their owners are not registered: after a restart, age decides",
			k.w.opts.Namespace, left+more)
	}
	var all error
	for _, d := range owners {
		all = errors.Join(all, k.save(ctx, d.name, fieldOwners, k.owners.text(d.values), idOf(d.old)))
	}
	for _, d := range serials {
		all = errors.Join(all, k.save(ctx, d.name, fieldSerials, k.serials.text(d.values), idOf(d.old)))
	}
	return all
}

// noteLacking notes which names have no line.
func (k *registry) noteLacking(wanted map[string]api.Owner, there *sharded[api.Owner]) {
	lacking, now := make(map[string]time.Time), k.w.now()
	k.mu.Lock()
	defer k.mu.Unlock()
	for key := range wanted {
		if _, ok := there.values.Get(key); ok {
			continue
		}
		if lacking[key] = now; !k.lacking[key].IsZero() {
			lacking[key] = k.lacking[key]
		}
	}
	k.lacking = lacking
}

// lineTime is how long a name may be without a line before that is a problem (rule 5.4).
const lineTime = time.Minute

// unregistered returns how many names have had no line for lineTime, by zone.
func (k *registry) unregistered() map[string]int {
	k.mu.Lock()
	defer k.mu.Unlock()
	n, now := make(map[string]int), k.w.now()
	for key, since := range k.lacking {
		if _, ok := k.owners.values.Get(key); !ok && now.Sub(since) >= lineTime {
			n[k.keeps.Zone(key)]++
		}
	}
	return n
}

// identity identifies a ConfigMap and its version.
type identity struct{ uid, version string }

func idOf[T comparable](v *shard[T]) identity {
	if v == nil {
		return identity{}
	}
	return identity{v.uid, v.version}
}

// save writes one ConfigMap. The watch reports the result.
func (k *registry) save(ctx context.Context, name, field, text string, id identity) error {
	m := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: k.w.opts.Namespace, Name: name, UID: types.UID(id.uid), ResourceVersion: id.version,
			Labels: map[string]string{labelLease: k.w.opts.Lease, api.LabelManagedBy: FieldManager},
		},
		Data: map[string]string{field: text},
	}
	err := k.w.send(ctx, func(ctx context.Context) (err error) {
		if id.version == "" {
			_, err = k.maps.Create(ctx, m, metav1.CreateOptions{FieldManager: FieldManager})
		} else {
			_, err = k.maps.Update(ctx, m, metav1.UpdateOptions{FieldManager: FieldManager})
		}
		return err
	})
	switch sort := classify(err); {
	case sort == none:
		delete(k.refused, name)
	case sort == conflict && id.version == "" && !k.refused[name]:
		k.refused[name] = true // another replica may have made it just now
		return err
	case sort == conflict && id.version == "":
		k.w.log.once(about+"taken "+name, "ConfigMap %s/%s lacks the label %s=%s; its "+
			"names are not registered. Add the label, or delete the ConfigMap", k.w.opts.Namespace, name, labelLease, k.w.opts.Lease)
		return err
	case sort == conflict, sort == lost:
		return err // the watch reports its content
	}
	k.w.log.result("write configmaps", attempt{
		doing: fmt.Sprintf("write ConfigMap %s/%s", k.w.opts.Namespace, name),
		grant: fmt.Sprintf("the verbs create and update on configmaps in namespace %s, or set `write-back off`",
			k.w.opts.Namespace),
	}, err)
	return err
}

// sameOwner reports whether two owners are one object, or successive ones of one name.
func sameOwner(a, b api.Owner) bool {
	cluster := a.Cluster == b.Cluster || a.ClusterUID != "" && a.ClusterUID == b.ClusterUID
	return cluster && a.Kind == b.Kind && a.Name == b.Name
}

// drop removes a ConfigMap. k is locked.
func (k *registry) drop(name string) (owners, serials []string) {
	return k.owners.put(name, nil), k.serials.put(name, nil)
}
