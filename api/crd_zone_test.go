package api_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
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

const (
	zoneTrip = `
apiVersion: kubi.zone/v1alpha1
kind: Zone
metadata: {name: trip}
spec:
  domainName: example.org.
  delegations:
  - {namespaces: [dev], zones: ["*"], records: [{pattern: "*.dev", types: [A, AAAA]}, {pattern: "@"}]}
  ttl: 361
  refresh: 86401
  retry: 7201
  expire: 3600001
  negativeResponseCache: 362
  mname: ns.example.org.
  rname: hostmaster.example.org.
status:
  fqdn: example.org.
  serial: 4294967295
  hash: 3f9c
  entries: [{fqdn: example.org., type: SOA, class: IN, ttl: 361, rdata: ns.example.org. hostmaster.example.org. 4294967295 86401 7201 3600001 362}]
  conditions:
  - {type: Ready, status: "True", reason: Ready, message: fine, lastTransitionTime: "2026-01-01T00:00:00Z", observedGeneration: 1}
`
	subzoneTrip = `
apiVersion: kubi.zone/v1alpha1
kind: Zone
metadata: {name: trip}
spec: {domainName: sub, zoneRef: {name: parent, namespace: dns}, ttl: 0}
`
	recordTrip = `
apiVersion: kubi.zone/v1alpha1
kind: Record
metadata: {name: trip}
spec: {domainName: www, zoneRef: {name: example-org, namespace: dns}, type: TXT, class: IN, ttl: 0, rdata: '"a b" c'}
status:
  fqdn: www.example.org.
  conditions:
  - {type: Ready, status: "False", reason: Orphaned, message: bad, lastTransitionTime: "2026-01-01T00:00:00Z", observedGeneration: 1}
`
	dnsEndpointTrip = `
apiVersion: externaldns.k8s.io/v1alpha1
kind: DNSEndpoint
metadata: {name: trip}
spec:
  endpoints:
  - {dnsName: app.example.org, recordType: A, recordTTL: 60, targets: [192.0.2.1, 192.0.2.2], setIdentifier: a, labels: {b: c}, providerSpecific: [{name: weight, value: "120"}, {name: geo-code, value: "*"}]}
status: {observedGeneration: 1}
`
)

// TestWhatIsStored: no field of these kinds is pruned, statuses are written through
// their subresource alone, and what the API server stores is decoded to what was
// written.
func TestWhatIsStored(t *testing.T) {
	s := server(t)
	s.InstallCRDs(t, kubetest.ExternalDNS)
	for i, trip := range []struct {
		text   string
		decode func(text []byte) (any, *api.Meta, error)
	}{
		{zoneTrip, decodeTrip(api.DecodeZone, func(z *api.Zone) *api.Meta { return &z.Meta })},
		{subzoneTrip, decodeTrip(api.DecodeZone, func(z *api.Zone) *api.Meta { return &z.Meta })},
		{recordTrip, decodeTrip(api.DecodeRecord, func(r *api.Record) *api.Meta { return &r.Meta })},
		{dnsRecordTrip, decodeTrip(api.DecodeDNSRecord, func(r *api.DNSRecord) *api.Meta { return &r.Meta })},
		{dnsEndpointTrip, decodeTrip(api.DecodeDNSEndpoint, func(e *api.DNSEndpoint) *api.Meta { return &e.Meta })},
	} {
		want, resource := in(t, s, s.Namespace(t), trip.text)
		t.Run(fmt.Sprintf("%s %d", want.GetKind(), i), func(t *testing.T) {
			made, err := resource.Create(t.Context(), want.DeepCopy(), metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if made.Object["status"] != nil {
				t.Errorf("the status was written with the spec: %v", made.Object["status"])
			}
			read := made
			if want.Object["status"] != nil {
				made.Object["status"] = want.Object["status"]
				if read, err = resource.UpdateStatus(t.Context(), made, metav1.UpdateOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			for _, part := range []string{"spec", "status"} {
				if !reflect.DeepEqual(read.Object[part], want.Object[part]) {
					t.Errorf("%s is  %v\nwritten: %v", part, read.Object[part], want.Object[part])
				}
			}
			compareDecoded(t, want, read, trip.decode)
		})
	}
}

// decodeTrip makes functions that decode different kinds alike.
func decodeTrip[T any](decode func(cluster string, text []byte) (*T, error), meta func(*T) *api.Meta) func(text []byte) (any,
	*api.Meta, error) {
	return func(text []byte) (any, *api.Meta, error) {
		o, err := decode("c", text)
		if err != nil {
			return nil, nil, err
		}
		return o, meta(o), nil
	}
}

// compareDecoded checks that an object means the same before and after it was stored.
func compareDecoded(t *testing.T, before, after *unstructured.Unstructured, decode func(text []byte) (any, *api.Meta, error)) {
	t.Helper()
	var decoded [2]any
	for i, obj := range []*unstructured.Unstructured{before, after} {
		text, err := obj.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		o, meta, err := decode(text)
		if err != nil {
			t.Fatal(err)
		}
		if meta.Fault != "" || meta.Name != obj.GetNamespace()+"/"+obj.GetName() || string(obj.GetUID()) != meta.UID {
			t.Errorf("metadata %+v", meta)
		}
		*meta = api.Meta{}
		decoded[i] = o
	}
	if !reflect.DeepEqual(decoded[0], decoded[1]) {
		t.Errorf("before %+v\nafter  %+v", decoded[0], decoded[1])
	}
	if v := reflect.ValueOf(decoded[1]).Elem().FieldByName("Invalid"); v.String() != "" {
		t.Errorf("invalid: %s", v)
	}
}
