package deploy

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
)

// TestSchemaHasFields: values that are parts of Kubernetes objects have exactly their fields: Helm
// 3 accepts a misspelled one with only a warning.
func TestSchemaHasFields(t *testing.T) {
	var schema struct {
		Definitions map[string]struct{ Properties map[string]any }
	}
	if err := json.Unmarshal([]byte(boottest.ReadFile(t, filepath.Join(chart, "values.schema.json"))), &schema); err != nil {
		t.Fatal(err)
	}
	for name, of := range map[string]any{
		"affinity": corev1.Affinity{}, "container": corev1.Container{}, "dnsConfig": corev1.PodDNSConfig{}, "env": corev1.EnvVar{},
		"podSecurityContext": corev1.PodSecurityContext{}, "securityContext": corev1.SecurityContext{}, "toleration": corev1.Toleration{},
		"volume": corev1.Volume{}, "volumeMount": corev1.VolumeMount{},
		"egress": networkingv1.NetworkPolicyEgressRule{}, "ingress": networkingv1.NetworkPolicyIngressRule{},
		"peer": networkingv1.NetworkPolicyPeer{},
	} {
		want := fieldsOf(reflect.TypeOf(of))
		slices.Sort(want)
		if got := slices.Sorted(maps.Keys(schema.Definitions[name].Properties)); !slices.Equal(got, want) {
			t.Errorf("%s has %q, want %q", name, got, want)
		}
	}
}

// fieldsOf returns the JSON names of a struct's fields.
func fieldsOf(of reflect.Type) (names []string) {
	for _, field := range reflect.VisibleFields(of) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" {
			names = append(names, name)
		}
	}
	return names
}
