package api_test

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	dnsRecordCRD  = "config/crd/kuadrant.io_dnsrecords.yaml"
	zoneIDMessage = "zoneID cannot change once it is set"
)

func dnsRecordRules() []rule {
	endpoint := func(text string) string { return "rootHost: a.example.org, endpoints: [{" + text + "}]" }
	const good = "dnsName: a.example.org, recordType: A, targets: [192.0.2.1]"
	list := []rule{
		{name: "a host alone", spec: "rootHost: a.example.org"},
		{name: "no host", spec: "providerRef: {name: x}", refused: "rootHost is required: write the name that all endpoints lie at or below"},
		{name: "no host in v1alpha2", version: "v1alpha2", spec: "endpoints: [{" + good + "}]"},
		{
			name: "no host, and an endpoint that can stand for it", spec: "endpoints: [{" + good + "}]", refused: "rootHost is required",
			schemaAlone: true,
		},
		{name: "nothing in v1alpha2", version: "v1alpha2", spec: "", decodeAlone: true},
		{name: "a wildcard", spec: "rootHost: '*.example.org'"},
		{name: "a host that is none", spec: "rootHost: a..b", refused: "spec.rootHost in body should match"},
		{name: "a host with a space", spec: "rootHost: a b.c", refused: "spec.rootHost in body should match"},
		{name: "an empty host", spec: "rootHost: ''", refused: "spec.rootHost in body should be at least 1 chars long"},

		{name: "providerRef", spec: "rootHost: a.example.org, providerRef: {name: x, namespace: other, kind: Secret}"},
		{
			name: "ManagedZone", spec: "rootHost: a.example.org, providerRef: {name: x, kind: ManagedZone}",
			refused: "kind ManagedZone is no longer supported: refer to a Secret with the fields ZONE_ID and DOMAIN_NAME instead",
		},
		{name: "providerRef without a name", spec: "rootHost: a.example.org, providerRef: {}", refused: "spec.providerRef.name: Required value"},

		{name: "endpoint", spec: endpoint(good +
			", recordTTL: 0, setIdentifier: '', labels: {a: b}, providerSpecific: [{name: weight, value: '0'}, {name: geo-code, value: IE}]")},
		{name: "names", spec: endpoint(strings.Replace(good, "a.example.org", `'*.A\.b.\032c.Example.org.'`, 1))},
		{name: "no endpoints", spec: "rootHost: a.example.org, endpoints: []"},
		{name: "endpoints", spec: "rootHost: a.example.org, endpoints: {}", refused: "spec.endpoints in body must be of type array"},
		{
			name: "endpoint without a name", spec: endpoint("recordType: A, targets: [192.0.2.1]"),
			refused: "spec.endpoints[0].dnsName: Required value",
		},
		{
			name: "endpoint whose name is none", spec: endpoint("dnsName: '@', recordType: A, targets: [192.0.2.1]"),
			refused: "spec.endpoints[0].dnsName in body should match",
		},
		{
			name: "endpoint without a type", spec: endpoint("dnsName: a.example.org, targets: [192.0.2.1]"),
			refused: "spec.endpoints[0].recordType: Required value",
		},
		{
			name: "endpoint without targets", spec: endpoint("dnsName: a.example.org, recordType: A"),
			refused: "spec.endpoints[0].targets: Required value",
		},
		{
			name: "endpoint with no targets", spec: endpoint("dnsName: a.example.org, recordType: A, targets: []"),
			refused: "spec.endpoints[0].targets in body should have at least 1 items",
		},
		{
			name: "endpoint with an empty target", spec: endpoint("dnsName: a.example.org, recordType: A, targets: ['']"),
			refused: "spec.endpoints[0].targets[0] in body should be at least 1 chars long",
		},
		{name: "endpoint with a negative TTL", spec: endpoint(good + ", recordTTL: -1"), refused: "spec.endpoints[0].recordTTL"},
		{name: "endpoint with a long TTL", spec: endpoint(good + ", recordTTL: 2147483648"), refused: "spec.endpoints[0].recordTTL"},
		{name: "endpoint with a wrong weight", spec: endpoint(good + ", providerSpecific: [{name: weight, value: much}]"), decodeAlone: true},
		{
			name: "endpoint with a weight that is no text", spec: endpoint(good + ", providerSpecific: [{name: weight, value: 120}]"),
			refused: "spec.endpoints[0].providerSpecific[0].value in body must be of type string",
		},
		{name: "1000 endpoints", spec: "rootHost: a.example.org, endpoints: [" + strings.Repeat("{"+good+"}, ", 999) + "{" + good + "}]"},
		{name: "1001 endpoints", spec: "rootHost: a.example.org, endpoints: [" + strings.Repeat("{"+good+"}, ", 1000) + "{" + good +
			"}]", refused: "spec.endpoints: Too many: 1001: must have at most 1000 items"},
		{name: "1000 targets", spec: endpoint("dnsName: a.example.org, recordType: A, targets: [" +
			strings.Repeat("192.0.2.1, ", 999) + "192.0.2.1]")},
		{name: "1001 targets", spec: endpoint("dnsName: a.example.org, recordType: A, targets: [" +
			strings.Repeat("192.0.2.1, ", 1000) + "192.0.2.1]"), refused: "Too many: 1001: must have at most 1000 items"},

		{name: "empty health check", spec: "rootHost: a.example.org, healthCheck: {}"},
		{
			name: "path and endpoint that differ", spec: "rootHost: a.example.org, healthCheck: {path: /ok, endpoint: /no}",
			refused: "path and endpoint mean the same and differ: keep one of them",
		},
		{name: "ownerID and delegate", spec: "rootHost: a.example.org, ownerID: abcdef, delegate: true"},
	}
	for _, c := range checkRules() {
		c.spec = "rootHost: a.example.org, healthCheck: {" + c.spec + "}"
		list = append(list, c)
	}
	for i := range list {
		list[i].name, list[i].kind, list[i].spec = "DNSRecord: "+list[i].name, "DNSRecord", "{"+list[i].spec+"}"
	}
	return list
}

