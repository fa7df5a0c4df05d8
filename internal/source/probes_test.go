package source

import (
	"fmt"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

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
