package api_test

import (
	"bytes"
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

func TestMain(m *testing.M) { kubetest.Main(m) }

const policyCRD = "config/crd/kuadrant.io_dnspolicies.yaml"

// TestCRDsAreGenerated runs the command that api/v1/doc.go gives to go generate,
// into another directory, and compares.
func TestCRDsAreGenerated(t *testing.T) {
	root := kubetest.ModuleRoot()
	doc, err := os.ReadFile(filepath.Join(root, "api/v1/doc.go"))
	if err != nil {
		t.Fatal(err)
	}
	_, command, found := strings.Cut(string(doc), "//go:generate ")
	command, _, _ = strings.Cut(command, "\n")
	args := strings.Fields(command)
	const output = "output:crd:artifacts:config="
	if !found || !strings.HasPrefix(args[len(args)-1], output) {
		t.Fatalf("the command in api/v1/doc.go is %q", command)
	}
	dir := t.TempDir()
	args[len(args)-1] = output + dir
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = filepath.Join(root, "api/v1") // as go generate does
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) == 0 {
		t.Fatalf("nothing was generated: %v", err)
	}
	for _, f := range files {
		want, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(root, "config/crd", f.Name()))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("config/crd/%s is not what the types say (%v): run `make crds`", f.Name(), err)
		}
	}
}

// TestCRDConditions: the API server has no objections to the CRDs.
func TestCRDConditions(t *testing.T) {
	s := server(t)
	for file, version := range map[string]string{
		policyCRD: "v1", probeCRD: "v1alpha1", zoneCRD: "v1alpha1", recordCRD: "v1alpha1",
		dnsRecordCRD: "v1alpha1",
	} {
		text, err := os.ReadFile(filepath.Join(kubetest.ModuleRoot(), file))
		if err != nil {
			t.Fatal(err)
		}
		crd, crds := in(t, s, "", string(text))
		crd, err = crds.Get(t.Context(), crd.GetName(), metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]bool{
			"Established": true, "NamesAccepted": true, "NonStructuralSchema": false,
			"KubernetesAPIApprovalPolicyConformant": false,
		} {
			if kubetest.Condition(crd, name) != want {
				t.Errorf("%s: condition %s is not %v: %v", file, name, want, crd.Object["status"])
			}
		}
		stored, _, err := unstructured.NestedStringSlice(crd.Object, "status", "storedVersions")
		if err != nil || !reflect.DeepEqual(stored, []string{version}) {
			t.Errorf("%s: stored versions %v, %v", file, stored, err)
		}
		if strategy, _, _ := unstructured.NestedString(crd.Object, "spec", "conversion", "strategy"); strategy != "None" {
			t.Errorf("%s: conversion is %q", file, strategy)
		}
	}
}

// schemaOf is what the tests look at of an OpenAPI schema.
type schemaOf struct {
	Default    any                  `json:"default"`
	Properties map[string]*schemaOf `json:"properties"`
	Items      *schemaOf            `json:"items"`
	Rules      []struct {
		Message string `json:"message"`
	} `json:"x-kubernetes-validations"`
}

func (s *schemaOf) walk(path string, visit func(path string, s *schemaOf)) {
	if s == nil {
		return
	}
	visit(path, s)
	for name, p := range s.Properties {
		p.walk(path+"."+name, visit)
	}
	s.Items.walk(path+"[]", visit)
}

// schemas returns the schema of each version of a CRD.
func schemas(t *testing.T, file string) map[string]*schemaOf {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(kubetest.ModuleRoot(), file))
	if err != nil {
		t.Fatal(err)
	}
	var crd struct {
		Spec struct {
			Versions []struct {
				Name   string
				Schema struct {
					OpenAPIV3Schema *schemaOf `json:"openAPIV3Schema"`
				}
			}
		}
	}
	if err := yaml.Unmarshal(text, &crd); err != nil {
		t.Fatal(err)
	}
	all := make(map[string]*schemaOf)
	for _, v := range crd.Spec.Versions {
		all[v.Name] = v.Schema.OpenAPIV3Schema
	}
	return all
}

