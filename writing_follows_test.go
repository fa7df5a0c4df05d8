package kuadrant

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

// comes tells whether something comes true, given far more time than it takes.
func comes(done func() bool) bool {
	deadline := time.After(15 * time.Second)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-deadline:
			return false
		case <-tick.C:
		}
	}
	return true
}

func merge(t *testing.T, s *kubetest.Server, apiVersion, kind, namespace, name, patch string) *unstructured.Unstructured {
	t.Helper()
	o, err := s.Resource(t, unstructuredOf(apiVersion, kind, namespace)).Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// observed returns the generation that an object's first condition is about.
func observed(o *unstructured.Unstructured, condition string) int64 {
	if o == nil {
		return -1
	}
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range list {
		if c := c.(map[string]any); c["type"] == condition {
			n, _ := c["observedGeneration"].(int64)
			return n
		}
	}
	return -1
}

func statusText(o *unstructured.Unstructured) string {
	if o == nil {
		return ""
	}
	text, _ := json.Marshal(o.Object["status"])
	return string(text)
}

// TestStatusFollowsObjects: what is said of an object follows the object, also where the
// verdict on it stays what it was (rule 4.8, api.md).
func TestStatusFollowsObjects(t *testing.T) {
	server := kubetest.Start(t)
	server.InstallCRDs(t)
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	defer target.Close()
	at, _ := url.Parse(target.URL)
	server.Apply(t, `apiVersion: kuadrant.io/v1alpha1
kind: DNSRecord
metadata: {namespace: ns, name: own, labels: {kuadrant.io/coredns-zone-name: example.com}}
spec: {rootHost: own.example.com, endpoints: [{dnsName: own.example.com, recordType: A, recordTTL: 60, targets: [192.0.2.10]}]}
---
apiVersion: kubi.zone/v1alpha1
kind: Zone
metadata: {namespace: default, name: z}
spec: {domainName: z.example.com., delegations: [{records: [{pattern: "*"}], zones: ["*"]}]}
---
apiVersion: kubi.zone/v1alpha1
kind: Record
metadata: {namespace: default, name: r}
spec: {domainName: r, zoneRef: {name: z}, type: A, rdata: 192.0.2.20}
---
apiVersion: kuadrant.io/v1alpha1
kind: DNSHealthCheckProbe
metadata: {namespace: ns, name: byhand}
spec: {address: 127.0.0.1, port: `+at.Port()+`, protocol: HTTP, path: /healthz, interval: 10s}
---
`+gatewayAt("one", "one.example.com", "192.0.2.30")+"---\n"+gatewayAt("two", "two.example.com", "192.0.2.31")+"---\n"+gatewayAt("three", "three.example.com", "192.0.2.32"))
	// The policy of two goes: one's will move there.
	if err := server.Resource(t, unstructuredOf("kuadrant.io/v1", "DNSPolicy", "ns")).Delete(t.Context(), "two", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	bootKube(t, server.Kubeconfig, "example.com", "lease default/follows", "probe-allow 127.0.0.0/8")
	of := func(apiVersion, kind, namespace, name string) func() *unstructured.Unstructured {
		return func() *unstructured.Unstructured { return stands(t, server, apiVersion, kind, namespace, name) }
	}
	own, zone, record := of("kuadrant.io/v1alpha1", "DNSRecord", "ns", "own"), of("kubi.zone/v1alpha1", "Zone", "default", "z"), of("kubi.zone/v1alpha1", "Record", "default", "r")
	probe := of("kuadrant.io/v1alpha1", "DNSHealthCheckProbe", "ns", "byhand")
	one, two, three := of("gateway.networking.k8s.io/v1", "Gateway", "ns", "one"), of("gateway.networking.k8s.io/v1", "Gateway", "ns", "two"), of("gateway.networking.k8s.io/v1", "Gateway", "ns", "three")
	const affected = "kuadrant.io/DNSPolicyAffected"
	waitFor(t, "first statuses", func() bool {
		return strings.Contains(statusText(own()), "192.0.2.10") && observed(zone(), "Ready") == 1 && observed(record(), "Ready") == 1 &&
			observed(one(), affected) == 1 && observed(three(), affected) == 1 && strings.Contains(statusText(probe()), `"healthy":true`)
	})
	fail := func(t *testing.T, what string, o *unstructured.Unstructured) {
		t.Errorf("%s; generation %d, status %s", what, o.GetGeneration(), statusText(o))
	}
	t.Run("endpoints of a DNSRecord", func(t *testing.T) {
		merge(t, server, "kuadrant.io/v1alpha1", "DNSRecord", "ns", "own", `{"spec":{"endpoints":[{"dnsName":"own.example.com","recordType":"A","recordTTL":60,"targets":["192.0.2.11"]}]}}`)
		if !comes(func() bool { return strings.Contains(statusText(own()), "192.0.2.11") }) {
			fail(t, "status.endpoints are those of before", own())
		}
	})
	t.Run("generation of a Record", func(t *testing.T) {
		merge(t, server, "kubi.zone/v1alpha1", "Record", "default", "r", `{"spec":{"rdata":"192.0.2.21"}}`)
		if !comes(func() bool { return observed(record(), "Ready") == 2 }) {
			fail(t, "Ready is about the generation before", record())
		}
	})
	t.Run("generation of a Zone", func(t *testing.T) {
		n := zone().GetGeneration()
		merge(t, server, "kubi.zone/v1alpha1", "Zone", "default", "z", `{"spec":{"delegations":[{"records":[{"pattern":"*"}]}]}}`)
		if !comes(func() bool { return observed(zone(), "Ready") == n+1 }) {
			fail(t, "Ready is about the generation before", zone())
		}
	})
	t.Run("a Zone's status that somebody empties", func(t *testing.T) {
		o := zone()
		unstructured.RemoveNestedField(o.Object, "status")
		if _, err := server.Resource(t, unstructuredOf("kubi.zone/v1alpha1", "Zone", "default")).UpdateStatus(t.Context(), o, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		if !comes(func() bool { return strings.Contains(statusText(zone()), `"serial"`) }) {
			fail(t, "it is not written again", zone())
		}
	})
	t.Run("generation of a Gateway", func(t *testing.T) {
		merge(t, server, "gateway.networking.k8s.io/v1", "Gateway", "ns", "three", `{"spec":{"gatewayClassName":"y"}}`)
		if !comes(func() bool { return observed(three(), affected) == 2 }) {
			fail(t, "the condition is about the generation before", three())
		}
	})
	t.Run("a policy moves to another Gateway", func(t *testing.T) {
		merge(t, server, "kuadrant.io/v1", "DNSPolicy", "ns", "one", `{"spec":{"targetRef":{"name":"two"}}}`)
		if !comes(func() bool { return observed(two(), affected) > 0 }) {
			fail(t, "the new Gateway has no condition", two())
		}
		if !comes(func() bool { return observed(one(), affected) < 0 }) {
			fail(t, "the old Gateway keeps its condition", one())
		}
	})
	t.Run("a probe by hand gets another address", func(t *testing.T) {
		merge(t, server, "kuadrant.io/v1alpha1", "DNSHealthCheckProbe", "ns", "byhand", `{"spec":{"address":"192.0.2.99"}}`) // which nothing publishes or allows
		if !comes(func() bool { return !strings.Contains(statusText(probe()), `"healthy":true`) }) {
			fail(t, fmt.Sprintf("%v is healthy, which nobody checks", probe().Object["spec"]), probe())
		}
	})
}
