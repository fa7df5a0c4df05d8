package kube

import (
	"fmt"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

// TestAPIServerAway: if the API server is down at the start, nothing is denied (rule 7.4). Once it
// is up, its names are answered; when it goes away, they stay.
func TestAPIServerAway(t *testing.T) {
	server := kubetest.Start(t)
	server.InstallCRDs(t)
	server.Apply(t, fmt.Sprintf(boottest.Gateway, "a.example.com", "192.0.2.1"))
	server.Kill()
	addr := boottest.Kube(t, server.Kubeconfig, "example.com")
	if got := boottest.AllA(boottest.Exchange(t, addr, "a.example.com.", dns.TypeA)); got != "SERVFAIL" {
		t.Errorf("before anything is known: %s", got)
	}
	server.Restart(t)
	boottest.Asks(t, addr, "a.example.com.", "192.0.2.1")
	server.Kill()
	for name, want := range map[string]string{"a.example.com.": "192.0.2.1", "no.example.com.": "NXDOMAIN"} {
		if got := boottest.AllA(boottest.Exchange(t, addr, name, dns.TypeA)); got != want {
			t.Errorf("%s with the API server away: %s, want %s", name, got, want)
		}
	}
	server.Restart(t) // so that its objects can be deleted
}

// TestCRDsInstalledLater: CoreDNS starts without the kinds, denies names that cannot exist, and
// serves the objects of kinds that are installed later.
func TestCRDsInstalledLater(t *testing.T) {
	server := kubetest.Start(t)
	addr := boottest.Kube(t, server.Kubeconfig, "example.com")
	boottest.Asks(t, addr, "a.example.com.", "NXDOMAIN")
	server.InstallCRDs(t)
	server.Apply(t, fmt.Sprintf(boottest.Gateway, "a.example.com", "192.0.2.1"))
	boottest.Asks(t, addr, "a.example.com.", "192.0.2.1")
}
