package deploy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

// rightsWritten are objects for which everything is written back: status, labels, children, Events,
// owners and serials.
const rightsWritten = `apiVersion: kubi.zone/v1alpha1
kind: Zone
metadata: {namespace: kuadrant-dns, name: %[1]s}
spec: {domainName: %[1]s.example.com., delegations: [{namespaces: [%[1]s], zones: ["*"], records: [{pattern: "*"}]}]}
---
apiVersion: kubi.zone/v1alpha1
kind: Zone
metadata: {namespace: %[1]s, name: sub}
spec: {domainName: sub, zoneRef: {namespace: kuadrant-dns, name: %[1]s}, delegations: [{records: [{pattern: "*"}]}]}
---
apiVersion: kubi.zone/v1alpha1
kind: Record
metadata: {namespace: %[1]s, name: www}
spec: {domainName: www, zoneRef: {name: sub}, type: A, class: IN, ttl: 60, rdata: 192.0.2.7}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {namespace: %[1]s, name: gw}
spec:
  gatewayClassName: x
  listeners: [{name: a, hostname: a.%[1]s.example.com, port: 80, protocol: HTTP}]
status: {addresses: [{value: 127.0.0.1}]}
---
apiVersion: kuadrant.io/v1
kind: DNSPolicy
metadata: {namespace: %[1]s, name: p}
spec:
  targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: gw}
  healthCheck: {path: /up, port: 1024, protocol: HTTP, failureThreshold: 1, interval: 30s}
`

// writtenWith reports what has been written about rightsWritten in a cluster, by the right that it
// takes.
func writtenWith(t *testing.T, server *kubetest.Server, ns string) (all map[string]bool) {
	at := func(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
		return boottest.Object(t, server, apiVersion, kind, namespace, name)
	}
	labelled := func(obj *unstructured.Unstructured) bool {
		return obj != nil && obj.GetLabels()["kubi.zone/parent-zone"] != ""
	}
	zones, policy, record := "kubi.zone/v1alpha1", "kuadrant.io/v1", "kuadrant.io/v1alpha1"
	probes, err := server.Resource(t, boottest.Ref(record, "DNSHealthCheckProbe", ns)).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	events, err := server.Resource(t, boottest.Ref("v1", "Event", ns)).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]bool{
		"patch dnspolicies/status.kuadrant.io":                                     strings.Contains(boottest.Conditions(at(policy, "DNSPolicy", ns, "p")), "SubResourcesHealthy=False"),
		"patch gateways/status.gateway.networking.k8s.io":                          strings.Contains(boottest.Conditions(at("gateway.networking.k8s.io/v1", "Gateway", ns, "gw")), "kuadrant.io/DNSPolicyAffected=True"),
		"create,delete,patch dnsrecords.kuadrant.io":                               at(record, "DNSRecord", ns, "gw-a") != nil,
		"patch dnsrecords/status.kuadrant.io":                                      strings.Contains(boottest.Conditions(at(record, "DNSRecord", ns, "gw-a")), "Ready=True"),
		"create,delete,patch dnshealthcheckprobes.kuadrant.io":                     len(probes.Items) > 0,
		"patch dnshealthcheckprobes/status.kuadrant.io":                            slices.ContainsFunc(probes.Items, func(o unstructured.Unstructured) bool { return o.Object["status"] != nil }),
		"patch zones/status.kubi.zone":                                             strings.Contains(boottest.Conditions(at(zones, "Zone", ns, "sub")), "Ready=True"),
		"patch zones.kubi.zone":                                                    labelled(at(zones, "Zone", ns, "sub")),
		"patch records/status.kubi.zone":                                           strings.Contains(boottest.Conditions(at(zones, "Record", ns, "www")), "Ready=True"),
		"patch records.kubi.zone":                                                  labelled(at(zones, "Record", ns, "www")),
		"create,patch events":                                                      len(events.Items) > 0,
		"create,list,update,watch configmaps in kuadrant-dns":                      keptIn(t, server, ns),
		"get,update leases.coordination.k8s.io in kuadrant-dns named kuadrant-dns": leaseHeld(t, server),
	}
}

// leaseHeld reports whether the Lease is held.
func leaseHeld(t *testing.T, server *kubetest.Server) bool {
	lease := boottest.Object(t, server, "coordination.k8s.io/v1", "Lease", "kuadrant-dns", "kuadrant-dns")
	if lease == nil {
		return false
	}
	holder, _, _ := unstructured.NestedString(lease.Object, "spec", "holderIdentity")
	return holder != ""
}

// keptIn reports whether the registry has the owner of a namespace's host.
func keptIn(t *testing.T, server *kubetest.Server, ns string) bool {
	kept := boottest.Object(t, server, "v1", "ConfigMap", "kuadrant-dns", "kuadrant-dns-owners-0")
	if kept == nil {
		return false
	}
	text, _, _ := unstructured.NestedString(kept.Object, "data", "owners")
	return strings.Contains(text, "a."+ns+".example.com. ")
}

