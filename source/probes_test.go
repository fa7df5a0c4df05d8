package source

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

const probeResource = "dnshealthcheckprobes.kuadrant.io"

// probeManifest is a probe of 192.0.2.1 with the given status.
func probeManifest(ns, name, status string) string {
	return fmt.Sprintf(`---
apiVersion: kuadrant.io/v1alpha1
kind: DNSHealthCheckProbe
metadata: {namespace: %s, name: %s}
spec: {address: 192.0.2.1, host: a.example.com}
status: {%s}
`, ns, name, status)
}

func probeOf(t *testing.T, c *api.Cluster, name string) *api.HealthCheckProbe {
	t.Helper()
	p, ok := c.Probes.Get(name)
	if !ok {
		t.Fatalf("no probe %s among %v", name, names(c))
	}
	return p
}

// TestKindsAgree: where a source puts the objects of a kind is where the package
// api looks for them.
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

func TestDirectoryReadsProbes(t *testing.T) {
	f := newFolder(t)
	f.write("a.yaml", manifest("ns", "a")+probeManifest("ns", "a", "healthy: true"))
	f.write("b.yaml", probeManifest("ns", "b", "")+strings.ReplaceAll(probeManifest("ns", "c", ""), "v1alpha1", "v1"))
	f.start()
	c := f.objects("g ns/a", "probe ns/a", "probe ns/b")
	if c.Listings[api.KindProbe] != api.Listed || probeOf(t, c, "ns/a").Healthy != api.ConditionTrue ||
		probeOf(t, c, "ns/b").Healthy != api.ConditionUnknown {
		t.Errorf("listings %v, probes %+v, %+v", c.Listings, probeOf(t, c, "ns/a"), probeOf(t, c, "ns/b"))
	}
	f.log("ignoring", `"DNSHealthCheckProbe" of "kuadrant.io/v1"`)
	f.write("a.yaml", manifest("ns", "a")+probeManifest("ns", "a", "healthy: false"))
	f.wait("the new status", func() bool {
		p, ok := f.newest().Probes.Get("ns/a") // not there while the file is being written
		return ok && p.Healthy == api.ConditionFalse
	})

	r := newRecorder(t)
	stop := r.run(Directory(DirectoryOptions{Cluster: "c", Dir: f.dir, Selection: Selection{Kinds: []api.Kind{api.KindProbe}}, Logf: r.logf}))
	c = r.objects("probe ns/a", "probe ns/b")
	if !c.Complete() || c.Listings != onlyListed(api.KindProbe) {
		t.Errorf("listings %v", c.Listings)
	}
	stop()
}

// TestKubernetesProbes needs a server of its own: the shared one has no CRD for
// probes.
func TestKubernetesProbes(t *testing.T) {
	t.Parallel()
	s := kubetest.Start(t)
	s.InstallCRDs(t)
	ns := s.Namespace(t)
	s.Apply(t, manifest(ns, "a")+policyManifest(ns, "a", "v1")+probeManifest(ns, "a", "healthy: true, consecutiveFailures: 0"))
	t.Run("followed", func(t *testing.T) { followProbes(t, s, ns) })
	t.Run("forbidden", func(t *testing.T) { forbidProbes(t, s, ns) })
	for _, mode := range modes {
		for _, fault := range []struct {
			name, path string
			code       int32
			reason     metav1.StatusReason
		}{
			{"lists fail", "/dnshealthcheckprobes", 500, metav1.StatusReasonInternalError},
			{"lists are too many", "/dnshealthcheckprobes", 429, metav1.StatusReasonTooManyRequests},
			{"the version fails", "/apis/kuadrant.io/v1alpha1", 500, metav1.StatusReasonInternalError},
		} {
			t.Run(mode.name+", "+fault.name, func(t *testing.T) {
				// DNSRecords may be of the same version, and hold names.
				f := newFeed(t, s.Config, Selection{Namespaces: []string{ns}, Kinds: []api.Kind{
					api.KindGateway, api.KindDNSPolicy,
					api.KindProbe, api.KindSecret,
				}})
				f.src.chunked = mode.chunked
				f.line.set(func(r *http.Request) (*http.Response, error) {
					if strings.HasSuffix(r.URL.Path, fault.path) {
						return answer(r, fault.code, fault.reason)
					}
					return nil, nil
				})
				f.start()
				c := f.objects("g "+ns+"/a", "p "+ns+"/a")
				if !c.Complete() || c.Listings[api.KindProbe] != api.NotListed {
					t.Errorf("listings %v", c.Listings)
				}
				if f.stats.Synced() {
					t.Error("synced")
				}
				f.line.set(nil)
				f.objects("g "+ns+"/a", "p "+ns+"/a", "probe "+ns+"/a")
				eventually(t, "synced", f.stats.Synced)
			})
		}
	}
}

