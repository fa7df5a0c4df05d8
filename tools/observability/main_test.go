package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestCurrent: the files are what this program makes.
func TestCurrent(t *testing.T) {
	const module = "../.."
	files, err := made(module)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		file, err := os.ReadFile(filepath.Join(module, folder, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(file, text) {
			t.Errorf("%s/%s is old: make observability", folder, name)
		}
	}
	if len(files) != 2 {
		t.Errorf("%d files are made", len(files))
	}
}

// TestWrite: what is written is what was made, and nothing without rules.
func TestWrite(t *testing.T) {
	module := t.TempDir()
	if err := write(module); err == nil {
		t.Error("no rules, and no error")
	}
	dir := filepath.Join(module, folder)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "rules.yaml"), []byte("groups:\n\n- name: a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := write(module); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "prometheusrule.yaml"))
	if want := ruleHead + "  groups:\n\n  - name: a\n"; err != nil || string(got) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, got, want)
	}
}
