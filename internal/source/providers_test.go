package source

import (
	"fmt"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// providerManifest is a Secret that is a DNS provider.
func providerManifest(ns, name, labels, zone string) string {
	return fmt.Sprintf(`---
apiVersion: v1
kind: Secret
type: kuadrant.io/coredns
metadata: {namespace: %s, name: %s, labels: {%s}}
stringData: {ZONES: %s, PASSWORD: %s}
`, ns, name, labels, zone, password)
}

// providedPolicy is a policy that refers to a DNS provider as its spec says.
func providedPolicy(ns, name, version, spec string) string {
	return fmt.Sprintf(`---
apiVersion: kuadrant.io/%s
kind: DNSPolicy
metadata: {namespace: %s, name: %s}
spec: {targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: a}, %s}
`, version, ns, name, spec)
}

// TestProvidersAreFetchedByNeed: the Secrets that policies name, select or mean by default are fetched, whatever they are
// labelled with, with their zones and no value beside; others are not.
func TestProvidersAreFetchedByNeed(t *testing.T) {
	s := sharedServer(t)
	ns := s.Namespace(t)
	s.Apply(t, providerManifest(ns, "named", "", "a.example")+providerManifest(ns, "selected", "team: shop", "b.example")+
		providerManifest(ns, "default", `kuadrant.io/default-provider: "true"`, "c.example")+providerManifest(ns, "idle",
		"team: bank", "d.example")+
		providedPolicy(ns, "named", "v1", "providerRefs: [{name: named}]"))
	f := newFeed(t, s.Config, Selection{Namespaces: []string{ns}})
	f.src.timing.fetch = f.src.timing.retry
	t.Cleanup(func() { f.keepsSecrets() })
	f.start()
	var zones string
	f.wait("the first cluster", func() bool {
		if len(f.clusters) == 0 {
			return false
		}
		zones = zonesOf(f.clusters[0], ns+"/named")
		return true
	})
	if zones != "[a.example.]" {
		t.Errorf("the first cluster has %s of the Secret that a policy names", zones)
	}
	have := func(what string, want map[string]string) {
		t.Helper()
		f.wait(what, func() bool {
			all := f.newest().Secrets
			for name, zones := range want {
				if zonesOf(f.newest(), ns+"/"+name) != zones {
					return false
				}
			}
			return all.Len() == len(want)
		})
	}
	named := "[a.example.]"
	have("one by name", map[string]string{"named": named})
	s.Apply(t, providedPolicy(ns, "default", "v1", "excludeAddresses: []"))
	have("and the default", map[string]string{"named": named, "default": "[c.example.]"})
	s.Apply(t, providedPolicy(ns, "selecting", "v1alpha2", "routingStrategy: simple, providerSelector: {matchLabels: {team: shop}}"))
	have("and a selected one", map[string]string{"named": named, "default": "[c.example.]", "selected": "[b.example.]"})
	s.Apply(t, providerManifest(ns, "idle", "team: shop", "d.example"))
	have("and one that is labelled so", map[string]string{
		"named": named, "default": "[c.example.]", "selected": "[b.example.]",
		"idle": "[d.example.]",
	})
	s.Apply(t, providerManifest(ns, "named", "", "e.example"))
	have("a change", map[string]string{"named": "[e.example.]", "default": "[c.example.]", "selected": "[b.example.]", "idle": "[d.example.]"})
	removeObject(t, s, providedPolicy(ns, "selecting", "v1alpha2", ""))
	removeObject(t, s, providedPolicy(ns, "default", "v1", ""))
	removeObject(t, s, providerManifest(ns, "named", "", ""))
	have("what is left", map[string]string{})
}

// zonesOf returns the zones of a Secret, as text.
func zonesOf(c *api.Cluster, name string) string {
	s, ok := c.Secrets.Get(name)
	if !ok {
		return "none"
	}
	return fmt.Sprint(s.Provider.Zones)
}
