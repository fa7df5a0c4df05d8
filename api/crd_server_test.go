package api_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

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

func TestSchemaRules(t *testing.T) {
	s := server(t)
	namespace := s.Namespace(t)
	for i, r := range allRules() {
		t.Run(r.name, func(t *testing.T) {
			obj, resource := in(t, s, namespace, r.text())
			obj.SetName(fmt.Sprintf("p%d", i))
			_, err := resource.Create(t.Context(), obj, metav1.CreateOptions{})
			switch {
			case r.refused == "" && err != nil:
				t.Errorf("refused: %v", err)
			case r.refused != "" && err == nil:
				t.Errorf("accepted; it should be refused with %q", r.refused)
			case err != nil && !strings.Contains(err.Error(), r.refused):
				t.Errorf("refused with\n%v\nwhich does not say %q", err, r.refused)
			}
		})
	}
}

const delegateMessage = "delegate is immutable"

// TestDelegateChanges are the cases behind D.
func TestDelegateChanges(t *testing.T) {
	s := server(t)
	namespace := s.Namespace(t)
	yes, no := true, false
	for i, test := range []struct {
		from, to *bool
		ok       bool
	}{
		{nil, &no, true},
		{nil, &yes, false},
		{&no, nil, true},
		{&no, &yes, false},
		{&yes, nil, false},
		{&yes, &no, false},
		{&yes, &yes, true},
	} {
		show := func(b *bool) string {
			if b == nil {
				return "nil"
			}
			return fmt.Sprint(*b)
		}
		t.Run(show(test.from)+" to "+show(test.to), func(t *testing.T) {
			obj, policies := in(t, s, namespace, rule{}.text())
			obj.SetName(fmt.Sprintf("d%d", i))
			set := func(b *bool) {
				unstructured.RemoveNestedField(obj.Object, "spec", "delegate")
				if b != nil {
					if err := unstructured.SetNestedField(obj.Object, *b, "spec", "delegate"); err != nil {
						t.Fatal(err)
					}
				}
			}
			set(test.from)
			obj, err := policies.Create(t.Context(), obj, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			set(test.to)
			_, err = policies.Update(t.Context(), obj, metav1.UpdateOptions{})
			if test.ok != (err == nil) || err != nil && !strings.Contains(err.Error(), delegateMessage) {
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
	obj, v1 := in(t, s, s.Namespace(t), rule{spec: "  loadBalancing: {geo: IE}"}.text())
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

// TestDesignDocumentExamples applies the examples of the design document on
// single-cluster DNSPolicy as they stand, one after the other.
func TestDesignDocumentExamples(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(kubetest.ModuleRoot(), "../shared/seeds/002_*.txt"))
	if err != nil || len(files) != 1 {
		t.Skipf("the design document is not beside this checkout: %v, %v", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	s := server(t)
	applied := make(map[string]int)
	for _, example := range examples(t, string(text)) {
		t.Run(example.name, func(t *testing.T) {
			for _, obj := range s.Apply(t, example.text) {
				applied[obj.GetKind()]++
				checkExample(t, obj)
			}
		})
	}
	if applied["DNSPolicy"] != 3 || applied["Gateway"] != 2 || applied["DNSRecord"] != 2 {
		t.Errorf("applied %v", applied)
	}
}

type example struct{ name, text string }

// examples returns the YAML blocks of policies, Gateways and DNSRecords with a name,
// by the heading that they follow.
func examples(t *testing.T, text string) []example {
	t.Helper()
	var list []example
	for part := range strings.SplitSeq(text, "**Example ") {
		e := example{name: "example " + part[:1]}
		blocks := strings.Split(part, "```")
		for i := 1; i < len(blocks); i += 2 {
			block := strings.TrimPrefix(blocks[i], "yaml")
			var obj struct {
				Kind     string
				Metadata struct{ Name string }
			}
			if err := yaml.Unmarshal([]byte(block), &obj); err != nil {
				t.Fatal(err)
			}
			if obj.Kind == "DNSPolicy" || obj.Kind == "Gateway" || obj.Kind == "DNSRecord" && obj.Metadata.Name != "" {
				e.text += "---\n" + block
			}
		}
		if e.text != "" {
			list = append(list, e)
		}
	}
	return list
}

// checkExample decodes what the server holds of an example.
func checkExample(t *testing.T, obj *unstructured.Unstructured) {
	t.Helper()
	text, err := obj.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if obj.GetKind() == "Gateway" {
		g, err := api.DecodeGateway("c", text)
		if err != nil || g.Fault != "" {
			t.Fatal(err, g)
		}
		if len(g.Listeners) != 1 || g.Listeners[0].Hostname != "myapp.mn.hcpapps.net" || len(g.Addresses) == 0 ||
			g.Addresses[0].Value != "172.31.200.0" {
			t.Errorf("%+v", g)
		}
		return
	}
	if obj.GetKind() == "DNSRecord" {
		r, err := api.DecodeDNSRecord("c", text)
		if err != nil || r.Fault+r.Invalid != "" || r.RootHost != "myapp.mn.hcpapps.net." || r.Provider.Name != "my-route53-credentials" ||
			len(r.Endpoints) != 1 || r.Endpoints[0].TTL != 60 || r.Endpoints[0].Targets[0] != "172.31.200.0" {
			t.Errorf("%+v, %v", r, err)
		}
		return
	}
	p, err := api.DecodePolicy("c", text)
	if err != nil {
		t.Fatal(err)
	}
	if p.Fault != "" || p.Invalid != "" || p.Strategy != api.Simple || p.Target.Name != "prod-web" {
		t.Errorf("%+v", p)
	}
	if served := p.Provider.ServedHere(); served != (p.Provider.Kind == "Secret") || served == (p.Provider.Kind == "ExternalDNS") {
		t.Errorf("provider %+v, served %v", p.Provider, served)
	}
}