// followProbes checks that a status is followed as far as it is kept.
func followProbes(t *testing.T, s *kubetest.Server, ns string) {
	f := newFeed(t, s.Config, Selection{Namespaces: []string{ns}})
	f.start()
	c := f.objects("g "+ns+"/a", "p "+ns+"/a", "probe "+ns+"/a")
	without := map[api.Kind]api.Listing{api.KindDNSEndpoint: api.Missing}
	if f.published() != 1 || c.Listings != allListed(without) {
		t.Errorf("%d publishes, listings %v", f.published(), c.Listings)
	}
	eventually(t, "synced", f.stats.Synced)
	if p := probeOf(t, c, ns+"/a"); p.Healthy != api.ConditionTrue || p.Address != "192.0.2.1" || p.Host != "a.example.com" ||
		p.Fault+p.Invalid != "" {
		t.Errorf("probe %+v", p)
	}
	setProbeStatus(t, s, ns, map[string]any{"healthy": true, "consecutiveFailures": int64(2), "status": int64(503)})
	setProbeStatus(t, s, ns, map[string]any{"healthy": false, "consecutiveFailures": int64(5)})
	f.wait("the new status", func() bool { return probeOf(t, f.newest(), ns+"/a").Healthy == api.ConditionFalse })
	if n := values(f.recorder, func(c *api.Cluster) any { return probeOf(t, c, ns+"/a") }); n != 2 {
		t.Errorf("%d values: a failure that decides nothing is a change", n)
	}
	setProbeStatus(t, s, ns, map[string]any{"healthy": true})
}

func setProbeStatus(t *testing.T, s *kubetest.Server, ns string, status map[string]any) {
	t.Helper()
	obj := kubetest.Parse(t, probeManifest(ns, "a", ""))[0]
	r := s.Resource(t, obj)
	now, err := r.Get(t.Context(), "a", metav1.GetOptions{})
	if err == nil {
		err = unstructured.SetNestedMap(now.Object, status, "status")
	}
	if err == nil {
		_, err = r.UpdateStatus(t.Context(), now, metav1.UpdateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// forbidProbes checks that a user who may not read probes has everything else,
// and that they are taken in once they may be read.
func forbidProbes(t *testing.T, s *kubetest.Server, ns string) {
	user := s.Namespace(t) // a name that is nobody's
	resources := []string{secretResource}
	for k := range kinds {
		if api.Kind(k).HoldsNames() {
			resources = append(resources, api.Kind(k).FullResource())
		}
	}
	rules := append(readOnly(resources...), rbacv1.PolicyRule{
		APIGroups: []string{""}, Resources: []string{"namespaces"}, ResourceNames: []string{"kube-system"}, Verbs: []string{"get"},
	})
	f := newFeed(t, s.User(t, "", user, rules...), Selection{})
	f.start()
	c := f.objects("g "+ns+"/a", "p "+ns+"/a")
	if !c.Complete() || c.Listings != allListed(map[api.Kind]api.Listing{api.KindProbe: api.NotListed, api.KindDNSEndpoint: api.Missing}) {
		t.Errorf("listings %v", c.Listings)
	}
	f.log(probeResource, "not allowed", "list", "grant")
	if f.stats.Synced() {
		t.Error("synced")
	}
	tried := f.line.requests("dnshealthcheckprobes")
	eventually(t, "more attempts", func() bool { return f.line.requests("dnshealthcheckprobes") > tried+3 })
	grant(t, s, user, readOnly(probeResource))
	f.objects("g "+ns+"/a", "p "+ns+"/a", "probe "+ns+"/a")
	f.log(probeResource, "can be read")
	eventually(t, "synced", f.stats.Synced)
	if n := f.logged("not allowed"); n != 1 {
		t.Errorf("said %d times", n)
	}
}

// TestKindsThatAreNotThere: many clusters do without the kinds other than Gateways
// and policies, which is no warning.
func TestKindsThatAreNotThere(t *testing.T) {
	s := sharedServer(t)
	f := newFeed(t, s.Config, Selection{Namespaces: []string{s.Namespace(t)}})
	f.start()
	f.bothListed()
	for k := range kinds {
		if k := api.Kind(k); k != api.KindGateway && k != api.KindDNSPolicy && k != api.KindSecret {
			f.goodNews(api.Kind(k).FullResource() + " is not installed")
		}
	}
}
