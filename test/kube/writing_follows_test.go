package kube

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/miekg/dns"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

// followed are objects whose status changes; %[1]d is the port of a target that is up.
const followed = `apiVersion: kuadrant.io/v1alpha1
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
kind: Zone
metadata: {namespace: default, name: big}
spec: {domainName: big.example.com., delegations: [{namespaces: [tenant], records: [{pattern: "*"}]}]}
---
apiVersion: kubi.zone/v1alpha1
kind: Record
metadata: {namespace: default, name: r}
spec: {domainName: r, zoneRef: {name: z}, type: A, rdata: 192.0.2.20}
---
apiVersion: kuadrant.io/v1alpha1
kind: DNSHealthCheckProbe
metadata: {namespace: ns, name: byhand}
spec: {address: 127.77.10.1, port: %[1]d, protocol: HTTP, path: /healthz, interval: 10s}
---
`

// TestStatusFollowsObjects: an object's status follows the object, even if the verdict stays the
// same (rule 4.8, docs/write-back.md), and whatever else might keep a status from being right.
func TestStatusFollowsObjects(t *testing.T) {
	server := boottest.APIServer(t)
	target := boottest.NewTargets(t, "127.77.10.1")[0]
	overrides := filepath.Join(t.TempDir(), "overrides")
	boottest.WriteFile(t, overrides, "# none\n")
	checked := boottest.CheckedGateway("checked", "checked.example.com", target.Port, "", target.Address)
	objects := []string{fmt.Sprintf(followed, target.Port) + checked}
	for i, name := range []string{"one", "two", "three", "managed"} {
		objects = append(objects, boottest.GatewayFile(name, fmt.Sprint("192.0.2.3", i)))
	}
	server.Apply(t, strings.Join(objects, "---\n"))
	// The policy of two is deleted: that of one moves there.
	if err := server.Resource(t, boottest.Ref("kuadrant.io/v1", "DNSPolicy", "ns")).Delete(t.Context(), "two", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	// Write as the controller of a Gateway class made with controller-runtime, whose binary is
	// called manager, like Kuadrant's.
	patchStatus := func(apiVersion, kind, namespace, name, patch string) {
		t.Helper()
		if _, err := server.Resource(t, boottest.Ref(apiVersion, kind, namespace)).Patch(t.Context(), name, types.MergePatchType, []byte(patch),
			metav1.PatchOptions{FieldManager: "manager"}, "status"); err != nil {
			t.Fatal(err)
		}
	}
	const gateways, affected = "gateway.networking.k8s.io/v1", "kuadrant.io/DNSPolicyAffected"
	patchStatus(gateways, "Gateway", "ns", "managed", `{"status":{"addresses":[{"type":"IPAddress","value":"192.0.2.39"}]}}`)
	addr := boottest.Kube(t, server.Kubeconfig, "example.com", "lease default/follows", "probe-allow 127.0.0.0/8", "override "+overrides)
	type read func() *unstructured.Unstructured
	of := func(apiVersion, kind, namespace, name string) read {
		return func() *unstructured.Unstructured {
			return boottest.Object(t, server, apiVersion, kind, namespace, name)
		}
	}
	own, probe := of("kuadrant.io/v1alpha1", "DNSRecord", "ns", "own"), of("kuadrant.io/v1alpha1", "DNSHealthCheckProbe", "ns", "byhand")
	zone, record := of("kubi.zone/v1alpha1", "Zone", "default", "z"), of("kubi.zone/v1alpha1", "Record", "default", "r")
	one, two, three := of(gateways, "Gateway", "ns", "one"), of(gateways, "Gateway", "ns", "two"), of(gateways, "Gateway", "ns", "three")
	managed := of(gateways, "Gateway", "ns", "managed")
	child, last := of("kuadrant.io/v1alpha1", "DNSRecord", "ns", "checked-a"), of("kubi.zone/v1alpha1", "Record", "tenant", "t8")
	has := func(o read, text string) func() bool {
		return func() bool { return strings.Contains(boottest.StatusText(o()), text) }
	}
	observes := func(o read, condition string, generation int64) func() bool {
		return func() bool { return boottest.Observed(o(), condition) == generation }
	}
	for what, first := range map[string]func() bool{
		"own": has(own, "192.0.2.10"), "zone": observes(zone, "Ready", 1), "serial": has(zone, `"serial"`),
		"record": observes(record, "Ready", 1), "one": observes(one, affected, 1), "three": observes(three, affected, 1),
		"probe": has(probe, `"healthy":true`), "child": has(child, `"Healthy"`),
	} {
		boottest.WaitFor(t, "first status: "+what, first)
	}
	serial := func() uint32 {
		return boottest.SerialOf(boottest.Exchange(t, addr, "big.example.com.", dns.TypeSOA))
	}
	var before uint32
	merge := func(kind, name, patch string) func() {
		apiVersion, namespace := "kuadrant.io/v1alpha1", "ns"
		switch kind {
		case "DNSPolicy":
			apiVersion = "kuadrant.io/v1"
		case "Gateway":
			apiVersion = gateways
		case "Zone", "Record":
			apiVersion, namespace = "kubi.zone/v1alpha1", "default"
		}
		return func() { boottest.Merge(t, server, apiVersion, kind, namespace, name, patch) }
	}
	for _, c := range []struct {
		what  string
		about read
		does  func()
		comes func() bool
	}{
		{
			"the Gateway of a controller called manager has a condition: no Lease of Kuadrant's is there", managed,
			func() {}, func() bool { return boottest.Observed(managed(), affected) > 0 },
		},
		{
			"endpoints of a DNSRecord are the new ones", own,
			merge("DNSRecord", "own", `{"spec":{"endpoints":[{"dnsName":"own.example.com","recordType":"A","targets":["192.0.2.11"]}]}}`),
			has(own, "192.0.2.11"),
		},
		{
			"endpoints of a DNSRecord tell of an override", own,
			func() { boottest.WriteFile(t, overrides, "target 192.0.2.11 down\n") }, has(own, `"down"`),
		},
		{
			"Ready of a Record is about its generation", record,
			merge("Record", "r", `{"spec":{"rdata":"192.0.2.21"}}`), observes(record, "Ready", 2),
		},
		{
			"Ready of a Zone is about its generation", zone,
			merge("Zone", "z", `{"spec":{"delegations":[{"records":[{"pattern":"*"}]}]}}`),
			func() bool {
				return boottest.Observed(zone(), "Ready") == zone().GetGeneration() && zone().GetGeneration() > 1
			},
		},
		{
			"a Zone's status that somebody empties is written again", zone,
			func() { patchStatus("kubi.zone/v1alpha1", "Zone", "default", "z", `{"status":null}`) }, has(zone, `"serial"`),
		},
		{
			"the condition of a Gateway is about its generation", three,
			merge("Gateway", "three", `{"spec":{"gatewayClassName":"y"}}`), observes(three, affected, 2),
		},
		{
			"the Gateway that a policy moves to has a condition", two,
			merge("DNSPolicy", "one", `{"spec":{"targetRef":{"name":"two"}}}`), func() bool { return boottest.Observed(two(), affected) > 0 },
		},
		{"the Gateway that it came from has none", one, func() {}, observes(one, affected, -1)},
		{
			"a probe by hand is not healthy at an address that nothing publishes or allows", probe,
			merge("DNSHealthCheckProbe", "byhand", `{"spec":{"address":"192.0.2.99"}}`),
			func() bool { return !has(probe, `"healthy":true`)() },
		},
		{"hash and serial of a zone are kept with entries of characters that JSON writes with six", last, func() {
			before = serial()
			text := strings.Repeat(`\"`+strings.Repeat("<", 255)+`\" `, 230)
			var records strings.Builder
			for i := range 9 {
				fmt.Fprintf(&records, "---\napiVersion: kubi.zone/v1alpha1\nkind: Record\nmetadata: {namespace: tenant, name: t%[1]d}\n", i)
				fmt.Fprintf(&records, "spec: {domainName: t%d.big.example.com., type: TXT, rdata: \"%s\"}\n", i, strings.TrimSpace(text))
			}
			server.Apply(t, records.String())
			boottest.WaitFor(t, "verdict on the records", func() bool { return boottest.Observed(last(), "Ready") > 0 })
		}, func() bool { return serial() != before }},
	} {
		if c.does(); !kubetest.Comes(c.comes) {
			t.Errorf("it is not so that %s: generation %d, status %s", c.what, c.about().GetGeneration(), boottest.StatusText(c.about()))
		}
	}
}
