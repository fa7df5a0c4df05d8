package kuadrant

import (
	"context"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/engine"
	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/internal/geotest"
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/source"
)

// TestGauges: the gauges tell of the snapshot and the sources as they are at the moment of the scrape, and of every source
// from the start. A geo file that is named twice has one sample.
func TestGauges(t *testing.T) {
	file := geotest.Write(t, t.TempDir()).City
	db, err := geo.Open([]string{file, file}, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		e := engine.New(log, nil)
		if err := e.Configure(&engine.Options{
			Zones: []records.ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300}}, Sources: []source.Source{silent("c"), silent("d\xff")}, Locator: db,
		}, nil); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(e.Stop)
		synctest.Wait()
		check := func(when string, want map[string]float64) {
			t.Helper()
			if got := scraped(t, e); !maps.Equal(got, want) {
				t.Errorf("%s: %v, want %v", when, got, want)
			}
		}
		want := map[string]float64{
			"source_synced{c}": 0, "source_last_event_timestamp_seconds{c}": 0,
			"source_synced{d\uFFFD}": 0, "source_last_event_timestamp_seconds{d\uFFFD}": 0,
			"geo_database_built_timestamp_seconds{" + file + "}": geotest.Epoch, "probe_overdue_seconds{}": 0,
		}
		check("nothing read", want)
		e.Publish(records.Compile(nil, api.Objects{Clusters: []*api.Cluster{oneHost(t)}}, e.Options(), e.Now()))
		z := e.Snapshot().Zones()[0]
		maps.Copy(want, map[string]float64{
			"snapshot_names{example.com.}": float64(z.Names()), "conflicts{example.com.}": 0, "held_removals{example.com.}": 0, "serial{example.com.}": float64(z.Serial()),
			"snapshot_timestamp_seconds{}": float64(time.Now().UnixNano()) / 1e9, "open_zones{}": 1, "unread_owners{}": 0,
		})
		for k := range api.NumKinds {
			want["objects{"+k.String()+",read}"] = float64(oneHost(t).Count(k))
			if accepted, refused, ok := e.Snapshot().Verdicts(k); ok {
				want["objects{"+k.String()+",accepted}"], want["objects{"+k.String()+",refused}"] = float64(accepted), float64(refused)
			}
		}
		check("one source read", want)
	})
}

// silent is a source that publishes nothing.
type silent string

func (s silent) Name() string     { return string(s) }
func (s silent) Identity() string { return string(s) }
func (silent) Run(ctx context.Context, _ func(*api.Cluster)) error {
	<-ctx.Done()
	return nil
}
