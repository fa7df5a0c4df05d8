package kuadrant

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coredns/caddy"
	"github.com/miekg/dns"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/internal/geotest"
	"github.com/coredns-kuadrant/kuadrant/source"
)

// scraped returns the series that an engine has, by name and labels, as a
// Prometheus server would read them.
func scraped(t *testing.T, e *engine) map[string]float64 {
	t.Helper()
	return gathered(t, state{func() *engine { return e }})
}

func gathered(t *testing.T, c prometheus.Collector) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	series := make(map[string]float64)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			name := strings.TrimPrefix(f.GetName(), "coredns_kuadrant_") + "{" + strings.Join(labels, ",") + "}"
			series[name] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return series
}

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
			"snapshot_names{example.com.}": float64(e.snap.Load().Zones()[0].Names()), "conflicts{example.com.}": 0, "held_removals{example.com.}": 0, "serial{example.com.}": float64(r.serial()),
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
	e := newEngine(log)
	e.inForce.Store(&settings{locator: db})
	checkSeries(t, "a database", scraped(t, e), map[string]float64{"geo_database_built_timestamp_seconds{" + file + "}": geotest.Epoch})
}

// TestSourceMetrics: what a source says of itself is shown without anything
// being published.
func TestSourceMetrics(t *testing.T) {
	dir := t.TempDir()
	stats := new(source.Stats)
	e := newEngine(log)
	f := &feed{name: "c", source: source.Directory(source.DirectoryOptions{Cluster: "c", Dir: dir, Stats: stats}), stats: stats}
	e.feeds = []*feed{f}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	begin := time.Now()
	go func() { done <- f.source.Run(ctx, func(*api.Cluster) {}) }()
	waitFor(t, "list", stats.Synced)
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

// TestMetricsAfterReload: metrics tell of the engine that answers. What a reload
// removed is gone; a reload that fails changes nothing.
func TestMetricsAfterReload(t *testing.T) {
	port := freePort(t)
	one, two := t.TempDir(), t.TempDir()
	corefile := func(zone, dir, cluster, more string) caddy.Input {
		return caddy.CaddyfileInput{Filepath: "Corefile", ServerTypeName: "dns", Contents: fmt.Appendf(nil,
			"%s:%d {\nbind 127.0.0.1\nkuadrant {\nmanifests %s %s\n}\n}\n%s", zone, port, dir, cluster, more)}
	}
	series := func() map[string]float64 { return gathered(t, state{func() *engine { return answering.Load().engine }}) }
	has := func(when string, want bool, names ...string) {
		t.Helper()
		got := series()
		for _, name := range names {
			if _, ok := got[name]; ok != want {
				t.Errorf("%s: is there %s? %v, want %v", when, name, ok, want)
			}
		}
	}
	inst, err := caddy.Start(corefile("example.com", one, "first", ""))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = inst.Stop()
		inst.ShutdownCallbacks()
	}()
	waitFor(t, "snapshot", func() bool { _, ok := series()["serial{example.com.}"]; return ok })
	old := []string{"serial{example.com.}", "snapshot_names{example.com.}", "conflicts{example.com.}", "source_synced{first}", "source_last_event_timestamp_seconds{first}"}
	now := []string{"serial{example.org.}", "snapshot_names{example.org.}", "conflicts{example.org.}", "source_synced{second}", "source_last_event_timestamp_seconds{second}"}
	has("at first", true, old...)
	if _, err := inst.Restart(corefile("example.org", two, "second", "example.net:1 {\nerratic {\nbad\n}\n}")); err == nil {
		t.Fatal("the reload did not fail")
	}
	// A port that is taken makes a reload fail after the new engine has started.
	taken, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	if _, err := inst.Restart(corefile("example.org", two, "second", fmt.Sprintf("example.net:%d {\nbind 127.0.0.1\nerratic\n}", taken.LocalAddr().(*net.UDPAddr).Port))); err == nil {
		t.Fatal("the reload did not fail")
	}
	has("after failures", true, old...)
	has("after failures", false, now...)
	before := series()["snapshot_timestamp_seconds{}"]
	if inst, err = inst.Restart(corefile("example.org", two, "second", "")); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "snapshot", func() bool { return series()["snapshot_timestamp_seconds{}"] > before })
	has("after the reload", false, old...)
	has("after the reload", true, now...)
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
