// Package charts tests the Helm chart: what the real helm makes of it is judged by a real API server, compared with
// config/, and run.
package charts

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

func TestMain(m *testing.M) { kubetest.Main(m) }

const chart = "kuadrant-coredns"

// helms are the versions of Helm that the chart is for, by their binaries in build/bin.
var helms = []string{"helm", "helm3"}

// helmBinary returns the path of one of them. It skips the test where it is missing, and fails it where the environment says
// CI=true or KUADRANT_REQUIRE_KUBE=1, as for the API server.
func helmBinary(t testing.TB, name string) string {
	t.Helper()
	binary, err := filepath.Abs(filepath.Join(kubetest.ModuleRoot(), "build", "bin", name))
	if err == nil {
		_, err = os.Stat(binary)
	}
	if err != nil && (os.Getenv("CI") == "true" || os.Getenv("KUADRANT_REQUIRE_KUBE") == "1") {
		t.Fatalf("no helm to test with: %v: run `make helm`", err)
	}
	if err != nil {
		t.Skipf("no helm to test with: %v: run `make helm`", err)
	}
	return binary
}

// runHelm runs a helm without the settings of whoever runs the test, and returns all that it has printed.
func runHelm(t testing.TB, helm string, args ...string) (string, error) {
	t.Helper()
	home := t.TempDir()
	cmd := exec.Command(helmBinary(t, helm), args...)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "HELM_") || strings.HasPrefix(v, "KUBECONFIG=") })
	cmd.Env = append(cmd.Env, "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home, "HELM_PLUGINS="+home)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// must returns the output of a helm that has to succeed.
func must(t testing.TB, helm string, args ...string) string {
	t.Helper()
	out, err := runHelm(t, helm, args...)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", helm, strings.Join(args, " "), err, out)
	}
	return out
}

// valuesFiles are the sets of values that the chart is tested with, by what their files are called.
func valuesFiles(t testing.TB) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(chart, "ci", "*-values.yaml"))
	if err != nil || len(files) < 10 {
		t.Fatalf("found %q, %v", files, err)
	}
	byName := make(map[string]string)
	for _, f := range files {
		byName[strings.TrimSuffix(filepath.Base(f), "-values.yaml")] = f
	}
	return byName
}

// namespaceOf is where a set of values is installed.
func namespaceOf(values string) string {
	if values == "cluster-dns" {
		return metav1.NamespaceSystem
	}
	return "kuadrant-dns"
}

