package kuadrant

import (
	"context"
	"fmt"
	"net"
	"testing"

	"github.com/coredns/caddy"
	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/engine"
)

// scraped returns the series that an engine has, by name and labels, as a
// Prometheus server would read them.
func scraped(t *testing.T, e *engine.Engine) map[string]float64 {
	t.Helper()
	return gathered(t, gauges{func() *engine.Engine { return e }})
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
	series := func() map[string]float64 {
		return scraped(t, answering.Load().engine)
	}
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
