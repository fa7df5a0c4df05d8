package kuadrant

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

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

// TestWriterBugs: what else keeps a status from being right.
func TestWriterBugs(t *testing.T) {
	server := kubetest.Start(t)
	server.InstallCRDs(t)
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	defer target.Close()
	at, _ := url.Parse(target.URL)
	overrides := filepath.Join(t.TempDir(), "overrides")
	writeFile(t, overrides, "# none\n")
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
`+strings.Replace(gatewayAt("gw1", "one.example.com", "127.0.0.1"), "name: gw1}}", "name: gw1}, healthCheck: {path: /healthz, port: "+at.Port()+", protocol: HTTP, interval: 10s}}", 1)+"---\n"+gatewayAt("gw2", "two.example.com", "192.0.2.32"))
	// As the controller of a Gateway class that is made with controller-runtime, whose binary is
	// called manager as Kuadrant's is.
	if _, err := server.Resource(t, unstructuredOf("gateway.networking.k8s.io/v1", "Gateway", "ns")).Patch(t.Context(), "gw2", types.MergePatchType,
		[]byte(`{"status":{"addresses":[{"type":"IPAddress","value":"192.0.2.33"}]}}`), metav1.PatchOptions{FieldManager: "manager"}, "status"); err != nil {
		t.Fatal(err)
	}
	bootKube(t, server.Kubeconfig, "example.com", "lease default/writer", "probe-allow 127.0.0.0/8", "override "+overrides)
	of := func(apiVersion, kind, namespace, name string) func() *unstructured.Unstructured {
		return func() *unstructured.Unstructured { return stands(t, server, apiVersion, kind, namespace, name) }
	}
	own, zone := of("kuadrant.io/v1alpha1", "DNSRecord", "ns", "own"), of("kubi.zone/v1alpha1", "Zone", "default", "z")
	child := of("kuadrant.io/v1alpha1", "DNSRecord", "ns", "gw1-a")
	targets := func() string {
		o := child()
		if o == nil {
			return ""
		}
		return fmt.Sprint(o.Object["spec"])
	}
	waitFor(t, "first statuses", func() bool {
		return strings.Contains(statusText(own()), "192.0.2.10") && strings.Contains(statusText(zone()), `"serial"`) && strings.Contains(statusText(child()), `"Healthy"`)
	})
	t.Run("Gateway of a controller called manager", func(t *testing.T) {
		gateway := of("gateway.networking.k8s.io/v1", "Gateway", "ns", "gw2")
		if !comes(func() bool { return observed(gateway(), "kuadrant.io/DNSPolicyAffected") > 0 }) {
			t.Errorf("no Lease of Kuadrant's is there, and the Gateway has no condition: %s", statusText(gateway()))
		}
	})
	t.Run("override of a DNSRecord's target", func(t *testing.T) {
		writeFile(t, overrides, "target 192.0.2.10 down\n")
		waitFor(t, "override", func() bool {
			_, endpoints := answering.Load().engine.Snapshot().RecordStatus("local", "ns/own")
			return strings.Contains(fmt.Sprint(endpoints), "down")
		})
		if !comes(func() bool { return strings.Contains(statusText(own()), `"down"`) }) {
			t.Errorf("status.endpoints do not tell of it: %s", statusText(own()))
		}
	})
	t.Run("news of health from the snapshot before", func(t *testing.T) {
		e := answering.Load().engine
		before, key := e.Snapshot(), ""
		for k := range before.Checks().All() {
			key = k
		}
		if _, err := server.Resource(t, unstructuredOf("gateway.networking.k8s.io/v1", "Gateway", "ns")).Patch(t.Context(), "gw1", types.MergePatchType,
			[]byte(`{"status":{"addresses":[{"type":"IPAddress","value":"127.0.0.1"},{"type":"IPAddress","value":"192.0.2.77"}]}}`), metav1.PatchOptions{}, "status"); err != nil {
			t.Fatal(err)
		}
		waitFor(t, "second address", func() bool { return strings.Contains(targets(), "192.0.2.77") })
		// failOpens.look takes the snapshot, looks at hosts, and logs, before it hands the
		// snapshot on: another one may have been published meanwhile.
		e.TellHealth(before, map[string]health.State{key: health.Up})
		// What is written of a later change follows what would be written of the older snapshot.
		server.Apply(t, gatewayAt("gw3", "three.example.com", "192.0.2.34"))
		waitFor(t, "status of a later policy", func() bool {
			return strings.Contains(statusText(stands(t, server, "kuadrant.io/v1", "DNSPolicy", "ns", "gw3")), "Enforced")
		})
		if !strings.Contains(targets(), "192.0.2.77") {
			t.Errorf("the DNSRecord went back to what the older snapshot says: %s", targets())
		}
	})
	t.Run("entries of characters that JSON writes with six", func(t *testing.T) {
		text := strings.Repeat(`\"`+strings.Repeat("<", 255)+`\" `, 230)
		var records strings.Builder
		for i := range 9 {
			fmt.Fprintf(&records, "---\napiVersion: kubi.zone/v1alpha1\nkind: Record\nmetadata: {namespace: tenant, name: t%[1]d}\nspec: {domainName: t%[1]d.z.example.com., type: TXT, rdata: \"%[2]s\"}\n", i, strings.TrimSpace(text))
		}
		server.Apply(t, records.String())
		last := of("kubi.zone/v1alpha1", "Record", "tenant", "t8")
		waitFor(t, "verdict on the records", func() bool { return observed(last(), "Ready") > 0 })
		hash := func() string {
			return answering.Load().engine.Snapshot().Verdict("local", api.Ref{Kind: api.KindZone, Name: "default/z"}).Kept.Hash
		}
		if !comes(func() bool { return zone().Object["status"].(map[string]any)["hash"] == hash() }) {
			t.Errorf("the zone's hash and serial are kept no more, so that SOA and transfers stay as they were; Ready of the last Record: %s", statusText(last()))
		}
	})
}

