package api_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
)

const recordHead = `
apiVersion: kubi.zone/v1alpha1
kind: Record
metadata: {name: www-a, namespace: dns, uid: u, generation: 3, creationTimestamp: "2026-01-01T00:00:00Z", labels: {a: b}}
`

func decodeRecord(t testing.TB, text string) *api.Record {
	t.Helper()
	r, err := api.DecodeRecord("c", toJSON(t, recordHead+text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// plainRecord is what a Record with nothing but what it must have means.
func plainRecord() *api.Record {
	return &api.Record{
		Meta: api.Meta{
			Name: "dns/www-a", Cluster: "c", UID: "u", Generation: 3,
			Created: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Unix(),
		},
		DomainName: "www.example.org.", Type: "A", Class: "IN", TTL: api.NoTTL, RData: "192.0.2.1",
	}
}

func TestDecodeRecord(t *testing.T) {
	named := func(domainName, parent string) func(*api.Record) {
		return func(r *api.Record) { r.DomainName, r.Parent = domainName, parent }
	}
	tests := []struct {
		name, spec string
		want       func(r *api.Record)
	}{
		{"an absolute name", "{domainName: www.example.org., type: A, rdata: 192.0.2.1}", func(*api.Record) {}},
		{"upper case", "{domainName: WWW.Example.ORG., type: a, class: in, rdata: 192.0.2.1}", func(*api.Record) {}},
		{"a relative name", "{domainName: www, zoneRef: {name: example-org}, type: A, rdata: 192.0.2.1}", named("www", "dns/example-org")},
		{
			"the end of the object's name", "{domainName: www-a, zoneRef: {name: example-org}, type: A, rdata: 192.0.2.1}",
			named("www-a", "dns/example-org"),
		},
		{
			"less than that", "{domainName: a, zoneRef: {name: example-org, namespace: other}, type: A, rdata: 192.0.2.1}",
			named("a", "other/example-org"),
		},
		{"the apex", "{domainName: '@', zoneRef: {name: example-org}, type: A, rdata: 192.0.2.1}", named("@", "dns/example-org")},
		{"case A20", "{domainName: a.*.w, zoneRef: {name: example-org}, type: A, rdata: 192.0.2.1}", named("a.*.w", "dns/example-org")},
		{"ttl", "{domainName: www.example.org., type: A, ttl: 60, rdata: 192.0.2.1}", func(r *api.Record) { r.TTL = 60 }},
		{"case C17", "{domainName: www.example.org., type: A, ttl: 0, rdata: 192.0.2.1}", func(r *api.Record) { r.TTL = 0 }},
		{
			"the longest ttl", "{domainName: www.example.org., type: A, ttl: 2147483647, rdata: 192.0.2.1}",
			func(r *api.Record) { r.TTL = 1<<31 - 1 },
		},
		{"null", "{domainName: www.example.org., zoneRef: null, type: A, class: null, ttl: null, rdata: 192.0.2.1}", func(*api.Record) {}},
		{
			"data of its own", `{domainName: www.example.org., type: TXT, rdata: '"A \"b\"" c'}`,
			func(r *api.Record) { r.Type, r.RData = "TXT", `"A \"b\"" c` },
		},
		{"data without octets", "{domainName: www.example.org., type: APL, rdata: ''}", func(r *api.Record) { r.Type, r.RData = "APL", "" }},
		{
			"what only the zone can tell", "{domainName: www.example.org., type: what, class: ch, rdata: x}",
			func(r *api.Record) { r.Type, r.Class, r.RData = "WHAT", "CH", "x" },
		},
		{
			"fields that nobody knows", "{domainName: www.example.org., type: A, rdata: 192.0.2.1, later: [1]}\nstatus: {fqdn: x}",
			func(*api.Record) {},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			want := plainRecord()
			test.want(want)
			for range 2 { // the data is known the second time
				if got := decodeRecord(t, "spec: "+test.spec); !reflect.DeepEqual(got, want) {
					t.Errorf("got  %+v\nwant %+v", got, want)
				}
			}
		})
	}
}

func TestDecodeRecordInvalid(t *testing.T) {
	const missing = nameless + "; spec.type is missing: write the type of the record, such as A; spec.rdata is missing: write the " +
		"data of the record, such as 192.0.2.1"
	tests := []struct{ name, spec, invalid string }{
		{"no spec", "", missing},
		{"nothing", "spec: {}", missing},
		{
			"case A5", "spec: {domainName: x.example.org., zoneRef: {name: example-org}, type: A, rdata: 192.0.2.1}",
			`spec.domainName "x.example.org." ends in a dot, and there is a zoneRef: leave one of the two out`,
		},
		{
			"neither", "spec: {domainName: x, type: A, rdata: 192.0.2.1}",
			`spec.domainName "x" does not end in a dot, and there is no zoneRef to say what it lies below: add one of the two`,
		},
		{
			"the apex of nothing", "spec: {domainName: '@', type: A, rdata: 192.0.2.1}",
			`spec.domainName "@" does not end in a dot, and there is no zoneRef to say what it lies below: add one of the two`,
		},
		{"ttl", "spec: {domainName: x.example.org., type: A, ttl: -1, rdata: 192.0.2.1}", "spec.ttl is -1" + seconds},
		{"a long ttl", "spec: {domainName: x.example.org., type: A, ttl: 2147483648, rdata: 192.0.2.1}", "spec.ttl is 2147483648" + seconds},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := decodeRecord(t, test.spec)
			if r.Invalid != test.invalid || r.Fault != "" {
				t.Errorf("got  %q, fault %q\nwant %q", r.Invalid, r.Fault, test.invalid)
			}
			if r.Name != "dns/www-a" || r.UID != "u" || r.TTL != api.NoTTL || r.Class != "IN" {
				t.Errorf("%+v", r)
			}
		})
	}
}

func TestDecodeRecordFaults(t *testing.T) {
	for text, want := range map[string]func(*api.Record){
		"spec: {domainName: www.example.org., type: A, ttl: 1m, rdata: 192.0.2.1}": func(r *api.Record) {
			r.Fault = "spec.ttl: a whole number is wanted here, not a string"
		},
		"spec: {domainName: www.example.org., type: A, class: 5, rdata: 192.0.2.1}": func(r *api.Record) {
			r.Fault = "spec.class: a string is wanted here, not a number: in YAML, put quotes around it"
		},
		"spec: {domainName: www.example.org., type: A, rdata: 5}": func(r *api.Record) {
			r.RData = "" // not "is missing": there it stands
			r.Invalid = "spec.rdata: a string is wanted here, not a number: in YAML, put quotes around it"
		},
		"spec: []": func(r *api.Record) {
			r.DomainName, r.Type, r.RData = "", "", ""
			r.Invalid = nameless + "; spec.type is missing: write the type of the record, such as A; spec.rdata is missing: write the " +
				"data of the record, such as 192.0.2.1"
			r.Fault = "spec: an object is wanted here, not a list"
		},
	} {
		r := plainRecord()
		want(r)
		if got := decodeRecord(t, text); !reflect.DeepEqual(got, r) {
			t.Errorf("%s\ngot  %+v\nwant %+v", text, got, r)
		}
	}
	for text, want := range map[string]string{
		"{":                           "read JSON",
		"{}":                          "metadata.name is missing",
		`{"metadata":{"name":"A/b"}}`: "metadata.name",
	} {
		if _, err := api.DecodeRecord("c", []byte(text)); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.HasPrefix(err.Error(), "decode Record: ") {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