// TestZoneIDChanges: a zoneID can be set, and stays then, in both versions.
func TestZoneIDChanges(t *testing.T) {
	s := server(t)
	namespace := s.Namespace(t)
	for i, test := range []struct {
		version, from, to string // "-" is none
		ok                bool
	}{
		{"v1alpha1", "-", "a", true},
		{"v1alpha1", "''", "a", true},
		{"v1alpha1", "a", "a", true},
		{"v1alpha1", "a", "b", false},
		{"v1alpha1", "a", "''", false},
		{"v1alpha1", "a", "-", false},
		{"v1alpha2", "-", "a", true},
		{"v1alpha2", "a", "b", false},
		{"v1alpha2", "a", "-", false},
	} {
		t.Run(fmt.Sprintf("%s %s to %s", test.version, test.from, test.to), func(t *testing.T) {
			record := func(zoneID string) string {
				spec := "{rootHost: a.example.org}"
				if zoneID != "-" {
					spec = "{rootHost: a.example.org, zoneID: " + zoneID + "}"
				}
				return rule{kind: "DNSRecord", version: test.version, spec: spec}.text()
			}
			obj, records := in(t, s, namespace, record(test.from))
			obj.SetName(fmt.Sprintf("z%d", i))
			made, err := records.Create(t.Context(), obj, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			next, _ := in(t, s, namespace, record(test.to))
			made.Object["spec"] = next.Object["spec"]
			_, err = records.Update(t.Context(), made, metav1.UpdateOptions{})
			if test.ok != (err == nil) || err != nil && !strings.Contains(err.Error(), zoneIDMessage) {
				t.Errorf("update: %v", err)
			}
		})
	}
}
