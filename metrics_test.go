package kuadrant

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/internal/engine"
	"github.com/coredns-kuadrant/kuadrant/internal/geotest"
	"github.com/coredns-kuadrant/kuadrant/internal/source"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// scraped returns the series that an engine has, by name and labels, as a
// Prometheus server would read them.
func scraped(t *testing.T, e *engine.Engine) map[string]float64 {
	t.Helper()
	return gathered(t, gauges{func() *engine.Engine { return e }})
}

// TestGeoCodesOfTenants: edits of a policy's geo code make no counters without
// end (rule 8.4).
func TestGeoCodesOfTenants(t *testing.T) {
	count := func() int { return len(gathered(t, steeredTotal)) }
	before := count()
	for i := range 400 {
		c := oneHost(t)
		for j, name := range []string{"ns/ie", "ns/us"} {
			p, _ := c.Policies.Get(name)
			edited := *p
			edited.Geo = [...]string{fmt.Sprintf("NOWHERE%d", i), fmt.Sprintf("AS%d", i+1), fmt.Sprintf("US-%d", i)}[(i+j)%3]
			edit := c.Policies.Edit()
			edit.Set(name, &edited)
			c.Policies = edit.Map()
		}
		k := newPlugin(t, "kuadrant example.com", "", c)
		for range 4 {
			ask(t, k, context.Background(), question("shop.example.com.", dns.TypeA))
		}
	}
	if n := count() - before; n > 3 {
		t.Errorf("400 edits have made %d counters, want at most 3", n)
	}
}

// TestSteeredCounters: each answer with a choice is counted once, with its
// labels; one without a choice is not, nor is it in the metadata.
func TestSteeredCounters(t *testing.T) {
	k := newPlugin(t, "kuadrant counted.example.com example.com", shopNets, oneHost(t))
	value := func(geo string) float64 {
		return gathered(t, steeredTotal)["requests_steered_total{up,"+geo+",example.com.}"]
	}
	all := func() (sum float64) {
		for _, n := range gathered(t, steeredTotal) {
			sum += n
		}
		return sum
	}
	for _, c := range []struct {
		query *dns.Msg
		geo   string // "" where nothing is counted
		by    string
	}{
		{question("shop.example.com.", dns.TypeA), "IE", "source"},
		{withSubnet(question("shop.example.com.", dns.TypeA), 1, "10.2.0.0", 24, 0), "US", "ecs"},
		{question("plain.example.com.", dns.TypeA), "*", "none"},
		{question("klb.shop.example.com.", dns.TypeCNAME), "IE", "source"},
		{question("shop.example.com.", dns.TypeCNAME), "", ""},
		{question("shop.example.com.", dns.TypeAAAA), "IE", "source"}, // the CNAMEs of the choice, and no data
		{question("plain.example.com.", dns.TypeCNAME), "", ""},
		{question("no.example.com.", dns.TypeA), "", ""},
		{question("example.com.", dns.TypeNS), "", ""},
	} {
		name := c.query.Question[0].String()
		total, one, located := all(), value(c.geo), gathered(t, locatedTotal)
		values, reply := askWithMetadata(t, k, c.query)
		grown := 0.0
		if c.geo != "" {
			grown = 1
		}
		if all()-total != grown || value(c.geo)-one != grown {
			t.Errorf("%s: counted %v times, %v with geo %q", name, all()-total, value(c.geo)-one, c.geo)
		}
		for by, n := range gathered(t, locatedTotal) {
			want := 0.0
			if by == "clients_located_total{"+c.by+"}" {
				want = 1
			}
			if n-located[by] != want {
				t.Errorf("%s: %s grew by %v, want %v\n%v", name, by, n-located[by], want, reply)
			}
		}
		class := ""
		if c.geo != "" {
			class = "up"
		}
		if values["geo"] != c.geo || values["class"] != class || c.geo == "" && values["member"] != "" {
			t.Errorf("%s: metadata %v", name, values)
		}
	}
}

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
			"snapshot_names{example.com.}": float64(z.Names()), "conflicts{example.com.}": 0, "serial_pending_seconds{example.com.}": 0, "held_removals{example.com.}": 0, "serial{example.com.}": float64(z.Serial()),
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
