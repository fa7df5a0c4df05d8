package kube

import (
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
)

// faultUser is the plugin's account and role in tests of rights.
const faultUser = "faulty"

// faultRights returns the rights that the plugin needs, a rule for each group.
func faultRights() []rbacv1.PolicyRule {
	rule := func(group, verbs string, resources ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: strings.Fields(verbs)}
	}
	return []rbacv1.PolicyRule{
		rule("*", "list watch", "gateways", "zones", "records", "dnsendpoints", "dnshealthcheckprobes", "dnsrecords", "secrets"),
		rule("kuadrant.io", "list watch", "dnspolicies"),
		rule("", "get", "namespaces", "secrets"),
		rule("", "list watch create update", "configmaps"),
		rule("", "create patch", "events"),
		rule("coordination.k8s.io", "get list create update", "leases"),
		rule("*", "patch", "gateways/status", "zones/status", "records/status", "zones", "records", "dnsrecords/status", "dnshealthcheckprobes/status"),
		rule("kuadrant.io", "patch", "dnspolicies/status"),
		rule("kuadrant.io", "patch delete", "dnsrecords", "dnshealthcheckprobes"),
		rule("kuadrant.io", "create", "dnsrecords"),
		rule("kuadrant.io", "create", "dnshealthcheckprobes"),
		{NonResourceURLs: []string{"*"}, Verbs: []string{"get"}},
	}
}

// grant gives the account all rights except those of rules that name a resource and a verb.
func (w *faultWorld) grant(less, verb string) {
	w.t.Helper()
	w.grantOnly(slices.DeleteFunc(faultRights(), func(r rbacv1.PolicyRule) bool {
		return slices.Contains(r.Resources, less) && slices.Contains(r.Verbs, verb)
	}))
}

// grantOnly replaces the account's rights.
func (w *faultWorld) grantOnly(rules []rbacv1.PolicyRule) {
	w.t.Helper()
	role := &rbacv1.ClusterRole{
		TypeMeta: metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole"}, ObjectMeta: metav1.ObjectMeta{Name: faultUser},
		Rules: rules,
	}
	obj, err := runtime.DefaultUnstructuredConverter.ToUnstructured(role)
	if err == nil {
		u := &unstructured.Unstructured{Object: obj}
		_, err = w.server.Resource(w.t, u).Update(w.t.Context(), u, metav1.UpdateOptions{})
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// said counts the warnings that contain a text.
func said(log *boottest.Journal, text string) (n int) {
	for _, line := range log.All() {
		if strings.HasPrefix(line, "warning") && strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// TestFaultVerbTaken: while one right is missing, the log says so once, with what to grant.
// Everything that does not need the right continues, and the rest follows when it is granted again.
func TestFaultVerbTaken(t *testing.T) {
	w := newFaultWorld(t, 2)
	proxy, _ := w.limited()
	log := boottest.Listen(t)
	check := func(denied string, times int) {
		t.Helper()
		if n := said(log, denied); n != times {
			t.Errorf("%q is said %d times, want %d: %q", denied, n, times, log.All())
		}
	}

	w.survives(proxy, map[string][]string{"h0": {"192.0.2.11", "192.0.2.12"}, "h1": {"NXDOMAIN"}}, func(addr string) {
		w.grant("dnspolicies/status", "patch")
		w.put("p0", "192.0.2.100")
		w.put("p1", "192.0.2.101")
		const noStatus = "not allowed to write the status of dnspolicies.kuadrant.io"
		for _, host := range []string{"p0", "p1"} {
			boottest.Asks(t, addr, host+".example.com.", w.hosts[host])
			boottest.WaitFor(t, "DNSRecord, which needs no such right", func() bool {
				return w.says("kuadrant.io/v1alpha1", "DNSRecord", host+"-a") == "Ready=True/ProviderSuccess"
			})
			boottest.WaitFor(t, "attempt for "+host, func() bool { return len(proxy.Written("dnspolicies/"+host+"/status 403")) > 1 })
		}
		check(noStatus, 1)
		w.grant("", "")
		w.settles(addr)

		w.grant("dnsrecords", "create")
		w.put("p2", "192.0.2.102")
		w.put("p3", "192.0.2.103")
		const noRecord = "not allowed to create dnsrecords.kuadrant.io"
		for _, host := range []string{"p2", "p3"} {
			boottest.Asks(t, addr, host+".example.com.", w.hosts[host])
			boottest.WaitFor(t, "status, which needs no such right", func() bool {
				return w.says("kuadrant.io/v1", "DNSPolicy", host) == "Accepted=True/Accepted Enforced=True/Enforced"
			})
			boottest.WaitFor(t, "attempt for "+host, func() bool { return len(proxy.Written("dnsrecords/"+host+"-a 403")) > 1 })
		}
		check(noRecord, 1)
		w.grant("", "")
		w.settles(addr)

		w.grant("dnspolicies", "list")
		proxy.Cut()
		const noList = "not allowed to read dnspolicies.kuadrant.io"
		boottest.WaitFor(t, "word of what cannot be read", func() bool { return said(log, noList) > 0 })
		w.put("h0", "192.0.2.11")
		boottest.Asks(t, addr, "h0.example.com.", "192.0.2.11")
		w.drop("h1")
		w.put("p4", "192.0.2.104")
		if record := boottest.Object(t, w.server, "kuadrant.io/v1alpha1", "DNSRecord", "ns", "h1-a"); record == nil {
			t.Error("the record of a policy that may still be there has gone")
		}
		check(noList, 1)
		w.grant("", "")
		w.settles(addr)
		check(noStatus, 1)
		check(noRecord, 1)
	})
}

// TestFaultTokenRevoked: the plugin's account is deleted. Readers and writers log that; answers
// stay. With a new token in the file, everything continues.
func TestFaultTokenRevoked(t *testing.T) {
	w := newFaultWorld(t, 2)
	proxy, _ := w.limited()
	log := boottest.Listen(t)
	w.survives(proxy, map[string][]string{"h0": {"192.0.2.11"}, "h1": {"NXDOMAIN"}}, func(addr string) {
		account := boottest.Ref("v1", "ServiceAccount", "default")
		account.SetName(faultUser)
		accounts := w.server.Resource(t, account)
		if err := accounts.Delete(t.Context(), faultUser, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		w.put("h0", "192.0.2.11")
		w.put("new", "192.0.2.100")
		w.drop("h1")
		boottest.WaitFor(t, "word of whoever writes", func() bool { return said(log, "lease default/faults: Unauthorized") > 0 })
		proxy.Cut() // the API server checks the token of a watch when it begins
		boottest.WaitFor(t, "word of whoever reads", func() bool { return said(log, "refuses the credentials") > 0 })
		if asked := boottest.Exchange(t, addr, "h0.example.com.", 1); len(asked.Answer) == 0 {
			t.Errorf("answered with %v", asked)
		}
		if _, err := accounts.Create(t.Context(), account, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		boottest.WriteFile(t, proxy.TokenFile, tokenOf(t, w.server, account))
		w.settles(addr)
		for _, once := range []string{"lease default/faults: Unauthorized", "refuses the credentials"} {
			if n := said(log, once); n != 1 {
				t.Errorf("%q is said %d times: %q", once, n, log.All())
			}
		}
	})
}
