package boottest

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/miekg/dns"
)

// Target is an HTTP server on an address of this machine that a test can switch off.
type Target struct {
	Address string
	Port    int
	Off     atomic.Bool
	Key     atomic.Value // the value required of the header X-Key; a string
	Asked   atomic.Int64 // the number of requests
}

// ListenOn listens on one port of the given addresses. Checks may use the port, and
// peertest.FreePort does not return it.
func ListenOn(t testing.TB, addresses ...string) (port int, listeners []net.Listener) {
	t.Helper()
	for port := 32000; port < 32100; port++ {
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

// NewTargets starts HTTP servers on one port of the given addresses.
func NewTargets(t testing.TB, addresses ...string) []*Target {
	t.Helper()
	port, listeners := ListenOn(t, addresses...)
	targets := make([]*Target, len(addresses))
	for i, l := range listeners {
		targets[i] = &Target{Address: addresses[i], Port: port}
		s := &http.Server{Handler: targets[i]} //nolint:gosec // it ends with the test
		go func() { _ = s.Serve(l) }()
		t.Cleanup(func() { _ = s.Close() })
	}
	return targets
}

// ServeHTTP implements http.Handler.
func (a *Target) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case !a.authorized(r):
		w.WriteHeader(http.StatusUnauthorized)
	case a.Off.Load():
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

// authorized reports whether a request has the key that the target requires, and counts the
// request.
func (a *Target) authorized(r *http.Request) bool {
	a.Asked.Add(1)
	want, _ := a.Key.Load().(string)
	return want == "" || r.Header.Get("X-Key") == want
}

// CheckedGateway is a manifest with a Gateway and a policy that checks its addresses.
func CheckedGateway(name, host string, port int, more string, addresses ...string) string {
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

// Answers returns the addresses in the answer for a name, sorted.
func Answers(t testing.TB, addr, name string) string {
	t.Helper()
	var all []string
	for _, rr := range Exchange(t, addr, name, dns.TypeA).Answer {
		if a, ok := rr.(*dns.A); ok {
			all = append(all, a.A.String())
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}