// TestTwinTakesNoLease: a Secret that names the main cluster under another name is refused.
// What writes for it must not take part in the election either: it has nothing to say, and
// nobody else writes while it is elected.
func TestTwinTakesNoLease(t *testing.T) {
	server := kubetest.Start(t)
	server.InstallCRDs(t)
	server.Apply(t, fmt.Sprintf(bootGateway, "a.example.com", "192.0.2.1"))
	inNamespace(t, "dns")
	server.Apply(t, clusterSecret("twin", "", kubeconfigFor(t, server.Config)))
	bootKube(t, server.Kubeconfig, "example.com")
	waitFor(t, "word of the twin", func() bool {
		return strings.Contains(answering.Load().engine.SecretProblems()["dns/twin"], "under another name")
	})
	for _, w := range answering.Load().engine.Writers() {
		if w.Cluster == "twin" {
			t.Errorf("what writes for %q takes part in the election for the Lease of the main cluster", w.Cluster)
		}
	}
}

// TestConfigMapWithoutLabel: somebody takes the label from a ConfigMap with owners. What is to
// be kept is kept again, or the log says why not.
func TestConfigMapWithoutLabel(t *testing.T) {
	server := kubetest.Start(t)
	server.InstallCRDs(t)
	log := listen(t)
	server.Apply(t, fmt.Sprintf(bootGateway, "a.example.com", "192.0.2.1"))
	bootKube(t, server.Kubeconfig, "example.com", "lease default/label")
	owners := func() string {
		kept := stands(t, server, "v1", "ConfigMap", "default", "label-owners-0")
		if kept == nil {
			return ""
		}
		text, _, _ := unstructured.NestedString(kept.Object, "data", "owners")
		return text
	}
	waitFor(t, "owner", func() bool { return strings.Contains(owners(), "a.example.com. ") })
	merge(t, server, "v1", "ConfigMap", "default", "label-owners-0", `{"metadata":{"labels":{"kuadrant.io/dns-lease":null}}}`)
	server.Apply(t, gatewayAt("other", "b.example.com", "192.0.2.2"))
	if !comes(func() bool {
		return strings.Contains(owners(), "b.example.com. ") || log.has("warning", "label-owners-0")
	}) {
		t.Errorf("owners stay as they were, and the log does not say it: %s", owners())
	}
}
