package api_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

// server returns the shared API server with all CRDs.
func server(t *testing.T) *kubetest.Server {
	t.Helper()
	s := kubetest.Shared(t)
	s.InstallCRDs(t)
	return s
}

// in returns the one object of a YAML text, put into a namespace, and the
// client for its version.
func in(t *testing.T, s *kubetest.Server, namespace, text string) (*unstructured.Unstructured, dynamic.ResourceInterface) {
	t.Helper()
	obj := kubetest.Parse(t, text)[0]
	obj.SetNamespace(namespace)
	return obj, s.Resource(t, obj)
}

// as returns the client for another version of an object.
func as(t *testing.T, s *kubetest.Server, obj *unstructured.Unstructured, version string) dynamic.ResourceInterface {
	t.Helper()
	other := obj.DeepCopy()
	other.SetAPIVersion("kuadrant.io/" + version)
	return s.Resource(t, other)
}

// TestSchemaRules gives the API server the cases of testdata that say what it answers.
func TestSchemaRules(t *testing.T) {
	s := server(t)
	namespace := s.Namespace(t)
	n := 0
	for _, file := range files(t) {
		for _, w := range cases(t, file) {
			for kind, text := range w.everywhere() {
				if n++; !w.sent {
					continue
				}
				t.Run(kind.String()+"/"+w.name, func(t *testing.T) {
					obj, resource := in(t, s, namespace, text)
					obj.SetName(fmt.Sprintf("p%d", n))
					_, err := resource.Create(t.Context(), obj, metav1.CreateOptions{})
					switch {
					case w.refused == "" && err != nil:
						t.Errorf("refused: %v", err)
					case w.refused != "" && err == nil:
						t.Errorf("accepted; it should be refused with %q", w.refused)
					case err != nil && !strings.Contains(err.Error(), w.refused):
						t.Errorf("refused with\n%v\nwhich does not say %q", err, w.refused)
					}
				})
			}
		}
	}
}

