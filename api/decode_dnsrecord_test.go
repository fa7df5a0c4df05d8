package api_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
)

const dnsRecordHead = `
kind: DNSRecord
metadata: {name: r, namespace: shop, uid: u, generation: 3, creationTimestamp: "2026-01-01T00:00:00Z", labels: {a: b}, annotations: {kuadrant.io/x: z, a: b}}
`

func decodeDNSRecord(t testing.TB, text string) *api.DNSRecord {
	t.Helper()
	r, err := api.DecodeDNSRecord("c", toJSON(t, dnsRecordHead+text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// plainDNSRecord is what a DNSRecord with nothing but the host app.example.org means.
func plainDNSRecord() *api.DNSRecord {
	return &api.DNSRecord{
		Meta: api.Meta{
			Name: "shop/r", Cluster: "c", UID: "u", Generation: 3, Annotations: map[string]string{"kuadrant.io/x": "z"},
			Created: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Unix(),
		},
		RootHost: "app.example.org.",
	}
}

func TestDecodeDNSRecord(t *testing.T) {
	tests := []struct {
		name, text string
		want       func(r *api.DNSRecord)
	}{
		{"a host alone", "spec: {rootHost: app.example.org}", func(*api.DNSRecord) {}},
		{"upper case and a final dot", "spec: {rootHost: App.Example.ORG.}", func(*api.DNSRecord) {}},
		{"a wildcard", "spec: {rootHost: '*.example.org'}", func(r *api.DNSRecord) { r.RootHost = "*.example.org." }},
		{
			"null", "spec: {rootHost: app.example.org, providerRef: null, zoneID: null, endpoints: null, healthCheck: null}",
			func(*api.DNSRecord) {},
		},
		{"a reference of v1alpha1", "spec: {rootHost: app.example.org, providerRef: {name: my-credentials}}", func(r *api.DNSRecord) {
			r.Provider = api.Provider{Kind: "Secret", Name: "my-credentials"}
		}},
		{"a reference of v1alpha2", "spec: {rootHost: app.example.org, providerRef: {name: my-credentials, namespace: my-gateways, " +
			"kind: secret}}", func(r *api.DNSRecord) {
			r.Provider = api.Provider{Kind: "Secret", Namespace: "my-gateways", Name: "my-credentials"}
		}},
		{
			"another controller's", "spec: {rootHost: app.example.org, providerRef: {name: external-dns, kind: ExternalDNS}}",
			func(r *api.DNSRecord) {
				r.Provider = api.Provider{Kind: "ExternalDNS", Name: "external-dns"}
			},
		},
		{"an empty check", "spec: {rootHost: app.example.org, healthCheck: {}}", func(r *api.DNSRecord) { r.HealthCheck = defaultCheck() }},
		{"a check", "spec: {rootHost: app.example.org, healthCheck: {path: /healthz, port: 8080, protocol: HTTP, interval: 1m, " +
			"failureThreshold: 2}}", func(r *api.DNSRecord) {
			r.HealthCheck = defaultCheck()
			r.HealthCheck.Path, r.HealthCheck.Port, r.HealthCheck.Protocol = "/healthz", 8080, api.HTTP
			r.HealthCheck.Interval, r.HealthCheck.FailureThreshold = time.Minute, 2
		}},
		{
			"as the interface has it", `
spec:
  rootHost: myapp.mn.hcpapps.net
  providerRef: {name: my-credentials}
  zoneID: mn.hcpapps.net
  endpoints: [{dnsName: myapp.mn.hcpapps.net, recordType: A, recordTTL: 60, targets: [172.31.200.0], setIdentifier: "", providerSpecific: [{name: weight, value: "120"}, {name: geo-code, value: IE}]}]
  healthCheck: {}
status: {conditions: [], endpoints: [{dnsName: other}]}`,
			func(r *api.DNSRecord) {
				r.RootHost, r.ZoneID, r.Provider = "myapp.mn.hcpapps.net.", "mn.hcpapps.net", api.Provider{Kind: "Secret", Name: "my-credentials"}
				r.Endpoints = []api.Endpoint{{
					DNSName: "myapp.mn.hcpapps.net.", Type: "A", TTL: 60, Targets: []string{"172.31.200.0"},
					Weight: 120, Geo: "IE",
				}}
				r.HealthCheck = defaultCheck()
			},
		},
		{"no host, but one endpoint above all others", `
spec: {endpoints: [{dnsName: klb.app.example.org, recordType: CNAME, targets: [x]}, {dnsName: App.example.org, recordType: CNAME, targets: [x]}, {dnsName: ie.klb.app.example.org, recordType: CNAME, targets: [x]}]}`, func(r *api.DNSRecord) {
			for i, name := range []string{"klb.", "", "ie.klb."} {
				r.Endpoints = append(r.Endpoints, api.Endpoint{
					DNSName: name + "app.example.org.", Type: "CNAME", Targets: []string{"x"},
					Weight: api.NoWeight, Index: i,
				})
			}
		}},
		{"no host, but a wildcard above all others", `
spec: {endpoints: [{dnsName: a.example.org, recordType: CNAME, targets: [x]}, {dnsName: '*.example.org', recordType: CNAME, targets: [x]}]}`, func(r *api.DNSRecord) {
			r.RootHost = "*.example.org."
			for i, name := range []string{"a.", "*."} {
				r.Endpoints = append(r.Endpoints, api.Endpoint{
					DNSName: name + "example.org.", Type: "CNAME", Targets: []string{"x"},
					Weight: api.NoWeight, Index: i,
				})
			}
		}},
		{
			"fields of Kuadrant's that mean nothing here",
			"spec: {rootHost: app.example.org, ownerID: abcdef, delegate: true, later: 5}", func(*api.DNSRecord) {},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			want := plainDNSRecord()
			test.want(want)
			if got := decodeDNSRecord(t, test.text); !reflect.DeepEqual(got, want) {
				t.Errorf("got  %+v\n     %+v\nwant %+v\n     %+v", got, got.HealthCheck, want, want.HealthCheck)
			}
		})
	}
}

// TestDecodeDNSRecordLabels: of the labels those are kept that mean something.
func TestDecodeDNSRecordLabels(t *testing.T) {
	const text = `{"metadata":{"name":"r","labels":{"a":"b","kuadrant.io/coredns-zone-name":"k.example.com","app.kubernetes.io/managed-by":"kuadrant-coredns","kuadrant.io/authoritative-record":"x"}}}`
	r, err := api.DecodeDNSRecord("c", []byte(text))
	want := map[string]string{api.LabelZoneName: "k.example.com", api.LabelManagedBy: "kuadrant-coredns"}
	if err != nil || !reflect.DeepEqual(r.Labels, want) {
		t.Errorf("%+v, %v", r, err)
	}
	r = decodeDNSRecord(t, "spec: {rootHost: app.example.org}")
	if r.Labels != nil {
		t.Errorf("labels %v", r.Labels)
	}
}

func TestDecodeDNSRecordInvalid(t *testing.T) {
	const missing = "spec.rootHost is missing: write the name that all endpoints lie at or below"
	tests := []struct{ name, spec, invalid, check string }{
		{"no spec", "", missing, ""},
		{"no host", "spec: {endpoints: []}", missing, ""},
		{"no host above all endpoints", "spec: {endpoints: [{dnsName: a.example.org, recordType: A, targets: [x]}, {dnsName: " +
			"xa.example.org, recordType: A, targets: [x]}]}", missing, ""},
		{"a host that is none", "spec: {rootHost: a..b}", `spec.rootHost "a..b"` + noName, ""},
		{"a host that has a space", "spec: {rootHost: a b.c}", `spec.rootHost "a b.c"` + noChars, ""},
		{"no name", "spec: {rootHost: app.example.org, providerRef: {}}", `spec.providerRef.name "": write the name of a Secret`, ""},
		{
			"ManagedZone", "spec: {rootHost: app.example.org, providerRef: {name: z, kind: ManagedZone}}",
			"spec.providerRef.kind ManagedZone is no longer supported: refer to a Secret with the fields ZONE_ID and DOMAIN_NAME instead", "",
		},
		{"both", "spec: {providerRef: {}}", missing + `; spec.providerRef.name "": write the name of a Secret`, ""},
		{
			"a check", "spec: {rootHost: app.example.org, healthCheck: {protocol: UDP}}", "",
			`spec.healthCheck.protocol "UDP": Only HTTP, HTTPS, TCP or GRPC protocols are allowed`,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := decodeDNSRecord(t, test.spec)
			if r.Invalid != test.invalid || r.CheckInvalid != test.check || r.Fault != "" {
				t.Errorf("got  %q, check %q, fault %q\nwant %q, check %q", r.Invalid, r.CheckInvalid, r.Fault, test.invalid, test.check)
			}
			if r.UID != "u" || strings.Contains(test.invalid, "rootHost") == (r.RootHost != "") {
				t.Errorf("%+v", r)
			}
		})
	}
}

func TestDecodeDNSRecordFaults(t *testing.T) {
	for text, fault := range map[string]string{
		"spec: {rootHost: app.example.org, zoneID: 5}": "spec.zoneID: a string is wanted " +
			"here, not a number: in YAML, put quotes around it",
		"spec: {rootHost: app.example.org, providerRef: my-credentials}": "spec.providerRef: an object is " +
			"wanted here, not a string",
		"spec: {rootHost: app.example.org, endpoints: {}}": "spec.endpoints: a list is wanted " +
			"here, not an object",
		"spec: {rootHost: app.example.org, healthCheck: true}": "spec.healthCheck: an object is " +
			"wanted here, not true",
		"spec: {rootHost: app.example.org, endpoints: [{dnsName: a, recordType: A}]}": "spec.endpoints[0].targets: there is " +
			"none: the endpoint is left out",
		"spec: {rootHost: app.example.org, endpoints: [{recordType: A, targets: [192.0.2.1]}]}": "spec.endpoints[0].dnsName is " +
			"missing: the endpoint is left out",
	} {
		want := plainDNSRecord()
		want.Fault = fault
		if got := decodeDNSRecord(t, text); !reflect.DeepEqual(got, want) {
			t.Errorf("%s\ngot  %+v\nwant %+v", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"{":                           "read JSON",
		"{}":                          "metadata.name is missing",
		`{"metadata":{"name":"A/b"}}`: "metadata.name",
	} {
		if _, err := api.DecodeDNSRecord("c", []byte(text)); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.HasPrefix(err.Error(), "decode DNSRecord: ") {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
