package kube

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/miekg/dns"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

// endpointsOf is a DNSEndpoint with an A record for each name.
func endpointsOf(namespace, name, address string, names ...string) string {
	text := fmt.Sprintf("apiVersion: externaldns.k8s.io/v1alpha1\nkind: DNSEndpoint\nmetadata: {namespace: %s, name: %s}\nspec:\n  endpoints:\n", namespace, name)
	for _, n := range names {
		text += fmt.Sprintf("  - {dnsName: %s, recordType: A, targets: [%s]}\n", n, address)
	}
	return text + "---\n"
}

// addressRecord is a Record in the zone of a faultWorld.
func addressRecord(namespace, name, at, address string) string {
	return fmt.Sprintf("apiVersion: kubi.zone/v1alpha1\nkind: Record\nmetadata: {namespace: %s, name: %s}\nspec: {domainName: %s.z.example.com., type: A, rdata: %s}\n---\n",
		namespace, name, at, address)
}

// TestRaceForNewName: 400 names wait for their lines in the registry. An older Record, and an older
// DNSEndpoint, are moved onto names as soon as these are first answered, and get neither, neither
// before the lines are written nor after (rule 5.4).
func TestRaceForNewName(t *testing.T) {
	w := newFaultWorld(t, 0)
	w.server.InstallCRDs(t, kubetest.ExternalDNS)
	proxy, _ := w.limited()
	w.grantOnly(append(rightsWithout("configmaps"), rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list", "watch"}}))
	var waiting []string
	for i := range 400 {
		waiting = append(waiting, fmt.Sprintf("w%d.example.com", i))
	}
	w.server.ApplyIn(t, "evil", endpointsOf("evil", "e", "192.0.2.66", "elsewhere.example.com")+addressRecord("evil", "r", "elsewhere", "192.0.2.66"))
	nextSecond(t, w.server.Apply(t, endpointsOf("crowd", "e", "192.0.2.1", waiting...))[0])
	addr, stop := w.boot(proxy.Kubeconfig)
	defer stop()
	boottest.Asks(t, addr, "w399.example.com.", "192.0.2.1")
	boottest.WaitFor(t, "a line that cannot be written", func() bool { return len(proxy.Written("/configmaps 403")) > 0 })

	for _, victim := range []string{
		endpointsOf("shop", "e", "192.0.2.10", "name.example.com"), addressRecord("shop", "r", "name", "192.0.2.10"),
	} {
		name := "name.example.com."
		if strings.Contains(victim, "kind: Record") {
			name = "name.z.example.com."
		}
		w.server.Apply(t, victim)
		boottest.Asks(t, addr, name, "192.0.2.10")
	}
	w.server.Apply(t, endpointsOf("evil", "e", "192.0.2.66", "name.example.com", "moved.example.com")+addressRecord("evil", "r", "name", "192.0.2.66"))
	kept := func(when string) {
		t.Helper()
		for _, name := range []string{"name.example.com.", "name.z.example.com."} {
			if got := boottest.AllA(boottest.Exchange(t, addr, name, dns.TypeA)); got != "192.0.2.10" {
				t.Errorf("%s, %s is answered with %s", when, name, got)
			}
		}
	}
	boottest.Asks(t, addr, "moved.example.com.", "192.0.2.66")
	boottest.Asks(t, addr, "elsewhere.z.example.com.", "NXDOMAIN")
	kept("without lines")
	w.grant("", "")
	boottest.WaitFor(t, "all lines", func() bool {
		lines := w.kept("owners")
		return strings.Contains(lines, "name.example.com. local DNSEndpoint shop/e ") && strings.Contains(lines, "name.z.example.com. local Record shop/r ") &&
			strings.Count(lines, " DNSEndpoint crowd/e ") == len(waiting)
	})
	kept("with lines")
}

// TestStaleRegistry: while no server runs, the owner of a name is deleted, and another namespace
// gets one. That is answered without write-back, through a reload that turns it on, and at a start
// with it, though the registry still has the line of the first (rule 5.4).
func TestStaleRegistry(t *testing.T) {
	server, p := boottest.APIServer(t), newProcess(t)
	run := func(more string) {
		p.start(t, boottest.CoreDNS(t), "example.com", "kuadrant {\nkubeconfig "+server.Kubeconfig+"\nlease default/stale\n"+more+"\n}")
	}
	registers := func(namespace string) {
		t.Helper()
		boottest.WaitFor(t, "line of "+namespace, func() bool {
			return strings.Contains(kept(t, server, "default", "stale-owners-0"), "x.example.com. local DNSPolicy "+namespace+"/e ")
		})
	}
	// hands moves the host to another namespace, while no server has run for five minutes.
	hands := func(from, to, address string) {
		t.Helper()
		p.end(syscall.SIGTERM)
		if err := server.Resource(t, boottest.Ref("kuadrant.io/v1", "DNSPolicy", from)).Delete(t.Context(), "e", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		server.ApplyIn(t, to, boottest.GatewayAt("e", "x.example.com", address))
		boottest.Merge(t, server, "coordination.k8s.io/v1", "Lease", "default", "stale",
			fmt.Sprintf(`{"spec": {"renewTime": %q}}`, time.Now().Add(-5*time.Minute).UTC().Format(metav1.RFC3339Micro)))
	}
	server.ApplyIn(t, "na", boottest.GatewayAt("e", "x.example.com", "192.0.2.1"))
	run("")
	p.expects(t, "x.example.com.", "192.0.2.1")
	registers("na")

	hands("na", "nb", "192.0.2.2")
	run("write-back off")
	p.expects(t, "x.example.com.", "192.0.2.2")
	p.serves()
	queries := resolve(t, []*process{p}, map[string][]string{"x.example.com.": {"192.0.2.2"}})
	boottest.ReplaceIn(t, p.dir+"/Corefile", p.dir+"/Corefile", "write-back off", "")
	if err := p.cmd.Process.Signal(syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	registers("nb")
	queries.check(t)

	hands("nb", "nc", "192.0.2.3")
	queries = resolve(t, []*process{p}, map[string][]string{"x.example.com.": {"192.0.2.3", "", "SERVFAIL"}}) // none before it knows
	run("")
	p.expects(t, "x.example.com.", "192.0.2.3")
	p.serves()
	registers("nc")
	queries.check(t)
}

// TestRecreatedZone: a Zone is deleted, another namespace publishes below its name, and the Zone is made again while its line in the
// registry stands: it is refused, and the host is answered throughout (rule 6.5).
func TestRecreatedZone(t *testing.T) {
	server, p := boottest.APIServer(t), newProcess(t)
	server.InstallCRDs(t, kubetest.ExternalDNS) // lines wait for a kind that is not installed
	zone := func(namespace, domain string) {
		t.Helper()
		server.Apply(t, fmt.Sprintf("apiVersion: kubi.zone/v1alpha1\nkind: Zone\nmetadata: {namespace: %s, name: z}\n"+
			"spec: {domainName: %s, delegations: [{zones: ['*'], records: [{pattern: '*'}]}]}\n", namespace, domain))
	}
	zone("dns", "example.org.")
	zone("evil", "sub.example.org.")
	p.start(t, boottest.CoreDNS(t), "example.org", "kuadrant {\nkubeconfig "+server.Kubeconfig+"\nlease default/recreated\nzone-namespaces dns\n}")
	boottest.WaitFor(t, "line of the Zone", func() bool {
		return strings.Contains(kept(t, server, "default", "recreated-owners-0"), "zone:sub.example.org. local Zone evil/z ")
	})
	if err := server.Resource(t, boottest.Ref("kubi.zone/v1alpha1", "Zone", "evil")).Delete(t.Context(), "z", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	server.ApplyIn(t, "tenant", boottest.GatewayAt("g", "a.sub.example.org", "192.0.2.2"))
	p.expects(t, "a.sub.example.org.", "192.0.2.2")
	queries := resolve(t, []*process{p}, map[string][]string{"a.sub.example.org.": {"192.0.2.2"}})
	zone("evil", "sub.example.org.")
	boottest.WaitFor(t, "the refusal of the Zone", func() bool {
		return strings.Contains(fmt.Sprint(boottest.Object(t, server, "kubi.zone/v1alpha1", "Zone", "evil", "z").Object["status"]), "NamesTaken")
	})
	queries.check(t)
}
