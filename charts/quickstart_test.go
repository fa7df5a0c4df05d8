package charts

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestQuickStartInstalls: what docs/quick-start.md installs the chart with are values that it takes.
func TestQuickStartInstalls(t *testing.T) {
	text, err := os.ReadFile("../docs/quick-start.md")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^helm install (\S+) charts/(\S+) --namespace (\S+) --set '(\S+)'$`).FindSubmatch(text)
	if line == nil {
		t.Fatal("no helm install")
	}
	release, dir, namespace, values := string(line[1]), string(line[2]), string(line[3]), string(line[4])
	for _, helm := range helms {
		out := must(t, helm, "template", release, filepath.Clean(dir), "--namespace", namespace, "--set", values)
		for _, want := range []string{"kind: Deployment", "image: registry.example/kuadrant:v1", "apps.example.com"} {
			if !strings.Contains(strings.ReplaceAll(out, `"`, ""), want) {
				t.Errorf("%s makes nothing of %q: it lacks %s", helm, values, want)
			}
		}
	}
}
