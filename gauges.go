package kuadrant

import (
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/internal/engine"
	"github.com/coredns-kuadrant/kuadrant/internal/inspect"
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns/coredns/plugin"
	"github.com/prometheus/client_golang/prometheus"
)

func init() {
	prometheus.MustRegister(gauges{func() *engine.Engine {
		if s := answering.Load(); s != nil {
			return s.engine
		}
		return nil
	}})
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
