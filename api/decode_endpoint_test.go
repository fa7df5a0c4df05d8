package api_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

const endpointHead = `
apiVersion: externaldns.k8s.io/v1alpha1
kind: DNSEndpoint
metadata: {name: a, namespace: team-a, uid: u, generation: 3, labels: {a: b}}
`

func decodeDNSEndpoint(t testing.TB, text string) *api.DNSEndpoint {
	t.Helper()
	e, err := api.DecodeDNSEndpoint("c", toJSON(t, endpointHead+text))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// oneEndpoint decodes an object with one endpoint.
func oneEndpoint(t testing.TB, text string) *api.DNSEndpoint {
	t.Helper()
	return decodeDNSEndpoint(t, "spec: {endpoints: ["+text+"]}")
}

func TestDecodeEndpoint(t *testing.T) {
	plain := func() api.Endpoint {
		return api.Endpoint{DNSName: "app.example.org.", Type: "A", Targets: []string{"192.0.2.1"}, Weight: api.NoWeight}
	}
	tests := []struct {
		name, text string
		want       func(e *api.Endpoint)
	}{
		{"the least", "{dnsName: app.example.org, recordType: A, targets: [192.0.2.1]}", func(*api.Endpoint) {}},
		{
			"case G", "{dnsName: app.example.org, recordType: A, recordTTL: 60, targets: [1.1.1.1]}",
			func(e *api.Endpoint) { e.TTL, e.Targets = 60, []string{"1.1.1.1"} },
		},
		{"a final dot and upper case", "{dnsName: App.Example.ORG., recordType: a, targets: [192.0.2.1]}", func(*api.Endpoint) {}},
		{"a wildcard", "{dnsName: '*.example.org', recordType: A, targets: [192.0.2.1]}", func(e *api.Endpoint) { e.DNSName = "*.example.org." }},
		{
			"escapes", `{dnsName: '\065pp.a\.b\046.example.org\.', recordType: A, targets: [192.0.2.1]}`,
			func(e *api.Endpoint) { e.DNSName = `app.a\.b\..example.org\..` },
		},
		{"a TTL of 0", "{dnsName: app.example.org, recordType: A, recordTTL: 0, targets: [192.0.2.1]}", func(*api.Endpoint) {}},
		{
			"the longest TTL", "{dnsName: app.example.org, recordType: A, recordTTL: 2147483647, targets: [192.0.2.1]}",
			func(e *api.Endpoint) { e.TTL = 1<<31 - 1 },
		},
		{"targets as written, in their order", "{dnsName: app.example.org, recordType: cname, targets: [LB.example.net., a, " +
			"LB.example.net.]}", func(e *api.Endpoint) {
			e.Type, e.Targets = "CNAME", []string{"LB.example.net.", "a", "LB.example.net."}
		}},
		{
			"as Kuadrant's operators write a member",
			`{dnsName: ie.klb.app.example.org, recordType: CNAME, recordTTL: 60, targets: [c-n.klb.app.example.org], setIdentifier: c-n.klb.app.example.org, labels: {owner: x}, providerSpecific: [{name: weight, value: "120"}]}`, func(e *api.Endpoint) {
				*e = api.Endpoint{
					DNSName: "ie.klb.app.example.org.", Type: "CNAME", TTL: 60, Targets: []string{"c-n.klb.app.example.org"},
					SetID: "c-n.klb.app.example.org", Weight: 120,
				}
			},
		},
		{
			"the default geography",
			`{dnsName: klb.app.example.org, recordType: CNAME, targets: [ie.klb.app.example.org], setIdentifier: default, providerSpecific: [{name: geo-code, value: "*"}]}`, func(e *api.Endpoint) {
				*e = api.Endpoint{
					DNSName: "klb.app.example.org.", Type: "CNAME", Targets: []string{"ie.klb.app.example.org"},
					SetID: "default", Weight: api.NoWeight, Geo: "*",
				}
			},
		},
		{
			"a geography",
			`{dnsName: app.example.org, recordType: A, targets: [192.0.2.1], setIdentifier: IE, providerSpecific: [{name: geo-code, value: ie}]}`,
			func(e *api.Endpoint) { e.SetID, e.Geo = "IE", "IE" },
		},
		{
			"a weight for AWS",
			`{dnsName: app.example.org, recordType: A, targets: [192.0.2.1], providerSpecific: [{name: aws/weight, value: "0"}]}`,
			func(e *api.Endpoint) { e.Weight = 0 },
		},
		{
			"both weights",
			`{dnsName: app.example.org, recordType: A, targets: [192.0.2.1], providerSpecific: [{name: aws/weight, value: x}, {name: weight, value: "2147483647"}]}`, func(e *api.Endpoint) { e.Weight = 1<<31 - 1 },
		},
		{
			"a weight twice",
			`{dnsName: app.example.org, recordType: A, targets: [192.0.2.1], providerSpecific: [{name: weight, value: "1"}, {name: weight, value: "2"}]}`, func(e *api.Endpoint) { e.Weight = 1 },
		},
		{
			"properties of others",
			`{dnsName: app.example.org, recordType: A, targets: [192.0.2.1], providerSpecific: [{name: alias, value: true}, {value: "5"}, {name: health}, null]}`, func(*api.Endpoint) {},
		},
		{
			"an empty geography", `{dnsName: app.example.org, recordType: A, targets: [192.0.2.1], providerSpecific: [{name: geo-code, value: ""}]}`,
			func(*api.Endpoint) {},
		},
		{"null", "{dnsName: app.example.org, recordType: A, targets: [192.0.2.1, null], recordTTL: null, setIdentifier: null, " +
			"providerSpecific: null, labels: null}", func(*api.Endpoint) {}},
		{
			"fields that nobody knows", "{dnsName: app.example.org, recordType: A, targets: [192.0.2.1], later: 5, labels: [5]}",
			func(*api.Endpoint) {},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			e := plain()
			test.want(&e)
			want := &api.DNSEndpoint{Meta: api.Meta{Name: "team-a/a", Cluster: "c", UID: "u", Generation: 3}, Endpoints: []api.Endpoint{e}}
			if got := oneEndpoint(t, test.text); !reflect.DeepEqual(got, want) {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		})
	}
}

// TestDecodeEndpointFaults: an endpoint that cannot be used is left out and named, and
// those beside it are kept.
func TestDecodeEndpointFaults(t *testing.T) {
	const (
		at     = "spec.endpoints[1]"
		out    = ": the endpoint is left out"
		weight = ": a weight is a whole number from 0 to 2147483647, in quotes" + out
		code   = ": a code such as GEO-EU, IE or US-CA, or *, is wanted here, in quotes" + out
	)
	long := strings.Repeat("a.", 127) + "aa"
	tests := []struct{ text, fault string }{
		{"{recordType: A, targets: [192.0.2.1]}", at + ".dnsName is missing" + out},
		{"null", at + ".dnsName is missing" + out},
		{"5", at + ": an object is wanted here, not a number"},
		{"{dnsName: 5, recordType: A, targets: [192.0.2.1]}", at +
			".dnsName: a string is wanted here, not a number: in YAML, put quotes around it"},
		{"{dnsName: a..b, recordType: A, targets: [192.0.2.1]}", at + `.dnsName "a..b"` + noName + out},
		{"{dnsName: " + long + ", recordType: A, targets: [192.0.2.1]}", at + `.dnsName "` + long[:64] + `…"` + noName + out},
		{"{dnsName: '@', recordType: A, targets: [192.0.2.1]}", at + `.dnsName "@"` + noChars + out},
		{"{dnsName: a b.c, recordType: A, targets: [192.0.2.1]}", at + `.dnsName "a b.c"` + noChars + out},
		{"{dnsName: ä.example.org, recordType: A, targets: [192.0.2.1]}", at +
			`.dnsName "ä.example.org" has characters beyond ASCII: write xn--4ca.example.org, the form that is looked up (RFC 5891)` + out},
		{`{dnsName: 'a\', recordType: A, targets: [192.0.2.1]}`, at + `.dnsName "a\\"` + noName + out},
		{"{dnsName: b.example.org, targets: [192.0.2.1]}", at + ".recordType is missing" + out},
		{"{dnsName: b.example.org, recordType: [A], targets: [192.0.2.1]}", at + ".recordType: a string is wanted here, not a list"},
		{"{dnsName: b.example.org, recordType: A}", at + ".targets: there is none" + out},
		{"{dnsName: b.example.org, recordType: A, targets: []}", at + ".targets: there is none" + out},
		{"{dnsName: b.example.org, recordType: A, targets: 192.0.2.1}", at + ".targets: a list is wanted here, not a string; " + at +
			".targets: there is none" + out},
		{"{dnsName: b.example.org, recordType: A, targets: [5]}", at +
			".targets[0]: a string is wanted here, not a number: in YAML, put quotes around it; " + at + ".targets: there is none" + out},
		{"{dnsName: b.example.org, recordType: A, targets: ['']}", at + ".targets[0]: the target is empty; " + at +
			".targets: there is none" + out},
		{"{dnsName: b.example.org, recordType: A, recordTTL: -1, targets: [192.0.2.1]}", at + ".recordTTL is -1" + seconds + out},
		{"{dnsName: b.example.org, recordType: A, recordTTL: 2147483648, targets: [192.0.2.1]}", at + ".recordTTL is 2147483648" + seconds + out},
		{"{dnsName: b.example.org, recordType: A, recordTTL: 1m, targets: [192.0.2.1]}", at +
			".recordTTL: a whole number is wanted here, not a string"},
		{"{dnsName: b.example.org, recordType: A, targets: [192.0.2.1], setIdentifier: 5}", at +
			".setIdentifier: a string is wanted here, not a number: in YAML, put quotes around it"},
		{"{dnsName: b.example.org, recordType: A, targets: [192.0.2.1], providerSpecific: {}}", at +
			".providerSpecific: a list is wanted here, not an object"},
		{"{dnsName: b.example.org, recordType: A, targets: [192.0.2.1], providerSpecific: [{name: weight, value: 120}]}", at +
			".providerSpecific[0].value is a number" + weight},
		{"{dnsName: b.example.org, recordType: A, targets: [192.0.2.1], providerSpecific: [{name: weight, value: '-1'}]}", at +
			`.providerSpecific[0].value "-1"` + weight},
		{
			"{dnsName: b.example.org, recordType: A, targets: [192.0.2.1], providerSpecific: [{name: weight, value: '2147483648'}]}",
			at + `.providerSpecific[0].value "2147483648"` + weight,
		},
		{"{dnsName: b.example.org, recordType: A, targets: [192.0.2.1], providerSpecific: [{name: alias, value: x}, {name: " +
			"aws/weight, value: much}]}", at + `.providerSpecific[1].value "much"` + weight},
		{"{dnsName: b.example.org, recordType: A, targets: [192.0.2.1], providerSpecific: [{name: weight}]}", at +
			`.providerSpecific[0].value ""` + weight},
		{"{dnsName: b.example.org, recordType: A, targets: [192.0.2.1], providerSpecific: [{name: geo-code, value: no}]}", at +
			".providerSpecific[0].value is false" + code},
		{"{dnsName: b.example.org, recordType: A, targets: [192.0.2.1], providerSpecific: [{name: geo-code, value: a.klb}]}", at +
			`.providerSpecific[0].value "a.klb"` + code},
		{"{dnsName: b.example.org, recordType: A, targets: [192.0.2.1], providerSpecific: [{name: geo-code, value: " +
			strings.Repeat("a", 64) + "}]}", at + `.providerSpecific[0].value "` + strings.Repeat("a", 64) + `"` + code},
	}
	for _, test := range tests {
		t.Run(test.text[:min(len(test.text), 100)], func(t *testing.T) {
			e := decodeDNSEndpoint(t, fmt.Sprintf("spec: {endpoints: [{dnsName: a.example.org, recordType: A, targets: [192.0.2.1]}, %s, "+
				"{dnsName: c.example.org, recordType: A, targets: [192.0.2.1]}]}", test.text))
			if len(e.Endpoints) != 2 || e.Endpoints[0].DNSName != "a.example.org." || e.Endpoints[1].DNSName != "c.example.org." {
				t.Errorf("endpoints %+v", e.Endpoints)
			}
			if e.Fault != test.fault || e.Invalid != "" {
				t.Errorf("got  %q, invalid %q\nwant %q", e.Fault, e.Invalid, test.fault)
			}
		})
	}
	// A target that cannot be read does not concern the others.
	e := oneEndpoint(t, "{dnsName: a.example.org, recordType: A, targets: [5, 192.0.2.1, '', 192.0.2.2]}")
	if len(e.Endpoints) != 1 || !reflect.DeepEqual(e.Endpoints[0].Targets, []string{"192.0.2.1", "192.0.2.2"}) ||
		e.Fault != "spec.endpoints[0].targets[0]: a string is wanted here, not a number: in YAML, put quotes around it; "+
			"spec.endpoints[0].targets[2]: the target is empty" {
		t.Errorf("%+v", e)
	}
}

// TestDecodeManyEndpoints: there is a bound, and what lies within it is kept.
func TestDecodeManyEndpoints(t *testing.T) {
	list := func(n int, entry func(i int) string) string {
		all := make([]string, n)
		for i := range all {
			all[i] = entry(i)
		}
		return "[" + strings.Join(all, ",") + "]"
	}
	decode := func(endpoints, targets int) *api.DNSEndpoint {
		to := list(targets, func(i int) string { return fmt.Sprintf(`"192.0.%d.%d"`, i/256, i%256) })
		e, err := api.DecodeDNSEndpoint("c", []byte(`{"metadata":{"name":"a"},"spec":{"endpoints":`+list(endpoints, func(i int) string {
			return fmt.Sprintf(`{"dnsName":"a%d.example.org","recordType":"A","targets":%s}`, i, to)
		})+`}}`))
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	for _, test := range []struct {
		endpoints, targets int
		fault              string
	}{
		{1000, 1, ""},
		{1003, 1, "spec.endpoints[1000]: it is left out, with all behind it: 1000 endpoints are read"},
		{1, 1000, ""},
		{1, 1003, "spec.endpoints[0].targets[1000]: it is left out, with all behind it: 1000 targets are read"},
	} {
		e := decode(test.endpoints, test.targets)
		if len(e.Endpoints) != min(1000, test.endpoints) || len(e.Endpoints[0].Targets) != min(1000, test.targets) || e.Fault != test.fault {
			t.Errorf("%d with %d: %d endpoints with %d targets, fault %q", test.endpoints, test.targets, len(e.Endpoints),
				len(e.Endpoints[0].Targets), e.Fault)
		}
	}
}

func TestDecodeDNSEndpoint(t *testing.T) {
	const missing = "spec.endpoints is missing: write a list of endpoints"
	for text, want := range map[string]struct{ invalid, fault string }{
		"":                                {missing, ""},
		"spec: {}":                        {missing, ""},
		"spec: {endpoints: null}":         {missing, ""},
		"spec: {endpoints: []}":           {"", ""},
		"spec: {endpoints: {a: b}}":       {missing, "spec.endpoints: a list is wanted here, not an object"},
		"spec: []":                        {missing, "spec: an object is wanted here, not a list"},
		"status: {observedGeneration: x}": {missing, ""},
	} {
		e := decodeDNSEndpoint(t, text)
		if e.Invalid != want.invalid || e.Fault != want.fault || e.Endpoints != nil || e.Labels != nil {
			t.Errorf("%q: %+v", text, e)
		}
	}
	for text, want := range map[string]string{
		"{":                           "read JSON",
		"{}":                          "metadata.name is missing",
		`{"metadata":{"name":"A/b"}}`: "metadata.name",
	} {
		if _, err := api.DecodeDNSEndpoint("c", []byte(text)); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.HasPrefix(err.Error(), "decode DNSEndpoint: ") {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
