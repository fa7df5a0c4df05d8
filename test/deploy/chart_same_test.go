package deploy

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

// sameAsOverlays are the sets of values that correspond to a directory of config/deploy, with the
// lines of their Corefiles that differ: defaults that the chart writes out, and the position of
// kuadrant in the cluster's DNS.
var sameAsOverlays = map[string]struct{ only, onlyConfig []string }{
	"public": {only: []string{"write-back all", "lease kuadrant-dns/kuadrant-dns"}},
	// Here a zone has its own server block, with the plugins that each block needs.
	"cluster-dns": {
		only:       []string{"example.com {", "kuadrant {", "lease kube-system/kuadrant-dns-cluster", "errors", "prometheus :9153", "ready :8181", "bufsize 1232", "}"},
		onlyConfig: []string{"kuadrant example.com {"},
	},
}

// TestSaysWhatConfigSays: with equivalent values, the chart renders the objects of the directory of
// config/deploy, after the API server has filled in its defaults.
func TestSaysWhatConfigSays(t *testing.T) {
	server := kubetest.Shared(t)
	for name := range overlays {
		t.Run(name, func(t *testing.T) {
			want, got := renderOverlay(t, name), renderFile(t, helms[0], name, "--set", "crds.install=false")
			for _, kind := range []string{"Deployment", "PodDisruptionBudget", "NetworkPolicy", "Service", "ServiceAccount"} {
				w, g := specOf(t, server, kind, want), specOf(t, server, kind, got)
				if w != g {
					t.Errorf("%s is\n%s\nin config/deploy it is\n%s", kind, g, w)
				}
			}
		})
	}
}

// specOf returns the spec, name and namespace of the one object of a kind, as a server would store
// it. It replaces what must differ.
func specOf(t *testing.T, server *kubetest.Server, kind string, r *rendered) string {
	t.Helper()
	found := r.of(kind)
	if len(found) != 1 {
		return fmt.Sprintf("%d objects", len(found))
	}
	obj := found[0].DeepCopy()
	boottest.NeedNamespace(t, server, obj.GetNamespace())
	if kind == "Deployment" {
		if err := unstructured.SetNestedField(obj.Object, int64(5), "spec", "revisionHistoryLimit"); err != nil {
			t.Fatal(err)
		}
		containers, _, err := unstructured.NestedSlice(obj.Object, "spec", "template", "spec", "containers")
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(containers[0].(map[string]any), map[string]any{"image": "example/kuadrant", "imagePullPolicy": "Always"})
		if err := unstructured.SetNestedSlice(obj.Object, containers, "spec", "template", "spec", "containers"); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := server.Resource(t, obj).Apply(t.Context(), obj.GetName(), obj, judged)
	if err != nil {
		t.Fatalf("%s %s: %v", kind, obj.GetName(), err)
	}
	spec := map[string]any{"name": kept.GetName(), "namespace": kept.GetNamespace(), "spec": kept.Object["spec"]}
	for _, field := range []string{"clusterIP", "clusterIPs", "healthCheckNodePort"} {
		unstructured.RemoveNestedField(spec, "spec", field)
	}
	if ports, ok, _ := unstructured.NestedSlice(spec, "spec", "ports"); ok {
		for _, p := range ports {
			delete(p.(map[string]any), "nodePort")
		}
		_ = unstructured.SetNestedSlice(spec, ports, "spec", "ports")
	}
	text, err := json.MarshalIndent(withoutRelease(spec), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// withoutRelease removes what only the chart has, the label of the release, and sorts lists of
// named things. The Corefile's ConfigMap gets the first part of its name.
func withoutRelease(value any) any {
	switch v := value.(type) {
	case map[string]any:
		delete(v, "app.kubernetes.io/instance")
		for k := range v {
			v[k] = withoutRelease(v[k])
		}
	case []any:
		for i := range v {
			v[i] = withoutRelease(v[i])
		}
		slices.SortStableFunc(v, func(a, b any) int { return strings.Compare(nameOf(a), nameOf(b)) })
	case string:
		if before, _, ok := strings.Cut(v, "-corefile-"); ok {
			return strings.TrimSuffix(before, "-cluster") + "-corefile" // kustomize appends its suffix
		}
	}
	return value
}

func nameOf(value any) string {
	m, _ := value.(map[string]any)
	name, _ := m["name"].(string)
	return name
}

// TestCorefileIsThatOfConfig: the Corefiles have the same lines, except for known differences.
func TestCorefileIsThatOfConfig(t *testing.T) {
	for name, differ := range sameAsOverlays {
		want := directives(boottest.ReadFile(t, filepath.Join("config", "deploy", name, "Corefile")))
		got := directives(renderFile(t, helms[0], name).corefile)
		want = slices.DeleteFunc(want, func(line string) bool { return slices.Contains(differ.onlyConfig, line) })
		want = append(want, differ.only...)
		slices.Sort(want)
		slices.Sort(got)
		if name == "cluster-dns" { // the number of blocks differs, and so the last brace
			want, got = slices.Compact(want), slices.Compact(got)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: the chart has\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// directives returns the lines of a Corefile without comments.
func directives(corefile string) (lines []string) {
	for line := range strings.SplitSeq(corefile, "\n") {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// TestCRDsAreThoseOfConfig: the chart's CRDs equal those of config/crd, except for Helm's marks.
func TestCRDsAreThoseOfConfig(t *testing.T) {
	files, err := filepath.Glob("config/crd/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("found %q, %v", files, err)
	}
	want := make(map[string]string)
	for _, file := range files {
		crd := kubetest.Parse(t, boottest.ReadFile(t, file))[0]
		want[crd.GetName()] = asJSON(t, crd)
	}
	for _, c := range []struct {
		args           []string
		kuadrant, keep bool
	}{
		{nil, true, true},
		{[]string{"--set", "crds.kuadrant=false"}, false, true},
		{[]string{"--set", "crds.keep=false"}, true, false},
	} {
		got := renderFile(t, helms[0], "public", c.args...).of("CustomResourceDefinition")
		number := 0
		for name := range want {
			if c.kuadrant || strings.HasSuffix(name, ".kubi.zone") {
				number++
			}
		}
		if len(got) != number || number == 0 {
			t.Errorf("%q: %d CRDs, want %d", c.args, len(got), number)
		}
		for _, crd := range got {
			annotations := crd.GetAnnotations()
			if _, kept := annotations["helm.sh/resource-policy"]; kept != c.keep || c.keep && annotations["helm.sh/resource-policy"] != "keep" {
				t.Errorf("%q: %s has the annotations %v", c.args, crd.GetName(), annotations)
			}
			delete(annotations, "helm.sh/resource-policy")
			crd.SetAnnotations(annotations)
			own := crd.GetLabels()
			for _, l := range []string{"name", "instance", "version", "managed-by"} {
				delete(own, "app.kubernetes.io/"+l)
			}
			if crd.SetLabels(own); len(own) == 0 {
				crd.SetLabels(nil)
			}
			if asJSON(t, crd) != want[crd.GetName()] {
				t.Errorf("%q: %s differs from config/crd: run `make chart`", c.args, crd.GetName())
			}
		}
	}
	if got := renderFile(t, helms[0], "public", "--set", "crds.install=false").of("CustomResourceDefinition"); len(got) > 0 {
		t.Errorf("crds.install=false: %d CRDs", len(got))
	}
}

func asJSON(t *testing.T, obj *unstructured.Unstructured) string {
	t.Helper()
	text, err := json.Marshal(obj.Object)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
