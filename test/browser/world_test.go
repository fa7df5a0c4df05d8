package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/internal/peertest"
)

// manifest is a Gateway with one listener for each host, and a policy for it. rest is the rest of
// the policy.
func manifest(name, address, rest string, hosts ...string) string {
	var listeners strings.Builder
	for i, host := range hosts {
		fmt.Fprintf(&listeners, "\n  - {name: l%d, hostname: %s, port: 80, protocol: HTTP}", i, host)
	}
	return fmt.Sprintf(`apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {namespace: shop, name: %[1]s, creationTimestamp: "2026-01-01T00:00:00Z"}
spec:
  gatewayClassName: example
  listeners:%[2]s
status: {addresses: [{type: IPAddress, value: %[3]s}]}
---
apiVersion: kuadrant.io/v1
kind: DNSPolicy
metadata: {namespace: shop, name: %[1]s, creationTimestamp: "2026-01-01T00:00:00Z"}
spec:
  targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: %[1]s}
%[4]s---
`, name, listeners.String(), address, rest)
}

// balanced is the load-balancing part of a policy.
func balanced(geo string, isDefault bool) string {
	return fmt.Sprintf("  loadBalancing: {weight: 100, geo: %s, defaultGeo: %v}\n", geo, isDefault)
}

// checks is the health-check part of a policy.
func checks(port int) string {
	return fmt.Sprintf("  healthCheck: {protocol: HTTP, port: %d, path: /healthz, interval: 1s, failureThreshold: 1}\n", port)
}

// The hosts of the small world.
const (
	hostStatus  = "status.k.example.com"
	hostShop    = "shop.k.example.com"
	hostChecked = "checked.k.example.com"
)

// The addresses of hostChecked's targets, in Europe and in North America.
const (
	targetEU = "127.0.0.21"
	targetNA = "127.0.0.22"
)

// small is a server with three names, and one name's targets.
type small struct {
	*server
	eu, na *target
}

// newSmall starts a server with three names: one with the same answer for everybody, one with an
// answer for each of four parts of the world, and one with health checks.
func newSmall(t *testing.T, console string) *small {
	t.Helper()
	targets, port := newTargets(t, targetEU, targetNA)
	s := &small{newServer(t, console), targets[0], targets[1]}
	s.write("eu/a.yaml", manifest("status", "192.0.2.9", "", hostStatus)+
		manifest("shop", "192.0.2.10", balanced("GEO-EU", true), hostShop)+
		manifest("checked", targetEU, balanced("GEO-EU", true)+checks(port), hostChecked))
	s.write("na/a.yaml", manifest("shop", "198.51.100.10", balanced("GEO-NA", false), hostShop)+
		manifest("checked", targetNA, balanced("GEO-NA", false)+checks(port), hostChecked))
	s.write("as/a.yaml", manifest("shop", "203.0.113.10", balanced("GEO-AS", false), hostShop))
	s.write("sa/a.yaml", manifest("shop", "203.0.113.20", balanced("GEO-SA", false), hostShop))
	s.start(hostStatus)
	return s
}

// trouble makes the small world show everything that can be wrong: both targets are down, another
// object wants a name, and an object is refused.
func (s *small) trouble() {
	s.eu.off()
	s.na.off()
	younger := strings.NewReplacer("2026-01-01", "2026-02-01", "namespace: shop", "namespace: other").Replace(manifest("younger", "192.0.2.66", "", hostStatus))
	elsewhere := manifest("elsewhere", "192.0.2.67", "", "www.example.net")
	s.write("na/b.yaml", younger+elsewhere)
}

// troubled makes trouble, and waits until the overview shows it.
func (b *tab) troubled(s *small) {
	b.t.Helper()
	s.trouble()
	b.open("/")
	b.waitsText(".alarm.grave", hostChecked)
	b.waitsText(".alarm", "younger")
	b.waitsText(".alarm h3", "1 object not served in full for < 1 min")
}

// newWide starts a small world in trouble, with names of the maximum length.
func newWide(t *testing.T) (s *server, host string) {
	t.Helper()
	label := func(letter string) string { return strings.Repeat(letter, 63) }
	host = label("a") + "." + label("b") + "." + label("c") + ".k.example.com"
	long := strings.NewReplacer("namespace: shop", "namespace: "+strings.Repeat("n", 60), "name: wide", "name: wide"+strings.Repeat("w", 59))
	s = newServer(t, "")
	port := peertest.FreePort(t) // nobody listens there
	for _, c := range []struct{ file, address, geo string }{{"eu/a.yaml", targetEU, "GEO-EU"}, {"na/a.yaml", targetNA, "GEO-NA"}} {
		s.write(c.file, long.Replace(manifest("wide", c.address, balanced(c.geo, c.geo == "GEO-EU")+checks(port), host)))
	}
	younger := strings.ReplaceAll(manifest("wide", "192.0.2.66", "", host), "2026-01-01", "2026-02-01")
	elsewhere := strings.ReplaceAll(manifest("wide", "192.0.2.67", "", label("d")+"."+label("e")+".example.net"), "name: wide", "name: wide-elsewhere")
	s.write("as/a.yaml", long.Replace(younger+elsewhere))
	s.start(host)
	return s, host
}

// largeNames is the number of names in the large world.
const largeNames = 10000

// newLarge starts a server with many names, some with nothing up, some contested.
func newLarge(t *testing.T) *server {
	t.Helper()
	_, port := newTargets(t, targetEU)
	s := newServer(t, "")
	const perGateway = 50
	texts := make(map[string]*strings.Builder)
	for _, c := range clusters {
		texts[c] = new(strings.Builder)
	}
	for g := range largeNames / perGateway {
		var hosts []string
		for i := range perGateway {
			hosts = append(hosts, fmt.Sprintf("app-%05d.team-%02d.k.example.com", g*perGateway+i, g%40))
		}
		name := fmt.Sprintf("gateway-%03d", g)
		switch {
		case g%100 == 7: // nobody listens at this address
			texts["eu"].WriteString(manifest(name, "127.0.0.23", checks(port), hosts...))
		case g%100 == 8:
			texts["eu"].WriteString(manifest(name, targetEU, checks(port), hosts...))
		default:
			texts["eu"].WriteString(manifest(name, fmt.Sprintf("192.0.2.%d", g%250+1), balanced("GEO-EU", true), hosts...))
			texts["na"].WriteString(manifest(name, fmt.Sprintf("198.51.100.%d", g%250+1), balanced("GEO-NA", false), hosts...))
			texts["as"].WriteString(manifest(name, fmt.Sprintf("203.0.113.%d", g%120+1), balanced("GEO-AS", false), hosts...))
		}
	}
	for i := range 30 { // these are younger than the owner of the name
		text := manifest(fmt.Sprintf("younger-%02d", i), "192.0.2.251", "", fmt.Sprintf("app-%05d.team-%02d.k.example.com", i*perGateway, i))
		texts["sa"].WriteString(strings.NewReplacer("2026-01-01", "2026-02-01", "namespace: shop", "namespace: other").Replace(text))
	}
	for c, text := range texts {
		s.write(c+"/a.yaml", text.String())
	}
	s.start("app-00000.team-00.k.example.com")
	return s
}