// TestImmutableFields: delegate stays as it is, and so does a zoneID once it is set, in both versions.
func TestImmutableFields(t *testing.T) {
	s := server(t)
	namespace := s.Namespace(t)
	policy := func(field string) string {
		return "apiVersion: kuadrant.io/v1\nkind: DNSPolicy\nmetadata: {name: p}\nspec: {TARGET, " + field + "}"
	}
	record := func(version string) func(string) string {
		return func(field string) string {
			return "apiVersion: kuadrant.io/" + version + "\nkind: DNSRecord\nmetadata: {name: p}\nspec: {rootHost: a.example.org, " + field + "}"
		}
	}
	alpha1, alpha2 := record("v1alpha1"), record("v1alpha2")
	const delegate, zoneID = "delegate is immutable", "zoneID cannot change once it is set"
	for i, c := range []struct {
		object          func(field string) string
		from, to, error string
	}{
		{policy, "", "delegate: false", ""},
		{policy, "", "delegate: true", delegate},
		{policy, "delegate: false", "", ""},
		{policy, "delegate: false", "delegate: true", delegate},
		{policy, "delegate: true", "", delegate},
		{policy, "delegate: true", "delegate: false", delegate},
		{policy, "delegate: true", "delegate: true", ""},
		{alpha1, "", "zoneID: a", ""},
		{alpha1, "zoneID: ''", "zoneID: a", ""},
		{alpha1, "zoneID: a", "zoneID: a", ""},
		{alpha1, "zoneID: a", "zoneID: b", zoneID},
		{alpha1, "zoneID: a", "zoneID: ''", zoneID},
		{alpha1, "zoneID: a", "", zoneID},
		{alpha2, "", "zoneID: a", ""},
		{alpha2, "zoneID: a", "zoneID: b", zoneID},
		{alpha2, "zoneID: a", "", zoneID},
	} {
		t.Run(c.from+" to "+c.to, func(t *testing.T) {
			obj, resource := in(t, s, namespace, expand(c.object(c.from)))
			obj.SetName(fmt.Sprintf("i%d", i))
			made, err := resource.Create(t.Context(), obj, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			next, _ := in(t, s, namespace, expand(c.object(c.to)))
			made.Object["spec"] = next.Object["spec"]
			_, err = resource.Update(t.Context(), made, metav1.UpdateOptions{})
			if (c.error == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.error) {
				t.Errorf("update: %v", err)
			}
		})
	}
}

// trips are objects that between them set every field.
func trips() map[string]string {
	const check = `
  healthCheck:
    protocol: HTTP
    port: 8080
    path: /healthz
    endpoint: /healthz
    host: health.example.org
    interval: 1m
    timeout: 5s
    failureThreshold: 3
    successThreshold: 2
    expectedResponses: [200, 204]
    allowInsecureCertificate: true
    additionalHeadersRef: {name: probe-headers}
  excludeAddresses: [192.0.2.0/24, 10.0.0.1, lb.example.net]`
	const target = `
  targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: prod-web, sectionName: api}`
	const head = "\nkind: DNSPolicy\nmetadata: {name: trip}\nspec:" + target
	return map[string]string{
		"v1alpha2 with a selector": "apiVersion: kuadrant.io/v1alpha2" + head + check + `
  routingStrategy: weightedGeo
  providerSelector: {matchLabels: {dns: a}, matchExpressions: [{key: zone, operator: In, values: [b, c]}]}
  delegate: true
  loadBalancing:
    weighted:
      defaultWeight: 80
      custom:
      - {selector: {matchLabels: {cloud: gcp}, matchExpressions: [{key: tier, operator: NotIn, values: [test]}]}, weight: 20}
      - {value: AWS, weight: 0}
    geo: {defaultGeo: IE}`,
		"v1alpha2 with a reference": "apiVersion: kuadrant.io/v1alpha2" + head + `
  routingStrategy: simple
  providerRef: {name: my-credentials, namespace: my-gateways, kind: Secret}`,
		"v1alpha2 with fields in a geo that nobody knows": "apiVersion: kuadrant.io/v1alpha2" + head + `
  routingStrategy: weightedGeo
  providerRef: {name: my-credentials}
  loadBalancing: {geo: {defaultGeo: IE, later: [1, {a: b}]}}`,
		"v1": "apiVersion: kuadrant.io/v1" + head + check + `
  delegate: false
  providerRefs: [{name: dns-provider}]
  loadBalancing: {weight: 100, geo: GEO-EU, defaultGeo: true}`,
	}
}

// TestRoundTrip: an object that is written in one version, read and written
// back in the other, and read in the first, is the same.
func TestRoundTrip(t *testing.T) {
	s := server(t)
	for name, text := range trips() {
		t.Run(name, func(t *testing.T) {
			obj, own := in(t, s, s.Namespace(t), text)
			other := as(t, s, obj, "v1")
			if obj.GroupVersionKind().Version == "v1" {
				other = as(t, s, obj, "v1alpha2")
			}
			want := obj.DeepCopy()
			created, err := own.Create(t.Context(), obj, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			read, err := other.Get(t.Context(), obj.GetName(), metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if read.GetAPIVersion() == obj.GetAPIVersion() || !reflect.DeepEqual(read.Object["spec"], want.Object["spec"]) {
				t.Errorf("read as %s: %v\nwritten: %v", read.GetAPIVersion(), read.Object["spec"], want.Object["spec"])
			}
			read.SetLabels(map[string]string{"a": "b"})
			if _, err := other.Update(t.Context(), read, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			back, err := own.Get(t.Context(), obj.GetName(), metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if back.GetResourceVersion() == created.GetResourceVersion() || back.GetLabels()["a"] != "b" {
				t.Error("the other version's update was not written")
			}
			if !reflect.DeepEqual(back.Object["spec"], want.Object["spec"]) || back.GetGeneration() != created.GetGeneration() {
				t.Errorf("came back as %v\nwritten:     %v", back.Object["spec"], want.Object["spec"])
			}
			decodeBoth(t, read, back)
		})
	}
}

// decodeBoth checks that both versions of an object mean the same.
func decodeBoth(t *testing.T, a, b *unstructured.Unstructured) {
	t.Helper()
	first, second := a.DeepCopy(), b.DeepCopy()
	for _, obj := range []*unstructured.Unstructured{first, second} {
		obj.SetManagedFields(nil)
		obj.SetResourceVersion("")
	}
	var decoded [2]*api.DNSPolicy
	for i, obj := range []*unstructured.Unstructured{first, second} {
		text, err := obj.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if decoded[i], err = api.DecodePolicy("c", text); err != nil {
			t.Fatal(err)
		}
		if decoded[i].Invalid != "" || decoded[i].Fault != "" {
			t.Errorf("%s: %q, %q", obj.GetAPIVersion(), decoded[i].Invalid, decoded[i].Fault)
		}
	}
	if !reflect.DeepEqual(decoded[0], decoded[1]) {
		t.Errorf("%+v\n%+v", decoded[0], decoded[1])
	}
}

// TestStatusInBothVersions: the status that is written in one version is read
// in the other, and the spec has no part in it.
func TestStatusInBothVersions(t *testing.T) {
	s := server(t)
	const status = `
status:
  observedGeneration: 1
  totalRecords: 2
  conditions:
  - {type: Accepted, status: "True", reason: Accepted, message: yes, lastTransitionTime: "2026-01-01T00:00:00Z", observedGeneration: 1}
  recordConditions:
    api.example.org:
    - {type: Ready, status: "False", reason: InvalidHostname, message: no, lastTransitionTime: "2026-01-01T00:00:00Z"}
    secret/credentials:
    - {type: ProviderAccessAvailable, status: "True", reason: ProviderAccessAvailable, message: x, lastTransitionTime: "2026-01-01T00:00:00Z"}
`
	text := strings.ReplaceAll(trips()["v1"]+status, "message: yes", "message: fine")
	text = strings.ReplaceAll(text, "message: no", "message: bad")
	want := kubetest.Parse(t, text)[0]
	obj := s.ApplyIn(t, s.Namespace(t), text)[0]
	read, err := as(t, s, obj, "v1alpha2").Get(t.Context(), obj.GetName(), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"spec", "status"} {
		if !reflect.DeepEqual(read.Object[part], want.Object[part]) {
			t.Errorf("%s is  %v\nwritten: %v", part, read.Object[part], want.Object[part])
		}
	}
}

// TestV1ObjectThroughV1alpha2: an object that v1alpha2 would not take as new can
// still be labelled through it, but not be changed into another such object.
func TestV1ObjectThroughV1alpha2(t *testing.T) {
	s := server(t)
	obj, v1 := in(t, s, s.Namespace(t), expand(
		"apiVersion: kuadrant.io/v1\nkind: DNSPolicy\nmetadata: {name: p}\nspec: {TARGET, loadBalancing: {geo: IE}}"))
	if _, err := v1.Create(t.Context(), obj, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	alpha := as(t, s, obj, "v1alpha2")
	read, err := alpha.Get(t.Context(), obj.GetName(), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	read.SetLabels(map[string]string{"a": "b"})
	if read, err = alpha.Update(t.Context(), read, metav1.UpdateOptions{}); err != nil {
		t.Fatalf("add a label: %v", err)
	}
	if err := unstructured.SetNestedField(read.Object, int64(5), "spec", "loadBalancing", "weight"); err != nil {
		t.Fatal(err)
	}
	if _, err := alpha.Update(t.Context(), read, metav1.UpdateOptions{}); err == nil ||
		!strings.Contains(err.Error(), "routingStrategy is required") {
		t.Errorf("change without a strategy: %v", err)
	}
}
