package kuadrant

import (
	"strings"
	"testing"

	"github.com/miekg/dns"
)

// TestDelegationsThatCannotBeListed: a Zone lets one namespace publish, and another one's policy is
// refused. A server starts whose role does not let it list Zones: what they allow is not known, and
// that policy must not be served (rules 5.1, 7.4), nor be on record as an owner (rule 5.4).
func TestDelegationsThatCannotBeListed(t *testing.T) {
	w := newFaultWorld(t, 1)
	w.server.Apply(t, `apiVersion: kubi.zone/v1alpha1
kind: Zone
metadata: {namespace: ns, name: top}
spec: {domainName: example.com., delegations: [{namespaces: [ns], zones: ["*"], records: [{pattern: "*"}]}]}
---
`+strings.ReplaceAll(gatewayFile("evil", "192.0.2.66"), "namespace: ns", "namespace: evil"))
	gate := newAPIGate(t, w.server)
	writeFile(t, gate.tokenFile, w.server.User(t, "", faultUser, faultRights()...).BearerToken)
	addr, stop := w.boot(gate.kubeconfig)
	asks(t, addr, "h0.example.com.", "192.0.2.1")
	asks(t, addr, "evil.example.com.", "NXDOMAIN")
	stop()

	writeFile(t, gate.tokenFile, w.server.User(t, "", "lesser", rightsWithout("zones")...).BearerToken)
	addr, stop = w.boot(gate.kubeconfig)
	defer stop()
	w.put("later", "192.0.2.79")
	waitFor(t, "answers", func() bool { return exchange(t, addr, "later.example.com.", dns.TypeA).Rcode == dns.RcodeSuccess })
	if got := allA(exchange(t, addr, "evil.example.com.", dns.TypeA)); got != "SERVFAIL" {
		t.Errorf("evil.example.com. is %s", got)
	}
	waitFor(t, "owner of what came later", func() bool { return strings.Contains(w.kept("owners"), "later.example.com. ") })
	if strings.Contains(w.kept("owners"), "evil/evil") {
		t.Errorf("on record is\n%s", w.kept("owners"))
	}
}
