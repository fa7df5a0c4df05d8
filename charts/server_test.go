package charts

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

// prometheusOperator is the module that has the CRDs of what tells Prometheus where to look. Nothing of it is compiled.
const prometheusOperator = "github.com/prometheus-operator/prometheus-operator@v0.94.1"

// prometheusCRDs returns the CRDs that the chart and config/observability have objects of, as the Prometheus operator installs them.
func prometheusCRDs(t *testing.T) (crds []*unstructured.Unstructured) {
	t.Helper()
	cmd := exec.Command("go", "mod", "download", "-json", prometheusOperator)
	cmd.Dir = kubetest.ModuleRoot()
	out, err := cmd.Output()
	var module struct{ Dir, Error string }
	if jsonErr := json.Unmarshal(out, &module); jsonErr != nil || module.Dir == "" {
		t.Fatalf("download %s: %v, %v: %s", prometheusOperator, err, jsonErr, module.Error)
	}
	for _, name := range []string{"servicemonitors", "podmonitors", "prometheusrules"} {
		text, err := os.ReadFile(filepath.Join(module.Dir, "example", "prometheus-operator-crd", "monitoring.coreos.com_"+name+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		crds = append(crds, kubetest.Parse(t, string(text))...)
	}
	return crds
}

// install applies CRDs as they stand, and waits until their objects can be had.
func install(t *testing.T, server *kubetest.Server, crds []*unstructured.Unstructured) {
	t.Helper()
	if len(crds) == 0 {
		t.Fatal("no CRDs")
	}
	for _, crd := range crds {
		if _, err := server.Resource(t, crd).Apply(t.Context(), crd.GetName(), crd, metav1.ApplyOptions{FieldManager: "charts", Force: true}); err != nil {
			t.Fatalf("%s: %v", crd.GetName(), err)
		}
	}
	for _, crd := range crds {
		waitFor(t, crd.GetName(), func() bool {
			now, err := server.Resource(t, crd).Get(t.Context(), crd.GetName(), metav1.GetOptions{})
			return err == nil && kubetest.Condition(now, "Established") && served(t, server, now)
		})
	}
}

// served tells whether a CRD's newest version can be listed.
func served(t *testing.T, server *kubetest.Server, crd *unstructured.Unstructured) bool {
	t.Helper()
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	plural, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "plural")
	return status(t, server.Config, "/apis/"+group+"/"+storedVersion(crd)+"/"+plural+"?limit=1") == 200
}

// storedVersion is the version in which objects of a CRD are kept.
func storedVersion(crd *unstructured.Unstructured) string {
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, v := range versions {
		if m := v.(map[string]any); m["storage"] == true {
			return m["name"].(string)
		}
	}
	return ""
}

// enforcing makes a namespace whose pods have to keep to a standard.
func enforcing(t *testing.T, server *kubetest.Server, standard string) string {
	t.Helper()
	namespace := server.Namespace(t)
	label := kubetest.Parse(t, fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s, labels: {pod-security.kubernetes.io/enforce: %s}}}", namespace, standard))[0]
	if _, err := server.Resource(t, label).Apply(t.Context(), namespace, label, metav1.ApplyOptions{FieldManager: "charts", Force: true}); err != nil {
		t.Fatal(err)
	}
	return namespace
}

// admitted lets a server judge a pod of the Deployment in a namespace.
func (r *rendered) admitted(t *testing.T, server *kubetest.Server, namespace string) error {
	t.Helper()
	template, _, _ := unstructured.NestedMap(r.of("Deployment")[0].Object, "spec", "template")
	pod := &unstructured.Unstructured{Object: template}
	pod.SetAPIVersion("v1")
	pod.SetKind("Pod")
	pod.SetName("a")
	pod.SetNamespace(namespace)
	// No PriorityClass is installed here, and admission looks for it.
	unstructured.RemoveNestedField(pod.Object, "spec", "priorityClassName")
	_, err := server.Resource(t, pod).Apply(t.Context(), pod.GetName(), pod, metav1.ApplyOptions{FieldManager: "charts", Force: true, DryRun: []string{metav1.DryRunAll}})
	return err
}

