package kube

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

// TestRecordProbesAreWritten: a user's DNSRecord with a check has a probe for each target with the
// result (docs/write-back.md), next to a user's own probe. It loses the probe with the check, its
// zone, the target or itself.
func TestRecordProbesAreWritten(t *testing.T) {
	server := kubetest.Start(t)
	server.InstallCRDs(t)
	var fails atomic.Bool
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if fails.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer target.Close()
	at, _ := url.Parse(target.URL)
	record := fmt.Sprintf(`apiVersion: kuadrant.io/v1alpha1
kind: DNSRecord
metadata: {namespace: ns, name: own, labels: {kuadrant.io/coredns-zone-name: example.com}}
spec:
  rootHost: own.example.com
  healthCheck: {protocol: HTTP, port: %s, path: /healthz, interval: 1s, failureThreshold: 1}
  endpoints: [{dnsName: own.example.com, recordType: A, recordTTL: 60, targets: [127.0.0.1, 127.0.0.2]}]
`, at.Port())
	server.Apply(t, record+`---
apiVersion: kuadrant.io/v1alpha1
kind: DNSHealthCheckProbe
metadata: {namespace: ns, name: own-127.0.0.2}
spec: {address: 192.0.2.99, port: 80, protocol: HTTP, path: /healthz}
`)
	boottest.Kube(t, server.Kubeconfig, "example.com", "lease default/records", "probe-allow 127.0.0.0/8")
	probes := server.Resource(t, boottest.Ref("kuadrant.io/v1alpha1", "DNSHealthCheckProbe", "ns"))
	// standing returns our probes, by address.
	standing := func() map[string]*unstructured.Unstructured {
		list, err := probes.List(t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/managed-by=kuadrant-coredns"})
		if err != nil {
			t.Fatal(err)
		}
		all := make(map[string]*unstructured.Unstructured)
		for i := range list.Items {
			address, _, _ := unstructured.NestedString(list.Items[i].Object, "spec", "address")
			all[address] = &list.Items[i]
		}
		return all
	}
	boottest.WaitFor(t, "healthy probe", func() bool {
		return strings.Contains(boottest.StatusText(standing()["127.0.0.1"]), `"healthy":true`) && len(standing()) == 2
	})
	one, two := standing()["127.0.0.1"], standing()["127.0.0.2"]
	if name := two.GetName(); one.GetName() != "own-127.0.0.1" || !strings.HasPrefix(name, "own-127.0.0.2-") {
		t.Errorf("the probes are called %s and %s", one.GetName(), name)
	}
	if o := boottest.Object(t, server, "kuadrant.io/v1alpha1", "DNSHealthCheckProbe", "ns", "own-127.0.0.2"); o.Object["spec"].(map[string]any)["address"] != "192.0.2.99" || len(o.GetLabels()) > 0 {
		t.Errorf("somebody else's probe has become %v", o.Object)
	}
	owner := one.GetOwnerReferences()
	if len(owner) != 1 || owner[0].Kind != "DNSRecord" || owner[0].Name != "own" || owner[0].BlockOwnerDeletion != nil || one.Object["spec"].(map[string]any)["hostname"] != "own.example.com" {
		t.Errorf("the probe is %v", one.Object)
	}
	fails.Store(true)
	boottest.WaitFor(t, "unhealthy probe", func() bool { return strings.Contains(boottest.StatusText(standing()["127.0.0.1"]), `"healthy":false`) })

	gone := func(what string, addresses ...string) {
		t.Helper()
		boottest.WaitFor(t, what, func() bool {
			all := standing()
			for _, a := range addresses {
				if all[a] != nil {
					return false
				}
			}
			return true
		})
	}
	back := func() {
		t.Helper()
		server.Apply(t, record)
		boottest.WaitFor(t, "both probes", func() bool { return len(standing()) == 2 })
	}
	boottest.Merge(t, server, "kuadrant.io/v1alpha1", "DNSRecord", "ns", "own", `{"spec":{"endpoints":[{"dnsName":"own.example.com","recordType":"A","recordTTL":60,"targets":["127.0.0.1"]}]}}`)
	gone("end of the probe with its target", "127.0.0.2")
	back()
	boottest.Merge(t, server, "kuadrant.io/v1alpha1", "DNSRecord", "ns", "own", `{"spec":{"healthCheck":null}}`)
	gone("end of the probes with the check", "127.0.0.1", "127.0.0.2")
	back()
	boottest.Merge(t, server, "kuadrant.io/v1alpha1", "DNSRecord", "ns", "own", `{"metadata":{"labels":{"kuadrant.io/coredns-zone-name":null}}}`)
	gone("end of the probes where another server publishes", "127.0.0.1", "127.0.0.2")
	back()
	if err := server.Resource(t, boottest.Ref("kuadrant.io/v1alpha1", "DNSRecord", "ns")).Delete(t.Context(), "own", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	gone("end of the probes with the DNSRecord", "127.0.0.1", "127.0.0.2")
	if boottest.Object(t, server, "kuadrant.io/v1alpha1", "DNSHealthCheckProbe", "ns", "own-127.0.0.2") == nil {
		t.Error("somebody else's probe has gone")
	}
}
