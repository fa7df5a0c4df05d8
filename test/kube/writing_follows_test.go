package kube

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

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
`+boottest.GatewayAt("one", "one.example.com", "192.0.2.30")+"---\n"+boottest.GatewayAt("two", "two.example.com", "192.0.2.31")+"---\n"+boottest.GatewayAt("three", "three.example.com", "192.0.2.32"))
	// The policy of two goes: one's will move there.
	if err := server.Resource(t, boottest.Ref("kuadrant.io/v1", "DNSPolicy", "ns")).Delete(t.Context(), "two", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	boottest.Kube(t, server.Kubeconfig, "example.com", "lease default/follows", "probe-allow 127.0.0.0/8")
	of := func(apiVersion, kind, namespace, name string) func() *unstructured.Unstructured {
		return func() *unstructured.Unstructured {
			return boottest.Object(t, server, apiVersion, kind, namespace, name)
		}
	}
	own, zone, record := of("kuadrant.io/v1alpha1", "DNSRecord", "ns", "own"), of("kubi.zone/v1alpha1", "Zone", "default", "z"), of("kubi.zone/v1alpha1", "Record", "default", "r")
	probe := of("kuadrant.io/v1alpha1", "DNSHealthCheckProbe", "ns", "byhand")
	one, two, three := of("gateway.networking.k8s.io/v1", "Gateway", "ns", "one"), of("gateway.networking.k8s.io/v1", "Gateway", "ns", "two"), of("gateway.networking.k8s.io/v1", "Gateway", "ns", "three")
	const affected = "kuadrant.io/DNSPolicyAffected"
	boottest.WaitFor(t, "first statuses", func() bool {
		return strings.Contains(boottest.StatusText(own()), "192.0.2.10") && boottest.Observed(zone(), "Ready") == 1 && boottest.Observed(record(), "Ready") == 1 &&
			boottest.Observed(one(), affected) == 1 && boottest.Observed(three(), affected) == 1 && strings.Contains(boottest.StatusText(probe()), `"healthy":true`)
	})
	fail := func(t *testing.T, what string, o *unstructured.Unstructured) {
		t.Errorf("%s; generation %d, status %s", what, o.GetGeneration(), boottest.StatusText(o))
	}
	t.Run("endpoints of a DNSRecord", func(t *testing.T) {
		boottest.Merge(t, server, "kuadrant.io/v1alpha1", "DNSRecord", "ns", "own", `{"spec":{"endpoints":[{"dnsName":"own.example.com","recordType":"A","recordTTL":60,"targets":["192.0.2.11"]}]}}`)
		if !boottest.Comes(func() bool { return strings.Contains(boottest.StatusText(own()), "192.0.2.11") }) {
			fail(t, "status.endpoints are those of before", own())
		}
	})
	t.Run("generation of a Record", func(t *testing.T) {
		boottest.Merge(t, server, "kubi.zone/v1alpha1", "Record", "default", "r", `{"spec":{"rdata":"192.0.2.21"}}`)
		if !boottest.Comes(func() bool { return boottest.Observed(record(), "Ready") == 2 }) {
			fail(t, "Ready is about the generation before", record())
		}
	})
	t.Run("generation of a Zone", func(t *testing.T) {
		n := zone().GetGeneration()
		boottest.Merge(t, server, "kubi.zone/v1alpha1", "Zone", "default", "z", `{"spec":{"delegations":[{"records":[{"pattern":"*"}]}]}}`)
		if !boottest.Comes(func() bool { return boottest.Observed(zone(), "Ready") == n+1 }) {
			fail(t, "Ready is about the generation before", zone())
		}
	})
	t.Run("a Zone's status that somebody empties", func(t *testing.T) {
		o := zone()
		unstructured.RemoveNestedField(o.Object, "status")
		if _, err := server.Resource(t, boottest.Ref("kubi.zone/v1alpha1", "Zone", "default")).UpdateStatus(t.Context(), o, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		if !boottest.Comes(func() bool { return strings.Contains(boottest.StatusText(zone()), `"serial"`) }) {
			fail(t, "it is not written again", zone())
		}
	})
	t.Run("generation of a Gateway", func(t *testing.T) {
		boottest.Merge(t, server, "gateway.networking.k8s.io/v1", "Gateway", "ns", "three", `{"spec":{"gatewayClassName":"y"}}`)
		if !boottest.Comes(func() bool { return boottest.Observed(three(), affected) == 2 }) {
			fail(t, "the condition is about the generation before", three())
		}
	})
	t.Run("a policy moves to another Gateway", func(t *testing.T) {
		boottest.Merge(t, server, "kuadrant.io/v1", "DNSPolicy", "ns", "one", `{"spec":{"targetRef":{"name":"two"}}}`)
		if !boottest.Comes(func() bool { return boottest.Observed(two(), affected) > 0 }) {
			fail(t, "the new Gateway has no condition", two())
		}
		if !boottest.Comes(func() bool { return boottest.Observed(one(), affected) < 0 }) {
			fail(t, "the old Gateway keeps its condition", one())
		}
	})
	t.Run("a probe by hand gets another address", func(t *testing.T) {
		boottest.Merge(t, server, "kuadrant.io/v1alpha1", "DNSHealthCheckProbe", "ns", "byhand", `{"spec":{"address":"192.0.2.99"}}`) // which nothing publishes or allows
		if !boottest.Comes(func() bool { return !strings.Contains(boottest.StatusText(probe()), `"healthy":true`) }) {
			fail(t, fmt.Sprintf("%v is healthy, which nobody checks", probe().Object["spec"]), probe())
		}
	})
}
