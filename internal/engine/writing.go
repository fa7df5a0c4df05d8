package engine

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/rest"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/internal/controller"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// Defaults of what is written.
const (
	DefaultWriteQPS   = 50
	DefaultWriteBurst = 100
	DefaultLease      = "kuadrant-dns"
)

// complete returns w with its defaults. context is the kubeconfig context's namespace, "" for none.
func (w Writing) complete(context string) Writing {
	w.Namespace, w.Lease = cmp.Or(w.Namespace, ownNamespace(), context, "default"), cmp.Or(w.Lease, DefaultLease)
	if w.QPS == 0 {
		w.QPS, w.Burst = DefaultWriteQPS, DefaultWriteBurst
	}
	return w
}

// newWriter returns a cluster's writer; nil if nothing is to be written. writesRegistry is true if the cluster's ConfigMaps keep
// owners and serials.
func (e *Engine) newWriter(as Writing, cluster string, rc *rest.Config, selected, writesRegistry bool) (*controller.Writer, error) {
	if as.Mode == "off" {
		return nil, nil
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	opts := controller.Options{
		Cluster: cluster, Config: rc, Namespace: as.Namespace, Lease: as.Lease, Identity: host + "_" + string(uuid.NewUUID()),
		QPS: float32(as.QPS), Burst: as.Burst, StatusOnly: as.Mode == "status", Selected: selected, Warnf: e.log.Warningf, Infof: e.log.Infof,
	}
	var w *controller.Writer
	if writesRegistry {
		opts.Keep, opts.Unanswered = true, e.registryUnanswered
		opts.Kept = func(kept controller.Kept) { e.TakeKept(w, kept) }
	}
	w, err = controller.New(opts)
	if err != nil {
		return nil, fmt.Errorf("write back to cluster %q: %w", cluster, err)
	}
	return w, nil
}

// Writers returns the writers of all present clusters.
func (e *Engine) Writers() (all []*controller.Writer) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, f := range e.feeds {
		if f.unwrite != nil {
			all = append(all, f.writer)
		}
	}
	return all
}

// Unregistered returns how many names have had no line in the registry for a minute, by zone; nil if this server does not write it.
func (e *Engine) Unregistered() map[string]int {
	for _, w := range e.Writers() {
		if names := w.Unregistered(); names != nil {
			return names
		}
	}
	return nil
}

// tellWriters passes the publication to the writers. Clusters with objects from the state on disk
// may be behind what was written: they get nothing until that ends, and then everything.
func (e *Engine) tellWriters(was, p *Publication) {
	snap := p.Snapshot
	for _, w := range e.Writers() {
		if says := e.SaysOf(snap, w.Cluster()); says != nil {
			changed := changedOf(was.Snapshot, snap, w.Cluster())
			if slices.Contains(was.FromState, w.Cluster()) {
				changed = nil
			}
			w.Follow(says, changed)
		}
		if e.keepsWith(p) {
			w.Keep(e.toRegister(p))
		}
	}
}

// keepsWith reports whether a snapshot's owners and serials are kept. After a start, the first lists have a while: a younger object
// may be listed first, and would have the name for good (rule 5.4). Nor are they kept if something comes from the state on disk:
// other replicas may know more, and a state would take names from their owners, and give secondaries old data under a new serial. But
// a cluster that a Secret names may be away for good: after its time at the start it counts as if it had been lost while the process
// ran.
func (e *Engine) keepsWith(p *Publication) bool {
	if e.late.Load() {
		return !slices.ContainsFunc(p.FromState, func(cluster string) bool { return !slices.Contains(p.bySecret, cluster) })
	}
	return p.Snapshot.Complete() && len(p.FromState) == 0
}

// TellHealth tells writers of targets whose health changed, by their keys.
func (e *Engine) TellHealth(snap *records.Snapshot, targets map[string]health.State) {
	writers := e.Writers()
	if len(writers) == 0 {
		return
	}
	changed := make(map[string][]api.Ref)
	for key, before := range targets {
		e.targetEvent(snap, key, before)
		for cluster, ref := range snap.Followers(key) {
			changed[cluster] = append(changed[cluster], ref)
		}
	}
	for _, w := range writers {
		w.Look(changed[w.Cluster()])
	}
}

