package kuadrant

import (
	"fmt"
	"sync"
	"testing"

	"github.com/miekg/dns"
)

// TestZoneOfClusterThatIsNotWrittenTo: the main cluster is written to, and a further one is not
// (`write-back off`). A Zone of the further one is served; nobody can keep its serial in its status, and
// secondaries must get it even so (rule 6.7: with several clusters, serials are kept in the first one).
func TestZoneOfClusterThatIsNotWrittenTo(t *testing.T) {
	main, east := startedServer(t), startedServer(t)
	const zone = `apiVersion: kubi.zone/v1alpha1
kind: Zone
metadata: {namespace: default, name: %[1]s}
spec: {domainName: %[1]s.example.com., delegations: [{records: [{pattern: "*"}]}]}
---
apiVersion: kubi.zone/v1alpha1
kind: Record
metadata: {namespace: default, name: %[1]s-www}
spec: {domainName: www, zoneRef: {name: %[1]s}, type: A, class: IN, ttl: 60, rdata: 192.0.2.7}
`
	main.Apply(t, fmt.Sprintf(zone, "here"))
	east.Apply(t, fmt.Sprintf(zone, "there"))
	port := freePort(t)
	inst, _ := boot(t, fmt.Sprintf("example.com:%d {\nbind 127.0.0.1\ntransfer {\nto *\n}\nkuadrant {\nkubeconfig %s\nlease default/kept\nnameserver ns1.example.com 192.0.2.53\ncluster east %s {\nwrite-back off\n}\n}\n}\n",
		port, main.Kubeconfig, east.Kubeconfig))
	var once sync.Once
	t.Cleanup(func() { once.Do(func() { _ = inst.Stop(); inst.ShutdownCallbacks() }) })
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	count := func(origin string) (n int, err error) {
		m := new(dns.Msg)
		m.SetAxfr(origin)
		ch, err := new(dns.Transfer).In(m, addr)
		if err != nil {
			return 0, err
		}
		for e := range ch {
			if e.Error != nil {
				err = e.Error
			}
			n += len(e.RR)
		}
		return n, err
	}
	for _, origin := range []string{"here.example.com.", "there.example.com."} {
		waitFor(t, "answer of "+origin, func() bool { return allA(exchange(t, addr, "www."+origin, dns.TypeA)) == "192.0.2.7" })
	}
	waitFor(t, "transfer of here.example.com.", func() bool { n, _ := count("here.example.com."); return n > 2 })
	waitFor(t, "transfer of example.com.", func() bool { n, _ := count("example.com."); return n > 2 })
	waitFor(t, "transfer of there.example.com.", func() bool {
		n, _ := count("there.example.com.")

		return n > 2
	})
}
