package api_test

import (
	"bytes"
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

const (
	policyCRD    = "config/crd/kuadrant.io_dnspolicies.yaml"
	dnsRecordCRD = "config/crd/kuadrant.io_dnsrecords.yaml"
)

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
		policyCRD: "v1", dnsRecordCRD: "v1alpha1", "config/crd/kuadrant.io_dnshealthcheckprobes.yaml": "v1alpha1",
		"config/crd/kubi.zone_zones.yaml": "v1alpha1", "config/crd/kubi.zone_records.yaml": "v1alpha1",
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
