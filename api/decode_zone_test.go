package api_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
)

const zoneHead = `
apiVersion: kubi.zone/v1alpha1
kind: Zone
metadata: {name: z, namespace: dns, uid: u, generation: 3, creationTimestamp: "2026-01-01T00:00:00Z", labels: {a: b}}
`

func decodeZone(t testing.TB, text string) *api.Zone {
	t.Helper()
	z, err := api.DecodeZone("c", toJSON(t, zoneHead+text))
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// plainZone is what a Zone with nothing but the name example.org. means.
func plainZone() *api.Zone {
	return &api.Zone{
		Meta: api.Meta{
			Name: "dns/z", Cluster: "c", UID: "u", Generation: 3,
			Created: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Unix(),
		},
		DomainName: "example.org.",
		TTL:        360, Refresh: 86400, Retry: 7200, Expire: 3600000, Minimum: 360,
	}
}

func TestDecodeZone(t *testing.T) {
	named := func(domainName, parent string) func(*api.Zone) {
		return func(z *api.Zone) { z.DomainName, z.Parent = domainName, parent }
	}
	tests := []struct {
		name, text string
		want       func(z *api.Zone)
	}{
		{"a name alone", "spec: {domainName: example.org.}", func(*api.Zone) {}},
		{"upper case", "spec: {domainName: Example.ORG.}", func(*api.Zone) {}},
		{"the root", "spec: {domainName: .}", named(".", "")},
		{"below another Zone", "spec: {domainName: Sub, zoneRef: {name: parent}}", named("sub", "dns/parent")},
		{
			"below one of another namespace", "spec: {domainName: sub, zoneRef: {name: example.org, namespace: other}}",
			named("sub", "other/example.org"),
		},
		{"a final dot that is escaped", `spec: {domainName: 'sub\.', zoneRef: {name: parent}}`, named(`sub\.`, "dns/parent")},
		{"a final dot behind an escaped backslash", `spec: {domainName: 'example.org\\.'}`, named(`example.org\\.`, "")},
		{"other letters than A to Z", "spec: {domainName: ÄÖ.example.org.}", named("ÄÖ.example.org.", "")},
		{"null", "spec: {domainName: example.org., zoneRef: null, ttl: null, delegations: null, mname: null}\nstatus: null", func(*api.Zone) {}},
		{
			"as the interface has it", `
spec: {domainName: sub, zoneRef: {name: parent, namespace: dns}, delegations: [{namespaces: [], zones: ["*"], records: [{pattern: "*", types: []}]}],
       ttl: 361, refresh: 86401, retry: 7201, expire: 3600001, negativeResponseCache: 362, mname: NS.example.org., rname: hostmaster.example.org.}
status: {fqdn: example.org., serial: 2026010100, hash: "abc", entries: [{fqdn: example.org., type: SOA, class: IN, ttl: 360, rdata: "…"}], conditions: []}`,
			func(z *api.Zone) {
				*z = api.Zone{
					Meta: z.Meta, DomainName: "sub", Parent: "dns/parent",
					Delegations: []api.Delegation{{Zones: []string{"*"}, Records: []api.RecordDelegation{{Pattern: "*"}}}},
					TTL:         361, Refresh: 86401, Retry: 7201, Expire: 3600001, Minimum: 362,
					Mname: "ns.example.org.", Rname: "hostmaster.example.org.",
					Kept: api.Kept{Hash: "abc", Serial: 2026010100},
				}
			},
		},
		{"the bounds of numbers", "spec: {domainName: example.org., ttl: 0, refresh: 0, retry: 0, expire: 2147483647, " +
			"negativeResponseCache: 2147483647}", func(z *api.Zone) {
			z.TTL, z.Refresh, z.Retry, z.Expire, z.Minimum = 0, 0, 0, 1<<31-1, 1<<31-1
		}},
		{
			"names without a final dot", `spec: {domainName: example.org., mname: ns.example.org, rname: 'John\.Doe.\101.example.org'}`,
			func(z *api.Zone) {
				z.Mname, z.Rname = "ns.example.org.", `john\.doe.e.example.org.`
			},
		},
		{
			"a serial without a hash", "spec: {domainName: example.org.}\nstatus: {serial: 4294967295}",
			func(z *api.Zone) { z.Kept = api.Kept{Serial: 1<<32 - 1} },
		},
		{"a hash without a serial", "spec: {domainName: example.org.}\nstatus: {hash: abc}", func(*api.Zone) {}},
		{"a serial that is none", "spec: {domainName: example.org.}\nstatus: {hash: abc, serial: 4294967296}", func(*api.Zone) {}},
		{"a serial below 0", "spec: {domainName: example.org.}\nstatus: {hash: abc, serial: -1}", func(*api.Zone) {}},
		{"fields that nobody knows", "spec: {domainName: example.org., serial: 5, later: [1]}\nlater: {a: b}", func(*api.Zone) {}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			want := plainZone()
			test.want(want)
			if got := decodeZone(t, test.text); !reflect.DeepEqual(got, want) {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		})
	}
}

const (
	nameless = "spec.domainName is missing: write a name that ends in a dot, such as www.example.org., or one below zoneRef, such as www or @"
	seconds  = ": it is in seconds, from 0 to 2147483647"
	noName   = " is not a domain name: it has labels of 1 to 63 octets with dots between them, and 253 characters at most"
	noChars  = ` is not a domain name: write characters such as a space, "@" or a quote as \ and three digits`
)

// TestDecodeZoneInvalid: what cannot be accepted is said in a sentence that names the
// field, and the rest can be used.
func TestDecodeZoneInvalid(t *testing.T) {
	tests := []struct{ name, spec, invalid string }{
		{"no spec", "", nameless},
		{"no name", "spec: {zoneRef: {name: parent}}", nameless},
		{"an empty name", "spec: {domainName: ''}", nameless},
		{
			"both", "spec: {domainName: Sub.example.org., zoneRef: {name: parent}}",
			`spec.domainName "Sub.example.org." ends in a dot, and there is a zoneRef: leave one of the two out`,
		},
		{
			"neither", "spec: {domainName: Sub}",
			`spec.domainName "Sub" does not end in a dot, and there is no zoneRef to say what it lies below: add one of the two`,
		},
		{
			"neither, as the dot is escaped", `spec: {domainName: 'sub\.'}`,
			`spec.domainName "sub\\." does not end in a dot, and there is no zoneRef to say what it lies below: add one of the two`,
		},
		{
			"the parent's name", "spec: {domainName: '@', zoneRef: {name: parent}}",
			"spec.domainName is @: a zone has a name of its own below its parent",
		},
		{"a reference to nothing", "spec: {domainName: sub, zoneRef: {}}", `spec.zoneRef.name "": write the name of a Zone`},
		{"a reference to no name", "spec: {domainName: sub, zoneRef: {name: a/b}}", `spec.zoneRef.name "a/b": write the name of a Zone`},
		{
			"a reference to a long name", "spec: {domainName: sub, zoneRef: {name: " + strings.Repeat("a", 254) + "}}",
			`spec.zoneRef.name "` + strings.Repeat("a", 64) + `…": write the name of a Zone`,
		},
		{
			"a reference to no namespace", "spec: {domainName: sub, zoneRef: {name: a, namespace: b.c}}",
			`spec.zoneRef.namespace "b.c": write the name of a namespace`,
		},
		{"a reference that is none", "spec: {domainName: sub, zoneRef: parent}", "spec.zoneRef: an object is wanted here, not a string"},
		{
			"a reference that is none beside a whole name", "spec: {domainName: example.org., zoneRef: parent}",
			"spec.zoneRef: an object is wanted here, not a string",
		},
		{
			"a name that is none", "spec: {domainName: no, zoneRef: {name: parent}}",
			"spec.domainName: a string is wanted here, not false: in YAML, put quotes around it",
		},
		{"ttl", "spec: {domainName: example.org., ttl: -1}", "spec.ttl is -1" + seconds},
		{"refresh", "spec: {domainName: example.org., refresh: 2147483648}", "spec.refresh is 2147483648" + seconds},
		{"retry", "spec: {domainName: example.org., retry: 1e30}", "spec.retry is 9223372036854775807" + seconds},
		{"expire", "spec: {domainName: example.org., expire: -1e30}", "spec.expire is -9223372036854775808" + seconds},
		{"negative answers", "spec: {domainName: example.org., negativeResponseCache: -5}", "spec.negativeResponseCache is -5" + seconds},
		{"mname", "spec: {domainName: example.org., mname: ns..example.org.}", `spec.mname "ns..example.org."` + noName},
		{"a long mname", "spec: {domainName: example.org., mname: " + strings.Repeat("a.", 128) + "}", `spec.mname "` +
			strings.Repeat("a.", 32) + `…"` + noName},
		{"an address as rname", "spec: {domainName: example.org., rname: admin@example.org}", `spec.rname "admin@example.org"` + noChars},
		{
			"all of it", "spec: {domainName: sub, ttl: -1, refresh: -1, retry: -1, expire: -1}",
			`spec.domainName "sub" does not end in a dot, and there is no zoneRef to say what it lies below: add one of the two; ` +
				"spec.ttl is -1" + seconds + "; spec.refresh is -1" + seconds + "; spec.retry is -1" + seconds + "; and more",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			z := decodeZone(t, test.spec)
			if z.Invalid != test.invalid || z.Fault != "" {
				t.Errorf("got  %q, fault %q\nwant %q", z.Invalid, z.Fault, test.invalid)
			}
			plain := plainZone()
			if z.Meta.UID != "u" || z.TTL != plain.TTL || z.Refresh != plain.Refresh || z.Retry != plain.Retry ||
				z.Expire != plain.Expire || z.Minimum != plain.Minimum || z.Mname+z.Rname != "" {
				t.Errorf("what is wrong is used: %+v", z)
			}
		})
	}
}

