package scenarios

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/miekg/dns"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/peertest"
)

// placed is a Gateway with the host geo.example.com and an address, for clients of a country.
const placed = `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {namespace: ns, name: %[1]s}
spec:
  gatewayClassName: x
  listeners: [{name: a, hostname: geo.example.com, port: 80, protocol: HTTP}]
status: {addresses: [{value: %[2]s}]}
---
apiVersion: kuadrant.io/v1
kind: DNSPolicy
metadata: {namespace: ns, name: %[1]s}
spec:
  targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: %[1]s}
  loadBalancing: {geo: %[3]s, weight: 1, defaultGeo: true}
`

// TestCachesOfBlocks (bug_3a10): plugin cache gives each client its own answer where a CNAME of another plugin leads to a steered name,
// beside kuadrant and in blocks without it, also through two of them.
func TestCachesOfBlocks(t *testing.T) {
	dir, files, port := t.TempDir(), t.TempDir(), peertest.FreePort(t)
	boottest.WriteFile(t, filepath.Join(dir, "ie.yaml"), fmt.Sprintf(placed, "ie", "192.0.2.1", "IE"))
	boottest.WriteFile(t, filepath.Join(dir, "us.yaml"), fmt.Sprintf(placed, "us", "192.0.2.2", "US"))
	nets, beside, apart, far := filepath.Join(files, "nets"), filepath.Join(files, "beside"), filepath.Join(files, "apart"), filepath.Join(files, "far")
	boottest.WriteFile(t, nets, "10.1.0.0/16 IE\n10.2.0.0/16 US\n")
	const head = "@ 300 IN SOA ns host 1 3600 600 86400 60\n@ 300 IN NS ns\n"
	boottest.WriteFile(t, beside, head+"www 300 IN CNAME geo.example.com.\n")
	boottest.WriteFile(t, apart, head+"www 300 IN CNAME geo.example.com.\nkept 300 IN A 192.0.2.9\n")
	boottest.WriteFile(t, far, head+"www 300 IN CNAME www.apart.test.\n")
	boottest.Serve(t, fmt.Sprintf(`.:%[1]d {
bind 127.0.0.1
cache
kuadrant example.com {
manifests %[2]s
nets %[3]s
}
file %[4]s beside.test
}
apart.test:%[1]d {
bind 127.0.0.1
cache
file %[5]s
}
far.test:%[1]d {
bind 127.0.0.1
cache
file %[6]s
}
`, port, dir, nets, beside, apart, far))
	ask := func(name, client string) string {
		t.Helper()
		reply, _ := send(t, "udp", fmt.Sprintf("127.0.0.1:%d", port), boottest.WithSubnet(boottest.Question(name, dns.TypeA), 1, client, 24, 0))
		return boottest.AllA(reply)
	}
	seen := ""
	boottest.WaitOr(t, func() string { return seen }, func() bool {
		seen = ask("geo.example.com.", "10.1.0.0") + ", " + ask("geo.example.com.", "10.2.0.0")
		return seen == "192.0.2.1, 192.0.2.2"
	})
	for _, name := range []string{"www.beside.test.", "www.apart.test.", "www.far.test."} {
		for _, c := range [][2]string{{"10.1.0.0", "192.0.2.1"}, {"10.2.0.0", "192.0.2.2"}, {"10.1.0.0", "192.0.2.1"}} {
			if got := ask(name, c[0]); got != c[1] {
				t.Errorf("%s: a client in %s gets %q, want %s", name, c[0], got, c[1])
			}
		}
	}
	hits := func() (n float64) {
		families, err := prometheus.DefaultGatherer.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			for _, m := range f.GetMetric() {
				if f.GetName() == "coredns_cache_hits_total" {
					n += m.GetCounter().GetValue()
				}
			}
		}
		return n
	}
	before := hits()
	if ask("kept.apart.test.", "10.1.0.0") != "192.0.2.9" || ask("kept.apart.test.", "10.2.0.0") != "192.0.2.9" || hits() != before+1 {
		t.Errorf("%v hits: an answer without us is not kept", hits()-before)
	}
}
