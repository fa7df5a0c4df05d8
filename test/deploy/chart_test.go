package deploy

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

const chart = "charts/kuadrant-coredns"

// helms are the supported versions of Helm, by their binaries in build/bin.
var helms = []string{"helm", "helm3"}

func helmBinary(t testing.TB, name string) string {
	t.Helper()
	return kubetest.Tool(t, "", name, "helm", "KUADRANT_REQUIRE_KUBE")
}

// runHelm runs a helm without the user's settings, and returns all its output.
func runHelm(t testing.TB, helm string, args ...string) (string, error) {
	t.Helper()
	home := t.TempDir()
	cmd := exec.Command(helmBinary(t, helm), args...)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "HELM_") || strings.HasPrefix(v, "KUBECONFIG=")
	})
	cmd.Env = append(cmd.Env, "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home, "HELM_PLUGINS="+home)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// must returns the output of a helm command that must succeed.
func must(t testing.TB, helm string, args ...string) string {
	t.Helper()
	out, err := runHelm(t, helm, args...)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", helm, strings.Join(args, " "), err, out)
	}
	return out
}

// valuesFiles are the sets of values that tests use, by the names of their files.
func valuesFiles(t testing.TB) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(chart, "ci", "*-values.yaml"))
	if err != nil || len(files) < 10 {
		t.Fatalf("found %q, %v", files, err)
	}
	byName := map[string]string{"production": filepath.Join(chart, "values-production.yaml")}
	for _, f := range files {
		byName[strings.TrimSuffix(filepath.Base(f), "-values.yaml")] = f
	}
	return byName
}

// copiedChart returns a copy of the chart for a test to change.
func copiedChart(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), filepath.Base(chart))
	if err := os.CopyFS(dir, os.DirFS(chart)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// renderFile renders a set of values, with more arguments for helm.
func renderFile(t testing.TB, helm, values string, args ...string) *rendered {
	t.Helper()
	file := valuesFiles(t)[values]
	if file == "" {
		t.Fatalf("there is no set of values %q", values)
	}
	namespace := "kuadrant-dns"
	if values == "cluster-dns" {
		namespace = metav1.NamespaceSystem
	}
	return render(t, helm, "kuadrant-dns", namespace, append([]string{"-f", file}, args...)...)
}

// templated caches the output of `helm template` by its arguments: several tests look at the same
// objects.
var templated = make(map[string]string)

// render renders the chart for a release.
func render(t testing.TB, helm, release, namespace string, args ...string) *rendered {
	t.Helper()
	args = append([]string{"template", release, chart, "--namespace", namespace, "--kube-version", "1.36.0"}, args...)
	key := fmt.Sprintf("%q", append([]string{helm}, args...))
	if templated[key] == "" {
		templated[key] = must(t, helm, args...)
	}
	return newRendered(t, release, namespace, kubetest.Parse(t, templated[key]))
}

// TestHelmLints: both versions of Helm find nothing wrong with the chart, with each set of values
// and with none.
func TestHelmLints(t *testing.T) {
	for _, helm := range helms {
		for _, values := range append(slices.Sorted(maps.Values(valuesFiles(t))), "") {
			args := []string{"lint", "--strict", "--namespace", metav1.NamespaceSystem, chart}
			if values != "" {
				args = append(args, "-f", values)
			}
			if out := must(t, helm, args...); !strings.Contains(out, "1 chart(s) linted, 0 chart(s) failed") || strings.Contains(out, "[WARNING]") {
				t.Errorf("%s with %q:\n%s", helm, values, out)
			}
		}
	}
}

// TestHelmsAgree: both versions of Helm render the same objects.
func TestHelmsAgree(t *testing.T) {
	for values := range valuesFiles(t) {
		byHelm := make(map[string][]string)
		for _, helm := range helms {
			for _, obj := range renderFile(t, helm, values).objects {
				byHelm[helm] = append(byHelm[helm], fmt.Sprint(obj.Object))
			}
			slices.Sort(byHelm[helm])
		}
		if !slices.Equal(byHelm[helms[0]], byHelm[helms[1]]) {
			t.Errorf("%s: %s and %s differ", values, helms[0], helms[1])
		}
	}
}
