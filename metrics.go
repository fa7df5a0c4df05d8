package kuadrant

import (
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/internal/engine"
	"github.com/coredns-kuadrant/kuadrant/internal/inspect"
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/records/pool"
	"github.com/coredns/coredns/plugin"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

func init() {
	prometheus.MustRegister(gauges{func() *engine.Engine {
		if s := answering.Load(); s != nil {
			return s.engine
		}
		return nil
	}})
}

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

// label returns text in valid UTF-8, as labels must be.
func label(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

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

// described are the metrics of gauges.
var described []*prometheus.Desc

var (
	snapshotNames   = describe("snapshot_names", "Number of names in a zone, including empty non-terminals.", "zone")
	snapshotTime    = describe("snapshot_timestamp_seconds", "Time at which the current snapshot was made.")
	objectCount     = describe("objects", "Number of objects, by kind and state: read, accepted, refused.", "kind", "state")
	zoneSerial      = describe("serial", "SOA serial of a zone.", "zone")
	serialPending   = describe("serial_pending_seconds", "How long the SOA and transfers of a zone have lagged behind its answers, because no writer has stored the serial.", "zone")
	conflicts       = describe("conflicts", "Number of hosts in a zone that an object wants but another one owns.", "zone")
	heldRemovals    = describe("held_removals", "Number of names in a zone that the guard holds because their objects vanished without a delete event.", "zone")
	openZones       = describe("open_zones", "Number of zones in which every namespace may publish, because they have neither a Zone nor a publish line.")
	targetHealth    = describe("target_health", "Health of a target according to its checks: 1 up, 0.5 unknown, 0 down.", "host", "target")
	probeOverdue    = describe("probe_overdue_seconds", "How late the most overdue check is.")
	sourceSynced    = describe("source_synced", "1 if every kind of a cluster is listed and watched, else 0.", "cluster")
	leader          = describe("leader", "1 if this server writes back to a cluster, else 0.", "cluster")
	unreadOwners    = describe("unread_owners", "Number of registered names whose owner cannot be read; answers that need it are SERVFAIL.")
	writeBacklog    = describe("write_backlog", "Number of objects in the write queue of a cluster.", "cluster")
	unregistered    = describe("unregistered_names", "Number of names in a zone that have had no line in the registry for a minute: after a restart, age decides their owners.", "zone")
	stateServed     = describe("state_served", "1 if some kind of a cluster is answered from the state on disk, else 0.", "cluster")
	stateWritten    = describe("state_written_timestamp_seconds", "Time at which this server last wrote the state on disk; 0 if it has not.")
	geoBuilt        = describe("geo_database_built_timestamp_seconds", "Build time of a geo database, according to its metadata.", "file")
	groupActive     = describe("group_active", "1 if a zone answers with the targets of a group's clusters, else 0, by zones that name active groups.", "zone", "group")
	groupsUnread    = describe("groups_unread", "1 if the active groups of a zone cannot be read, so that the last ones count, else 0.", "zone")
	sourceLastEvent = describe("source_last_event_timestamp_seconds", "Time of the last event from a cluster; 0 before the first one.", "cluster")
)

func describe(name, help string, labels ...string) *prometheus.Desc {
	d := prometheus.NewDesc(prometheus.BuildFQName(plugin.Namespace, pluginName, name), help, labels, nil)
	described = append(described, d)
	return d
}

// Describe implements prometheus.Collector.
func (gauges) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range described {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (from gauges) Collect(ch chan<- prometheus.Metric) {
	e := from.engine()
	if e == nil {
		return
	}
	g := samples(ch)
	for name, stats := range e.Reading() {
		g.set(sourceSynced, number(stats.Synced()), name)
		g.set(sourceLastEvent, seconds(stats.LastEvent()), name)
	}
	for _, w := range e.Writers() {
		g.set(leader, number(w.Leads()), w.Cluster())
		g.set(writeBacklog, float64(w.Backlog()), w.Cluster())
	}
	if at, kept := e.StateWritten(); kept {
		g.state(e)
		g.set(stateWritten, seconds(at))
	}
	if p := e.Prober(); p != nil {
		g.set(probeOverdue, p.Overdue().Seconds())
	}
	if db := e.Locator(); db != nil {
		g.databases(db)
	}
	if snap := e.Snapshot(); snap != nil {
		g.set(snapshotTime, seconds(e.Current().Made))
		g.snapshot(snap, e.Held(), e.Now())
		if names := e.Unregistered(); names != nil {
			for _, z := range snap.Zones() {
				g.set(unregistered, float64(names[z.Origin()]), z.Origin())
			}
		}
	}
}

// samples receives gauges.
type samples chan<- prometheus.Metric

func (g samples) set(desc *prometheus.Desc, value float64, labels ...string) {
	for i := range labels {
		labels[i] = label(labels[i])
	}
	g <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
}

// number returns 1 for true, else 0.
func number(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// seconds returns a time as a metric value; 0 for the zero time.
func seconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixNano()) / 1e9
}

// pending returns for how many seconds a zone's change has waited for its serial to be saved.
func pending(z *records.Zone, now time.Time) float64 {
	if since := z.PendingSince(); !since.IsZero() {
		return now.Sub(since).Seconds()
	}
	return 0
}

// databases sends the build time of each geo database. If several share a label, such as a file that is named twice, the oldest counts: two
// samples of one series would fail the scrape.
func (g samples) databases(db *geo.DB) {
	oldest := make(map[string]time.Time)
	for file, built := range db.Built() {
		if before, ok := oldest[label(file)]; !ok || built.Before(before) {
			oldest[label(file)] = built
		}
	}
	for file, built := range oldest {
		g.set(geoBuilt, float64(built.Unix()), file)
	}
}

// targets sends the state of each target. If several share labels, the worst counts.
func (g samples) targets(checks *records.Checks) {
	type labels struct{ host, target string }
	worst := make(map[labels]health.State, checks.Len())
	for _, t := range checks.All() {
		l := labels{t.Host, t.URL()}
		worst[l] = max(worst[l], t.Cell.Load().State())
	}
	for l, state := range worst {
		g.set(targetHealth, [...]float64{1, 0.5, 0}[state], l.host, l.target)
	}
}

// state sends which clusters are served from the state on disk.
func (g samples) state(e *engine.Engine) {
	served := make(map[string]bool)
	for name := range e.Reading() {
		served[name] = false
	}
	for _, name := range e.Current().FromState {
		served[name] = true
	}
	for name, on := range served {
		g.set(stateServed, number(on), name)
	}
}

func (g samples) snapshot(snap *records.Snapshot, held []engine.HeldZone, now time.Time) {
	for _, z := range snap.Zones() {
		names := 0
		for _, h := range held {
			if h.Origin == z.Origin() {
				names = h.Names
			}
		}
		g.set(heldRemovals, float64(names), z.Origin())
		g.set(snapshotNames, float64(z.Names()), z.Origin())
		g.set(zoneSerial, float64(z.Serial()), z.Origin())
		g.set(serialPending, pending(z, now), z.Origin())
		g.set(conflicts, float64(z.Conflicts), z.Origin())
	}
	for origin, groups := range inspect.NamedGroups(snap) {
		g.set(groupsUnread, number(groups.Problem != ""), origin)
		for _, group := range groups.Groups {
			g.set(groupActive, number(group.Active), origin, group.Name)
		}
	}
	g.set(openZones, float64(len(snap.Open())))
	g.set(unreadOwners, float64(snap.UnreadOwners()))
	g.targets(snap.Checks())
	for k := range api.NumKinds {
		n := 0
		for _, c := range snap.Objects().Clusters {
			n += c.Count(k)
		}
		g.set(objectCount, float64(n), k.String(), "read")
		if accepted, refused, ok := snap.Verdicts(k); ok {
			g.set(objectCount, float64(accepted), k.String(), "accepted")
			g.set(objectCount, float64(refused), k.String(), "refused")
		}
	}
}
