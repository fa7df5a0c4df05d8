// Command chart writes what the Helm chart has of other files: the CRDs of config/crd, the rules and
// the dashboard of config/observability where these are there, and the table of values in its README,
// made of the comments in values.yaml. `make chart` calls it, and a test that nothing is left to write.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// copied are files of the project, by what they are called in the chart. Those that are not there are left out.
var copied = map[string]string{
	"files/rules.yaml":     "config/observability/rules.yaml",
	"files/dashboard.json": "config/observability/dashboard.json",
}

func main() {
	root := flag.String("root", ".", "folder of the project")
	flag.Parse()
	changed, err := write(*root)
	for _, file := range changed {
		fmt.Println("wrote", file)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "chart:", err)
		os.Exit(1)
	}
}

// write brings the chart up to date, and returns the files that it has changed.
func write(root string) (changed []string, err error) {
	want, err := files(root)
	if err != nil {
		return nil, err
	}
	for _, file := range slices.Sorted(keys(want)) {
		text := want[file]
		old, err := os.ReadFile(file)
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return changed, err
		case text == nil && err != nil, text != nil && err == nil && bytes.Equal(old, text):
			continue
		case text == nil:
			err = os.Remove(file)
		default:
			err = os.WriteFile(file, text, 0o644)
		}
		if err != nil {
			return changed, err
		}
		changed = append(changed, file)
	}
	return changed, nil
}

func keys(m map[string][]byte) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// files returns what the generated files of the chart hold, nil for one that must not be there.
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
		text, err := os.ReadFile(filepath.Join(root, from))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		want[filepath.Join(chart, to)] = text
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
