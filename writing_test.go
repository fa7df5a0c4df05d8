package kuadrant

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

// stands reads an object of the API server; nil where there is none.
func stands(t *testing.T, s *kubetest.Server, apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	t.Helper()
	obj := new(unstructured.Unstructured)
	obj.SetAPIVersion(apiVersion)
	obj.SetKind(kind)
	obj.SetNamespace(namespace)
	got, err := s.Resource(t, obj).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		return nil
	}
	return got
}

// saysOfIt returns the conditions of an object's status as text, without times and messages.
func saysOfIt(obj *unstructured.Unstructured) string {
	if obj == nil {
		return "no object"
	}
	list, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	var all []string
	for _, c := range list {
		c := c.(map[string]any)
		all = append(all, fmt.Sprintf("%s=%s/%s", c["type"], c["status"], c["reason"]))
	}
	return strings.Join(all, " ")
}

// TestStatusIsWritten: the elected replica says in an object's status what became of it, and
// writes nothing more once it stands there.
func TestStatusIsWritten(t *testing.T) {
	server := kubetest.Start(t)
	server.InstallCRDs(t)
	server.Apply(t, fmt.Sprintf(bootGateway, "a.example.com", "192.0.2.1"))
	bootKube(t, server.Kubeconfig, "example.com", "lease default/test")
	const want = "Accepted=True/Accepted Enforced=True/Enforced"
	var policy *unstructured.Unstructured
	waitFor(t, "status", func() bool {
		policy = stands(t, server, "kuadrant.io/v1", "DNSPolicy", "ns", "p")
		return saysOfIt(policy) == want
	})
	text, _ := json.Marshal(policy.Object["status"])
	t.Log(string(text))
	var record *unstructured.Unstructured
	waitFor(t, "record", func() bool {
		record = stands(t, server, "kuadrant.io/v1alpha1", "DNSRecord", "ns", "gw-a")
		return saysOfIt(record) == "Ready=True/ProviderSuccess"
	})
	text, _ = json.Marshal(record.Object)
	t.Log(string(text))
	waitFor(t, "owner", func() bool {
		kept := stands(t, server, "v1", "ConfigMap", "default", "test-owners-0")
		return kept != nil && strings.HasPrefix(kept.Object["data"].(map[string]any)["owners"].(string), "a.example.com. local DNSPolicy ns/p ")
	})
	if lease := stands(t, server, "coordination.k8s.io/v1", "Lease", "default", "test"); lease == nil {
		t.Error("there is no Lease")
	}
}
