package kube

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

// TestElsewhereSaysWhatIsDown: a policy whose provider is another controller's has its targets checked,
// and the DNSRecord that this controller publishes from has the weight 0 for one that is down, until it
// is up again (rules 4.1 and 4.8).
func TestElsewhereSaysWhatIsDown(t *testing.T) {
	server := kubetest.Start(t)
	server.InstallCRDs(t)
	target := boottest.NewTargets(t, "127.0.9.1")[0]
	server.Apply(t, fmt.Sprintf(`apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {namespace: ns, name: web}
spec:
  gatewayClassName: x
  listeners: [{name: a, hostname: app.example.net, port: 80, protocol: HTTP}]
status: {addresses: [{value: 127.0.9.1}]}
---
apiVersion: kuadrant.io/v1alpha2
kind: DNSPolicy
metadata: {namespace: ns, name: p}
spec:
  targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: web}
  providerRef: {kind: ExternalDNS, name: theirs}
  routingStrategy: weightedGeo
  loadBalancing: {weighted: {defaultWeight: 120}, geo: {defaultGeo: IE}}
  healthCheck: {endpoint: /healthz, port: %d, protocol: HTTP, failureThreshold: 1, interval: 1s}
`, target.Port))
	boottest.Kube(t, server.Kubeconfig, "example.com", "lease default/elsewhere", "probe-allow 127.0.0.0/8")
	member := func() (properties string) {
		record := boottest.Object(t, server, "kuadrant.io/v1alpha1", "DNSRecord", "ns", "web-a")
		if record == nil {
			return "no record"
		}
		endpoints, _, _ := unstructured.NestedSlice(record.Object, "spec", "endpoints")
		for _, e := range endpoints {
			list, _, _ := unstructured.NestedSlice(e.(map[string]any), "providerSpecific")
			for _, p := range list {
				p := p.(map[string]any)
				if p["name"] == "weight" {
					for _, p := range list {
						p := p.(map[string]any)
						properties += fmt.Sprintf("%s=%s ", p["name"], p["value"])
					}
				}
			}
		}
		return strings.TrimSpace(properties)
	}
	says := func() string {
		return boottest.Conditions(boottest.Object(t, server, "kuadrant.io/v1", "DNSPolicy", "ns", "p"))
	}
	for _, step := range []struct {
		off          bool
		want, status string
	}{
		{false, "weight=120 health=up", "SubResourcesHealthy=True"},
		{true, "weight=0 health=down", "SubResourcesHealthy=False"},
		{false, "weight=120 health=up", "SubResourcesHealthy=True"},
	} {
		target.Off.Store(step.off)
		boottest.WaitFor(t, step.want+" and "+step.status, func() bool { return member() == step.want && strings.Contains(says(), step.status) })
	}
	if probe := boottest.Object(t, server, "kuadrant.io/v1alpha1", "DNSHealthCheckProbe", "ns", "web-a-127-0-9-1"); probe == nil {
		t.Error("the target has no probe")
	}
}
