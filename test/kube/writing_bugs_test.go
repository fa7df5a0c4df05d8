package kube

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
)

// TestWriterBugs: what else keeps a status from being right.
func TestWriterBugs(t *testing.T) {
	server := kubetest.Start(t)
	server.InstallCRDs(t)
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	defer target.Close()
	at, _ := url.Parse(target.URL)
	overrides := filepath.Join(t.TempDir(), "overrides")
	boottest.WriteFile(t, overrides, "# none\n")
	server.Apply(t, `apiVersion: kuadrant.io/v1alpha1
kind: DNSRecord
metadata: {namespace: ns, name: own, labels: {kuadrant.io/coredns-zone-name: example.com}}
spec: {rootHost: own.example.com, endpoints: [{dnsName: own.example.com, recordType: A, recordTTL: 60, targets: [192.0.2.10]}]}
---
apiVersion: kubi.zone/v1alpha1
kind: Zone
metadata: {namespace: default, name: z}
spec: {domainName: z.example.com., delegations: [{namespaces: [tenant], records: [{pattern: "*"}]}]}
---
`+strings.Replace(boottest.GatewayAt("gw1", "one.example.com", "127.0.0.1"), "name: gw1}}", "name: gw1}, healthCheck: {path: /healthz, port: "+at.Port()+", protocol: HTTP, interval: 10s}}", 1)+"---\n"+boottest.GatewayAt("gw2", "two.example.com", "192.0.2.32"))
	// As the controller of a Gateway class that is made with controller-runtime, whose binary is
	// called manager as Kuadrant's is.
	if _, err := server.Resource(t, boottest.Ref("gateway.networking.k8s.io/v1", "Gateway", "ns")).Patch(t.Context(), "gw2", types.MergePatchType,
		[]byte(`{"status":{"addresses":[{"type":"IPAddress","value":"192.0.2.33"}]}}`), metav1.PatchOptions{FieldManager: "manager"}, "status"); err != nil {
		t.Fatal(err)
	}
	addr := boottest.Kube(t, server.Kubeconfig, "example.com", "lease default/writer", "probe-allow 127.0.0.0/8", "override "+overrides)
	of := func(apiVersion, kind, namespace, name string) func() *unstructured.Unstructured {
		return func() *unstructured.Unstructured {
			return boottest.Object(t, server, apiVersion, kind, namespace, name)
		}
	}
	own, zone := of("kuadrant.io/v1alpha1", "DNSRecord", "ns", "own"), of("kubi.zone/v1alpha1", "Zone", "default", "z")
	child := of("kuadrant.io/v1alpha1", "DNSRecord", "ns", "gw1-a")
	boottest.WaitFor(t, "first statuses", func() bool {
		return strings.Contains(boottest.StatusText(own()), "192.0.2.10") && strings.Contains(boottest.StatusText(zone()), `"serial"`) && strings.Contains(boottest.StatusText(child()), `"Healthy"`)
	})
	t.Run("Gateway of a controller called manager", func(t *testing.T) {
		gateway := of("gateway.networking.k8s.io/v1", "Gateway", "ns", "gw2")
		if !boottest.Comes(func() bool { return boottest.Observed(gateway(), "kuadrant.io/DNSPolicyAffected") > 0 }) {
			t.Errorf("no Lease of Kuadrant's is there, and the Gateway has no condition: %s", boottest.StatusText(gateway()))
		}
	})
	t.Run("override of a DNSRecord's target", func(t *testing.T) {
		boottest.WriteFile(t, overrides, "target 192.0.2.10 down\n")
		if !boottest.Comes(func() bool { return strings.Contains(boottest.StatusText(own()), `"down"`) }) {
			t.Errorf("status.endpoints do not tell of it: %s", boottest.StatusText(own()))
		}
	})
	t.Run("entries of characters that JSON writes with six", func(t *testing.T) {
		serial := func() uint32 { return boottest.SerialOf(boottest.Exchange(t, addr, "z.example.com.", dns.TypeSOA)) }
		before := serial()
		text := strings.Repeat(`\"`+strings.Repeat("<", 255)+`\" `, 230)
		var records strings.Builder
		for i := range 9 {
			fmt.Fprintf(&records, "---\napiVersion: kubi.zone/v1alpha1\nkind: Record\nmetadata: {namespace: tenant, name: t%[1]d}\nspec: {domainName: t%[1]d.z.example.com., type: TXT, rdata: \"%[2]s\"}\n", i, strings.TrimSpace(text))
		}
		server.Apply(t, records.String())
		last := of("kubi.zone/v1alpha1", "Record", "tenant", "t8")
		boottest.WaitFor(t, "verdict on the records", func() bool { return boottest.Observed(last(), "Ready") > 0 })
		if !boottest.Comes(func() bool { return serial() != before }) {
			t.Errorf("the zone's hash and serial are kept no more, so that SOA and transfers stay as they were; Ready of the last Record: %s", boottest.StatusText(last()))
		}
	})
}

// TestConfigMapWithoutLabel: somebody takes the label from a ConfigMap with owners. What is to
// be kept is kept again, or the log says why not.
func TestConfigMapWithoutLabel(t *testing.T) {
	server := kubetest.Start(t)
	server.InstallCRDs(t)
	log := boottest.Listen(t)
	server.Apply(t, fmt.Sprintf(boottest.Gateway, "a.example.com", "192.0.2.1"))
	boottest.Kube(t, server.Kubeconfig, "example.com", "lease default/label")
	owners := func() string {
		kept := boottest.Object(t, server, "v1", "ConfigMap", "default", "label-owners-0")
		if kept == nil {
			return ""
		}
		text, _, _ := unstructured.NestedString(kept.Object, "data", "owners")
		return text
	}
	boottest.WaitFor(t, "owner", func() bool { return strings.Contains(owners(), "a.example.com. ") })
	boottest.Merge(t, server, "v1", "ConfigMap", "default", "label-owners-0", `{"metadata":{"labels":{"kuadrant.io/dns-lease":null}}}`)
	server.Apply(t, boottest.GatewayAt("other", "b.example.com", "192.0.2.2"))
	if !boottest.Comes(func() bool {
		return strings.Contains(owners(), "b.example.com. ") || log.Has("warning", "label-owners-0")
	}) {
		t.Errorf("owners stay as they were, and the log does not say it: %s", owners())
	}
}
