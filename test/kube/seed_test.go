package kube

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

// seed is the document whose three examples must work as they stand.
const seed = "../shared/seeds/002_e798ddf086fde1c4.txt"

// seedExamples returns, for each numbered example, the YAML that it shows up to
// the next one, less the DNSRecords, which the document shows as a result.
func seedExamples(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(seed)
	if os.IsNotExist(err) {
		t.Skipf("%s is not here: it comes with the design documents, not with the product", seed)
	}
	if err != nil {
		t.Fatal(err)
	}
	examples := make(map[string][]string)
	_, rest, _ := strings.Cut(string(text), "**Example 1.**")
	guide, _, _ := strings.Cut("1.**"+rest, "# Reference-level explanation")
	for part := range strings.SplitSeq(guide, "**Example ") {
		number := part[:1]
		for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(part, -1) {
			if !strings.Contains(block[1], "kind: DNSRecord") {
				examples[number] = append(examples[number], block[1])
			}
		}
	}
	return examples
}

// seedProvider is the Secret that the examples refer to.
const seedProvider = `apiVersion: v1
kind: Secret
metadata: {name: my-route53-credentials, namespace: my-gateways}
stringData: {ZONE_ID: mn.hcpapps.net, DOMAIN_NAME: "*.mn.hcpapps.net"}`

// TestSeedExamples applies the examples of the single-cluster DNSPolicy
// document as they stand, one at a time, with their provider's Secret, and asks for their host.
func TestSeedExamples(t *testing.T) {
	examples := seedExamples(t)
	server := kubetest.Shared(t)
	server.InstallCRDs(t)
	addr := boottest.Kube(t, server.Kubeconfig, "mn.hcpapps.net")
	const host = "myapp.mn.hcpapps.net."
	for _, c := range []struct {
		example, want string
		blocks        int
	}{
		{"1", "172.31.200.0", 2},
		{"2", "NXDOMAIN", 1},
		{"3", "172.31.200.0 172.31.201.0", 2},
	} {
		t.Run(c.example, func(t *testing.T) {
			if len(examples[c.example]) != c.blocks {
				t.Fatalf("found %d objects in example %s, want %d", len(examples[c.example]), c.example, c.blocks)
			}
			objects := append([]string{seedProvider}, examples[c.example]...)
			if c.example == "2" {
				// Its Gateway is that of example 1, with a host of our own beside
				// it that shows when both have been read.
				objects = append(objects, examples["1"][1], fmt.Sprintf(boottest.Gateway, "witness.mn.hcpapps.net", "192.0.2.1"))
			}
			server.Apply(t, strings.Join(objects, "\n---\n"))
			if c.example == "2" {
				boottest.WaitFor(t, "witness", func() bool {
					return boottest.AllA(boottest.Exchange(t, addr, "witness.mn.hcpapps.net.", dns.TypeA)) == "192.0.2.1"
				})
			}
			boottest.WaitFor(t, "answer "+c.want, func() bool { return boottest.AllA(boottest.Exchange(t, addr, host, dns.TypeA)) == c.want })
		})
		boottest.WaitFor(t, "withdrawal", func() bool { return boottest.AllA(boottest.Exchange(t, addr, host, dns.TypeA)) == "NXDOMAIN" })
	}
}

// TestAPIServerAway: with the API server down at the start nothing is denied
// (case N2); once it is up its names are answered; when it goes away they stay.
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
	boottest.WaitFor(t, "answer", func() bool {
		return boottest.AllA(boottest.Exchange(t, addr, "a.example.com.", dns.TypeA)) == "192.0.2.1"
	})
	server.Kill()
	for name, want := range map[string]string{"a.example.com.": "192.0.2.1", "no.example.com.": "NXDOMAIN"} {
		if got := boottest.AllA(boottest.Exchange(t, addr, name, dns.TypeA)); got != want {
			t.Errorf("%s with the API server away: %s, want %s", name, got, want)
		}
	}
	server.Restart(t) // for the clean-up of its objects
}

// TestCRDsInstalledLater: CoreDNS starts without the kinds, denies what cannot
// exist, and serves the objects of kinds that are installed later.
func TestCRDsInstalledLater(t *testing.T) {
	server := kubetest.Start(t)
	addr := boottest.Kube(t, server.Kubeconfig, "example.com")
	boottest.WaitFor(t, "denial", func() bool {
		return boottest.AllA(boottest.Exchange(t, addr, "a.example.com.", dns.TypeA)) == "NXDOMAIN"
	})
	server.InstallCRDs(t)
	server.Apply(t, fmt.Sprintf(boottest.Gateway, "a.example.com", "192.0.2.1"))
	boottest.WaitFor(t, "answer", func() bool {
		return boottest.AllA(boottest.Exchange(t, addr, "a.example.com.", dns.TypeA)) == "192.0.2.1"
	})
}
