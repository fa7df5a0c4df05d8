package kube

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
)

// rightsWithout returns faultRights without the rights to list and watch one resource.
func rightsWithout(resource string) []rbacv1.PolicyRule {
	rules := faultRights()
	for i := range rules {
		if slices.Contains(rules[i].Verbs, "list") {
			rules[i].Resources = slices.DeleteFunc(rules[i].Resources, func(r string) bool { return r == resource })
		}
	}
	return slices.DeleteFunc(rules, func(r rbacv1.PolicyRule) bool { return len(r.Resources)+len(r.NonResourceURLs) == 0 })
}

// TestChildrenGoWhileGatewaysCannotBeListed: a server starts, and its role lacks a verb on
// Gateways. That it knows no Gateway does not mean that there is none: policies keep their
// DNSRecords, which others read, and which remember the hosts of deleted Secrets
// (docs/providers.md).
func TestChildrenGoWhileGatewaysCannotBeListed(t *testing.T) {
	w := newFaultWorld(t, 3)
	proxy, _ := w.limited()
	addr, stop := w.boot(proxy.Kubeconfig)
	w.settles(addr)
	stop()
	uids := make(map[string]string)
	for _, r := range w.list("kuadrant.io/v1alpha1", "DNSRecord") {
		uids[r.GetName()] = string(r.GetUID())
	}
	owners := w.kept("owners")

	boottest.WriteFile(t, proxy.TokenFile, w.server.User(t, "", "lesser", rightsWithout("gateways")...).BearerToken)
	addr, stop = w.boot(proxy.Kubeconfig)
	if m := boottest.Exchange(t, addr, "h0.example.com.", dns.TypeA); m.Rcode != dns.RcodeServerFailure {
		t.Logf("h0: %v", m)
	}
	w.server.Apply(t, "{apiVersion: kubi.zone/v1alpha1, kind: Record, metadata: {namespace: ns, name: bad}, spec: {domainName: bad.z.example.com., type: SOA, rdata: x}}\n")
	boottest.WaitFor(t, "status of a Record, for it writes", func() bool {
		return w.says("kubi.zone/v1alpha1", "Record", "bad") != ""
	})
	boottest.WaitFor(t, "rest", func() bool { return boottest.Metrics(t)["write_backlog{local}"] == 0 })
	for i := range 3 {
		t.Logf("policy h%d says %s", i, w.says("kuadrant.io/v1", "DNSPolicy", fmt.Sprint("h", i)))
	}
	for name, uid := range uids {
		if r := boottest.Object(t, w.server, "kuadrant.io/v1alpha1", "DNSRecord", "ns", name); r == nil || string(r.GetUID()) != uid {
			t.Errorf("DNSRecord %s has been deleted", name)
		}
	}
	for line := range strings.Lines(owners) {
		if !strings.Contains(w.kept("owners"), line) {
			t.Errorf("the owner %q is not on record any more", line)
		}
	}
	stop()
}

