package deploy

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"sigs.k8s.io/yaml"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
)

// promSeries is a series of a unit test for promtool.
type promSeries struct {
	Series string `json:"series"`
	Values string `json:"values"`
}

// seriesOf returns, for one server's samples, an hour of series from two such servers: counters
// grow.
func seriesOf(all model.Vector) (series []promSeries) {
	for _, instance := range []model.LabelValue{"a", "b"} {
		for _, s := range all {
			name := string(s.Metric[model.MetricNameLabel])
			if !strings.HasPrefix(name, "coredns_") {
				continue
			}
			metric := s.Metric.Clone()
			metric["job"], metric["instance"] = "dns", instance
			step := 0
			if regexp.MustCompile(`_(total|bucket|sum|count)$`).MatchString(name) {
				step = 1
			}
			series = append(series, promSeries{metric.String(), fmt.Sprintf("%v+%dx60", s.Value, step)})
		}
	}
	return series
}

// evaluated returns the results of expressions an hour after the series start: an error, or
// samples; nothing for an expression without samples.
func evaluated(t *testing.T, series []promSeries, expressions []string) map[string]string {
	t.Helper()
	var queries []map[string]string
	for _, e := range expressions {
		queries = append(queries, map[string]string{"expr": e, "eval_time": "1h"})
	}
	rules, err := filepath.Abs(rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	group := map[string]any{"interval": "1m", "input_series": series, "promql_expr_test": queries}
	text, err := yaml.Marshal(map[string]any{"rule_files": []string{rules}, "tests": []any{group}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "evaluated.yaml")
	boottest.WriteFile(t, file, string(text))
	// The test expects no samples: promtool then prints the actual ones.
	out, err := promtool(t, "test", "rules", file)
	if err == nil {
		t.Fatalf("no expression has a sample:\n%s", out)
	}
	if strings.Contains(out, "    rule: ") {
		t.Errorf("a rule cannot be evaluated:\n%s", out)
	}
	results := make(map[string]string)
	for _, told := range strings.Split(out, "    expr: ")[1:] {
		expr, result, ok := strings.Cut(told, ", time: 1h,")
		if expr, err := strconv.Unquote(expr); err == nil && ok {
			results[expr] = strings.TrimSpace(result)
		}
	}
	return results
}

// checkEvaluation has Prometheus's own engine evaluate the queries of the dashboard and the
// recording rules, over two servers: there are no errors, and each panel shows something.
func checkEvaluation(t *testing.T, all model.Vector, queries []dashboardQuery, rules []alertRule) {
	t.Helper()
	series := append(seriesOf(all),
		promSeries{`coredns_kuadrant_leader{job="dns", instance="a", cluster="local"}`, "1x60"},
		promSeries{`coredns_kuadrant_write_backlog{job="dns", instance="a", cluster="local"}`, "7x60"},
		promSeries{`coredns_kuadrant_unregistered_names{job="dns", instance="a", zone="example.com."}`, "2x60"},
		promSeries{`coredns_kuadrant_notify_failures_total{job="dns", instance="a", to="192.0.2.1:53"}`, "0+1x60"})
	where := make(map[string]string)
	for _, q := range queries {
		if strings.Contains(q.Expr, "ALERTS") || strings.HasPrefix(q.panel, "variable ") {
			continue
		}
		expr := regexp.MustCompile(`\$(job|instance|cluster|zone)`).ReplaceAllString(q.promQL(), ".*")
		where[expr] = q.panel + " " + q.Legend
	}
	for _, r := range rules {
		if r.Record != "" {
			where[r.Record] = r.Record
		}
	}
	const bad = `sum by (zone) (coredns_kuadrant_serial) / on () coredns_plugin_enabled`
	where[bad] = "a division of many by many"
	results := evaluated(t, series, slices.Sorted(maps.Keys(where)))
	for expr := range where {
		result := results[expr]
		failed := strings.HasPrefix(result, "err:")
		switch {
		case expr == bad && !failed:
			t.Errorf("%s is no error: %q", where[expr], result)
		case expr == bad:
		case failed:
			t.Errorf("%s: %s: %s", where[expr], expr, result)
		case !strings.Contains(result, "got:") && !mayBeEmpty[where[expr]]:
			t.Errorf("%s: %s has no samples: %q", where[expr], expr, result)
		}
	}
}

// mayBeEmpty are the dashboard queries that show nothing for this server.
var mayBeEmpty = map[string]bool{
	"Targets by state up":          true, // its targets are down
	"Targets by state not decided": true,
}
