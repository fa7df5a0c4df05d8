package kube

import (
	"fmt"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/peertest"
)

// TestZoneOfClusterThatIsNotWrittenTo: the server writes to the main cluster, and not to another
// one (`write-back off`). The serial of a Zone in that cluster cannot be kept in its status. The
// main cluster keeps it: secondaries get the zone, and a restart continues from the serial (rule
// 6.7).
func TestZoneOfClusterThatIsNotWrittenTo(t *testing.T) {
	main, east := boottest.APIServer(t), boottest.APIServer(t)
	const zone = `apiVersion: kubi.zone/v1alpha1
kind: Zone
metadata: {namespace: default, name: %[1]s}
spec: {domainName: %[1]s.example.com., delegations: [{records: [{pattern: "*"}]}]}
---
apiVersion: kubi.zone/v1alpha1
kind: Record
metadata: {namespace: default, name: %[1]s-%[2]s}
spec: {domainName: %[2]s, zoneRef: {name: %[1]s}, type: A, class: IN, ttl: 60, rdata: 192.0.2.7}
`
	main.Apply(t, fmt.Sprintf(zone, "here", "www"))
	east.Apply(t, fmt.Sprintf(zone, "there", "www"))
	begin := func() (addr string, stop func()) {
		port := peertest.FreePort(t)
		inst, _ := boottest.Start(t, fmt.Sprintf("example.com:%d {\nbind 127.0.0.1\ntransfer {\nto *\n}\nkuadrant {\nkubeconfig %s\nlease default/kept\nnameserver ns1.example.com 192.0.2.53\ncluster east %s {\nwrite-back off\n}\n}\n}\n",
			port, main.Kubeconfig, east.Kubeconfig))
		return fmt.Sprintf("127.0.0.1:%d", port), func() {
			_ = inst.Stop()
			inst.ShutdownCallbacks()
		}
	}
	addr, stop := begin()
	serials := make(map[string]uint32)
	for _, origin := range []string{"example.com.", "here.example.com.", "there.example.com."} {
		boottest.WaitFor(t, "transfer of "+origin, func() bool {
			serials[origin], _ = transferOf(addr, origin)
			return serials[origin] != 0
		})
	}
	east.Apply(t, fmt.Sprintf(zone, "there", "more"))
	boottest.WaitFor(t, "transfer of what came later", func() bool {
		serial, text := transferOf(addr, "there.example.com.")
		if serial != serials["there.example.com."]+1 || strings.Count(text, "\n") != 3 { // SOA, NS, and two addresses
			return false
		}
		serials["there.example.com."] = serial
		return true
	})
	stop()
	addr, stop = begin()
	defer stop()
	for origin, before := range serials {
		boottest.WaitFor(t, "transfer after a restart of "+origin, func() bool {
			serial, _ := transferOf(addr, origin)
			if serial != 0 && serial != before {
				t.Fatalf("%s has the serial %d after a restart, and had %d", origin, serial, before)
			}
			return serial == before
		})
	}
	zones := boottest.Object(t, east, "kubi.zone/v1alpha1", "Zone", "default", "there")
	if got := boottest.Conditions(zones); got != "" {
		t.Errorf("the further cluster was written to: %s", got)
	}
}
