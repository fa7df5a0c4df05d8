package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	grafana "github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// TestGrafana checks that Grafana's own types accept the dashboard with every panel and query, and
// know each of its fields.
func TestGrafana(t *testing.T) {
	plugins.RegisterDefaultPlugins()
	text, err := dashboard()
	if err != nil {
		t.Fatal(err)
	}
	var d grafana.Dashboard
	if err := d.UnmarshalJSONStrict(text); err != nil {
		t.Error(err)
	}
	if err := d.Validate(); err != nil {
		t.Error(err)
	}
	if len(d.Panels) < 30 {
		t.Errorf("%d panels", len(d.Panels))
	}
	for _, p := range d.Panels {
		if p.Panel == nil {
			continue // a row
		}
		if _, ok := p.Panel.Options.(map[string]any); ok || p.Panel.Options == nil {
			t.Errorf("no panel of Grafana's is a %q", p.Panel.Type)
		}
	}
	// An unknown field is an error.
	for from, to := range map[string]string{`"gridPos"`: `"gridPosition"`, `"legendFormat"`: `"legend"`, `"colorMode"`: `"color"`} {
		other := bytes.Replace(text, []byte(from), []byte(to), 1)
		if err := new(grafana.Dashboard).UnmarshalJSONStrict(other); err == nil {
			t.Errorf("%s in place of %s is taken", to, from)
		}
	}
}

// TestCurrent checks that the files are what this program makes.
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

// TestWrite checks that write writes what made returns, and nothing if there are no rules.
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
