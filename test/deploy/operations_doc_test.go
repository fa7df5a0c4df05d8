package deploy

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
)

func operationsDoc(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestOperationsAlerts: every alert in docs/operations.md exists.
func TestOperationsAlerts(t *testing.T) {
	alerts := make(map[string]bool)
	for _, r := range readRules(t) {
		alerts[r.Alert] = true
	}
	named := make(map[string]bool)
	for _, m := range regexp.MustCompile("`(Kuadrant[A-Z][A-Za-z]+)`").FindAllStringSubmatch(operationsDoc(t), -1) {
		named[m[1]] = true
		if !alerts[m[1]] {
			t.Errorf("docs/operations.md names %s: there is no such alert", m[1])
		}
	}
	if len(named) < 15 {
		t.Errorf("%d alerts are named", len(named))
	}
}

// TestOperationsFailures: each failure has an entry in each column, and a test that causes it, if a
// test can.
func TestOperationsFailures(t *testing.T) {
	_, table, _ := strings.Cut(operationsDoc(t), "\n## What fails\n")
	table, _, _ = strings.Cut(table, "\n## ")
	rows := regexp.MustCompile(`(?m)^\| .*$`).FindAllString(table, -1)
	if len(rows) < 20 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, row := range rows[1:] {
		cells := strings.Split(strings.Trim(row, "| "), " | ")
		if strings.HasPrefix(row, "| geo database stale ") {
			continue // only time causes it
		}
		if len(cells) != 5 || !strings.Contains(cells[4], "](../") {
			t.Errorf("%d cells, and no test: %s", len(cells), row)
		}
	}
}

// TestOperationsResources: the memory, the CPU and the variable in docs/operations.md are those of
// config/deploy, and in its table the variable is nine tenths of the limit.
func TestOperationsResources(t *testing.T) {
	text, err := os.ReadFile("config/deploy/base/deployment.yaml")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?s)GOMEMLIMIT, value: (\w+)\}.*requests: \{cpu: (\w+), memory: (\w+)\}.*limits: \{memory: (\w+)\}`).FindStringSubmatch(string(text))
	if m == nil {
		t.Fatal("no resources in config/deploy")
	}
	doc := operationsDoc(t)
	first := fmt.Sprintf("| %s, %s | %s | %s |", m[2], m[3], m[4], m[1])
	if !strings.Contains(doc, first) {
		t.Errorf("docs/operations.md lacks %q", first)
	}
	rows := regexp.MustCompile(`(?m)\| (\d+[MG]i) \| (\d+)MiB \|$`).FindAllStringSubmatch(doc, -1)
	for _, row := range rows {
		limit := resource.MustParse(row[1])
		if want := fmt.Sprint(limit.Value() * 9 / 10 >> 20); row[2] != want {
			t.Errorf("nine tenths of %s are %s MiB, and not %s", row[1], want, row[2])
		}
	}
	if len(rows) != 3 {
		t.Errorf("%d rows", len(rows))
	}
}

// TestOperationsGeoDatabase: docs/operations.md names the signals of an old geo database, and they
// exist.
func TestOperationsGeoDatabase(t *testing.T) {
	row := regexp.MustCompile(`(?m)^\| geo database stale .*$`).FindString(operationsDoc(t))
	for _, r := range readRules(t) {
		if r.Alert == "KuadrantGeoDatabaseOld" {
			for _, word := range []string{r.Alert, "coredns_kuadrant_geo_database_built_timestamp_seconds", "60 days"} {
				if !strings.Contains(row, word) {
					t.Errorf("docs/operations.md lacks %q in %q", word, row)
				}
			}
			if !regexp.MustCompile(`geo_database_built_timestamp_seconds.*60 \* 86400|5184000|60d`).MatchString(r.Expr) {
				t.Errorf("the alert is %s", r.Expr)
			}
			return
		}
	}
	t.Error("there is no such alert")
}