// TestCRDVersionsHaveTheSameFields: the API server prunes by the schema of the
// version it is asked for, and fills in that version's defaults.
func TestCRDVersionsHaveTheSameFields(t *testing.T) {
	for file, stored := range map[string]string{policyCRD: "v1", dnsRecordCRD: "v1alpha1"} {
		fields := make(map[string][]string)
		for version, schema := range schemas(t, file) {
			schema.walk("", func(path string, s *schemaOf) {
				fields[version] = append(fields[version], path)
				if s.Default != nil {
					t.Errorf("%s: %s%s has a default: %v", file, version, path, s.Default)
				}
			})
			slices.Sort(fields[version])
		}
		if len(fields) != 2 || len(fields[stored]) < 50 {
			t.Fatalf("%s: versions %v", file, fields)
		}
		if !slices.Equal(fields[stored], fields["v1alpha2"]) {
			t.Errorf("%s: %s %v\nv1alpha2 %v", file, stored, fields[stored], fields["v1alpha2"])
		}
	}
}

// rule is one object to which the schema says yes or no. Decoding must say the
// same, because objects also come from files and through other CRDs.
type rule struct {
	name, version string // version "" stands for v1
	spec          string // targetRef is added where it is not there
	refused       string // part of the message; "" where it is accepted
	schemaAlone   bool   // what only the schema refuses
	decodeAlone   bool   // what only decoding refuses
	kind          string // "" stands for DNSPolicy; of others, spec is in braces
}

func (r rule) text() string {
	switch r.kind {
	case "DNSHealthCheckProbe", "DNSRecord":
		return "apiVersion: kuadrant.io/" + cmp.Or(r.version, "v1alpha1") + "\nkind: " + r.kind + "\nmetadata: {name: p}\nspec: " + r.spec
	case "Zone", "Record":
		return "apiVersion: kubi.zone/v1alpha1\nkind: " + r.kind + "\nmetadata: {name: p}\nspec: " + r.spec
	}
	version, spec := r.version, r.spec
	if version == "" {
		version = "v1"
	}
	if !strings.Contains(spec, "targetRef") {
		spec = targetRef + spec
	}
	return "apiVersion: kuadrant.io/" + version + "\nkind: DNSPolicy\nmetadata: {name: p}\nspec:\n" + spec
}

