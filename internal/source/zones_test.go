package source

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

// zoneManifests are a Zone, a Record, a DNSRecord in each version and a DNSEndpoint.
func zoneManifests(ns string) string {
	return fmt.Sprintf(`
---
apiVersion: kubi.zone/v1alpha1
kind: Zone
metadata: {name: z, namespace: %[1]s}
spec: {domainName: example.org., delegations: [{records: [{pattern: "*"}]}]}
status: {hash: abc, serial: 2026010100}
---
apiVersion: kubi.zone/v1alpha1
kind: Record
metadata: {name: r, namespace: %[1]s}
spec: {domainName: www, zoneRef: {name: z}, type: A, rdata: 192.0.2.1}
---
apiVersion: kuadrant.io/v1alpha1
kind: DNSRecord
metadata: {name: one, namespace: %[1]s, labels: {kuadrant.io/coredns-zone-name: example.org}}
spec: {rootHost: one.example.org, endpoints: [{dnsName: one.example.org, recordType: A, targets: [192.0.2.1]}]}
---
apiVersion: kuadrant.io/v1alpha2
kind: DNSRecord
metadata: {name: two, namespace: %[1]s}
spec: {providerRef: {name: p, namespace: %[1]s}, zoneID: example.org, endpoints: [{dnsName: two.example.org, recordType: A, targets: [192.0.2.1]}]}
---
apiVersion: externaldns.k8s.io/v1alpha1
kind: DNSEndpoint
metadata: {name: e, namespace: %[1]s}
spec: {endpoints: [{dnsName: e.example.org, recordType: A, recordTTL: 60, targets: [192.0.2.1]}]}
`, ns)
}

// zoneObjects are the names of what zoneManifests makes.
func zoneObjects(ns string) []string {
	return []string{
		"zone " + ns + "/z", "record " + ns + "/r", "dnsrecord " + ns + "/one", "dnsrecord " + ns + "/two",
		"endpoint " + ns + "/e",
	}
}

// checkZoneObjects checks what is read of zoneManifests.
func checkZoneObjects(t *testing.T, c *api.Cluster, ns string) {
	t.Helper()
	z, _ := c.Zones.Get(ns + "/z")
	r, _ := c.Records.Get(ns + "/r")
	one, _ := c.DNSRecords.Get(ns + "/one")
	two, _ := c.DNSRecords.Get(ns + "/two")
	e, _ := c.DNSEndpoints.Get(ns + "/e")
	if z.DomainName != "example.org." || z.Kept.Serial != 2026010100 || len(z.Delegations) != 1 || z.Fault+z.Invalid != "" {
		t.Errorf("zone %+v", z)
	}
	if r.DomainName != "www" || r.Parent != ns+"/z" || r.RData != "192.0.2.1" || r.Fault+r.Invalid != "" {
		t.Errorf("record %+v", r)
	}
	if one.RootHost != "one.example.org." || one.Labels[api.LabelZoneName] != "example.org" || len(one.Endpoints) != 1 ||
		one.Fault+one.Invalid != "" {
		t.Errorf("DNSRecord %+v", one)
	}
	if two.RootHost != "two.example.org." || two.Provider.Namespace != ns || two.ZoneID != "example.org" || two.Fault+two.Invalid != "" {
		t.Errorf("DNSRecord of v1alpha2 %+v", two)
	}
	if len(e.Endpoints) != 1 || e.Endpoints[0].TTL != 60 || e.Fault+e.Invalid != "" {
		t.Errorf("DNSEndpoint %+v", e)
	}
}

func TestDirectoryReadsZones(t *testing.T) {
	f := newFolder(t)
	f.write("a.yaml", zoneManifests("ns"))
	f.start()
	c := f.objects(zoneObjects("ns")...)
	if c.Listings != allListed(nil) {
		t.Errorf("listings %v", c.Listings)
	}
	checkZoneObjects(t, c, "ns")
	f.replace("a.yaml", strings.ReplaceAll(zoneManifests("ns"), "192.0.2.1", "192.0.2.2"))
	f.wait("the new data", func() bool {
		r, _ := f.newest().Records.Get("ns/r")
		return r.RData == "192.0.2.2"
	})
	if z, _ := f.latest().Zones.Get("ns/z"); z != first(c.Zones.Get("ns/z")) {
		t.Error("the zone has not changed, but is another object")
	}
}

