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

	"sigs.k8s.io/yaml"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
)

// promUnitTest is a unit test for promtool, as far as it is used here.
type promUnitTest struct {
	RuleFiles []string        `json:"rule_files"`
	Tests     []promTestGroup `json:"tests"`
}

type promTestGroup struct {
	Interval string           `json:"interval"`
	Series   []promTestSeries `json:"input_series"`
	Queries  []promTestQuery  `json:"promql_expr_test"`
}

type promTestSeries struct {
	Series string `json:"series"`
	Values string `json:"values"`
}

type promTestQuery struct {
	Expr string `json:"expr"`
	At   string `json:"eval_time"`
}

// seriesOf returns the series that two servers would have which export what one has, for an hour: what counts grows.
func seriesOf(all []sample) (series []promTestSeries) {
	for _, instance := range []string{"a", "b"} {
		for _, s := range all {
			if !strings.HasPrefix(s.metric, "coredns_") {
				continue
			}
			labels := []string{`job="dns"`, fmt.Sprintf("instance=%q", instance)}
			for _, name := range slices.Sorted(maps.Keys(s.labels)) {
				labels = append(labels, fmt.Sprintf(`%s="%s"`, name, s.labels[name]))
			}
			step := 0
			if regexp.MustCompile(`_(total|bucket|sum|count)$`).MatchString(s.metric) {
				step = 1
			}
			series = append(series, promTestSeries{s.metric + "{" + strings.Join(labels, ", ") + "}", fmt.Sprintf("%s+%dx60", s.value, step)})
		}
	}
	return series
}

// evaluated says what comes of expressions an hour after the series have begun: an error, or samples; nothing for one without any.
func evaluated(t *testing.T, series []promTestSeries, expressions []string) map[string]string {
	t.Helper()
	group := promTestGroup{Interval: "1m", Series: series}
	for _, e := range expressions {
		group.Queries = append(group.Queries, promTestQuery{e, "1h"})
	}
	rules, err := filepath.Abs(rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	text, err := yaml.Marshal(promUnitTest{[]string{rules}, []promTestGroup{group}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "evaluated.yaml")
	boottest.WriteFile(t, file, string(text))
	// No samples are expected of any: promtool prints those that there are.
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

// checkEvaluation has Prometheus's own engine evaluate what the dashboard asks for, and what the rules record, over two servers: nothing is an
// error, and each panel shows something.
func checkEvaluation(t *testing.T, all []sample, queries []dashboardQuery, rules []alertRule) {
	t.Helper()
	series := append(seriesOf(all),
		promTestSeries{`coredns_kuadrant_leader{job="dns", instance="a", cluster="local"}`, "1x60"},
		promTestSeries{`coredns_kuadrant_write_backlog{job="dns", instance="a", cluster="local"}`, "7x60"},
		promTestSeries{`coredns_kuadrant_roomless_names{job="dns", instance="a", cluster="local"}`, "2x60"},
		promTestSeries{`coredns_kuadrant_notify_failures_total{job="dns", instance="a", to="192.0.2.1:53"}`, "0+1x60"})
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

// mayBeEmpty are the queries of the dashboard that show nothing of this server.
var mayBeEmpty = map[string]bool{
	"Targets by state up":          true, // its targets are down
	"Targets by state not decided": true,
}
