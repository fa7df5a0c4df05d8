package kuadrant

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/coredns/caddy"
	"github.com/miekg/dns"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

// manyGateways are Gateways with hosts below example.com, each with a policy of its own.
func manyGateways(from, to int) string {
	var all []string
	for i := from; i < to; i++ {
		all = append(all, gatewayFile(fmt.Sprint("h", i), fmt.Sprintf("192.0.2.%d", 1+i)))
	}
	return strings.Join(all, "---\n")
}

// hostLoad asks for hosts all the time, each of which has an address.
type hostLoad struct {
	asked  int
	faults []string
	done   sync.WaitGroup
	stop   context.CancelFunc
}

// ask20 begins to ask for the first 20 hosts.
func ask20(t *testing.T, addr string) *hostLoad {
	a := &hostLoad{}
	ctx, stop := context.WithCancel(t.Context())
	a.stop = stop
	a.done.Go(func() {
		for ctx.Err() == nil {
			for i := range 20 {
				name := fmt.Sprintf("h%d.example.com.", i)
				m, _, err := new(dns.Client).Exchange(question(name, dns.TypeA), addr)
				a.asked++
				if err != nil {
					a.faults = append(a.faults, err.Error())
				} else if got := firstA(m); got != fmt.Sprintf("192.0.2.%d", 1+i) {
					a.faults = append(a.faults, name+" "+got)
				}
			}
		}
	})
	return a
}

// check ends the asking, and fails where a query did.
func (a *hostLoad) check(t *testing.T, when string) {
	t.Helper()
	a.stop()
	a.done.Wait()
	if len(a.faults) > 0 || a.asked < 20 {
		t.Errorf("%s: %d of %d queries failed: %q", when, len(a.faults), a.asked, a.faults[:min(len(a.faults), 3)])
	}
}

func heldNames(origin string) int {
	for _, z := range answering.Load().engine.Held() {
		if z.Origin == origin {
			return z.Names
		}
	}
	return 0
}

// TestGuardEtcdRestored: the data of the API server are put back to an older state, in which most
// objects are missing: no query fails, neither then nor when they are created again (rule 8.5).
func TestGuardEtcdRestored(t *testing.T) {
	server := kubetest.Start(t)
	server.InstallCRDs(t)
	server.Apply(t, manyGateways(0, 2))
	restore := server.Backup(t)
	server.Apply(t, manyGateways(2, 20))
	addr := bootKube(t, server.Kubeconfig, "example.com")
	waitFor(t, "all hosts", func() bool { return allHosts(t, addr, 20) })
	load := ask20(t, addr)
	restore()
	waitFor(t, "18 held names", func() bool { return heldNames("example.com.") == 18 })
	server.Apply(t, manyGateways(2, 20))
	waitFor(t, "the end of the hold", func() bool { return heldNames("example.com.") == 0 })
	load.check(t, "restored")
}

// allHosts tells whether the first n hosts have their addresses.
func allHosts(t *testing.T, addr string, n int) bool {
	for i := range n {
		if firstA(exchange(t, addr, fmt.Sprintf("h%d.example.com.", i), dns.TypeA)) != fmt.Sprintf("192.0.2.%d", 1+i) {
			return false
		}
	}
	return true
}

// TestGuardDirectoryEmptied: a directory goes, and comes back: no query fails. Where a
// reload says `guard 0`, what has gone goes.
func TestGuardDirectoryEmptied(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "manifests")
	move := func(from, to string) {
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	put, empty := func() { move(dir+".away", dir) }, func() { move(dir, dir+".away") }
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		writeFile(t, filepath.Join(dir, fmt.Sprintf("%d.yaml", i)), manyGateways(i, i+1))
	}
	port := freePort(t)
	corefile := func(more string) string {
		return fmt.Sprintf("example.com:%d {\nbind 127.0.0.1\nkuadrant {\nmanifests %s\n%s\n}\n}\n", port, dir, more)
	}
	inst, _ := boot(t, corefile(""))
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	t.Cleanup(func() {
		_ = inst.Stop()
		inst.ShutdownCallbacks()
	})
	waitFor(t, "all hosts", func() bool { return allHosts(t, addr, 20) })
	load := ask20(t, addr)
	empty()
	waitFor(t, "20 held names", func() bool { return heldNames("example.com.") == 20 })
	put()
	waitFor(t, "the end of the hold", func() bool { return heldNames("example.com.") == 0 })
	load.check(t, "emptied")
	next, err := inst.Restart(caddy.CaddyfileInput{Filepath: "Corefile", ServerTypeName: "dns", Contents: []byte(corefile("guard 0"))})
	if err != nil {
		t.Fatal(err)
	}
	inst = next
	empty()
	waitFor(t, "denials", func() bool { return firstA(exchange(t, addr, "h7.example.com.", dns.TypeA)) == "NXDOMAIN" })
}

// TestGuardReportedByAPIServer: 5,000 policies that are deleted at once through the API go as soon
// as that is reported, and so does what goes with a CRD: the API server deletes the objects
// first, and reports each.
func TestGuardReportedByAPIServer(t *testing.T) {
	const gateways, listeners = 79, 64
	server := kubetest.Start(t)
	server.InstallCRDs(t)
	addr := bootKube(t, server.Kubeconfig, "example.com")
	var all, policies []string
	for i := range gateways {
		var l []string
		for j := range listeners {
			l = append(l, fmt.Sprintf("{name: l%d, hostname: h%d.g%d.example.com, port: %d, protocol: HTTP}", j, j, i, 80+j))
			policies = append(policies, fmt.Sprintf("{apiVersion: kuadrant.io/v1, kind: DNSPolicy, metadata: {namespace: ns, name: p%d-%d}, spec: {targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: g%d, sectionName: l%d}}}\n", i, j, i, j))
		}
		all = append(all, fmt.Sprintf("{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {namespace: ns, name: g%d}, spec: {gatewayClassName: x, listeners: [%s]}, status: {addresses: [{value: 192.0.2.1}]}}\n", i, strings.Join(l, ", ")))
	}
	policies = policies[:5000]
	server.Apply(t, strings.Join(all, "---\n"))
	server.Create(t, strings.Join(policies, "---\n"))
	names := func() int { return answering.Load().engine.Snapshot().Objects().Clusters[0].Policies.Len() }
	waitFor(t, "5,000 policies", func() bool { return names() == len(policies) })
	if got := firstA(exchange(t, addr, "h1.g1.example.com.", dns.TypeA)); got != "192.0.2.1" {
		t.Errorf("answered with %s", got)
	}
	one := kubetest.Parse(t, policies[0])[0]
	if err := server.Resource(t, one).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "all policies to go", func() bool { return names() == 0 })
	if got := firstA(exchange(t, addr, "h1.g1.example.com.", dns.TypeA)); got != "NXDOMAIN" {
		t.Errorf("answered with %s after the deletion", got)
	}
	server.Create(t, strings.Join(policies[:100], "---\n"))
	waitFor(t, "100 policies", func() bool { return names() == 100 })
	crd := kubetest.Parse(t, "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: dnspolicies.kuadrant.io}}")[0]
	if err := server.Resource(t, crd).Delete(t.Context(), crd.GetName(), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the policies to go with their kind", func() bool { return names() == 0 })
	if n := heldNames("example.com."); n != 0 {
		t.Errorf("%d names are held", n)
	}
}