// TestDecodeZoneFaults: what has the wrong type is named, and what stands beside it is
// read.
func TestDecodeZoneFaults(t *testing.T) {
	for text, fault := range map[string]string{
		"spec: {domainName: example.org., ttl: 1h}":      "spec.ttl: a whole number is wanted here, not a string",
		"spec: {domainName: example.org., refresh: 1.5}": "spec.refresh: a whole number is wanted here, not a fraction",
		"spec: {domainName: example.org., mname: 5}": "spec.mname: a string is wanted here, not a number: in YAML, put " +
			"quotes around it",
		"spec: {domainName: example.org., delegations: {}}":        "spec.delegations: a list is wanted here, not an object",
		"spec: {domainName: example.org., delegations: [5]}":       "spec.delegations[0]: an object is wanted here, not a number",
		"spec: {domainName: example.org.}\nstatus: {serial: '5'}":  "status.serial: a whole number is wanted here, not a string",
		"spec: {domainName: example.org.}\nstatus: [{serial: 5}]":  "status: an object is wanted here, not a list",
		"spec: {domainName: example.org.}\nstatus: {hash: [hash]}": "status.hash: a string is wanted here, not a list",
	} {
		want := plainZone()
		want.Fault = fault
		if got := decodeZone(t, text); !reflect.DeepEqual(got, want) {
			t.Errorf("%s\ngot  %+v\nwant %+v", text, got, want)
		}
	}
	// A namespace that cannot be read is not the own one: it is another zone's parent.
	z := decodeZone(t, "spec: {domainName: sub, zoneRef: {name: parent, namespace: no}}")
	if z.Parent != "" || z.Fault != "" || z.Invalid != "spec.zoneRef.namespace: a string is wanted here, not false: in YAML, put "+
		"quotes around it" {
		t.Errorf("%+v", z)
	}
	for text, want := range map[string]string{
		"{":                           "read JSON",
		"{}":                          "metadata.name is missing",
		`{"metadata":{"name":"A/b"}}`: "metadata.name",
	} {
		if _, err := api.DecodeZone("c", []byte(text)); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.HasPrefix(err.Error(), "decode Zone: ") {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestDecodeDelegations(t *testing.T) {
	record := func(pattern string, types ...string) []api.RecordDelegation {
		return []api.RecordDelegation{{Pattern: pattern, Types: types}}
	}
	tests := []struct {
		name, text string
		want       []api.Delegation
	}{
		{"none", "[]", nil},
		{"case B", `[{namespaces: [dev], records: [{pattern: "*.dev"}]}, {namespaces: [mail], records: [{pattern: "*.mail", types: [A, AAAA]}, {pattern: "*", types: [MX]}]}, {zones: ["team*"]}]`, []api.Delegation{
			{Namespaces: []string{"dev"}, Records: record("*.dev")},
			{Namespaces: []string{"mail"}, Records: []api.RecordDelegation{
				{Pattern: "*.mail", Types: []string{"A", "AAAA"}},
				{Pattern: "*", Types: []string{"MX"}},
			}},
			{Zones: []string{"team*"}},
		}},
		{"case B14", `[{records: [{pattern: "@", types: [mx]}]}]`, []api.Delegation{{Records: record("@", "MX")}}},
		{"upper case", `[{zones: [TEAM*], records: [{pattern: Ex*LE, types: [a, type65280, Txt]}]}]`, []api.Delegation{
			{Zones: []string{"team*"}, Records: record("ex*le", "A", "TYPE65280", "TXT")},
		}},
		{"escapes", `[{records: [{pattern: '\097\.b.\*.\032x'}]}]`, []api.Delegation{{Records: record(`a\.b.*.\ x`)}}},
		{"a star that is not leading", `[{records: [{pattern: 'a.*.w'}]}]`, []api.Delegation{{Records: record("a.*.w")}}},
		{"null", "[null, {namespaces: null, zones: null, records: [null, {pattern: a, types: null}]}]", []api.Delegation{{Records: record("a")}}},
		{"what allows nothing", `[{}, {namespaces: [dev]}, {zones: [], records: []}, {zones: [a]}]`, []api.Delegation{{Zones: []string{"a"}}}},
		{
			"the last of two", `[{zones: [a], zones: [b], records: [{pattern: a, pattern: c}]}]`,
			[]api.Delegation{{Zones: []string{"b"}, Records: record("c")}},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			text := toJSON(t, zoneHead+"spec: {domainName: example.org., delegations: DELEGATIONS}")
			list := string(toJSON(t, "["+test.text+"]"))
			if test.name == "the last of two" { // YAML has no such thing
				list = `[[{"zones":["a"],"zones":["b"],"records":[{"pattern":"a","pattern":"c"}]}]]`
			}
			z, err := api.DecodeZone("c", []byte(strings.Replace(string(text), `"DELEGATIONS"`, list[1:len(list)-1], 1)))
			if err != nil {
				t.Fatal(err)
			}
			wantFault := ""
			if test.name == "null" {
				wantFault = "spec.delegations[1].records[0]: there is no pattern that could match: it allows nothing"
			}
			if !reflect.DeepEqual(z.Delegations, test.want) || z.Invalid != "" || z.Fault != wantFault {
				t.Errorf("got  %+v, invalid %q, fault %q\nwant %+v", z.Delegations, z.Invalid, z.Fault, test.want)
			}
		})
	}
}

// TestDecodeDelegationFaults: what can never match is left out and named, and what
// cannot be read never allows more than what was meant.
func TestDecodeDelegationFaults(t *testing.T) {
	const (
		at       = "spec.delegations[0]"
		never    = " can never match: "
		misspelt = at + ": what it is meant to be limited to is not known: it allows nothing"
		nobody   = at + ": none of its namespaces can be used: it allows nothing"
		nothing  = at + ".records[0]: there is no pattern that could match: it allows nothing"
		types    = at + ".records[0]: none of its types can be used: it allows nothing"
	)
	good := api.Delegation{Records: []api.RecordDelegation{{Pattern: "a"}}}
	long := strings.Repeat("a.", 127) + "a"
	tests := []struct{ delegation, fault string }{
		{`{records: [{pattern: a.}]}`, at + `.records[0].pattern: "a."` + never +
			"patterns are relative to the zone: leave the final dot out; " + nothing},
		{`{records: [{pattern: a..b}]}`, at + `.records[0].pattern: "a..b"` + never + "it" + noName + "; " + nothing},
		{`{records: [{pattern: .a}]}`, at + `.records[0].pattern: ".a"` + never + "it" + noName + "; " + nothing},
		{`{records: [{pattern: .}]}`, at + `.records[0].pattern: "."` + never +
			"patterns are relative to the zone: leave the final dot out; " + nothing},
		{`{records: [{pattern: ''}]}`, at + `.records[0].pattern: ""` + never + "it" + noName + "; " + nothing},
		{`{records: [{pattern: ` + long + `}]}`, at + `.records[0].pattern: "` + long[:64] + `…"` + never + "it" + noName + "; " + nothing},
		{`{records: [{pattern: ` + strings.Repeat("a", 64) + `}]}`, at + `.records[0].pattern: "` + strings.Repeat("a", 64) + `"` +
			never + "it" + noName + "; " + nothing},
		{`{records: [{pattern: www.@}]}`, at + `.records[0].pattern: "www.@"` + never + "it" + noChars + "; " + nothing},
		{`{records: [{types: [A]}]}`, nothing},
		{`{records: [{pattern: 5}]}`, at + ".records[0].pattern: a string is wanted here, not a number: in YAML, put quotes around " +
			"it; " + nothing},
		{`{namespace: [dev], zones: [a]}`, at + ".namespace: there is no such field: there are namespaces, zones and records; " + misspelt},
		{`{namespace: null, zones: [a]}`, at + ".namespace: there is no such field: there are namespaces, zones and records; " + misspelt},
		{`{namespaces: [dev], records: [{pattern: a, type: {A: B}}]}`, at +
			".records[0].type: there is no such field: there are pattern and types; " +
			at + ".records[0]: what it is meant to be limited to is not known: it allows nothing"},
		{`{records: {pattern: a}}`, at + ".records: a list is wanted here, not an object"},
		{`{zones: ['@']}`, at + `.zones[0]: "@"` + never + "a zone has a name of its own below its parent"},
		{`{zones: [a.]}`, at + `.zones[0]: "a."` + never + "patterns are relative to the zone: leave the final dot out"},
		{`{namespaces: [no], zones: [a]}`, at + ".namespaces[0]: a string is wanted here, not false: in YAML, put quotes around it; " + nobody},
		{`{namespaces: dev, zones: [a]}`, at + ".namespaces: a list is wanted here, not a string; " + nobody},
		{`{namespaces: [null], zones: [a]}`, nobody},
		{`{namespaces: [Dev], zones: [a]}`, at + `.namespaces[0]: "Dev"` + never + "it is not the name of a namespace; " + nobody},
		{`{namespaces: ['*'], zones: [a]}`, at + `.namespaces[0]: "*"` + never + "it is not the name of a namespace; " + nobody},
		{`{records: [{pattern: a, types: [5]}]}`, at +
			".records[0].types[0]: a string is wanted here, not a number: in YAML, put quotes around it; " + types},
		{`{records: [{pattern: a, types: A}]}`, at + ".records[0].types: a list is wanted here, not a string; " + types},
		{`{records: [{pattern: a, types: [ANY]}]}`, at + `.records[0].types[0]: "ANY"` + never +
			"write a type such as A, or leave types out for all; " + types},
		{`{records: [{pattern: a, types: [TYPE, TYPE123456]}]}`, at + `.records[0].types[0]: "TYPE"` + never +
			"write a type such as A, or leave types out for all; " +
			at + `.records[0].types[1]: "TYPE123456"` + never + "write a type such as A, or leave types out for all; " + types},
	}
	for _, test := range tests {
		t.Run(test.delegation[:min(len(test.delegation), 60)], func(t *testing.T) {
			z := decodeZone(t, fmt.Sprintf("spec: {domainName: example.org., delegations: [%s, {records: [{pattern: a}]}]}", test.delegation))
			if !reflect.DeepEqual(z.Delegations, []api.Delegation{good}) {
				t.Errorf("delegations %+v", z.Delegations)
			}
			if z.Fault != test.fault || z.Invalid != "" {
				t.Errorf("got  %q, invalid %q\nwant %q", z.Fault, z.Invalid, test.fault)
			}
		})
	}
	// Of a list, what can be used counts.
	z := decodeZone(t, "spec: {domainName: example.org., delegations: [{namespaces: [5, dev], records: [{pattern: a, types: [WHAT, "+
		"A]}, {pattern: b.}, {pattern: c}]}]}")
	want := []api.Delegation{{Namespaces: []string{"dev"}, Records: []api.RecordDelegation{
		{Pattern: "a", Types: []string{"A"}},
		{Pattern: "c"},
	}}}
	if !reflect.DeepEqual(z.Delegations, want) || !strings.Contains(z.Fault, at+".namespaces[0]") ||
		!strings.Contains(z.Fault, at+".records[1].pattern") {
		t.Errorf("%+v, fault %q", z.Delegations, z.Fault)
	}
}
