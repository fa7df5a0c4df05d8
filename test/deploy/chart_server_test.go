package deploy

import (
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

// judged are the options with which a server validates objects without storing them. It refuses
// unknown fields.
var judged = metav1.ApplyOptions{FieldManager: "deploy", Force: true, DryRun: []string{metav1.DryRunAll}}

// judging returns the server that validates objects, which knows all their kinds.
func judging(t *testing.T) *kubetest.Server {
	t.Helper()
	server := kubetest.Shared(t)
	server.InstallCRDs(t, kubetest.GatewayAPI, kubetest.Kuadrant, kubetest.ExternalDNS, kubetest.Prometheus)
	return server
}

// judge has a server validate objects.
func judge(t *testing.T, server *kubetest.Server, from string, objects []*unstructured.Unstructured) {
	t.Helper()
	for _, obj := range objects {
		if ns := obj.GetNamespace(); ns != "" {
			boottest.NeedNamespace(t, server, ns)
		}
		if _, err := server.Resource(t, obj).Apply(t.Context(), obj.GetName(), obj, judged); err != nil {
			t.Errorf("%s: %s %s: %v", from, obj.GetKind(), obj.GetName(), err)
		}
	}
}

// enforcing creates a namespace that enforces a pod security standard.
func enforcing(t *testing.T, server *kubetest.Server, standard string) string {
	t.Helper()
	namespace := server.Namespace(t)
	label := boottest.Ref("v1", "Namespace", "")
	label.SetName(namespace)
	label.SetLabels(map[string]string{"pod-security.kubernetes.io/enforce": standard})
	if _, err := server.Resource(t, label).Apply(t.Context(), namespace, label, metav1.ApplyOptions{FieldManager: "deploy"}); err != nil {
		t.Fatal(err)
	}
	return namespace
}

// admitted has a server validate a pod of the Deployment in a namespace.
func (r *rendered) admitted(t *testing.T, server *kubetest.Server, namespace string) error {
	t.Helper()
	template, _, _ := unstructured.NestedMap(r.of("Deployment")[0].Object, "spec", "template")
	pod := &unstructured.Unstructured{Object: template}
	pod.SetAPIVersion("v1")
	pod.SetKind("Pod")
	pod.SetName("a")
	pod.SetNamespace(namespace)
	// No PriorityClass is installed here, and admission requires it.
	unstructured.RemoveNestedField(pod.Object, "spec", "priorityClassName")
	_, err := server.Resource(t, pod).Apply(t.Context(), pod.GetName(), pod, judged)
	return err
}

// TestServerAccepts has a real API server validate every object of config/ and of the chart, and
// the pods by the standard `restricted` if they should meet it.
func TestServerAccepts(t *testing.T) {
	server := judging(t)
	of := make(map[string]string) // namespaces, by the standard that they enforce
	for _, standard := range []string{"restricted", "baseline", "privileged"} {
		of[standard] = enforcing(t, server, standard)
	}
	kinds := make(map[string]bool)
	eachRendered(t, func(t *testing.T, r *rendered) {
		for _, obj := range r.objects {
			kinds[obj.GetKind()] = true
		}
		judge(t, server, t.Name(), r.objects)
		nodes := strings.HasSuffix(t.Name(), "/node-port") || strings.HasSuffix(t.Name(), "/host-network")
		for standard, namespace := range of {
			refuses, err := nodes && standard != "privileged", r.admitted(t, server, namespace)
			if refuses != (err != nil && strings.Contains(err.Error(), "violates PodSecurity")) || !refuses && err != nil {
				t.Errorf("a pod: %v", err)
			}
		}
	})
	for name := range variants {
		judge(t, server, name, kustomize(t, filepath.Join("config", "rbac", name)))
	}
	// Users choose the namespace when they apply these.
	for _, name := range []string{"podmonitor.yaml", "prometheusrule.yaml"} {
		objects := kubetest.Parse(t, boottest.ReadFile(t, filepath.Join("config", "observability", name)))
		for _, obj := range objects {
			kinds[obj.GetKind()] = true
			obj.SetNamespace("monitoring")
		}
		judge(t, server, name, objects)
	}
	for _, kind := range []string{
		"ServiceMonitor", "PodMonitor", "PrometheusRule", "CustomResourceDefinition", "Role", "ClusterRole",
		"NetworkPolicy", "PodDisruptionBudget",
	} {
		if !kinds[kind] {
			t.Errorf("nothing has a %s", kind)
		}
	}
}