// TestOwnerIsLostWhileItsKindCannotBeListed: a DNSRecord owns the name. A server starts whose role
// does not let it list DNSRecords: no policy becomes the permanent owner (rule 5.4).
func TestOwnerIsLostWhileItsKindCannotBeListed(t *testing.T) {
	w := newFaultWorld(t, 1)
	w.server.Apply(t, `apiVersion: kuadrant.io/v1alpha1
kind: DNSRecord
metadata: {namespace: theirs, name: r, labels: {kuadrant.io/coredns-zone-name: example.com}}
spec:
  rootHost: u.example.com
  endpoints: [{dnsName: u.example.com, recordType: A, recordTTL: 60, targets: [192.0.2.77]}]
`)
	proxy, full := w.limited()
	addr, stop := w.boot(proxy.Kubeconfig)
	boottest.Asks(t, addr, "u.example.com.", "192.0.2.77")
	const owner = "u.example.com. local DNSRecord theirs/r "
	boottest.WaitFor(t, "owner on record", func() bool { return strings.Contains(w.kept("owners"), owner) })
	w.server.Apply(t, boottest.GatewayFile("u", "192.0.2.78"))
	boottest.WaitFor(t, "word of the conflict", func() bool {
		return strings.Contains(w.says("kuadrant.io/v1", "DNSPolicy", "u"), "Enforced=False")
	})
	stop()

	boottest.WriteFile(t, proxy.TokenFile, w.server.User(t, "", "lesser", rightsWithout("dnsrecords")...).BearerToken)
	addr, stop = w.boot(proxy.Kubeconfig)
	w.put("later", "192.0.2.79")
	boottest.Asks(t, addr, "later.example.com.", "192.0.2.79")
	boottest.WaitFor(t, "owner of what came later", func() bool { return strings.Contains(w.kept("owners"), "later.example.com. ") })
	t.Logf("meanwhile u is %s", boottest.AllA(boottest.Exchange(t, addr, "u.example.com.", dns.TypeA)))
	if !strings.Contains(w.kept("owners"), owner) {
		t.Errorf("the owner is not on record any more:\n%s", w.kept("owners"))
	}
	stop()

	boottest.WriteFile(t, proxy.TokenFile, full)
	addr, stop = w.boot(proxy.Kubeconfig)
	defer stop()
	boottest.Asks(t, addr, "later.example.com.", "192.0.2.79")
	boottest.Asks(t, addr, "u.example.com.", "192.0.2.77")
}

// TestSecretIsForgottenWhileGatewaysCannotBeListed: the Secret of a policy is deleted, and its host
// stays served, as its DNSRecord says (docs/providers.md). A start without a right on Gateways must
// not delete that DNSRecord: the host would not come back with the right.
func TestSecretIsForgottenWhileGatewaysCannotBeListed(t *testing.T) {
	w := newFaultWorld(t, 1)
	w.server.Apply(t, `{apiVersion: v1, kind: Secret, type: kuadrant.io/coredns, metadata: {namespace: ns, name: creds}, stringData: {ZONES: example.com}}
---
`+strings.Replace(boottest.GatewayFile("s", "192.0.2.77"), "spec: {targetRef", "spec: {providerRefs: [{name: creds}], targetRef", 1))
	proxy, full := w.limited()
	addr, stop := w.boot(proxy.Kubeconfig)
	boottest.Asks(t, addr, "s.example.com.", "192.0.2.77")
	boottest.WaitFor(t, "DNSRecord", func() bool {
		return w.says("kuadrant.io/v1alpha1", "DNSRecord", "s-a") == "Ready=True/ProviderSuccess"
	})
	boottest.WaitFor(t, "line with the Secret", func() bool { return strings.Contains(w.kept("owners"), "secret=creds") })
	secrets := boottest.Ref("v1", "Secret", "ns")
	if err := w.server.Resource(t, secrets).Delete(t.Context(), "creds", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	boottest.WaitFor(t, "word of the Secret that is gone", func() bool {
		p := boottest.Object(t, w.server, "kuadrant.io/v1", "DNSPolicy", "ns", "s")
		return strings.Contains(fmt.Sprint(p.Object["status"]), "SecretNotFound")
	})
	boottest.Asks(t, addr, "s.example.com.", "192.0.2.77")
	stop()

	boottest.WriteFile(t, proxy.TokenFile, w.server.User(t, "", "lesser", rightsWithout("gateways")...).BearerToken)
	_, stop = w.boot(proxy.Kubeconfig)
	boottest.WaitFor(t, "status of a policy, for it writes", func() bool {
		return w.says("kuadrant.io/v1", "DNSPolicy", "s") != "Accepted=True/Accepted Enforced=True/Enforced"
	})
	boottest.WaitFor(t, "rest", func() bool { return boottest.Metrics(t)["write_backlog{local}"] == 0 })
	stop()

	boottest.WriteFile(t, proxy.TokenFile, full)
	addr, stop = w.boot(proxy.Kubeconfig)
	defer stop()
	boottest.Asks(t, addr, "h0.example.com.", "192.0.2.1")
	if got := boottest.AllA(boottest.Exchange(t, addr, "s.example.com.", dns.TypeA)); got != "192.0.2.77" {
		t.Errorf("s.example.com. is %q for good, want 192.0.2.77", got)
	}
}
