// Package boottest runs CoreDNS in a test's process, and queries it. The test must link the plugin:
// it is in the module's root, or imports that.
package boottest

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coredns/caddy"
	"github.com/coredns/coredns/core/dnsserver"
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/erratic"
	_ "github.com/coredns/coredns/plugin/metadata"
	_ "github.com/coredns/coredns/plugin/metrics"
	_ "github.com/coredns/coredns/plugin/ready"
	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

// plugin is the name of the plugin under test.
const plugin = "kuadrant"

func init() {
	at := slices.Index(dnsserver.Directives, "transfer") + 1
	dnsserver.Directives = slices.Insert(slices.Clone(dnsserver.Directives), at, plugin)
}

// Gateway is a Gateway with a host and an address, and a policy for it.
const Gateway = `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {namespace: ns, name: gw}
spec:
  gatewayClassName: x
  listeners: [{name: a, hostname: %s, port: 80, protocol: HTTP}]
status: {addresses: [{value: %s}]}
---
apiVersion: kuadrant.io/v1
kind: DNSPolicy
metadata: {namespace: ns, name: p}
spec: {targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: gw}}
`

// WriteFile replaces a file atomically.
func WriteFile(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// ReadFile returns the text of a file.
func ReadFile(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// ReplaceIn writes a copy of a file with words replaced.
func ReplaceIn(t testing.TB, from, to string, oldnew ...string) {
	t.Helper()
	text := ReadFile(t, from)
	changed := strings.NewReplacer(oldnew...).Replace(text)
	if changed == text {
		t.Fatalf("%s has none of %q", from, oldnew)
	}
	WriteFile(t, to, changed)
}

// ReplaceKubeconfigs sets another kubeconfig, without a context, in the cluster lines of a
// Corefile.
func ReplaceKubeconfigs(t testing.TB, corefile, kubeconfig string) {
	t.Helper()
	text := ReadFile(t, corefile)
	WriteFile(t, corefile, regexp.MustCompile(`(cluster \S+) \S+\.kubeconfig( admin)?`).ReplaceAllString(text, "$1 "+kubeconfig))
}

// Unreachable writes a kubeconfig for an API server that does not exist, and returns its path.
func Unreachable(t testing.TB) string {
	t.Helper()
	config := filepath.Join(t.TempDir(), "kubeconfig")
	WriteFile(t, config, `{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}],
users: [{name: u, user: {token: t}}], contexts: [{name: c, context: {cluster: c, user: u}}]}`)
	return config
}

// Corefile returns an input for CoreDNS to start or reload; without args, text is used as it is.
func Corefile(text string, args ...any) caddy.Input {
	if len(args) > 0 {
		text = fmt.Sprintf(text, args...)
	}
	return caddy.CaddyfileInput{Filepath: "Corefile", ServerTypeName: "dns", Contents: []byte(text)}
}

// Start starts CoreDNS and returns it with the address of its first server for UDP.
func Start(t testing.TB, corefile string) (*caddy.Instance, string) {
	t.Helper()
	inst, err := caddy.Start(Corefile(corefile))
	if err != nil {
		t.Fatal(err)
	}
	first := slices.IndexFunc(inst.Servers(), func(l caddy.ServerListener) bool { return l.LocalAddr() != nil })
	return inst, inst.Servers()[first].LocalAddr().String()
}

// Serve is Start for tests that run CoreDNS to their end.
func Serve(t testing.TB, corefile string) (addr string) {
	t.Helper()
	inst, addr := Start(t, corefile)
	t.Cleanup(func() {
		_ = inst.Stop()
		inst.ShutdownCallbacks()
	})
	return addr
}

// Question is a query.
func Question(name string, qtype uint16) *dns.Msg { return new(dns.Msg).SetQuestion(name, qtype) }

// patience is how long a server may take to answer: other tests may keep its processor busy.
const patience = 20 * time.Second

// Client returns a client for a network; "" means UDP.
func Client(network string) *dns.Client {
	return &dns.Client{Net: network, Timeout: patience, UDPSize: dns.MaxMsgSize}
}

// Exchange sends a query to a server and returns the reply.
func Exchange(t testing.TB, addr, name string, qtype uint16) *dns.Msg {
	t.Helper()
	m, _, err := Client("").Exchange(Question(name, qtype), addr)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// FirstA returns the first address of a reply, or its rcode if there is none.
func FirstA(m *dns.Msg) string {
	first, _, _ := strings.Cut(AllA(m), " ")
	return first
}

// AllA returns the addresses of a reply, or its rcode if there are none.
func AllA(m *dns.Msg) string {
	var addrs []string
	for _, rr := range m.Answer {
		if a, ok := rr.(*dns.A); ok {
			addrs = append(addrs, a.A.String())
		}
	}
	if len(addrs) == 0 {
		return dns.RcodeToString[m.Rcode]
	}
	return strings.Join(addrs, " ")
}

// WaitFor polls done as kubetest.Comes does, and fails the test if it does not become true.
func WaitFor(t testing.TB, what string, done func() bool) {
	t.Helper()
	WaitOr(t, func() string { return "there is no " + what }, done)
}

// WaitOr is WaitFor with a function that describes the current state for the failure.
func WaitOr(t testing.TB, otherwise func() string, done func() bool) {
	t.Helper()
	if !kubetest.Comes(done) {
		t.Fatalf("after a minute, %s", otherwise())
	}
}

// SerialOf returns the serial in a reply; 0 if it has no SOA.
func SerialOf(m *dns.Msg) uint32 {
	for _, rr := range append(m.Answer, m.Ns...) {
		if soa, ok := rr.(*dns.SOA); ok {
			return soa.Serial
		}
	}
	return 0
}

// AskFirst queries for addresses, and returns the first, or the rcode; "" if nobody answers.
func AskFirst(addr, name string) string {
	m, _, err := new(dns.Client).Exchange(Question(name, dns.TypeA), addr)
	if err != nil {
		return ""
	}
	return FirstA(m)
}

// WithSubnet adds a client-subnet option to a query, as decoded from the wire.
func WithSubnet(m *dns.Msg, family uint16, ip string, source, scope uint8) *dns.Msg {
	m.SetEdns0(1232, false)
	m.IsEdns0().Option = append(m.IsEdns0().Option, &dns.EDNS0_SUBNET{
		Code: dns.EDNS0SUBNET, Family: family, SourceNetmask: source, SourceScope: scope, Address: net.ParseIP(ip),
	})
	return m
}