// copied returns a copy of the chart for a test to change. It has rules and a dashboard: those of the project where there
// are some, else those of testdata.
func copied(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), chart)
	if err := os.CopyFS(dir, os.DirFS(chart)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"rules.yaml", "dashboard.json"} {
		to := filepath.Join(dir, "files", name)
		if _, err := os.Stat(to); err == nil {
			continue
		}
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err == nil {
			err = os.WriteFile(to, text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// rendered is what helm makes of a set of values.
type rendered struct {
	release, namespace string
	objects            []*unstructured.Unstructured
	deploy             appsv1.Deployment
	pod                corev1.PodSpec
	server             corev1.Container
	corefile           string // as the pods read it
}

// renderFile renders a set of values of the folder ci, with more arguments for helm.
func renderFile(t testing.TB, helm, values string, args ...string) *rendered {
	t.Helper()
	file := valuesFiles(t)[values]
	if file == "" {
		t.Fatalf("there is no set of values %q", values)
	}
	return render(t, helm, "kuadrant-dns", namespaceOf(values), append([]string{"-f", file}, args...)...)
}

// templated keeps what `helm template` has printed, by its arguments: several tests look at the same objects.
var templated = make(map[string]string)

// render renders the chart for a release.
func render(t testing.TB, helm, release, namespace string, args ...string) *rendered {
	t.Helper()
	r := &rendered{release: release, namespace: namespace}
	args = append([]string{"--namespace", namespace, "--kube-version", "1.36.0"}, args...)
	key := fmt.Sprintf("%q", append([]string{helm, release}, args...))
	if templated[key] == "" {
		templated[key] = must(t, helm, append([]string{"template", release, copied(t)}, args...)...)
	}
	r.objects = kubetest.Parse(t, templated[key])
	r.only(t, "Deployment", "", &r.deploy)
	r.pod = r.deploy.Spec.Template.Spec
	for _, c := range r.pod.Containers {
		if c.Name == "coredns" {
			r.server = c
		}
	}
	volume := r.volume(t, "corefile")
	if volume.ConfigMap == nil || r.mount("corefile").MountPath != "/etc/coredns" {
		t.Fatalf("no ConfigMap is mounted where -conf has its file: %v", volume)
	}
	var config corev1.ConfigMap
	r.only(t, "ConfigMap", volume.ConfigMap.Name, &config)
	r.corefile = config.Data["Corefile"]
	return r
}

// of returns the objects of a kind.
func (r *rendered) of(kind string) (objects []*unstructured.Unstructured) {
	for _, obj := range r.objects {
		if obj.GetKind() == kind {
			objects = append(objects, obj)
		}
	}
	return objects
}

// only decodes the one object of a kind, and of a name where one is given. Fields that the type does not have are errors.
func (r *rendered) only(t testing.TB, kind, name string, into any) {
	t.Helper()
	found := 0
	for _, obj := range r.of(kind) {
		if name != "" && obj.GetName() != name {
			continue
		}
		found++
		decode(t, obj, into)
	}
	if found != 1 {
		t.Fatalf("%d objects of kind %s with the name %q", found, kind, name)
	}
}

func decode(t testing.TB, obj *unstructured.Unstructured, into any) {
	t.Helper()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(obj.Object, into, true); err != nil {
		t.Fatalf("%s %s: %v", obj.GetKind(), obj.GetName(), err)
	}
}

func (r *rendered) volume(t testing.TB, name string) corev1.Volume {
	t.Helper()
	for _, v := range r.pod.Volumes {
		if v.Name == name {
			return v
		}
	}
	t.Fatalf("there is no volume %q", name)
	return corev1.Volume{}
}

// mount returns where a volume is mounted in the server's container.
func (r *rendered) mount(volume string) corev1.VolumeMount {
	for _, m := range r.server.VolumeMounts {
		if m.Name == volume {
			return m
		}
	}
	return corev1.VolumeMount{}
}

// port returns the number of a named port, 0 where there is none.
func (r *rendered) port(name string) int32 {
	for _, p := range r.server.Ports {
		if p.Name == name {
			return p.ContainerPort
		}
	}
	return 0
}

// needNamespace makes a namespace, which stays: no controller runs that would empty it.
func needNamespace(t testing.TB, server *kubetest.Server, name string) {
	t.Helper()
	server.ApplyIn(t, name, "{apiVersion: v1, kind: ConfigMap, metadata: {name: namespace-is-there}}")
}

// waitFor looks again and again, for a minute at most.
func waitFor(t testing.TB, what string, done func() bool) {
	t.Helper()
	deadline := time.After(time.Minute)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-deadline:
			t.Fatalf("no %s after a minute", what)
		case <-tick.C:
		}
	}
}

func writeFile(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestHelmLints: nothing is wrong with the chart, with each set of values and with none, to both versions of Helm.
func TestHelmLints(t *testing.T) {
	for _, helm := range helms {
		dir := copied(t)
		for _, values := range append(slices.Sorted(maps.Values(valuesFiles(t))), "") {
			args := []string{"lint", "--strict", "--namespace", metav1.NamespaceSystem, dir}
			if values != "" {
				args = append(args, "-f", values)
			}
			if out := must(t, helm, args...); !strings.Contains(out, "1 chart(s) linted, 0 chart(s) failed") || strings.Contains(out, "[WARNING]") {
				t.Errorf("%s with %q:\n%s", helm, values, out)
			}
		}
	}
}

// TestHelmsAgree: both versions of Helm make the same objects.
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

func removeFile(t testing.TB, dir, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, "files", name)); err != nil {
		t.Fatal(err)
	}
}