func rules() []rule {
	const exclude = "exclude each other: keep one of them"
	const provider = "\n  providerRef: {name: x}"
	list := []rule{
		{name: "minimal"},
		{name: "no target", spec: "  #targetRef\n  delegate: false", refused: "spec.targetRef: Required value"},
		{
			name: "target without a name", spec: "  targetRef: {group: gateway.networking.k8s.io, kind: Gateway}",
			refused: "spec.targetRef.name: Required value",
		},
		{
			name: "target group", spec: "  targetRef: {group: apps, kind: Gateway, name: web}",
			refused: "Invalid targetRef.group. The only supported value is 'gateway.networking.k8s.io'",
		},
		{
			name: "target kind", spec: "  targetRef: {group: gateway.networking.k8s.io, kind: Service, name: web}",
			refused: "Invalid targetRef.kind. The only supported values are 'Gateway'",
		},

		{name: "weight", spec: "  loadBalancing: {weight: 0}"},
		{name: "negative weight", spec: "  loadBalancing: {weight: -1}", refused: "should be greater than or equal to 0"},
		{name: "huge weight", spec: "  loadBalancing: {weight: 2147483648}", refused: "should be less than or equal to 2147483647"},
		{
			name: "negative default weight", spec: "  loadBalancing: {weighted: {defaultWeight: -1}}",
			refused: "should be greater than or equal to 0",
		},
		{
			name: "negative custom weight", spec: "  loadBalancing: {weighted: {custom: [{value: a, weight: -1}]}}",
			refused: "should be greater than or equal to 0",
		},
		{name: "custom weights", spec: "  loadBalancing: {weighted: {custom: [{value: a, weight: 1}, {selector: {matchLabels: {a: " +
			"b}}, weight: 2}]}}"},
		{
			name: "custom weight for nobody", spec: "  loadBalancing: {weighted: {custom: [{weight: 1}]}}",
			refused: "set either selector, for the labels of the Gateway, or value",
		},
		{
			name: "custom weight for two", spec: "  loadBalancing: {weighted: {custom: [{value: a, selector: {}, weight: 1}]}}",
			refused: "set either selector, for the labels of the Gateway, or value",
		},
		{name: "custom weight without one", spec: "  loadBalancing: {weighted: {custom: [{value: a}]}}", refused: "weight: Required value"},
		{name: "two weights that agree", spec: "  loadBalancing: {weight: 5, weighted: {defaultWeight: 5}}"},
		{
			name: "two weights that differ", spec: "  loadBalancing: {weight: 5, weighted: {defaultWeight: 6}}",
			refused: "weight and weighted.defaultWeight mean the same and differ: keep one of them",
		},
		{name: "geo as text", spec: "  loadBalancing: {geo: IE, defaultGeo: true}"},
		{name: "geo as object", spec: "  loadBalancing: {geo: {defaultGeo: IE}}"},

		{name: "strategy", spec: "  routingStrategy: random", refused: `supported values: "simple", "weightedGeo", "loadbalanced"`},
		{name: "v1alpha2 simple", version: "v1alpha2", spec: "  routingStrategy: simple" + provider},
		{name: "v1alpha2 weightedGeo", version: "v1alpha2", spec: "  routingStrategy: weightedGeo" + provider},
		{name: "v1alpha2 loadbalanced", version: "v1alpha2", spec: "  routingStrategy: loadbalanced\n  providerSelector: {matchLabels: {a: b}}"},
		{
			name: "v1alpha2 without a strategy", version: "v1alpha2", spec: "  providerRef: {name: x}",
			refused: "routingStrategy is required: write simple or weightedGeo", schemaAlone: true,
		},
		{
			name: "v1alpha2 without a provider", version: "v1alpha2", spec: "  routingStrategy: simple",
			refused: "providerRef or providerSelector is required: name the provider's Secret, or select Secrets by label", schemaAlone: true,
		},
		{name: "v1alpha2 negative weight", version: "v1alpha2", spec: "  routingStrategy: simple" + provider +
			"\n  loadBalancing: {weighted: {defaultWeight: -1}}", refused: "should be greater than or equal to 0"},
		{name: "v1alpha2 two ways", version: "v1alpha2", spec: "  routingStrategy: simple\n  providerSelector: {}" + provider, refused: exclude},

		{name: "two providerRefs", spec: "  providerRefs: [{name: a}, {name: b}]", refused: "Too many: 2: must have at most 1 item"},
		{name: "providerRefs without a name", spec: "  providerRefs: [{}]", refused: "name: Required value"},
		{name: "no providerRefs and a providerRef", spec: "  providerRefs: []\n  providerRef: {name: a}"},
		{name: "providerRefs and providerRef", spec: "  providerRefs: [{name: a}]\n  providerRef: {name: a}", refused: exclude},
		{
			name: "providerRefs and providerSelector", spec: "  providerRefs: [{name: a}]\n  providerSelector: {matchLabels: {a: b}}",
			refused: exclude,
		},
		{
			name: "ManagedZone", spec: "  providerRef: {name: z, kind: ManagedZone}",
			refused: "kind ManagedZone is no longer supported: refer to a Secret with the fields ZONE_ID and DOMAIN_NAME instead",
		},
		{name: "ExternalDNS", spec: "  providerRef: {name: external-dns, kind: ExternalDNS}"},
		{
			name: "delegate with providerRefs", spec: "  delegate: true\n  providerRefs: [{name: a}]",
			refused: "delegate=true and providerRefs are mutually exclusive",
		},
		{name: "no delegate with providerRefs", spec: "  delegate: false\n  providerRefs: [{name: a}]"},

		{name: "20 exclusions", spec: "  excludeAddresses: [" + strings.Repeat("192.0.2.1, ", 19) + "192.0.2.0/24]"},
		{name: "C8", spec: "  excludeAddresses: [" + strings.Repeat("192.0.2.1, ", 20) + "192.0.2.1]", refused: "must have at most 20 items"},

		{name: "empty health check", spec: "  healthCheck: {}"},
		{name: "path and endpoint that agree", spec: "  healthCheck: {path: /ok, endpoint: /ok}"},
		{
			name: "path and endpoint that differ", spec: "  healthCheck: {path: /ok, endpoint: /no}",
			refused: "path and endpoint mean the same and differ: keep one of them",
		},
	}
	for _, c := range checkRules() {
		c.spec = "  healthCheck: {" + c.spec + "}"
		list = append(list, c)
	}
	for _, c := range pathRules("endpoint") {
		c.spec = "  healthCheck: {" + c.spec + "}"
		list = append(list, c)
	}
	return list
}

// allRules are those of all kinds.
func allRules() []rule {
	return slices.Concat(rules(), probeRules(), zoneRules(), recordRules(), dnsRecordRules())
}

// TestDecodingAgreesWithTheSchema decodes the objects of TestSchemaRules.
func TestDecodingAgreesWithTheSchema(t *testing.T) {
	for _, r := range allRules() {
		t.Run(r.name, func(t *testing.T) {
			invalid, fault := r.decode(t)
			if refused := invalid != "" || fault != ""; refused != (r.refused != "" && !r.schemaAlone || r.decodeAlone) {
				t.Errorf("invalid %q, fault %q; the schema says %q", invalid, fault, r.refused)
			}
		})
	}
}
