package kuadrant

import (
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/miekg/dns"
)

// aTarget is an HTTP server on an address of this machine that a test can switch
// off.
type aTarget struct {
	address string
	port    int
	off     atomic.Bool
	key     atomic.Value // what the header X-Key has to say; a string
	asked   atomic.Int64 // how many times
}

// listenOn listens on one port of the given addresses, one that checks may go to.
func listenOn(t *testing.T, addresses ...string) (port int, listeners []net.Listener) {
	t.Helper()
	for port := 21000; port < 21100; port++ {
		var listeners []net.Listener
		for _, a := range addresses {
			l, err := net.Listen("tcp", net.JoinHostPort(a, fmt.Sprint(port)))
			if err != nil {
				break
			}
			listeners = append(listeners, l)
		}
		if len(listeners) == len(addresses) {
			return port, listeners
		}
		for _, l := range listeners {
			_ = l.Close()
		}
	}
	t.Fatal("no port is free on all addresses")
	return 0, nil
}

// newTargets starts HTTP servers on one port of the given addresses.
func newTargets(t *testing.T, addresses ...string) []*aTarget {
	t.Helper()
	port, listeners := listenOn(t, addresses...)
	targets := make([]*aTarget, len(addresses))
	for i, l := range listeners {
		targets[i] = &aTarget{address: addresses[i], port: port}
		s := &http.Server{Handler: targets[i]} //nolint:gosec // it ends with the test
		go func() { _ = s.Serve(l) }()
		t.Cleanup(func() { _ = s.Close() })
	}
	return targets
}

// ServeHTTP implements http.Handler.
func (a *aTarget) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case !a.authorized(r):
		w.WriteHeader(http.StatusUnauthorized)
	case a.off.Load():
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

// authorized tells whether a request has the key that the target wants, and counts
// it.
func (a *aTarget) authorized(r *http.Request) bool {
	a.asked.Add(1)
	want, _ := a.key.Load().(string)
	return want == "" || r.Header.Get("X-Key") == want
}

// checkedGateway is a manifest with a Gateway and a policy that has its addresses
// checked.
func checkedGateway(name, host string, port int, more string, addresses ...string) string {
	return fmt.Sprintf(`apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {namespace: ns, name: %[1]s}
spec:
  gatewayClassName: x
  listeners: [{name: a, hostname: %[2]s, port: 80, protocol: HTTP}]
status: {addresses: [{value: %[5]s}]}
---
apiVersion: kuadrant.io/v1
kind: DNSPolicy
metadata: {namespace: ns, name: %[1]s}
spec:
  targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: %[1]s}
  healthCheck: {protocol: HTTP, port: %[3]d, path: /healthz, interval: 1s, failureThreshold: 2}
%[4]s
`, name, host, port, more, strings.Join(addresses, "}, {value: "))
}

// answersOf returns the addresses in the answer for a name, sorted.
func answersOf(t *testing.T, addr, name string) string {
	t.Helper()
	var all []string
	for _, rr := range exchange(t, addr, name, dns.TypeA).Answer {
		if a, ok := rr.(*dns.A); ok {
			all = append(all, a.A.String())
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// TestHealth switches real targets off and on, and asks for what they serve: dead
// addresses leave the answers, a dead member is replaced by another, and where
// all are dead all are answered.
func TestHealth(t *testing.T) {
	up := newTargets(t, "127.0.4.1", "127.0.4.2", "127.0.4.3")
	dir, port := t.TempDir(), up[0].port
	writeFile(t, filepath.Join(dir, "simple.yaml"), checkedGateway("simple", "simple.example.com", port, "", "127.0.4.1", "127.0.4.2"))
	const geo = "  loadBalancing: {weight: %d, geo: %s, defaultGeo: %v}"
	writeFile(t, filepath.Join(dir, "eu.yaml"), checkedGateway("eu", "geo.example.com", port, fmt.Sprintf(geo, 1, "GEO-EU", true), "127.0.4.1"))
	writeFile(t, filepath.Join(dir, "na.yaml"), checkedGateway("na", "geo.example.com", port, fmt.Sprintf(geo, 1, "GEO-NA", false), "127.0.4.3"))
	log := listen(t)
	inst, addr := boot(t, fmt.Sprintf("example.com:0 {\nbind 127.0.0.1\nkuadrant {\nmanifests %s\nprobe-allow 127.0.4.0/24\n}\n}\n", dir))
	defer func() {
		_ = inst.Stop()
		inst.ShutdownCallbacks()
	}()
	await := func(name, want string) {
		t.Helper()
		waitFor(t, name+" at "+want, func() bool { return answersOf(t, addr, name+".example.com.") == want })
	}
	await("simple", "127.0.4.1 127.0.4.2")
	await("geo", "127.0.4.1")
	engine := answering.Load()
	waitFor(t, "first round of checks", engine.prober.Settled)

	up[0].off.Store(true)
	await("simple", "127.0.4.2")
	await("geo", "127.0.4.3")
	if serial := exchange(t, addr, "example.com.", dns.TypeSOA); len(serial.Answer) != 1 {
		t.Error("no SOA")
	}
	up[0].off.Store(false)
	await("simple", "127.0.4.1 127.0.4.2")
	await("geo", "127.0.4.1")

	for _, target := range up {
		target.off.Store(true)
	}
	waitFor(t, "all down", func() bool {
		for _, checked := range engine.snap.Load().Checks().All() {
			if checked.Cell.Load().Failures() < 2 {
				return false
			}
		}
		return true
	})
	await("simple", "127.0.4.1 127.0.4.2")
	await("geo", "127.0.4.1")
	if !log.has("warning", "target http://127.0.4.3:"+fmt.Sprint(port)+"/healthz host=geo.example.com is down: unexpected status code 503") {
		t.Errorf("the log does not tell of the target that is down: %q", log.all())
	}

	for _, host := range []string{"simple", "geo"} {
		line := "Host " + host + ".example.com has no target that is up for all clients: answers hold those that are down (fail-open)"
		waitFor(t, "log line about "+host, func() bool { return log.has("warning", line) })
	}

	// The operator's word goes first.
	manifest := strings.Replace(checkedGateway("eu", "geo.example.com", port, fmt.Sprintf(geo, 1, "GEO-EU", true), "127.0.4.1"),
		"name: eu}\nspec:\n  gatewayClassName", "name: eu, annotations: {kuadrant.io/health-override: down}}\nspec:\n  gatewayClassName", 1)
	writeFile(t, filepath.Join(dir, "eu.yaml"), manifest)
	await("geo", "127.0.4.3")
	up[2].off.Store(false)
	waitFor(t, "log line about the end", func() bool { return log.has("info", "Host geo.example.com fails open no longer") })
}

// TestHealthSurvivesReload: what is known of targets stays through a reload, and
// the new engine checks them.
func TestHealthSurvivesReload(t *testing.T) {
	up := newTargets(t, "127.0.5.1", "127.0.5.2")
	r := startReloaded(t, "", "probe-allow 127.0.5.0/24", checkedGateway("a", "a.example.com", up[0].port, "", "127.0.5.1", "127.0.5.2"))
	up[0].off.Store(true)
	r.await("127.0.5.2")
	for ttl := range 3 {
		var err error
		if r.inst, err = r.inst.Restart(r.corefile(ttl)); err != nil {
			t.Fatal(err)
		}
		for range 10 {
			if got := answersOf(t, r.addr, "a.example.com."); got != "127.0.5.2" {
				t.Fatalf("%s right after the reload", got)
			}
		}
	}
	up[0].off.Store(false)
	r.await("127.0.5.1 127.0.5.2")
}
