package source

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/coredns-kuadrant/kuadrant/api"
)

func TestKubernetesCannotWork(t *testing.T) {
	for name, config := range map[string]*rest.Config{
		"no configuration": nil,
		"missing CA file":  {Host: "https://127.0.0.1:1", TLSClientConfig: rest.TLSClientConfig{CAFile: "/nonexistent/ca"}},
		"bad host":         {Host: "https://[::1"},
	} {
		t.Run(name, func(t *testing.T) {
			err := Kubernetes(KubernetesOptions{Cluster: "west", Config: config}).Run(t.Context(), func(*api.Cluster) { t.Error("published") })
			if err == nil || !strings.Contains(err.Error(), `"west"`) {
				t.Errorf("Run: %v", err)
			}
		})
	}
}

func TestKubernetesIdentity(t *testing.T) {
	one := Kubernetes(KubernetesOptions{Cluster: "c", Config: &rest.Config{Host: "h", BearerToken: "secret-token", Password: "secret-word"}})
	if one.Name() != "c" || strings.Contains(one.Identity(), "secret") {
		t.Errorf("name %q, identity %q", one.Name(), one.Identity())
	}
	same := Kubernetes(KubernetesOptions{Cluster: "c", Config: &rest.Config{Host: "h", BearerToken: "another"}})
	if one.Identity() != same.Identity() {
		t.Errorf("%q and %q", one.Identity(), same.Identity())
	}
	for _, other := range []KubernetesOptions{
		{Cluster: "d", Config: &rest.Config{Host: "h"}},
		{Cluster: "c", Config: &rest.Config{Host: "i"}},
	} {
		if id := Kubernetes(other).Identity(); id == one.Identity() {
			t.Errorf("%+v has the identity %q too", other, id)
		}
	}
}

// errRefused is the error of a dial to a closed port.
var errRefused = fmt.Errorf("dial: %w", syscall.ECONNREFUSED)

// TestKindListing checks a kind's Listing in each state of discovery.
func TestKindListing(t *testing.T) {
	now := time.Now()
	one := func(n namespaceState) map[string]*namespaceState {
		return map[string]*namespaceState{"a": {listed: true}, "b": &n}
	}
	for _, c := range []struct {
		name  string
		state kindState
		want  api.Listing
	}{
		{"listed", kindState{namespaces: one(namespaceState{listed: true})}, api.Listed},
		{"not in all namespaces", kindState{namespaces: one(namespaceState{})}, api.NotListed},
		{"denied", kindState{namespaces: one(namespaceState{denied: true})}, api.NotListed},
		{"not found of late", kindState{namespaces: one(namespaceState{}), absent: true, since: now}, api.Missing},
		{"not found for long", kindState{namespaces: one(namespaceState{}), absent: true, since: now.Add(-2 * time.Hour)}, api.NotInstalled},
		{"emptied before it went", kindState{namespaces: one(namespaceState{}), absent: true, emptied: true, since: now}, api.NotInstalled},
		{"found again, not listed", kindState{namespaces: one(namespaceState{}), absent: true}, api.Missing},
		{"emptied and found again, not listed", kindState{namespaces: one(namespaceState{}), absent: true, emptied: true}, api.NotInstalled},
		{"found again, denied", kindState{namespaces: one(namespaceState{denied: true}), absent: true}, api.NotListed},
		{"the versions denied", kindState{namespaces: one(namespaceState{}), absent: true, since: now, denied: true}, api.NotListed},
	} {
		if got := c.state.listing(time.Hour); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestClassify(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want trouble
	}{
		{nil, none},
		{errors.New("dial"), unreachable},
		{fmt.Errorf("GET /apis: %w", errStranger), stranger},
		{fmt.Errorf("%w: %w", errNotReady, errRefused), busy},
	} {
		if got := classify(tt.err); got != tt.want {
			t.Errorf("classify(%v) = %d, want %d", tt.err, got, tt.want)
		}
	}
}

// TestKindsAgree checks that a source puts the objects of each kind where package api looks for
// them.
func TestKindsAgree(t *testing.T) {
	for kind := range api.NumKinds {
		name, value, err := kinds[kind].decode("c",
			[]byte(`{"metadata":{"namespace":"ns","name":"a","labels":{"kuadrant.io/probe-headers":"true"}}}`))
		if err != nil || name != "ns/a" {
			t.Fatalf("%s: %q, %v", kind, name, err)
		}
		s := newClusterStore("c", api.Pools{})
		s.kinds[kind].put(name, value)
		c := s.cluster(&api.Cluster{UID: "uid"})
		for k := range api.NumKinds {
			if n := c.Count(k); (n == 1) != (k == kind) {
				t.Errorf("a %s: there are %d of kind %s", kind, n, k)
			}
		}
	}
}
