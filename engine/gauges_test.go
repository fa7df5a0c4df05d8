package engine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/geotest"
	"github.com/coredns-kuadrant/kuadrant/source"
)

func checkSeries(t *testing.T, when string, got map[string]float64, want map[string]float64) {
	t.Helper()
	for name, value := range want {
		if v, ok := got[name]; !ok || v != value {
			t.Errorf("%s: %s is %v (there: %v), want %v", when, name, v, ok, value)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s: there is %s", when, name)
		}
	}
}

// TestStateMetrics: the gauges tell of the snapshot and the sources as they are
// at the moment of the scrape, and of every source from the start.
func TestStateMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, away := &fakeSource{name: "c", place: "api"}, &fakeSource{name: "d\xff", place: "api"}
		r := follow(t, nil, 60, f, away)
		e := r.plugin.engine
		unread := map[string]float64{
			"source_synced{c}": 0, "source_last_event_timestamp_seconds{c}": 0,
			"source_synced{d\uFFFD}": 0, "source_last_event_timestamp_seconds{d\uFFFD}": 0,
		}
		checkSeries(t, "nothing read", scraped(t, e), unread)
		f.show(hosts{"a": "192.0.2.1", "b": "192.0.2.2"})
		want := map[string]float64{
			"snapshot_names{example.com.}": float64(e.Snapshot().Zones()[0].Names()), "conflicts{example.com.}": 0, "held_removals{example.com.}": 0, "serial{example.com.}": float64(r.serial()),
			"snapshot_timestamp_seconds{}": float64(time.Now().UnixNano()) / 1e9,
			"objects{Gateway,read}":        2, "objects{DNSPolicy,read}": 2, "objects{DNSPolicy,accepted}": 2, "objects{DNSPolicy,refused}": 0, "objects{DNSHealthCheckProbe,read}": 2, "objects{Secret,read}": 0,
			"objects{Zone,read}": 0, "objects{Zone,accepted}": 0, "objects{Zone,refused}": 0,
			"objects{Record,read}": 0, "objects{Record,accepted}": 0, "objects{Record,refused}": 0, "open_zones{}": 1, "unread_owners{}": 0,
			"objects{DNSRecord,accepted}": 0, "objects{DNSRecord,refused}": 0, "objects{DNSEndpoint,accepted}": 0, "objects{DNSEndpoint,refused}": 0,
			"objects{DNSRecord,read}": 0, "objects{DNSEndpoint,read}": 0,
		}
		for name, value := range unread {
			want[name] = value
		}
		checkSeries(t, "one source read", scraped(t, e), want)
	})
}

// TestGeoMetrics: each geo database has a gauge of when it was built, and a file that is named twice has one.
func TestGeoMetrics(t *testing.T) {
	file := geotest.Write(t, t.TempDir()).City
	db, err := geo.Open([]string{file, file}, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	e := New(log, nil)
	e.inForce.Store(&settings{locator: db})
	checkSeries(t, "a database", scraped(t, e), map[string]float64{"geo_database_built_timestamp_seconds{" + file + "}": geotest.Epoch})
}

// TestSourceMetrics: what a source says of itself is shown without anything
// being published.
func TestSourceMetrics(t *testing.T) {
	dir := t.TempDir()
	stats := new(source.Stats)
	e := New(log, nil)
	f := &feed{name: "c", source: source.Directory(source.DirectoryOptions{Cluster: "c", Dir: dir, Stats: stats}), stats: stats}
	e.feeds = []*feed{f}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	begin := time.Now()
	go func() { done <- f.source.Run(ctx, func(*api.Cluster) {}) }()
	boottest.WaitFor(t, "list", stats.Synced)
	got := scraped(t, e)
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got["source_synced{c}"] != 1 {
		t.Errorf("synced is %v, want 1", got["source_synced{c}"])
	}
	if last := got["source_last_event_timestamp_seconds{c}"]; last < float64(begin.Unix()) || last > float64(time.Now().Unix()+1) {
		t.Errorf("the last event is said to be at %v", last)
	}
}
