package kube

import (
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
)

// TestDelegationsThatCannotBeListed: a Zone lets one namespace publish, and another namespace's
// policy is refused. A server starts whose role does not let it list Zones: the whole zone is
// SERVFAIL, and its lines stay in the registry (rules 5.4 and 7.4), until Zones can be listed.
func TestDelegationsThatCannotBeListed(t *testing.T) {
	w := newFaultWorld(t, 1)
	w.server.Apply(t, `apiVersion: kubi.zone/v1alpha1
kind: Zone
metadata: {namespace: ns, name: top}
spec: {domainName: example.com., delegations: [{namespaces: [ns], zones: ["*"], records: [{pattern: "*"}]}]}
---
`+strings.ReplaceAll(boottest.GatewayFile("evil", "192.0.2.66"), "namespace: ns", "namespace: evil"))
	proxy, _ := w.limited()
	addr, stop := w.boot(proxy.Kubeconfig)
	boottest.Asks(t, addr, "h0.example.com.", "192.0.2.1")
	boottest.Asks(t, addr, "evil.example.com.", "NXDOMAIN")
	boottest.WaitFor(t, "the zone and its host on record", func() bool {
		return strings.Contains(w.kept("owners"), "zone:example.com. ") && strings.Contains(w.kept("owners"), "h0.example.com. ")
	})
	stop()

	w.grantOnly(rightsWithout("zones"))
	addr, stop = w.boot(proxy.Kubeconfig)
	defer stop()
	w.put("later", "192.0.2.79")
	boottest.WaitFor(t, "word that what comes later is not known to be allowed", func() bool {
		return w.says("kuadrant.io/v1", "DNSPolicy", "later") == "Accepted=True/Accepted Enforced=False/Unknown"
	})
	for _, name := range []string{"h0", "evil", "later", "none"} {
		boottest.Asks(t, addr, name+".example.com.", "SERVFAIL")
	}
	if kept := w.kept("owners"); !strings.Contains(kept, "zone:example.com. ") || !strings.Contains(kept, "h0.example.com. ") {
		t.Errorf("the registry has lost lines:\n%s", kept)
	}
	if kept := w.kept("owners"); strings.Contains(kept, "evil/evil") || strings.Contains(kept, "ns/later") {
		t.Errorf("the registry has what may not have been allowed:\n%s", kept)
	}

	w.grant("", "")
	boottest.Asks(t, addr, "h0.example.com.", "192.0.2.1")
	boottest.Asks(t, addr, "later.example.com.", "192.0.2.79")
	boottest.Asks(t, addr, "evil.example.com.", "NXDOMAIN")
	boottest.WaitFor(t, "owner of what came later", func() bool { return strings.Contains(w.kept("owners"), "later.example.com. ") })
	if strings.Contains(w.kept("owners"), "evil/evil") {
		t.Errorf("on record is\n%s", w.kept("owners"))
	}
}
