package deploy

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/coredns/coredns/plugin/metrics/vars"
	_ "github.com/coredns/coredns/plugin/reload"
	"github.com/miekg/dns"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/records/pool"
)

// metricShape is a metric's labels, and whether it is a histogram.
type metricShape struct {
	labels    []string
	histogram bool
}

var described = regexp.MustCompile(`^Desc\{fqName: "([^"]+)", .*variableLabels: \{([^}]*)\}\}$`)

// exportedMetrics returns the metrics that this plugin's collectors and CoreDNS's describe.
func exportedMetrics(t *testing.T) map[string]metricShape {
	t.Helper()
	all := make(map[string]metricShape)
	descs := make(chan *prometheus.Desc)
	go func() {
		defer close(descs)
		prometheus.DefaultRegisterer.(*prometheus.Registry).Describe(descs)
	}()
	for d := range descs {
		m := described.FindStringSubmatch(d.String())
		if m == nil {
			t.Errorf("the description of a metric cannot be read: %v", d)
			continue
		}
		all[m[1]] = metricShape{labels: strings.FieldsFunc(m[2], func(r rune) bool { return r == ',' || r == ' ' })}
	}
	// A vector shows its type once it has a member.
	dir, target := t.TempDir(), boottest.NewTargets(t, "127.0.5.1")[0]
	boottest.WriteFile(t, filepath.Join(dir, "a.yaml"), boottest.CheckedGateway("a", "a.example.com", target.Port, "", target.Address))
	inst, _ := boottest.Start(t, fmt.Sprintf("example.com:0 {\nbind 127.0.0.1\nkuadrant {\nmanifests %s\nprobe-allow 127.0.5.0/24\n}\n}\n", dir))
	defer func() {
		_ = inst.Stop()
		inst.ShutdownCallbacks()
	}()
	boottest.WaitFor(t, "check", func() bool { return target.Asked.Load() > 1 })
	vars.RequestDuration.WithLabelValues("dns://:53", "example.com.", "")
	families, err := prometheus.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if shape, ok := all[f.GetName()]; ok && f.GetType() == dto.MetricType_HISTOGRAM {
			shape.histogram = true
			all[f.GetName()] = shape
		}
	}
	if shape := all["coredns_kuadrant_compile_duration_seconds"]; !shape.histogram || len(all) < 25 {
		t.Fatalf("%d metrics are described: %v", len(all), all)
	}
	return all
}

// scrapeLabels are the labels that Prometheus adds.
var scrapeLabels = []string{"job", "instance", "namespace"}

// vocabulary is what expressions may name.
type vocabulary struct {
	exported map[string]metricShape
	recorded map[string][]string // labels, by recorded metric
	alerts   []string            // all labels of alerts
	used     map[string]bool     // the exported metrics in use
}

// labels returns the labels of a series in Prometheus, and whether the series exists.
func (v *vocabulary) labels(metric string) ([]string, bool) {
	if labels, ok := v.recorded[metric]; ok {
		return labels, true
	}
	switch metric {
	case "up":
		return scrapeLabels, true
	case "ALERTS":
		return append([]string{"alertname", "alertstate", "severity"}, v.alerts...), true
	}
	base, suffix := metric, ""
	if shape, ok := v.exported[metric]; !ok || shape.histogram {
		for _, end := range []string{"_bucket", "_sum", "_count"} {
			if strings.HasSuffix(metric, end) {
				base, suffix = strings.TrimSuffix(metric, end), end
			}
		}
	}
	shape, ok := v.exported[base]
	if !ok || shape.histogram != (suffix != "") {
		return nil, false
	}
	v.used[base] = true
	labels := append(slices.Clone(scrapeLabels), shape.labels...)
	if suffix == "_bucket" {
		labels = append(labels, "le")
	}
	return labels, true
}

// check reports names in an expression that do not exist, and returns the labels of its result.
func (v *vocabulary) check(t interface{ Errorf(string, ...any) }, where string, q *queried, i int) (result []string) {
	e := q.Expressions[i]
	if e.Error != "" || len(e.Selectors) == 0 {
		t.Errorf("%s: %s, %d selectors", where, e.Error, len(e.Selectors))
		return nil
	}
	for _, s := range e.Selectors {
		labels, ok := v.labels(s.Metric)
		if !ok {
			t.Errorf("%s: there is no metric %s", where, s.Metric)
			continue
		}
		for _, m := range s.Matchers {
			if !slices.Contains(labels, m.Label) {
				t.Errorf("%s: %s has no label %s, but %q", where, s.Metric, m.Label, labels)
			}
			if values := labelValues[m.Label]; values != nil && !strings.Contains(m.Value, "$") {
				for value := range strings.SplitSeq(m.Value, "|") {
					if !values(value) {
						t.Errorf("%s: %s is never %q", where, m.Label, value)
					}
				}
			}
		}
		result = append(result, labels...)
	}
	for _, g := range e.Groupings {
		var there []string
		for _, metric := range g.Metrics {
			labels, _ := v.labels(metric)
			there = append(there, labels...)
		}
		for _, label := range g.Labels {
			if !slices.Contains(there, label) {
				t.Errorf("%s: none of %q has a label %s", where, g.Metrics, label)
			}
		}
	}
	if e.Labels != nil {
		return e.Labels
	}
	return result
}

