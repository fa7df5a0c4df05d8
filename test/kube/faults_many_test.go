package kube

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
)

// TestFaultManyDeleted: 2,000 policies are deleted at once while the plugin writes, each with a
// status and every fourth with a child. Nothing of theirs remains at the API server, in the
// registry, or in memory. Names that still exist are answered throughout.
func TestFaultManyDeleted(t *testing.T) {
	const gateways, listeners, many, served = 32, 64, 2000, 8 * 64
	w := newFaultWorld(t, 2)
	w.guard = "guard 5m" // each deletion is reported: nothing is held (rule 8.5)
	before := w.goroutines()
	addr, stop := w.boot(w.server.Kubeconfig, "write-rate 10000 10000")
	w.settles(addr)
	load := w.load(addr, nil)
	small := heap()
	var all, policies []string
	for i := range gateways {
		var l []string
		for j := range listeners {
			l = append(l, fmt.Sprintf("{name: l%d, hostname: h%d.g%d.example.com, port: %d, protocol: HTTP}", j, j, i, 80+j))
			policies = append(policies, fmt.Sprintf("{apiVersion: kuadrant.io/v1, kind: DNSPolicy, metadata: {namespace: ns, name: p%d-%d, labels: {many: \"\"}}, spec: {targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: g%d, sectionName: l%d}}}\n", i, j, i, j))
		}
		all = append(all, fmt.Sprintf("{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {namespace: ns, name: g%d}, spec: {gatewayClassName: x, listeners: [%s]}, status: {addresses: [{value: 192.0.2.1}]}}\n", i, strings.Join(l, ", ")))
	}
	w.server.Apply(t, strings.Join(all[:served/listeners], "---\n"))
	w.server.Create(t, strings.Join(policies[:many], "---\n"))
	eventually := func(what string, done func() bool) {
		t.Helper()
		for began := time.Now(); !done(); {
			if time.Since(began) > 5*time.Minute {
				t.Fatalf("no %s after five minutes", what)
			}
			<-time.After(100 * time.Millisecond)
		}
	}
	records := func() int {
		return len(w.list("kuadrant.io/v1alpha1", "DNSRecord"))
	}
	eventually("DNSRecords", func() bool { return records() == served+len(w.hosts) })
	eventually("rest", func() bool { return boottest.Metrics(t)["write_backlog{local}"] == 0 })
	boottest.Asks(t, addr, "h1.g1.example.com.", "192.0.2.1")
	large := heap()
	one := boottest.Ref("kuadrant.io/v1", "DNSPolicy", "ns")
	eventually("deletion", func() bool { // the API server deletes as many as it can in a minute
		return w.server.Resource(t, one).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "many"}) == nil
	})
	boottest.Asks(t, addr, "h1.g1.example.com.", "NXDOMAIN")
	eventually("end of their DNSRecords", func() bool { return records() == len(w.hosts) })
	eventually("end of their owners", func() bool { return !strings.Contains(w.kept("owners"), ".g1.example.com.") })
	w.settles(addr)
	boottest.WaitFor(t, "Gateways that say nothing of policies any more", func() bool {
		for _, g := range w.list("gateway.networking.k8s.io/v1", "Gateway") {
			if strings.HasPrefix(g.GetName(), "g") && strings.Contains(boottest.Conditions(&g), "DNSPolicyAffected") {
				return false
			}
		}
		return true
	})
	load.check(t)
	rest := heap()
	t.Logf("heap: %d KiB with %d policies, %d with %d, %d after they have gone", small>>10, len(w.hosts), large>>10, many+len(w.hosts), rest>>10)
	if large <= small || rest-small > (large-small)/2 {
		t.Errorf("heap: %d KiB at first, %d with 2,000 policies more, %d after they have gone", small>>10, large>>10, rest>>10)
	}
	stop()
	w.endsWith(before)
	w.looksFresh()
}

// heap returns the number of octets of memory in use.
func heap() int64 {
	runtime.GC()
	runtime.GC() // frees what finalizers released
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
