package controller

import (
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// userRecord is a DNSRecord with a check as a manifest.
const userRecord = `---
apiVersion: kuadrant.io/v1alpha1
kind: DNSRecord
metadata: {name: own}
spec: {rootHost: own.example.com, healthCheck: {path: /healthz, port: 8080, protocol: HTTP}, endpoints: [{dnsName: own.example.com, recordType: A, targets: [192.0.2.1]}]}
`

// probeOf is a probe of a DNSRecord, where that has a check.
func probeOf(name string) func(*api.DNSRecord) []api.Child {
	return func(r *api.DNSRecord) []api.Child {
		if r.HealthCheck == nil || r.Deleting {
			return nil
		}
		return []api.Child{{
			Kind: api.KindProbe, Name: r.Namespace() + "/" + name, Owner: api.ChildOwner{Kind: api.KindDNSRecord, Name: r.Name, UID: r.UID},
			Labels: map[string]string{api.LabelManagedBy: api.ManagedBy},
			Probe:  &api.ChildProbe{Address: "192.0.2.1", Host: "own.example.com", Check: *r.HealthCheck},
		}}
	}
}

// TestRecordChildren: the probes of a DNSRecord are made, and go with what they stand for, whether or
// not there is anything to be said of the DNSRecord, and whichever policies are read.
func TestRecordChildren(t *testing.T) {
	r := alone(t, userRecord+`---
apiVersion: kuadrant.io/v1alpha1
kind: DNSHealthCheckProbe
metadata: {name: forged, labels: {app.kubernetes.io/managed-by: kuadrant-coredns}}
spec: {address: 192.0.2.9, port: 80, protocol: HTTP}
`, func(o *Options) { o.Selected = true })
	r.probes = probeOf("own-192-0-2-1")
	r.start()
	standing := func() bool {
		return r.get("DNSHealthCheckProbe", "own-192-0-2-1") != nil
	}
	until(t, "probe", standing)
	r.rests()
	probe, record := r.get("DNSHealthCheckProbe", "own-192-0-2-1"),
		r.record("own")
	owners := probe.GetOwnerReferences()
	if len(owners) != 1 || !strings.HasPrefix(owners[0].APIVersion, "kuadrant.io/v1alpha") || owners[0].Kind != "DNSRecord" ||
		owners[0].Name != "own" || owners[0].UID != record.GetUID() ||
		owners[0].Controller == nil || !*owners[0].Controller || owners[0].BlockOwnerDeletion != nil {
		t.Errorf("owners: %+v", owners)
	}
	// Nothing is deleted while not all DNSRecords are known.
	less := r.heard()
	less.DNSRecords, less.Listings[api.KindDNSRecord] = api.Cluster{}.DNSRecords, api.NotListed
	r.w.Follow(says{r, &less}, nil)
	r.idles()
	less.Listings[api.KindDNSRecord] = api.Listed // behind what stands there
	r.w.Follow(says{r, &less}, nil)
	r.idles()
	if again := r.get("DNSHealthCheckProbe", "own-192-0-2-1"); again == nil ||
		again.GetUID() != probe.GetUID() {
		t.Error("the probe of a DNSRecord that stands there is gone, though not all DNSRecords are known")
	}
	r.again()
	r.patch("DNSRecord", "own", "", `{"spec":{"healthCheck":null}}`)
	until(t, "end of the probe with the check", func() bool { return !standing() })
	r.rests()
	r.server.ApplyIn(t, r.ns, userRecord)
	until(t, "probe", standing)
	r.rests()
	r.remove("DNSRecord", "own")
	until(t, "end of the probe with the DNSRecord", func() bool { return !standing() })
	r.rests()
	if r.get("DNSHealthCheckProbe", "forged") == nil {
		t.Error("a probe that nobody controls is gone")
	}
}