// TestServerAccepts lets a real API server judge every object that the chart renders, for each set of values, and the pods by the standard
// `restricted` where they are to keep to it.
func TestServerAccepts(t *testing.T) {
	server := kubetest.Shared(t)
	server.InstallCRDs(t, kubetest.GatewayAPI)
	install(t, server, slices.Concat(renderFile(t, helms[0], "public").of("CustomResourceDefinition"), prometheusCRDs(t)))
	restricted, baseline, privileged := enforcing(t, server, "restricted"), enforcing(t, server, "baseline"), enforcing(t, server, "privileged")
	options := metav1.ApplyOptions{FieldManager: "charts", Force: true, DryRun: []string{metav1.DryRunAll}}
	kinds := make(map[string]bool)
	judge := func(from string, objects []*unstructured.Unstructured) {
		for _, obj := range objects {
			kinds[obj.GetKind()] = true
			if ns := obj.GetNamespace(); ns != "" {
				needNamespace(t, server, ns)
			}
			// Server-side apply refuses fields that there are not.
			if _, err := server.Resource(t, obj).Apply(t.Context(), obj.GetName(), obj, options); err != nil {
				t.Errorf("%s: %s %s: %v", from, obj.GetKind(), obj.GetName(), err)
			}
		}
	}
	for values := range valuesFiles(t) {
		r := renderFile(t, helms[0], values)
		judge(values, r.objects)
		nodes := values == "node-port" || values == "host-network"
		for _, standard := range []struct {
			namespace string
			refuses   bool
		}{{restricted, nodes}, {baseline, nodes}, {privileged, false}} {
			err := r.admitted(t, server, standard.namespace)
			if standard.refuses != (err != nil && strings.Contains(err.Error(), "violates PodSecurity")) || !standard.refuses && err != nil {
				t.Errorf("%s: a pod: %v", values, err)
			}
		}
	}
	// A namespace is for whoever applies them to choose.
	for _, name := range []string{"podmonitor.yaml", "prometheusrule.yaml"} {
		text, err := os.ReadFile(filepath.Join(kubetest.ModuleRoot(), "config", "observability", name))
		if err != nil {
			t.Fatal(err)
		}
		objects := kubetest.Parse(t, string(text))
		for _, obj := range objects {
			obj.SetNamespace("monitoring")
		}
		judge(name, objects)
	}
	for _, kind := range []string{"ServiceMonitor", "PodMonitor", "PrometheusRule", "CustomResourceDefinition", "Role", "ClusterRole", "NetworkPolicy", "PodDisruptionBudget"} {
		if !kinds[kind] {
			t.Errorf("no set of values has a %s", kind)
		}
	}
}

// TestServerAcceptsLongNames: the server takes the longest names that a release may have.
func TestServerAcceptsLongNames(t *testing.T) {
	server := kubetest.Shared(t)
	namespace := strings.Repeat("n", 63)
	needNamespace(t, server, namespace)
	args := append([]string{"--set", "crds.install=false,nameOverride=" + strings.Repeat("o", 63)}, least...)
	args = append(args, "--set", "console.enabled=true,console.tokenSecret.name=a,nets.text=a,overrides.text=b")
	for _, obj := range render(t, helms[0], strings.Repeat("r", 53), namespace, args...).objects {
		if _, err := server.Resource(t, obj).Apply(t.Context(), obj.GetName(), obj, metav1.ApplyOptions{FieldManager: "charts", Force: true, DryRun: []string{metav1.DryRunAll}}); err != nil {
			t.Errorf("%s %s: %v", obj.GetKind(), obj.GetName(), err)
		}
	}
}