// failAt makes a server fail at paths with the given end.
func failAt(path string) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		if strings.HasSuffix(r.URL.Path, path) {
			return answer(r, 500, metav1.StatusReasonInternalError)
		}
		return nil, nil
	}
}

func first[T any](v T, _ bool) T { return v }

// TestKubernetesZones needs a server of its own: the shared one does not have the kinds.
func TestKubernetesZones(t *testing.T) {
	t.Parallel()
	s := kubetest.Start(t)
	s.InstallCRDs(t, kubetest.GatewayAPI, kubetest.Kuadrant, kubetest.ExternalDNS)
	ns := s.Namespace(t)
	s.Apply(t, manifest(ns, "a")+zoneManifests(ns))
	all := append(zoneObjects(ns), "g "+ns+"/a")
	t.Run("followed", func(t *testing.T) {
		f := newFeed(t, s.Config, Selection{Namespaces: []string{ns}})
		f.start()
		c := f.objects(all...)
		if f.published() != 1 || c.Listings != allListed(nil) {
			t.Errorf("%d publishes, listings %v", f.published(), c.Listings)
		}
		eventually(t, "synced", f.stats.Synced)
		checkZoneObjects(t, c, ns)
		if n := f.line.requests("/kuadrant.io/v1alpha2/"); n != 0 {
			t.Errorf("%d requests for a version that is not the best", n)
		}
		obj := kubetest.Parse(t, zoneManifests(ns))[1]
		records := s.Resource(t, obj)
		patch := []byte(`{"spec":{"rdata":"192.0.2.3"}}`)
		if _, err := records.Patch(t.Context(), "r", "application/merge-patch+json", patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		f.wait("the new data", func() bool { return first(f.newest().Records.Get(ns+"/r")).RData == "192.0.2.3" })
	})
	// A server that starts fails for a moment: what comes then may own names.
	t.Run("failing for a while", func(t *testing.T) {
		f := newFeed(t, s.Config, Selection{Namespaces: []string{ns}})
		f.src.timing.spare = time.Hour
		f.line.set(failAt("/zones"))
		f.start()
		eventually(t, "attempts", func() bool { return f.line.requests("/zones") > 5 })
		if f.published() != 0 {
			t.Error("published without the Zones")
		}
		f.line.set(nil)
		if c := f.objects(all...); f.published() != 1 || !c.Complete() {
			t.Errorf("%d publishes, listings %v", f.published(), c.Listings)
		}
	})
	// A kind that can be done without, and cannot be listed, keeps nobody from
	// answering for the others for long.
	for _, fault := range []struct {
		kind api.Kind
		path string
	}{
		{api.KindZone, "/zones"},
		{api.KindRecord, "/records"},
		{api.KindDNSRecord, "/dnsrecords"},
		{api.KindDNSEndpoint, "/dnsendpoints"},
		{api.KindDNSEndpoint, "/apis/externaldns.k8s.io/v1alpha1"},
	} {
		t.Run("failing at "+fault.path, func(t *testing.T) {
			f := newFeed(t, s.Config, Selection{Namespaces: []string{ns}})
			f.src.timing.spare = 100 * time.Millisecond
			f.line.set(failAt(fault.path))
			f.start()
			var rest []string
			for _, name := range all {
				if !strings.HasPrefix(name, prefixes[fault.kind]) {
					rest = append(rest, name)
				}
			}
			c := f.objects(rest...)
			if c.Complete() || c.Listings != allListed(map[api.Kind]api.Listing{fault.kind: api.NotListed}) {
				t.Errorf("listings %v", c.Listings)
			}
			f.line.set(nil)
			if c = f.objects(all...); !c.Complete() {
				t.Errorf("listings %v", c.Listings)
			}
			eventually(t, "synced", f.stats.Synced)
		})
	}
}
