package engine

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/source"
)

// Gauges collects what is known at the moment of the scrape of the engine that
// answers queries: zones and clusters that a reload removed are gone, and what a
// source says of itself is never older than the scrape.
type Gauges struct {
	Engine func() *Engine // may return nil
}

// The metrics of Gauges.
var (
	snapshotNames   = describe("snapshot_names", "Number of names in a zone, empty non-terminals included.", "zone")
	snapshotTime    = describe("snapshot_timestamp_seconds", "When the snapshot that queries are answered from was made.")
	objectCount     = describe("objects", "Number of objects, by kind and state: read, accepted, refused.", "kind", "state")
	zoneSerial      = describe("serial", "SOA serial of a zone.", "zone")
	conflicts       = describe("conflicts", "Number of hosts of a zone that an object wants and another owns.", "zone")
	heldRemovals    = describe("held_removals", "Number of names of a zone that would go with objects that vanished without a delete event, and are held.", "zone")
	openZones       = describe("open_zones", "Number of zones in which every namespace may publish: they have no Zone, and no line publish.")
	targetHealth    = describe("target_health", "What checks have found of a target: 1 up, 0.5 unknown, 0 down.", "host", "target")
	probeOverdue    = describe("probe_overdue_seconds", "By how much the check of a target that has waited longest is past its time.")
	sourceSynced    = describe("source_synced", "1 while everything of a cluster is listed and followed, else 0.", "cluster")
	leader          = describe("leader", "1 while this server is the one that writes back to a cluster, else 0.", "cluster")
	unreadOwners    = describe("unread_owners", "Number of names on record whose owners cannot be read now: what only these know is SERVFAIL.")
	writeBacklog    = describe("write_backlog", "Number of objects that are to be looked at by the server that writes back to a cluster.", "cluster")
	stateServed     = describe("state_served", "1 while something of a cluster is answered from the state on disk, else 0.", "cluster")
	stateWritten    = describe("state_written_timestamp_seconds", "When the state on disk was written; 0 where this server has not.")
	geoBuilt        = describe("geo_database_built_timestamp_seconds", "When a geo database in use was built, as it says itself.", "file")
	sourceLastEvent = describe("source_last_event_timestamp_seconds", "When a cluster's source last heard anything; 0 before it first did.", "cluster")
)

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(prometheus.BuildFQName("coredns", "kuadrant", name), help, labels, nil)
}

// Describe implements prometheus.Collector.
func (Gauges) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		snapshotNames,
		snapshotTime,
		objectCount,
		zoneSerial,
		conflicts,
		heldRemovals,
		openZones,
		targetHealth,
		probeOverdue,
		sourceSynced,
		sourceLastEvent,
		leader,
		unreadOwners,
		writeBacklog,
		stateServed,
		stateWritten,
		geoBuilt,
	} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (from Gauges) Collect(ch chan<- prometheus.Metric) {
	e := from.Engine()
	if e == nil {
		return
	}
	g := gauges(ch)
	for name, stats := range e.Reading() {
		g.source(name, stats)
	}
	for _, w := range e.Writers() {
		leads := 0.0
		if w.Leads() {
			leads = 1
		}
		g.set(leader, leads, w.Cluster)
		g.set(writeBacklog, float64(w.Backlog()), w.Cluster)
	}
	s := e.settings()
	if s.keeper != nil {
		g.state(e, s.keeper)
	}
	if s.prober != nil {
		g.set(probeOverdue, s.prober.Overdue().Seconds())
	}
	if s.locator != nil {
		g.databases(s.locator)
	}
	g.snapshot(e)
}

// databases sends when each geo database was built. Of several with the same label, as of a file that is named twice, the
// oldest counts: with two samples of one series the scrape would fail.
func (g gauges) databases(db *geo.DB) {
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

// targets sends the state of each target. Of several with the same labels the worst
// counts.
func (g gauges) targets(checks *records.Checks) {
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

// gauges is where gauges are sent to.
type gauges chan<- prometheus.Metric

func (g gauges) set(desc *prometheus.Desc, value float64, labels ...string) {
	for i := range labels {
		labels[i] = label(labels[i])
	}
	g <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
}

func (g gauges) source(cluster string, stats *source.Stats) {
	synced, last := 0.0, 0.0
	if stats.Synced() {
		synced = 1
	}
	if t := stats.LastEvent(); !t.IsZero() {
		last = float64(t.UnixNano()) / 1e9
	}
	g.set(sourceSynced, synced, cluster)
	g.set(sourceLastEvent, last, cluster)
}

// state sends what there is to say of the state on disk.
func (g gauges) state(e *Engine, k *stateKeeper) {
	served := make(map[string]float64)
	for name := range e.Reading() {
		served[name] = 0
	}
	for _, name := range e.ServedFromState() {
		served[name] = 1
	}
	for name, on := range served {
		g.set(stateServed, on, name)
	}
	g.set(stateWritten, float64(k.written.Load())/1e9)
}

func (g gauges) snapshot(e *Engine) {
	snap := e.snap.Load()
	if snap == nil {
		return
	}
	g.set(snapshotTime, float64(e.made.Load())/1e9)
	for _, z := range snap.Zones() {
		g.set(heldRemovals, float64(e.guard.heldNames(z.Origin())), z.Origin())
		g.set(snapshotNames, float64(z.Names()), z.Origin())
		g.set(zoneSerial, float64(z.Serial()), z.Origin())
		g.set(conflicts, float64(z.Conflicts()), z.Origin())
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
	}
	for k := range api.NumKinds {
		if accepted, refused, ok := snap.Verdicts(k); ok {
			g.set(objectCount, float64(accepted), k.String(), "accepted")
			g.set(objectCount, float64(refused), k.String(), "refused")
		}
	}
}

// label returns text as it may stand in a label.
func label(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
