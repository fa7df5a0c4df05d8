package kubetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
)

// CRDs is a set of CustomResourceDefinitions that InstallCRDs knows.
type CRDs int

// The sets.
const (
	// GatewayAPI has the kind that we read of the gateway-api module that this module requires:
	// Gateway, of the standard channel. The other CRDs are large, and each server would compile
	// them.
	GatewayAPI CRDs = iota
	// Kuadrant has the CRDs in config/crd.
	Kuadrant
	// ExternalDNS has a CRD for DNSEndpoints that accepts what external-dns's CRD accepts.
	ExternalDNS
	// Prometheus has the Prometheus operator's CRDs for scrape targets and for rules.
	Prometheus
)

// prometheusOperator is the module with the CRDs of Prometheus. Nothing of it is compiled.
const prometheusOperator = "github.com/prometheus-operator/prometheus-operator@v0.94.1"

// servedDeadline allows for a busy machine; a CRD is served after about a second.
const servedDeadline = 60 * time.Second

// InstallCRDs installs the sets, or GatewayAPI and Kuadrant if none is named, and waits until their
// resources are served. It leaves installed sets as they are. It is safe for concurrent use.
func (s *Server) InstallCRDs(t testing.TB, sets ...CRDs) {
	t.Helper()
	if len(sets) == 0 {
		sets = []CRDs{GatewayAPI, Kuadrant}
	}
	s.installing.Lock()
	defer s.installing.Unlock()
	for _, set := range sets {
		if s.installed[set] {
			continue
		}
		if err := s.installCRDs(t.Context(), set); err != nil {
			t.Fatalf("install CRDs: %v", err)
		}
		s.installed[set] = true
	}
}

func (s *Server) installCRDs(ctx context.Context, set CRDs) error {
	patterns := []string{filepath.Join(ModuleRoot(), "config", "crd", "*.yaml")}
	switch set {
	case GatewayAPI:
		standard, err := gatewayAPIDir()
		if err != nil {
			return err
		}
		patterns[0] = filepath.Join(standard, "*_gateways.yaml")
	case Prometheus:
		cmd := exec.Command("go", "mod", "download", "-json", prometheusOperator)
		cmd.Dir = ModuleRoot()
		out, err := cmd.Output()
		var module struct{ Dir, Error string }
		if jsonErr := json.Unmarshal(out, &module); jsonErr != nil || module.Dir == "" {
			return fmt.Errorf("download %s: %w: %s", prometheusOperator, errors.Join(err, jsonErr), module.Error)
		}
		crds := filepath.Join(module.Dir, "example", "prometheus-operator-crd")
		patterns = []string{filepath.Join(crds, "*monitors.yaml"), filepath.Join(crds, "*rules.yaml")}
	case ExternalDNS:
		patterns[0] = filepath.Join(ModuleRoot(), "internal", "kubetest", "testdata", "*.yaml")
	}
	var files []string
	for _, pattern := range patterns {
		found, err := filepath.Glob(pattern)
		if err == nil && len(found) == 0 {
			err = fmt.Errorf("no CRDs are called %s", pattern)
		}
		if err != nil {
			return err
		}
		files = append(files, found...)
	}
	var crds []*unstructured.Unstructured
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		objs, err := parse(string(text))
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		crds = append(crds, objs...)
	}
	for _, crd := range crds {
		if err := s.create(ctx, crd); err != nil {
			return fmt.Errorf("%s: %w", crd.GetName(), err)
		}
	}
	for _, crd := range crds {
		if crd.GetKind() != "CustomResourceDefinition" {
			continue
		}
		if err := s.waitServed(ctx, crd); err != nil {
			return fmt.Errorf("%s: %w", crd.GetName(), err)
		}
	}
	s.clients.mapper.Reset()
	return nil
}

func (s *Server) create(ctx context.Context, obj *unstructured.Unstructured) error {
	r, err := s.resource(obj)
	if err != nil {
		return err
	}
	_, err = r.Create(ctx, obj, metav1.CreateOptions{FieldManager: fieldManager})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// waitServed waits until a CRD is established and each of its served versions can be listed.
func (s *Server) waitServed(ctx context.Context, crd *unstructured.Unstructured) error {
	r, err := s.resource(crd)
	if err != nil {
		return err
	}
	var last error
	err = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, servedDeadline, true, func(ctx context.Context) (bool, error) {
		now, err := r.Get(ctx, crd.GetName(), metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		if !Condition(now, "Established") {
			last = errors.New("the condition Established is not True")
			return false, nil
		}
		for _, gvr := range served(now) {
			if _, last = s.clients.dynamic.Resource(gvr).List(ctx, metav1.ListOptions{Limit: 1}); last != nil {
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("wait until it is served: %w (%w)", err, last)
	}
	return nil
}

// served returns the resources that a CRD serves.
func served(crd *unstructured.Unstructured) []schema.GroupVersionResource {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	plural, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "plural")
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	var list []schema.GroupVersionResource
	for _, v := range versions {
		version, _ := v.(map[string]any)
		if name, _ := version["name"].(string); version["served"] == true {
			list = append(list, schema.GroupVersionResource{Group: group, Version: name, Resource: plural})
		}
	}
	return list
}

// Condition reports whether obj's status has the condition with status True.
func Condition(obj *unstructured.Unstructured, name string) bool {
	conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == name {
			return c["status"] == "True"
		}
	}
	return false
}

// gatewayAPIDir returns the directory of the standard CRDs in the module cache.
var gatewayAPIDir = sync.OnceValues(func() (string, error) {
	cmd := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/gateway-api")
	cmd.Dir = ModuleRoot()
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("find the gateway-api module: %w", err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), "config", "crd", "standard"), nil
})