// labelValues gives the possible values of some labels.
var labelValues = map[string]func(string) bool{
	"class": func(value string) bool {
		for c := pool.WeightedUp; c <= pool.ForcedDown; c++ {
			if c.String() == value {
				return true
			}
		}
		return false
	},
	"state":      func(value string) bool { return slices.Contains([]string{"read", "accepted", "refused"}, value) },
	"rcode":      func(value string) bool { _, ok := dns.StringToRcode[value]; return ok },
	"name":       func(value string) bool { return value == "kuadrant" },
	"alertstate": func(value string) bool { return value == "firing" },
	"kind": func(value string) bool {
		for k := range api.NumKinds {
			if k.String() == value {
				return true
			}
		}
		return false
	},
}

// readVocabulary returns the names that expressions may use, including recorded ones.
func readVocabulary(t *testing.T, rules []alertRule) *vocabulary {
	t.Helper()
	v := &vocabulary{exported: exportedMetrics(t), recorded: make(map[string][]string), used: make(map[string]bool)}
	q := parsePromQL(t, expressionsOf(rules), nil)
	for i, r := range rules {
		if r.Record != "" {
			v.recorded[r.Record] = q.Expressions[i].Labels
		} else {
			v.alerts = append(v.alerts, q.Expressions[i].Labels...)
		}
	}
	return v
}

func expressionsOf(rules []alertRule) (all []string) {
	for _, r := range rules {
		all = append(all, r.Expr)
	}
	return all
}

var labelInText = regexp.MustCompile(`\$labels\.(\w+)`)

// TestObservabilityNames: every metric, label and label value that the rules, their unit tests and
// the dashboard name exists; and every metric of the plugin is used.
func TestObservabilityNames(t *testing.T) {
	rules := readRules(t)
	v := readVocabulary(t, rules)
	q := parsePromQL(t, expressionsOf(rules), nil)
	for i, r := range rules {
		result := v.check(t, r.name(), &q, i)
		for _, text := range r.Annotations {
			for _, m := range labelInText.FindAllStringSubmatch(text, -1) {
				if !slices.Contains(result, m[1]) {
					t.Errorf("%s: %q: the alert has no label %s, but %q", r.Alert, text, m[1], result)
				}
			}
		}
	}
	checkUnitTestNames(t, v)
	d := readDashboard(t)
	queries := d.queries()
	expressions := make([]string, 0, len(queries))
	for _, one := range queries {
		expressions = append(expressions, one.promQL())
	}
	q = parsePromQL(t, expressions, nil)
	for i, one := range queries {
		result := v.check(t, one.panel, &q, i)
		for _, m := range regexp.MustCompile(`\{\{(\w+)\}\}`).FindAllStringSubmatch(one.Legend, -1) {
			if !slices.Contains(result, m[1]) {
				t.Errorf("%s: the series have no label %s, but %q", one.panel, m[1], result)
			}
		}
	}
	for name := range v.exported {
		if strings.HasPrefix(name, "coredns_kuadrant_") && !v.used[name] {
			t.Errorf("neither a rule nor the dashboard shows %s", name)
		}
	}
}

// TestObservabilityNamesBite: the check finds unknown names.
func TestObservabilityNamesBite(t *testing.T) {
	v := readVocabulary(t, readRules(t))
	for _, expr := range []string{
		`coredns_kuadrant_no_such_thing`,
		`coredns_kuadrant_leader{zone="example.com."}`,
		`sum by (geo) (coredns_kuadrant_leader)`,
		`coredns_kuadrant_leader and on (geo) coredns_kuadrant_source_synced`,
		`rate(coredns_kuadrant_requests_steered_total{class="dead"}[5m])`,
		`rate(coredns_kuadrant_requests_steered_total_count[5m])`,
		`rate(coredns_kuadrant_compile_duration_seconds[5m])`,
		`sum by (`,
	} {
		q := parsePromQL(t, []string{expr}, nil)
		var found complaints
		v.check(&found, expr, &q, 0)
		if found == 0 {
			t.Errorf("%s is taken", expr)
		}
	}
}

// complaints counts the faults that a check reports.
type complaints int

func (c *complaints) Errorf(string, ...any) { *c++ }

// ruleTests are the unit tests of the rules.
type ruleTests struct {
	Tests []struct {
		Name        string
		InputSeries []struct{ Series string } `json:"input_series"`
		AlertTests  []struct {
			Alertname string
			ExpAlerts []any `json:"exp_alerts"`
		} `json:"alert_rule_test"`
	}
}

// checkUnitTestNames checks that the series in unit tests belong to existing metrics.
func checkUnitTestNames(t *testing.T, v *vocabulary) {
	t.Helper()
	var tests ruleTests
	readYAML(t, ruleTestsFile, &tests)
	var series, where []string
	for _, test := range tests.Tests {
		for _, s := range test.InputSeries {
			series, where = append(series, s.Series), append(where, test.Name)
		}
	}
	q := parsePromQL(t, nil, series)
	for i, s := range q.Series {
		labels, ok := v.labels(s.Metric)
		if s.Error != "" || !ok {
			t.Errorf("%s: there is no metric %s %s", where[i], s.Metric, s.Error)
		}
		for _, label := range slices.Sorted(maps.Keys(s.Labels)) {
			if !slices.Contains(labels, label) {
				t.Errorf("%s: %s has no label %s, but %q", where[i], s.Metric, label, labels)
			}
		}
		// Labels of the scrape may be missing; all others are required.
		for _, label := range labels {
			if _, ok := s.Labels[label]; !ok && !slices.Contains(scrapeLabels, label) && !strings.Contains(series[i], label+`=""`) {
				t.Errorf("%s: %s lacks the label %s", where[i], series[i], label)
			}
		}
	}
}
