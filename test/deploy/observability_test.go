package deploy

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

const (
	rulesFile     = "config/observability/rules.yaml"
	ruleTestsFile = "config/observability/rules_test.yaml"
	dashboardFile = "config/observability/dashboard.json"
)

// alertRules are the rules of rules.yaml.
type alertRules struct {
	Groups []struct {
		Name  string
		Rules []alertRule
	}
}

type alertRule struct {
	Alert, Record, Expr string
	Labels, Annotations map[string]string
}

func (r *alertRule) name() string { return r.Alert + r.Record }

func readRules(t *testing.T) (all []alertRule) {
	t.Helper()
	var file alertRules
	readYAML(t, rulesFile, &file)
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	if len(all) < 30 {
		t.Fatalf("%s has %d rules", rulesFile, len(all))
	}
	return all
}

func readYAML(t *testing.T, path string, into any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(boottest.ReadFile(t, path)), into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func promtool(t *testing.T, args ...string) (string, error) {
	t.Helper()
	out, err := exec.Command(kubetest.Tool(t, "KUADRANT_PROMTOOL", "promtool", "promtool", "KUADRANT_REQUIRE_PROMTOOL"), args...).CombinedOutput()
	return string(out), err
}

// queried is the output of tools/promtool/queries for an expression or a series.
type queried struct {
	Expressions []struct {
		Error     string
		Selectors []queriedSelector
		Groupings []struct{ Labels, Metrics []string }
		Labels    []string // nil for those of the metric
	}
	Series []struct {
		Error, Metric string
		Labels        map[string]string
	}
}

type queriedSelector struct {
	Metric   string
	Matchers []struct{ Label, Type, Value string }
}

// parsePromQL has Prometheus's own parser read expressions, and series of unit tests.
func parsePromQL(t *testing.T, expressions, series []string) (q queried) {
	t.Helper()
	in, err := json.Marshal(map[string]any{"expressions": expressions, "series": series})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(kubetest.Tool(t, "KUADRANT_QUERIES", "queries", "promtool", "KUADRANT_REQUIRE_PROMTOOL"))
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), os.Stderr
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &q)
	}
	if err != nil || len(q.Expressions) != len(expressions) || len(q.Series) != len(series) {
		t.Fatalf("queries: %v\n%s", err, out)
	}
	return q
}

// TestObservabilityRules: promtool accepts the rules, and their unit tests pass.
func TestObservabilityRules(t *testing.T) {
	if out, err := promtool(t, "check", "rules", "--lint=all", "--lint-fatal", rulesFile); err != nil {
		t.Errorf("check rules: %v\n%s", err, out)
	}
	if out, err := promtool(t, "test", "rules", ruleTestsFile); err != nil {
		t.Errorf("test rules: %v\n%s", err, out)
	}
}

// TestObservabilityChecksBite: promtool refuses faulty rules, and the unit tests fail with changed
// rules.
func TestObservabilityChecksBite(t *testing.T) {
	text, err := os.ReadFile(rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		old, new string
		test     string // the unit test that fails; "" for a mistake found without one
	}{
		{"absent(coredns_kuadrant_source_synced)", "absent(coredns_kuadrant_source_synced", ""},
		{"{{ $labels.zone }} are about to go", "{{ $labels.zone are about to go", ""},
		{"(coredns_kuadrant_held_removals) > 0\n    for: 1m", "(coredns_kuadrant_held_removals) > 0\n    for: 0s", "what is held back"},
		{"drained-down|forced-down", "drained|forced-down", "half of the answers"},
		{"offset 10m and on", "and on", "a server that is behind"},
	} {
		wrong := strings.Replace(string(text), c.old, c.new, 1)
		if wrong == string(text) {
			t.Fatalf("%s lacks %s", rulesFile, c.old)
		}
		dir := t.TempDir()
		boottest.WriteFile(t, filepath.Join(dir, "rules.yaml"), wrong)
		file := filepath.Join(dir, "rules.yaml")
		command := []string{"check", "rules", file}
		if c.test != "" {
			tests, err := os.ReadFile(ruleTestsFile)
			if err != nil {
				t.Fatal(err)
			}
			file = filepath.Join(dir, "rules_test.yaml")
			boottest.WriteFile(t, file, string(tests))
			command = []string{"test", "rules", "--run", c.test, file}
			if out, err := promtool(t, "test", "rules", "--run", c.test, ruleTestsFile); err != nil || !strings.Contains(out, "SUCCESS") {
				t.Errorf("%s: %v\n%s", c.test, err, out)
			}
		}
		if out, err := promtool(t, command...); err == nil || !strings.Contains(out, "FAILED") {
			t.Errorf("%q in place of %q is taken: %v\n%s", c.new, c.old, err, out)
		}
	}
}

// TestObservabilityUnitTests: for every alert there is a test in which it fires, and one in which
// it does not.
func TestObservabilityUnitTests(t *testing.T) {
	var tests ruleTests
	readYAML(t, ruleTestsFile, &tests)
	fires, silent := make(map[string]bool), make(map[string]bool)
	for _, test := range tests.Tests {
		for _, a := range test.AlertTests {
			if len(a.ExpAlerts) > 0 {
				fires[a.Alertname] = true
			} else {
				silent[a.Alertname] = true
			}
		}
	}
	for _, r := range readRules(t) {
		if r.Alert != "" && (!fires[r.Alert] || !silent[r.Alert]) {
			t.Errorf("%s: is there a test in which it fires? %v; one in which it does not? %v", r.Alert, fires[r.Alert], silent[r.Alert])
		}
	}
}
