package kuadrant

import (
	"strings"
	"sync"
	"sync/atomic"

	"github.com/coredns/coredns/plugin"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/coredns-kuadrant/kuadrant/engine"
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/records/pool"
)

func init() {
	prometheus.MustRegister(gauges{func() *engine.Engine {
		if s := answering.Load(); s != nil {
			return s.engine
		}
		return nil
	}})
}

// The collectors of the project beside gauges. Their names and labels are fixed in README.md.
var (
	compileDuration = promauto.NewHistogram(prometheus.HistogramOpts{
		Namespace: plugin.Namespace, Subsystem: pluginName, Name: "compile_duration_seconds",
		Help:    "How long compiling a change took.",
		Buckets: prometheus.ExponentialBuckets(1e-5, 4, 10),
	})
	probeDuration = promauto.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: plugin.Namespace, Subsystem: pluginName, Name: "probe_duration_seconds",
		Help:    "How long a check of a target took, by protocol and result: success, failure, or none where it says nothing about the target.",
		Buckets: prometheus.ExponentialBuckets(1e-3, 4, 8),
	}, []string{"protocol", "result"})
	steeredTotal = promauto.NewCounterVec(prometheus.CounterOpts{
		Namespace: plugin.Namespace, Subsystem: pluginName, Name: "requests_steered_total",
		Help: "Answers from policies, by zone, geo code of the chosen member and class of the choice.",
	}, []string{"zone", "geo", "class"})
	locatedTotal = promauto.NewCounterVec(prometheus.CounterOpts{
		Namespace: plugin.Namespace, Subsystem: pluginName, Name: "clients_located_total",
		Help: "Answers from policies, by what located the client: ecs, source, or none where the client does not matter.",
	}, []string{"by"})
	notifyFailures = promauto.NewCounterVec(prometheus.CounterOpts{
		Namespace: plugin.Namespace, Subsystem: pluginName, Name: "notify_failures_total",
		Help: "NOTIFYs that a secondary has not taken, by its address in the Corefile, each after three attempts.",
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
	c := steeredTotal.WithLabelValues(label(key.zone), key.geo, key.class.String())
	next[key] = c
	steeredCounters.counters.Store(&next)
	return c
}

// label returns text as it may stand in a label.
func label(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// countAnswer counts an answer for which a policy's data was chosen.
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

// chosen tells whether a holds a choice of a policy's data. The first CNAME of a
// chain is the same whatever is chosen below it, and nothing is chosen for it;
// nor for what a policy's name does not have.
func chosen(a *records.Answer) bool {
	return a.Steered() && a.Geo != "" && len(a.Answer) > 0
}