// changedOf returns a cluster's objects whose status may differ from the snapshot before; nil for
// all.
func changedOf(before, snap *records.Snapshot, cluster string) []api.Ref {
	parents, renewed := snap.ChildrenChanged(), snap.Renewed()
	now, was := snap.ObjectsOf(cluster), before.ObjectsOf(cluster)
	if parents == nil || renewed == nil || now == nil || was == nil || now.Epoch != was.Epoch {
		return nil
	}
	all := []api.Ref{}
	add := func(ref api.Ref) { // a policy comes with its present and its previous Gateway
		if all = append(all, ref); ref.Kind != api.KindDNSPolicy {
			return
		}
		for _, c := range []*api.Cluster{was, now} {
			if p, ok := c.Policies.Get(ref.Name); ok && p.TargetName() != "" {
				all = append(all, api.Ref{Kind: api.KindGateway, Name: p.TargetName()})
			}
		}
	}
	for _, ref := range now.Changed { // they have at least a new generation
		add(ref)
	}
	for _, r := range snap.Changed() {
		if r.Cluster == cluster {
			add(r.Ref)
		}
	}
	for _, group := range renewed {
		for of, ref := range snap.Contenders(group) {
			if of == cluster {
				add(ref)
			}
		}
	}
	for _, p := range parents {
		if p.Cluster == cluster {
			add(p.Of)
			all = append(all, snap.Existing(cluster, p.Of)...)
		}
	}
	return all
}

// says is a controller.Says: a snapshot's statuses for one cluster's objects.
type says struct {
	snap    *records.Snapshot
	cluster *api.Cluster
	// lastCheck returns when the last check of a target ended; nil if nothing is checked.
	lastCheck func(key string) time.Time
}

// SaysOf returns a cluster's statuses; nil if the cluster is unknown, or comes from the state on
// disk.
func (e *Engine) SaysOf(snap *records.Snapshot, cluster string) *says {
	c := snap.ObjectsOf(cluster)
	if c == nil || !known(c) || slices.Contains(e.Current().FromState, cluster) {
		return nil
	}
	s := &says{snap: snap, cluster: c}
	if p := e.settings().prober; p != nil {
		s.lastCheck = p.LastCheck
	}
	return s
}

// Of implements controller.Says.
func (s *says) Of(ref api.Ref) *controller.Report {
	meta := s.cluster.MetaOf(ref)
	if meta == nil {
		return nil
	}
	report := &controller.Report{UID: meta.UID, Generation: meta.Generation, Deleting: meta.Deleting}
	switch ref.Kind {
	case api.KindDNSPolicy:
		report.Verdict = s.snap.StatusNow(s.cluster.Name, ref.Name)
	case api.KindGateway:
		report.Verdict = s.snap.Affected(s.cluster.Name, ref.Name)
	case api.KindDNSRecord:
		report.Verdict, report.Endpoints = s.snap.RecordStatus(s.cluster.Name, ref.Name)
	case api.KindProbe:
		if p, ok := s.snap.ProbeStatus(s.cluster.Name, ref.Name, s.lastCheck); ok {
			report.Verdict, report.Probe = new(api.Verdict), &p
		}
	case api.KindZone:
		report.Verdict = s.snap.Verdict(s.cluster.Name, ref)
		report.Entries, _ = s.snap.Entries(s.cluster.Name, ref.Name)
		if z, ok := s.cluster.Zones.Get(ref.Name); ok {
			report.Before = z.Kept
		}
	default:
		report.Verdict = s.snap.Verdict(s.cluster.Name, ref)
	}
	if report.Verdict == nil {
		return nil
	}
	return report
}

// Objects implements controller.Says.
func (s *says) Objects(kind api.Kind, yield func(name string) bool) {
	s.cluster.Names(kind, "")(yield)
}

// Meta implements controller.Says.
func (s *says) Meta(ref api.Ref) *api.Meta { return s.cluster.MetaOf(ref) }

// Children implements controller.Says.
func (s *says) Children(of api.Ref) []api.Child { return s.snap.Children(s.cluster.Name, of) }

// Settled implements controller.Says.
func (s *says) Settled(of api.Ref) bool {
	if l := s.cluster.Listings[api.KindGateway]; of.Kind == api.KindDNSPolicy && (!l.Complete() || l.Left()) {
		return false
	}
	return !s.snap.Waits(s.cluster.Name, of)
}

// Listed implements controller.Says.
func (s *says) Listed(kind api.Kind) bool { return s.cluster.Listings[kind] == api.Listed }
