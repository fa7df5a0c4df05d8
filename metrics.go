package kuadrant

import (
	"sync"
	"sync/atomic"

	"github.com/coredns-kuadrant/kuadrant/internal/engine"
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/records/pool"
	"github.com/coredns/coredns/plugin"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// The collectors other than gauges. README.md fixes their names and labels.
var (
	compileDuration = promauto.NewHistogram(prometheus.HistogramOpts{
		Namespace: plugin.Namespace, Subsystem: pluginName, Name: "compile_duration_seconds",
		Help:    "Duration of compiling a change.",
		Buckets: prometheus.ExponentialBuckets(1e-5, 4, 10),
	})
	probeDuration = promauto.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: plugin.Namespace, Subsystem: pluginName, Name: "probe_duration_seconds",
		Help:    "Duration of a check, by protocol and result: success, failure, or none if it says nothing about the target.",
		Buckets: prometheus.ExponentialBuckets(1e-3, 4, 8),
	}, []string{"protocol", "result"})
	steeredTotal = promauto.NewCounterVec(prometheus.CounterOpts{
		Namespace: plugin.Namespace, Subsystem: pluginName, Name: "requests_steered_total",
		Help: "Number of answers from policies, by zone, and by geo code and class of the chosen member.",
	}, []string{"zone", "geo", "class"})
	locatedTotal = promauto.NewCounterVec(prometheus.CounterOpts{
		Namespace: plugin.Namespace, Subsystem: pluginName, Name: "clients_located_total",
		Help: "Number of answers from policies, by what located the client: ecs, source, or none if the answer does not depend on it.",
	}, []string{"by"})
	notifyFailures = promauto.NewCounterVec(prometheus.CounterOpts{
		Namespace: plugin.Namespace, Subsystem: pluginName, Name: "notify_failures_total",
		Help: "Number of NOTIFYs that a secondary did not accept after three attempts, by its address in the Corefile.",
	}, []string{"to"})
)

var (
	locatedByECS    = locatedTotal.WithLabelValues("ecs")
	locatedBySource = locatedTotal.WithLabelValues("source")
	locatedByNone   = locatedTotal.WithLabelValues("none")
)

// steeredKey is the labels of steeredTotal.
type steeredKey struct {
	zone, geo string
	class     pool.Class
}

// steeredCounters finds the counter of a steeredKey without formatting labels. The map is replaced,
// never changed: queries read it without a lock.
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
	c := steeredTotal.WithLabelValues(label(key.zone), key.geo, key.class.String())
	next[key] = c
	steeredCounters.counters.Store(&next)
	return c
}

// countAnswer counts an answer with a choice among a policy's data.
func countAnswer(l *lookup) {
	a := &l.answer
	if !chosen(a) {
		return
	}
	steeredCounter(steeredKey{zone: l.zone, geo: a.GeoClass, class: a.Class}).Inc()
	switch {
	case !a.Located || l.unlocated:
		locatedByNone.Inc()
	case l.subnetLocated:
		locatedByECS.Inc()
	default:
		locatedBySource.Inc()
	}
}

// chosen reports whether a holds a choice among a policy's data. It does not if a is only the first
// CNAME of a chain, which is the same for every choice below it, or denies a type that a policy's
// name lacks.
func chosen(a *records.Answer) bool {
	return a.Steered() && a.Geo != "" && len(a.Answer) > 0
}

// gauges collect from the engine that answers queries, at the moment of the scrape: zones and
// clusters that a reload removed are gone, and what a source reports is never older than the
// scrape.
type gauges struct {
	engine func() *engine.Engine // may return nil
}
