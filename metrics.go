package kuadrant

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/coredns/coredns/plugin"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/source"
)

// The collectors of the project. Their names and labels are fixed in README.md.
var (
	snapshotNames = gauge("snapshot_names", "Number of names in a zone, empty non-terminals included.", "zone")
	snapshotTime  = promauto.NewGauge(prometheus.GaugeOpts{
		Namespace: plugin.Namespace, Subsystem: pluginName, Name: "snapshot_timestamp_seconds",
		Help: "When the snapshot that queries are answered from was made.",
	})
	compileDuration = promauto.NewHistogram(prometheus.HistogramOpts{
		Namespace: plugin.Namespace, Subsystem: pluginName, Name: "compile_duration_seconds",
		Help:    "How long compiling a change took.",
		Buckets: prometheus.ExponentialBuckets(1e-5, 4, 10),
	})
	objectCount = gauge("objects", "Number of objects, by kind and state: read, accepted, refused.", "kind", "state")
	zoneSerial  = gauge("serial", "SOA serial of a zone.", "zone")
	conflicts   = gauge("conflicts", "Number of hosts of a zone that an object wants and another owns.", "zone")

	steeredTotal = promauto.NewCounterVec(prometheus.CounterOpts{
		Namespace: plugin.Namespace, Subsystem: pluginName, Name: "requests_steered_total",
		Help: "Answers from policies, by zone, geo code of the chosen member and class of the choice.",
	}, []string{"zone", "geo", "class"})
	locatedTotal = promauto.NewCounterVec(prometheus.CounterOpts{
		Namespace: plugin.Namespace, Subsystem: pluginName, Name: "clients_located_total",
		Help: "Answers from policies, by what located the client: ecs, source, or none where the client does not matter.",
	}, []string{"by"})

	sourceSynced    = gauge("source_synced", "1 while everything of a cluster is listed and followed, else 0.", "cluster")
	sourceLastEvent = gauge("source_last_event_timestamp_seconds", "When a cluster's source last heard anything.", "cluster")
)

func gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	return promauto.NewGaugeVec(prometheus.GaugeOpts{
		Namespace: plugin.Namespace, Subsystem: pluginName, Name: name, Help: help,
	}, labels)
}

var (
	locatedByECS    = locatedTotal.WithLabelValues("ecs")
	locatedBySource = locatedTotal.WithLabelValues("source")
	locatedByNone   = locatedTotal.WithLabelValues("none")
)

// steeredKey is the labels of steeredTotal.
type steeredKey struct {
	zone, geo string
	class     records.Class
}

// steeredCounters finds the counter of a steeredKey without formatting labels.
// The map is never changed, only replaced: queries read it without a lock.
var steeredCounters struct {
	sync.Mutex
	counters atomic.Pointer[map[steeredKey]prometheus.Counter]
}

func steeredCounter(key steeredKey) prometheus.Counter {
	if m := steeredCounters.counters.Load(); m != nil {
		if c, ok := (*m)[key]; ok {
			return c
		}
	}
	steeredCounters.Lock()
	defer steeredCounters.Unlock()
	next := make(map[steeredKey]prometheus.Counter)
	if m := steeredCounters.counters.Load(); m != nil {
		for k, c := range *m {
			next[k] = c
		}
	}
	c := steeredTotal.WithLabelValues(key.zone, key.geo, key.class.String())
	next[key] = c
	steeredCounters.counters.Store(&next)
	return c
}

// countAnswer counts an answer that a policy owns.
func countAnswer(l *lookup) {
	a := &l.answer
	if !a.Steered() || len(a.Answer) == 0 {
		return
	}
	steeredCounter(steeredKey{zone: l.zone, geo: a.Geo, class: a.Class}).Inc()
	switch {
	case !a.Located:
		locatedByNone.Inc()
	case l.subnetLocated:
		locatedByECS.Inc()
	default:
		locatedBySource.Inc()
	}
}

// observeSnapshot sets the gauges for a snapshot made at now from clusters.
func observeSnapshot(snap *records.Snapshot, clusters []*api.Cluster, now time.Time) {
	snapshotTime.Set(float64(now.UnixNano()) / 1e9)
	for _, z := range snap.Zones() {
		snapshotNames.WithLabelValues(z.Origin()).Set(float64(z.Names()))
		zoneSerial.WithLabelValues(z.Origin()).Set(float64(z.Serial()))
		conflicts.WithLabelValues(z.Origin()).Set(float64(z.Conflicts()))
	}
	gateways, policies := 0, 0
	for _, c := range clusters {
		gateways += c.Gateways.Len()
		policies += c.Policies.Len()
	}
	accepted, refused := snap.Policies()
	objectCount.WithLabelValues(api.KindGateway.String(), "read").Set(float64(gateways))
	objectCount.WithLabelValues(api.KindDNSPolicy.String(), "read").Set(float64(policies))
	objectCount.WithLabelValues(api.KindDNSPolicy.String(), "accepted").Set(float64(accepted))
	objectCount.WithLabelValues(api.KindDNSPolicy.String(), "refused").Set(float64(refused))
}

// observeSource sets the gauges of one source.
func observeSource(cluster string, stats *source.Stats) {
	synced := 0.0
	if stats.Synced() {
		synced = 1
	}
	sourceSynced.WithLabelValues(cluster).Set(synced)
	sourceLastEvent.WithLabelValues(cluster).Set(float64(stats.LastEvent().UnixNano()) / 1e9)
}
