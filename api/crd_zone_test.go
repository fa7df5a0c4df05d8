package api_test

import (
	"strings"
)

const (
	zoneCRD   = "config/crd/kubi.zone_zones.yaml"
	recordCRD = "config/crd/kubi.zone_records.yaml"
)

// placeRules are about where a Zone or a Record lies. more holds the other fields that
// the kind must have.
func placeRules(kind, more string) []rule {
	const xor = "domainName ends in a dot, or there is a zoneRef that it lies below: one of the two, and not both"
	list := []rule{
		{name: "absolute", spec: "domainName: example.org."},
		{name: "relative", spec: "domainName: sub, zoneRef: {name: parent}"},
		{name: "relative to another namespace", spec: "domainName: sub, zoneRef: {name: example.org, namespace: dns}"},
		{name: "relative to the own namespace", spec: "domainName: sub, zoneRef: {name: parent, namespace: ''}"},
		{name: "both", spec: "domainName: example.org., zoneRef: {name: parent}", refused: xor},
		{name: "neither", spec: "domainName: sub", refused: xor},
		{name: "a dot that is escaped", spec: `domainName: 'sub\.'`, refused: xor},
		{name: "a dot that is escaped, and a zoneRef", spec: `domainName: 'sub\.', zoneRef: {name: parent}`},
		{name: "a dot behind a backslash", spec: `domainName: 'example.org\\.'`},
		{name: "a dot behind a backslash, and a zoneRef", spec: `domainName: 'sub\\.', zoneRef: {name: parent}`, refused: xor},
		{name: "the root", spec: "domainName: ."},
		{name: "a dot alone that is escaped", spec: `domainName: '\.', zoneRef: {name: parent}`},
		{name: "no name", spec: "zoneRef: {name: parent}", refused: "spec.domainName: Required value"},
		{
			name: "an empty name", spec: "domainName: '', zoneRef: {name: parent}",
			refused: "spec.domainName in body should be at least 1 chars long",
		},
		{name: "a reference to nothing", spec: "domainName: sub, zoneRef: {}", refused: "spec.zoneRef.name: Required value"},
		{name: "a reference to no name", spec: "domainName: sub, zoneRef: {name: a/b}", refused: "spec.zoneRef.name in body should match"},
		{
			name: "a reference to no namespace", spec: "domainName: sub, zoneRef: {name: a, namespace: b.c}",
			refused: "spec.zoneRef.namespace in body should match",
		},
	}
	for _, n := range []string{"-1", "2147483648", "1h"} {
		list = append(list, rule{name: "ttl " + n, spec: "domainName: example.org., ttl: " + n, refused: "spec.ttl"})
	}
	for _, n := range []string{"0", "2147483647"} {
		list = append(list, rule{name: "ttl " + n, spec: "domainName: example.org., ttl: " + n})
	}
	for i := range list {
		list[i].name, list[i].kind, list[i].spec = kind+": "+list[i].name, kind, "{"+list[i].spec+more+"}"
	}
	return list
}

func zoneRules() []rule {
	list := []rule{
		{
			name: "the parent's name", spec: "domainName: '@', zoneRef: {name: parent}",
			refused: "domainName is @: a zone has a name of its own below its parent",
		},
		{name: "numbers", spec: "domainName: example.org., refresh: 1, retry: 2, expire: 3, negativeResponseCache: 0"},
		{name: "refresh", spec: "domainName: example.org., refresh: -1", refused: "spec.refresh"},
		{name: "retry", spec: "domainName: example.org., retry: 2147483648", refused: "spec.retry"},
		{name: "expire", spec: "domainName: example.org., expire: soon", refused: "spec.expire"},
		{name: "negativeResponseCache", spec: "domainName: example.org., negativeResponseCache: -1", refused: "spec.negativeResponseCache"},
		{name: "servers", spec: `domainName: example.org., mname: NS.example.org, rname: 'john\.doe.example.org.'`},
		{name: "the root as mname", spec: "domainName: example.org., mname: ."},
		{name: "mname", spec: "domainName: example.org., mname: a..b", refused: "spec.mname in body should match"},
		{name: "rname", spec: "domainName: example.org., rname: admin@example.org", refused: "spec.rname in body should match"},
		{name: "a long label", spec: "domainName: example.org., mname: " + strings.Repeat("a", 64), refused: "spec.mname in body should match"},

		{
			name: "delegations",
			spec: `domainName: example.org., delegations: [{namespaces: [dev], zones: ["*", team*, a.*.b], records: [{pattern: "*", types: [A, type65280]}, {pattern: "@"}, {pattern: ex*le}]}, {}]`,
		},
		{
			name: "no pattern", spec: "domainName: example.org., delegations: [{records: [{types: [A]}]}]",
			refused: "spec.delegations[0].records[0].pattern: Required value",
		},
		{
			name: "an empty pattern", spec: "domainName: example.org., delegations: [{records: [{pattern: ''}]}]",
			refused: "spec.delegations[0].records[0].pattern in body should match",
		},
		{
			name: "an absolute pattern", spec: "domainName: example.org., delegations: [{records: [{pattern: a.}]}]",
			refused: "spec.delegations[0].records[0].pattern in body should match",
		},
		{
			name: "an absolute pattern of zones", spec: "domainName: example.org., delegations: [{zones: [a.]}]",
			refused: "spec.delegations[0].zones[0] in body should match",
		},
		{
			name: "an empty label", spec: "domainName: example.org., delegations: [{zones: [a..b]}]",
			refused: "spec.delegations[0].zones[0] in body should match",
		},
		{name: "the zone itself as a zone", spec: "domainName: example.org., delegations: [{zones: ['@']}]", decodeAlone: true},
		{
			name: "namespace", spec: "domainName: example.org., delegations: [{namespaces: [Dev], zones: [a]}]",
			refused: "spec.delegations[0].namespaces[0] in body should match",
		},
		{
			name: "namespaces", spec: "domainName: example.org., delegations: [{namespaces: dev, zones: [a]}]",
			refused: "spec.delegations[0].namespaces in body must be of type array",
		},
		{
			name: "a type that there is not", spec: "domainName: example.org., delegations: [{records: [{pattern: a, types: [ANY]}]}]",
			decodeAlone: true,
		},
	}
	for i := range list {
		list[i].name, list[i].kind, list[i].spec = "Zone: "+list[i].name, "Zone", "{"+list[i].spec+"}"
	}
	return append(list, placeRules("Zone", "")...)
}

func recordRules() []rule {
	list := []rule{
		{name: "the apex", spec: "domainName: '@', zoneRef: {name: z}, type: A, rdata: 192.0.2.1"},
		{name: "the apex of nothing", spec: "domainName: '@', type: A, rdata: 192.0.2.1", refused: "one of the two, and not both"},
		{name: "no type", spec: "domainName: a.example.org., rdata: 192.0.2.1", refused: "spec.type: Required value"},
		{
			name: "an empty type", spec: "domainName: a.example.org., type: '', rdata: 192.0.2.1",
			refused: "spec.type in body should be at least 1 chars long",
		},
		{name: "no data", spec: "domainName: a.example.org., type: A", refused: "spec.rdata: Required value"},
		{name: "data without octets", spec: "domainName: a.example.org., type: APL, rdata: ''"},
		{name: "class", spec: "domainName: a.example.org., type: a, class: in, rdata: 192.0.2.1"},
	}
	for i := range list {
		list[i].name, list[i].kind, list[i].spec = "Record: "+list[i].name, "Record", "{"+list[i].spec+"}"
	}
	return append(list, placeRules("Record", ", type: A, rdata: 192.0.2.1")...)
}
