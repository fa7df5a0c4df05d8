// Command observability writes files of config/observability: the Grafana dashboard of panels.go,
// and the rules of rules.yaml as an object for the Prometheus operator. `make observability` runs
// it.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// folder is where the files are, relative to the module.
const folder = "config/observability"

func main() {
	if err := write("."); err != nil {
		fmt.Fprintln(os.Stderr, "observability:", err)
		os.Exit(1)
	}
}

// write writes the files of a module.
func write(module string) error {
	files, err := made(module)
	if err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(module, folder, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// made returns the contents of the files, by name.
func made(module string) (map[string][]byte, error) {
	board, err := dashboard()
	if err != nil {
		return nil, fmt.Errorf("make the dashboard: %w", err)
	}
	rules, err := os.ReadFile(filepath.Join(module, folder, "rules.yaml"))
	if err != nil {
		return nil, err
	}
	return map[string][]byte{"dashboard.json": board, "prometheusrule.yaml": prometheusRule(string(rules))}, nil
}

// ruleHead is the start of the object, up to the rules.
const ruleHead = `# The rules of rules.yaml for the operator of Prometheus. Made of it by make observability.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: kuadrant-dns
  labels:
    app.kubernetes.io/name: kuadrant-dns
spec:
`

// prometheusRule returns the object that holds the rules.
func prometheusRule(rules string) []byte {
	var b strings.Builder
	b.WriteString(ruleHead)
	for line := range strings.Lines(rules) {
		if line != "\n" {
			b.WriteString("  ")
		}
		b.WriteString(line)
	}
	return []byte(b.String())
}
