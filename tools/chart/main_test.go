package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestChartIsCurrent checks that `make chart` would change nothing.
func TestChartIsCurrent(t *testing.T) {
	root := filepath.Join("..", "..")
	want, err := files(root)
	if err != nil {
		t.Fatal(err)
	}
	for file, text := range want {
		got, err := os.ReadFile(file)
		if text == nil && err == nil {
			t.Errorf("%s is made of nothing: run `make chart`", file)
		} else if text != nil && string(got) != string(text) {
			t.Errorf("%s is not what it is made of (%v): run `make chart`", file, err)
		}
	}
}

// TestWrite checks that write corrects changed, missing and left-over files.
func TestWrite(t *testing.T) {
	root := t.TempDir()
	chart := filepath.Join(root, "charts", "kuadrant-coredns")
	for file, text := range map[string]string{
		"config/crd/a.yaml":                            "a",
		"config/crd/b.yaml":                            "b",
		"config/observability/rules.yaml":              "groups: []",
		"config/observability/dashboard.json":          "{}",
		"charts/kuadrant-coredns/files/crds/b.yaml":    "old",
		"charts/kuadrant-coredns/files/crds/c.yaml":    "c",
		"charts/kuadrant-coredns/files/dashboard.json": "old",
		"charts/kuadrant-coredns/values.yaml":          "# One.\na: 1\n",
		"charts/kuadrant-coredns/README.md":            "before\n" + tableBegins + "old\n" + tableEnds + "after\n",
	} {
		file = filepath.Join(root, file)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := write(root); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"files/crds/a.yaml": "a", "files/crds/b.yaml": "b", "files/crds/c.yaml": "", "files/rules.yaml": "groups: []", "files/dashboard.json": "{}",
		"README.md": "before\n" + tableBegins + "| value | default | what it is |\n|---|---|---|\n| `a` | `1` | One. |\n" + tableEnds + "after\n",
	} {
		if got, _ := os.ReadFile(filepath.Join(chart, file)); string(got) != want {
			t.Errorf("%s is %q, want %q", file, got, want)
		}
	}
}

func TestTable(t *testing.T) {
	values := `# What is not about a value.

# The first
# of two: a | b.
#
#   a: [1]
a: {b: c}

c:
  # The second.
  d: [] # nothing
`
	got, err := tableOf([]byte(values))
	want := "| value | default | what it is |\n|---|---|---|\n| `a` | `{b: c}` | The first of two: a \\| b. |\n| `c.d` | `[]` | The second. |\n"
	if err != nil || got != want {
		t.Errorf("got %v\n%s\nwant\n%s", err, got, want)
	}
	for text, want := range map[string]string{
		"a: 1": "line 1: a has no comment", "# One.\na: 1\nb:\n  c: 2": "line 4: b.c has no comment", "[a]": "it is no mapping", "a: [": "yaml",
	} {
		if _, err := tableOf([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if _, err := insert([]byte("no lines"), ""); err == nil || !strings.Contains(err.Error(), "write both") {
		t.Error(err)
	}
}
