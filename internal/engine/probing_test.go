package engine

import (
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/records"
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
		guard := New(log, nil).proberOptions(new(Options), []string{c.server, c.server}).Guard
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

// TestOwnAddressesAreGuarded: what the Corefile says of probes does not open this
// machine's own addresses, unless probe-allow does.
func TestOwnAddressesAreGuarded(t *testing.T) {
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, a := range all {
		n, ok := a.(*net.IPNet)
		if !ok || n.IP.IsLoopback() || n.IP.IsLinkLocalUnicast() {
			continue // forbidden anyway
		}
		own, _ := netip.AddrFromSlice(n.IP)
		own = own.Unmap()
		cfg := new(Options)
		if guard := New(log, nil).proberOptions(cfg, nil).Guard; guard.Allows(own, 443) {
			t.Errorf("%s may be probed", own)
		}
		cfg.ProbeAllow = []netip.Prefix{netip.PrefixFrom(own, own.BitLen())}
		if guard := New(log, nil).proberOptions(cfg, nil).Guard; !guard.Allows(own, 443) {
			t.Errorf("%s may not be probed although probe-allow has it", own)
		}
		seen++
	}
	if seen == 0 {
		t.Skip("this machine has loopback and link-local addresses alone")
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
	cfg := new(Options)
	cfg.Zones, cfg.Kubeconfig.File = []records.ZoneOptions{{Origin: "example.com."}}, file
	e := New(log, nil)
	s, err := e.prepare(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if hosts := New(log, nil).proberOptions(cfg, apiServers(s.feeds)).Guard.DenyHosts; !slices.Equal(hosts, []string{"localhost"}) {
		t.Errorf("%q", hosts)
	}
}

// TestProbingGuardsWrappedAPIServers: an API server that is named by an IPv6 form of an
// IPv4 address is not probed, in that form or another (rule 4.9).
func TestProbingGuardsWrappedAPIServers(t *testing.T) {
	for server, addrs := range map[string][]string{
		"https://[64:ff9b::c000:201]:6443":   {"64:ff9b::c000:201", "192.0.2.1"},
		"https://[2002:c000:201::1]:6443":    {"2002:c000:201::1"},
		"https://[::ffff:0:c000:201]:6443":   {"::ffff:0:c000:201"},
		"https://[2001:db8::1]:6443":         {"2001:db8::1"},
		"https://[::ffff:192.0.2.1]:6443":    {"64:ff9b::c000:201", "2002:c000:201::1"},
		"https://[64:ff9b::192.0.2.1]/k8s/c": {"::ffff:192.0.2.1"},
	} {
		guard := New(log, nil).proberOptions(new(Options), []string{server}).Guard
		for _, a := range addrs {
			if guard.Allows(netip.MustParseAddr(a), 6443) {
				t.Errorf("%q: a check may go to %s", server, a)
			}
		}
	}
}

// TestProbeDenyOfWrappedForms: probe-deny forbids what it names, in the very form that is
// dialled.
func TestProbeDenyOfWrappedForms(t *testing.T) {
	for deny, addr := range map[string]string{"64:ff9b::/96": "64:ff9b::c000:201", "2002::/16": "2002:c000:201::1", "::/0": "64:ff9b::c000:201"} {
		cfg := &Options{ProbeDeny: []netip.Prefix{netip.MustParsePrefix(deny)}}
		if guard := New(log, nil).proberOptions(cfg, nil).Guard; guard.Allows(netip.MustParseAddr(addr), 443) {
			t.Errorf("probe-deny %s: a check may go to %s", deny, addr)
		}
	}
}

// TestNewProberIsGivenAllTargets: a reload that makes a new prober gives it all targets at once, where compiling from nothing takes long,
// too.
func TestNewProberIsGivenAllTargets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		prober := func(checks *atomic.Int64) *health.Prober {
			return health.NewProber(health.Options{
				Guard: health.Guard{Deny: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}},
				Ended: func(*health.Target, health.Outcome, time.Duration) { checks.Add(1) },
			})
		}
		var first, second atomic.Int64
		f := &fakeSource{name: "c", place: "api"}
		r := beginWith(t, "", nil, func(e *Engine, s *settings) { s.prober, e.structure.quick = prober(&first), 0 }, f)
		c := f.cluster(hosts{"a": "192.0.2.1"})
		policies := c.Policies.Edit()
		for name, p := range c.Policies.All() {
			p.HealthCheck = &api.HealthCheck{Protocol: api.TCP, Port: 80, Interval: time.Second, FailureThreshold: 1, SuccessThreshold: 1}
			policies.Set(name, p)
		}
		c.Policies = policies.Map()
		for k := range c.Listings {
			c.Listings[k] = api.Listed
		}
		f.send(c)
		time.Sleep(time.Minute)
		in := r.e.Snapshot().Input()
		r.e.structure.aside = &aside{since: in.Unchanged()} // and takes its time
		again := beginWith(t, "", r, func(_ *Engine, s *settings) { s.prober, s.opt = prober(&second), simpleOptions(60) }, f)
		time.Sleep(time.Minute)
		synctest.Wait()
		if first.Load() == 0 || second.Load() == 0 || !again.e.Snapshot().Behind() {
			t.Errorf("%d checks by the first prober, %d by the second; behind: %v", first.Load(), second.Load(), again.e.Snapshot().Behind())
		}
	})
}
