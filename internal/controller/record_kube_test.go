package controller

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
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
	s := kubetest.Shared(t)
	s.InstallCRDs(t)
	ns := s.Namespace(t)
	s.ApplyIn(t, ns, userRecord+`---
apiVersion: kuadrant.io/v1alpha1
kind: DNSHealthCheckProbe
metadata: {name: forged, labels: {app.kubernetes.io/managed-by: kuadrant-coredns}}
spec: {address: 192.0.2.9, port: 80, protocol: HTTP}
`)
	r := newReplica(t, s.Config, ns, func(o *Options) { o.Selected = true })
	r.probes = probeOf("own-192-0-2-1")
	r.start()
	standing := func() bool {
		return get(t, s, "kuadrant.io/v1alpha1", "DNSHealthCheckProbe", ns, "own-192-0-2-1") != nil
	}
	until(t, "probe", standing)
	r.rests()
	probe, record := get(t, s, "kuadrant.io/v1alpha1", "DNSHealthCheckProbe", ns, "own-192-0-2-1"),
		get(t, s, "kuadrant.io/v1alpha1", "DNSRecord", ns, "own")
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
	if again := get(t, s, "kuadrant.io/v1alpha1", "DNSHealthCheckProbe", ns, "own-192-0-2-1"); again == nil ||
		again.GetUID() != probe.GetUID() {
		t.Error("the probe of a DNSRecord that stands there is gone, though not all DNSRecords are known")
	}
	r.again()
	records := s.Resource(t, ref("kuadrant.io/v1alpha1", "DNSRecord", ns))
	if _, err := records.Patch(t.Context(), "own", types.MergePatchType, []byte(`{"spec":{"healthCheck":null}}`),
		metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	until(t, "end of the probe with the check", func() bool { return !standing() })
	r.rests()
	s.ApplyIn(t, ns, userRecord)
	until(t, "probe", standing)
	r.rests()
	if err := records.Delete(t.Context(), "own", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	until(t, "end of the probe with the DNSRecord", func() bool { return !standing() })
	r.rests()
	if get(t, s, "kuadrant.io/v1alpha1", "DNSHealthCheckProbe", ns, "forged") == nil {
		t.Error("a probe that nobody controls is gone")
	}
}

// TestTakenProbeName: a probe of somebody else is left alone.
func TestTakenProbeName(t *testing.T) {
	s := kubetest.Shared(t)
	s.InstallCRDs(t)
	ns := s.Namespace(t)
	s.ApplyIn(t, ns, userRecord+`---
apiVersion: kuadrant.io/v1alpha1
kind: DNSHealthCheckProbe
metadata: {name: taken}
spec: {address: 192.0.2.9, port: 80, protocol: HTTP}
`)
	r := newReplica(t, s.Config, ns, nil)
	r.probes = probeOf("taken")
	r.start()
	until(t, "word of the name", func() bool { return len(r.logged("of DNSRecord "+ns+"/own is not written")) == 1 })
	r.rests()
	if o := get(t, s, "kuadrant.io/v1alpha1", "DNSHealthCheckProbe", ns, "taken"); o == nil ||
		o.Object["spec"].(map[string]any)["address"] != "192.0.2.9" {
		t.Errorf("somebody else's probe: %v", o)
	}
}

// TestStatusOnlyOfRecords: with write-back status, a DNSRecord gets no probe.
func TestStatusOnlyOfRecords(t *testing.T) {
	s := kubetest.Shared(t)
	s.InstallCRDs(t)
	ns := s.Namespace(t)
	s.ApplyIn(t, ns, userRecord+policy("a"))
	r := newReplica(t, s.Config, ns, func(o *Options) { o.StatusOnly = true })
	r.probes = probeOf("own-192-0-2-1")
	r.start()
	until(t, "status", func() bool { return messageOf(get(t, s, "kuadrant.io/v1", "DNSPolicy", ns, "a"), "Accepted") != "" })
	r.rests()
	if get(t, s, "kuadrant.io/v1alpha1", "DNSHealthCheckProbe", ns, "own-192-0-2-1") != nil {
		t.Error("there is a probe")
	}
}