// TestWritingRights writes back with exactly the rights of the variants that allow it: to the main
// cluster, and to another one. Everything is written, and no right is missing. With one rule less,
// the log names the missing right, what needs it is not written, and everything else is.
func TestWritingRights(t *testing.T) {
	all := t
	main, further := kubetest.Start(t), kubetest.Start(t)
	for _, s := range []*kubetest.Server{main, further} {
		s.InstallCRDs(t)
		boottest.NeedNamespace(t, s, "kuadrant-dns")
	}
	// less is the log's word for the missing right, and what else cannot be written then.
	type less struct {
		right, warning string
		takesAlong     []string
	}
	const (
		records, probes = "create,delete,patch dnsrecords.kuadrant.io", "create,delete,patch dnshealthcheckprobes.kuadrant.io"
		kept            = "create,list,update,watch configmaps in kuadrant-dns"
		lease           = "get,update leases.coordination.k8s.io in kuadrant-dns named kuadrant-dns"
	)
	lessOf := []less{
		{},
		{"patch dnspolicies/status.kuadrant.io", "not allowed to write the status of dnspolicies.kuadrant.io", nil},
		{"patch gateways/status.gateway.networking.k8s.io", "not allowed to write the status of gateways.gateway.networking.k8s.io", nil},
		{records, "not allowed to create dnsrecords.kuadrant.io", []string{"patch dnsrecords/status.kuadrant.io"}},
		{"patch dnsrecords/status.kuadrant.io", "not allowed to write the status of dnsrecords.kuadrant.io", nil},
		{probes, "not allowed to create dnshealthcheckprobes.kuadrant.io", []string{"patch dnshealthcheckprobes/status.kuadrant.io"}},
		{"patch dnshealthcheckprobes/status.kuadrant.io", "not allowed to write the status of dnshealthcheckprobes.kuadrant.io", nil},
		{"patch zones/status.kubi.zone", "not allowed to write the status of zones.kubi.zone", nil},
		{"patch zones.kubi.zone", "zones.kubi.zone", nil},
		{"patch records/status.kubi.zone", "not allowed to write the status of records.kubi.zone", nil},
		{"patch records.kubi.zone", "records.kubi.zone", nil},
		{"create,patch events", "not allowed to write Events", nil},
		{"list leases.coordination.k8s.io named a3f98d6c.kuadrant.io", "check whether Kuadrant's operators run", nil},
		{lease, "not allowed to", nil},
	}
	for _, c := range []struct {
		variant string
		server  *kubetest.Server
		less    []less
	}{
		{"full", main, append(slices.Clone(lessOf), less{kept, "the ConfigMaps with owners and serials", nil})},
		{"remote", further, lessOf},
	} {
		for _, less := range c.less {
			t.Run(c.variant+" less "+cmp.Or(less.right, "nothing"), func(t *testing.T) {
				ns := c.server.Namespace(t)
				bindLess(t, c.server, ns, c.variant, less.right)
				user := kubetest.WriteKubeconfig(t, c.server.User(t, metav1.NamespaceDefault, ns))
				options := []string{"lease kuadrant-dns/kuadrant-dns", "probe-allow 127.0.0.1", "nameserver ns1.example.com 192.0.2.53"}
				if c.server == further {
					options = append(options, "cluster far "+user)
					user = main.Kubeconfig
				}
				log := boottest.Listen(t)
				c.server.Apply(all, fmt.Sprintf(rightsWritten, ns)) // it stays: an object that vanishes without a deletion is logged too
				addr := boottest.Kube(t, user, "example.com", options...)
				boottest.Asks(t, addr, "www.sub."+ns+".example.com.", "192.0.2.7")
				lacking := append(slices.Clone(less.takesAlong), less.right)
				missing := ""
				t.Cleanup(func() {
					if t.Failed() {
						t.Logf("not done: %s", missing)
					}
				})
				cluster, fell := "local", false
				if c.server == further {
					cluster = "far"
				}
				boottest.WaitFor(t, "all that may be written", func() bool {
					// Changes before this replica writes have no Event: switch off another target
					// once it does.
					if !fell && log.Has("info", fmt.Sprintf("cluster %q: this replica writes", cluster)) {
						fell = true
						policy := c.server.Resource(t, boottest.Ref("kuadrant.io/v1", "DNSPolicy", ns))
						if _, err := policy.Patch(t.Context(), "p", types.MergePatchType, []byte(`{"spec":{"healthCheck":{"port":1025}}}`),
							metav1.PatchOptions{}); err != nil {
							t.Fatal(err)
						}
					}
					missing = ""
					for right, done := range writtenWith(t, c.server, ns) {
						if !done && !slices.Contains(lacking, right) && less.right != lease && !(right == kept && c.server == further) {
							missing += right + "; "
						}
					}
					return missing == "" && (less.warning == "" || log.Has("warning", less.warning))
				})
				for right, done := range writtenWith(t, c.server, ns) {
					if done && slices.Contains(lacking, right) {
						t.Errorf("%s is done without the right", right)
					}
				}
				for _, line := range log.All() {
					if strings.Contains(line, "not allowed") != (strings.HasPrefix(line, "warning") && less.warning != "" && strings.Contains(line, less.warning)) {
						t.Errorf("logged %q", line)
					}
				}
			})
		}
	}
}
