package deploy

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"github.com/miekg/dns"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

// TestRights runs CoreDNS with exactly the rights of a variant: everything is read, and nothing is
// missing. With one rule less, the log says what is missing, known names are answered, and others
// are denied unless the missing kind could hold them.
func TestRights(t *testing.T) {
	server := kubetest.Shared(t)
	server.InstallCRDs(t, kubetest.GatewayAPI, kubetest.Kuadrant, kubetest.ExternalDNS)
	server.ApplyIn(t, "shop", fmt.Sprintf(boottest.Gateway, "a.example.com", "192.0.2.1")+rightsHeaders)
	type less struct{ right, warning, known, unknown string }
	all := less{"", "", "192.0.2.1", "NXDOMAIN"}
	lessOf := []less{
		all,
		// Without these there are no names; without the next ones, there may be more.
		{"list,watch gateways.gateway.networking.k8s.io", "gateways.gateway.networking.k8s.io", "", ""},
		{"list,watch dnspolicies.kuadrant.io", "dnspolicies.kuadrant.io", "", ""},
		{"list,watch zones.kubi.zone", "zones.kubi.zone", "192.0.2.1", "SERVFAIL"},
		{"list,watch records.kubi.zone", "not allowed to read records.kubi.zone", "192.0.2.1", "SERVFAIL"},
		{"list,watch dnsrecords.kuadrant.io", "dnsrecords.kuadrant.io", "192.0.2.1", "SERVFAIL"},
		{"list,watch dnsendpoints.externaldns.k8s.io", "dnsendpoints.externaldns.k8s.io", "192.0.2.1", "SERVFAIL"},
		{"list,watch dnshealthcheckprobes.kuadrant.io", "dnshealthcheckprobes.kuadrant.io", "192.0.2.1", "NXDOMAIN"},
		{"list,watch secrets", `cannot list resource "secrets"`, "192.0.2.1", "NXDOMAIN"},
		{"get secrets", `cannot get resource "secrets"`, "192.0.2.1", "NXDOMAIN"},
		{"get namespaces named kube-system", "namespace kube-system", "192.0.2.1", "NXDOMAIN"},
		// The ClusterRole system:discovery grants these too.
		{"get path /apis", "", "192.0.2.1", "NXDOMAIN"},
	}
	for _, c := range []struct {
		variant, option string
		less            []less
	}{
		{"read-only", "write-back off\n", lessOf},
		{"namespaced", "namespaces shop\nwrite-back off\nlease kuadrant-dns\n", lessOf[:len(lessOf)-1]},
		{"parts/read", "secrets off\nwrite-back off\n", lessOf[:1]},
		{"full", "lease kuadrant-dns\n", lessOf[:1]},
		{"remote", "write-back off\n", lessOf[:1]},
	} {
		for _, less := range c.less {
			t.Run(c.variant+" less "+cmp.Or(less.right, "nothing"), func(t *testing.T) {
				user := server.Namespace(t) // a new name
				bindLess(t, server, user, c.variant, less.right)
				runsUnder(t, server, user, c.option, less.warning, less.known, less.unknown)
			})
		}
	}
}

// runsUnder runs CoreDNS with the rights of a user. It must log the warning, or none if that is "",
// and answer for an existing and a missing name.
func runsUnder(t *testing.T, server *kubetest.Server, user, option, warning, known, unknown string) {
	t.Helper()
	log := boottest.Listen(t)
	config := kubetest.WriteKubeconfig(t, server.User(t, metav1.NamespaceDefault, user))
	addr := boottest.Kube(t, config, "example.com", "nameserver ns1.example.com 192.0.2.53\n"+option)
	if warning != "" {
		boottest.WaitFor(t, "warning of "+warning, func() bool { return log.Has("warning", warning) })
	}
	if known == "" {
		return
	}
	boottest.WaitFor(t, "answer", func() bool { return boottest.AllA(boottest.Exchange(t, addr, "a.example.com.", dns.TypeA)) == known })
	// Nothing is denied until it is known which clusters Secrets name.
	boottest.WaitFor(t, "answer "+unknown+" for a name that is not there", func() bool { return boottest.AllA(boottest.Exchange(t, addr, "no.example.com.", dns.TypeA)) == unknown })
	if warning != "" {
		return
	}
	for _, line := range log.All() {
		// A start waits a second for Secrets: on a busy machine, the log may report targets without
		// their headers first.
		late := strings.HasSuffix(line, "headers cannot be read from their Secret") && strings.Contains(line, " is not checked and counts as up: ")
		if (strings.HasPrefix(line, "warning") || strings.HasPrefix(line, "error")) && !late {
			t.Errorf("logged %q", line)
		}
	}
}

// rightsHeaders is a Secret that a probe refers to.
const rightsHeaders = `
---
apiVersion: v1
kind: Secret
metadata: {namespace: ns, name: headers, labels: {kuadrant.io/probe-headers: "true"}}
stringData: {X-Token: a}
---
apiVersion: kuadrant.io/v1alpha1
kind: DNSHealthCheckProbe
metadata: {namespace: ns, name: p}
spec: {address: 192.0.2.1, port: 80, additionalHeadersRef: {name: headers}}
`
