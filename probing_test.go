package kuadrant

import (
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/coredns/caddy"
)

// TestProbingGuardsAPIServers: neither addresses of API servers nor those that
// their names have are probed.
func TestProbingGuardsAPIServers(t *testing.T) {
	for _, c := range []struct {
		server, addr, host string
	}{
		{"https://192.0.2.1:6443", "192.0.2.1/32", ""},
		{"https://[2001:db8::1]:6443/k8s/clusters/c-1", "2001:db8::1/128", ""},
		{"https://[::ffff:192.0.2.1]", "192.0.2.1/32", ""},
		{"192.0.2.1", "192.0.2.1/32", ""},
		{"192.0.2.1:6443", "192.0.2.1/32", ""},
		{"2001:db8::1", "2001:db8::1/128", ""},
		{"[2001:db8::1]:6443", "2001:db8::1/128", ""},
		{"https://api.example.com:6443", "", "api.example.com"},
		{"https://localhost:6443", "", "localhost"},
		{"api.example.com", "", "api.example.com"},
		{"api.example.com:6443", "", "api.example.com"},
		{"https://kubernetes.default.svc", "", "kubernetes.default.svc"},
		{"", "", ""},
		{"://", "", ""},
	} {
		guard := new(config).probing([]string{c.server, c.server}, nil).Guard
		var deny []netip.Prefix
		var hosts []string
		if c.addr != "" {
			p := netip.MustParsePrefix(c.addr)
			deny = []netip.Prefix{p, p}
			if guard.Allows(p.Addr(), 6443) {
				t.Errorf("%q may be probed", c.server)
			}
		}
		if c.host != "" {
			hosts = []string{c.host}
		}
		if !slices.Equal(guard.Deny, deny) || !slices.Equal(guard.DenyHosts, hosts) {
			t.Errorf("%q: addresses %v, hosts %q", c.server, guard.Deny, guard.DenyHosts)
		}
	}
}

// TestKubeconfigHostIsGuarded: the name in a kubeconfig gets to the guard.
func TestKubeconfigHostIsGuarded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, []byte(`apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://localhost:6443"}}]
users: [{name: u, user: {}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := newInstance().config
	if _, err := parse(caddy.NewTestController("dns", "kuadrant example.com {\nkubeconfig "+file+"\n}"), cfg); err != nil {
		t.Fatal(err)
	}
	e := newEngine()
	if err := e.configure(cfg); err != nil {
		t.Fatal(err)
	}
	if hosts := cfg.probing(e.apiServers, nil).Guard.DenyHosts; !slices.Equal(hosts, []string{"localhost"}) {
		t.Errorf("%q of %q", hosts, e.apiServers)
	}
}
