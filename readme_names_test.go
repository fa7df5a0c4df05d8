package kuadrant

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/corefile"
	"github.com/coredns-kuadrant/kuadrant/engine"
	"github.com/coredns-kuadrant/kuadrant/internal/boottest"

	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns/caddy"
)

func readme(t *testing.T) string { return boottest.ReadFile(t, "README.md") }

// TestReadmeProperties compares the syntax in the README with the parser's.
func TestReadmeProperties(t *testing.T) {
	block := regexp.MustCompile(`(?s)kuadrant \[ZONES\.\.\.\] \{\n(.*?)\n\}`).FindStringSubmatch(readme(t))
	if block == nil {
		t.Fatal("no syntax in the README")
	}
	documented := make(map[string]bool)
	for line := range strings.Lines(block[1]) {
		if strings.HasPrefix(line, "     ") || strings.TrimSpace(line) == "}" {
			continue // of the block of a property
		}
		documented[strings.Fields(line)[0]] = true
	}
	if known := slices.Collect(maps.Keys(corefile.Properties())); !slices.Equal(slices.Sorted(maps.Keys(documented)), slices.Sorted(slices.Values(known))) {
		t.Errorf("the README has the properties %v, and the parser %v", slices.Sorted(maps.Keys(documented)), known)
	}
}

// TestReadmeMetrics compares the metrics in the README, and their labels, with those registered.
func TestReadmeMetrics(t *testing.T) {
	documented := make(map[string]string) // to the labels
	for _, m := range regexp.MustCompile("`(coredns_kuadrant_[a-z_]+)(?:\\{([a-z, ]*)\\})?`").FindAllStringSubmatch(readme(t), -1) {
		labels := strings.FieldsFunc(m[2], func(r rune) bool { return r == ',' || r == ' ' })
		slices.Sort(labels)
		documented[m[1]] = strings.Join(labels, ", ")
	}
	registered := make(map[string]bool)
	for _, f := range gatherAll(t) {
		if strings.HasPrefix(f.GetName(), "coredns_kuadrant_") {
			registered[f.GetName()] = true
			told, ok := documented[f.GetName()]
			if !ok {
				t.Errorf("the README lacks the metric %s", f.GetName())
			}
			var labels []string // sorted
			for _, l := range f.GetMetric()[0].GetLabel() {
				labels = append(labels, l.GetName())
			}
			if all := strings.Join(labels, ", "); ok && told != all {
				t.Errorf("the README says that %s has the labels %q: it has %q", f.GetName(), told, all)
			}
		}
	}
	for name := range documented {
		if !registered[name] {
			t.Errorf("the README has the metric %s, which does not exist", name)
		}
	}
}

// gatherAll returns all metrics that a server has, each with a member.
func gatherAll(t *testing.T) []*dto.MetricFamily {
	t.Helper()
	// A vector shows up once it has a member.
	steeredTotal.WithLabelValues("z.", "*", "up")
	probeDuration.WithLabelValues("http", "success")
	notifyFailures.WithLabelValues("192.0.2.53:53")
	world := oneHost(t)
	for _, p := range world.Policies.All() {
		p.HealthCheck = &api.HealthCheck{Port: 443, Path: "/"}
	}
	cfg := new(engine.Options)
	text := fmt.Sprintf("kuadrant example.com {\ngeoip examples/geo.mmdb\nstate %s\nkubeconfig %s\n}", t.TempDir(), unreachable(t))
	if _, err := corefile.Parse(caddy.NewTestController("dns", text), cfg); err != nil {
		t.Fatal(err)
	}
	e := engine.New(log, nil)
	if err := e.Configure(cfg, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Stop)
	e.Publish(records.Compile(nil, api.Objects{Clusters: []*api.Cluster{world}}, e.Options(), e.Now()))
	before := answering.Swap(&server{engine: e})
	defer answering.Store(before)
	families, err := prometheus.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return families
}
