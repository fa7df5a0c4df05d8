// Command chart writes the generated parts of the Helm chart: the CRDs of config/crd, the rules and
// the dashboard of config/observability, and the table of values in its README, from the comments
// in values.yaml. `make chart` runs it; a test checks that its output is current.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

// copied maps names in the chart to the project's files.
var copied = map[string]string{
	"files/rules.yaml":     "config/observability/rules.yaml",
	"files/dashboard.json": "config/observability/dashboard.json",
}

func main() {
	root := flag.String("root", ".", "folder of the project")
	flag.Parse()
	if err := write(*root); err != nil {
		fmt.Fprintln(os.Stderr, "chart:", err)
		os.Exit(1)
	}
}

// write updates the chart.
func write(root string) error {
	want, err := files(root)
	for file, text := range want {
		if text == nil {
			err = errors.Join(err, os.Remove(file))
		} else {
			err = errors.Join(err, os.WriteFile(file, text, 0o644))
		}
	}
	return err
}

// files returns the contents of the chart's generated files; nil for one that must not exist.
func files(root string) (map[string][]byte, error) {
	chart := filepath.Join(root, "charts", "kuadrant-coredns")
	want := make(map[string][]byte)
	stale, err := filepath.Glob(filepath.Join(chart, "files", "crds", "*"))
	if err != nil {
		return nil, err
	}
	for _, file := range stale {
		want[file] = nil
	}
	crds, err := filepath.Glob(filepath.Join(root, "config", "crd", "*.yaml"))
	if err != nil || len(crds) == 0 {
		return nil, fmt.Errorf("no CRDs in %s (%v)", filepath.Join(root, "config", "crd"), err)
	}
	for _, file := range crds {
		if want[filepath.Join(chart, "files", "crds", filepath.Base(file))], err = os.ReadFile(file); err != nil {
			return nil, err
		}
	}
	for to, from := range copied {
		if want[filepath.Join(chart, to)], err = os.ReadFile(filepath.Join(root, from)); err != nil {
			return nil, err
		}
	}
	values, err := os.ReadFile(filepath.Join(chart, "values.yaml"))
	if err != nil {
		return nil, err
	}
	table, err := tableOf(values)
	if err != nil {
		return nil, fmt.Errorf("values.yaml: %w", err)
	}
	readme := filepath.Join(chart, "README.md")
	text, err := os.ReadFile(readme)
	if err != nil {
		return nil, err
	}
	if want[readme], err = insert(text, table); err != nil {
		return nil, fmt.Errorf("%s: %w", readme, err)
	}
	return want, nil
}
