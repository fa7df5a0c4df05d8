package dnssec

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/peertest"
)

// deniedTypes are asked for at each name. AAAA is denied at most of them.
var deniedTypes = []uint16{
	dns.TypeA, dns.TypeMX, dns.TypeTXT, dns.TypeCAA, dns.TypeHTTPS, dns.TypeSVCB, dns.TypeNAPTR, dns.TypeSRV, dns.TypePTR, dns.TypeTLSA,
	dns.TypeSMIMEA, dns.TypeSSHFP, dns.TypeCDS, dns.TypeDS, 65280,
}

// deniedRecords are lines as in signedRecords, with ALL for one record of each type.
const deniedRecords = `
@.example.com NS 3600 ns.example.com.
ns.example.com A 3600 192.0.2.53
@.example.com MX 300 10 web.example.com.
@.example.com CAA 300 0 issue "ca.example.net"
@.example.com HTTPS 300 1 . alpn=h2
@.example.com CDS 300 12345 13 2 0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF
web.example.com ALL 300
*.wild.example.com ALL 300
a.ent.example.com A 300 192.0.2.7
alias.example.com CNAME 300 web.example.com.
dangles.example.com CNAME 300 nope.example.com.
dn.example.com DNAME 300 ent.example.com.
dn.example.com CAA 300 0 issue "ca.example.net"
host.example.com CAA 300 0 issue "ca.example.net"
host.example.com TYPE65280 300 \# 1 00
shop.example.com MX 300 10 web.example.com.
shop.example.com HTTPS 300 1 . alpn=h2
down.example.com CAA 300 0 issue "ca.example.net"
cut.example.com NS 300 ns.elsewhere.net.
secure.example.com NS 300 ns.elsewhere.net.
secure.example.com DS 300 12345 13 2 0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF
`

// allOf has one record of each type that web has.
var allOf = []string{
	"A 300 192.0.2.80", "MX 300 10 mail.example.com.", `TXT 300 "one"`, `CAA 300 0 issue "ca.example.net"`, "HTTPS 300 1 . alpn=h2",
	"SVCB 300 1 . alpn=h2", `NAPTR 300 10 10 "U" "E2U+sip" "!^.*$!sip:a@example.com!" .`, "SRV 300 0 0 80 host.example.com.",
	"PTR 300 web.example.com.", "TLSA 300 3 1 1 " + digest, "SMIMEA 300 3 1 1 " + digest, "SSHFP 300 4 2 " + digest, `TYPE65280 300 \# 1 00`,
}

const digest = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

const deniedGateways = `{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {namespace: dns, name: simple},
 spec: {gatewayClassName: x, listeners: [{name: a, hostname: host.example.com, port: 80, protocol: HTTP}]},
 status: {addresses: [{value: 192.0.2.1}]}}
---
{apiVersion: kuadrant.io/v1, kind: DNSPolicy, metadata: {namespace: dns, name: simple},
 spec: {targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: simple}}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {namespace: dns, name: flat},
 spec: {gatewayClassName: x, listeners: [{name: a, hostname: shop.example.com, port: 80, protocol: HTTP},
  {name: b, hostname: geo.example.com, port: 80, protocol: HTTP}]},
 status: {addresses: [{value: 192.0.2.10}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {namespace: dns, name: alias},
 spec: {gatewayClassName: x, listeners: [{name: a, hostname: example.com, port: 80, protocol: HTTP},
  {name: b, hostname: elb.example.com, port: 80, protocol: HTTP}]},
 status: {addresses: [{type: Hostname, value: web.example.com}]}}
---
{apiVersion: kuadrant.io/v1, kind: DNSPolicy, metadata: {namespace: dns, name: alias},
 spec: {targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: alias},
  loadBalancing: {weight: 100, geo: IE, defaultGeo: true}}}
---
{apiVersion: kuadrant.io/v1, kind: DNSPolicy, metadata: {namespace: dns, name: flat},
 spec: {targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: flat},
  loadBalancing: {weight: 100, geo: IE, defaultGeo: true}}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {namespace: dns, name: closed},
 spec: {gatewayClassName: x, listeners: [{name: a, hostname: down.example.com, port: 80, protocol: HTTP}]},
 status: {addresses: [{value: 192.0.2.66}]}}
---
{apiVersion: kuadrant.io/v1, kind: DNSPolicy, metadata: {namespace: dns, name: closed, annotations: {kuadrant.io/fail: closed}},
 spec: {targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: closed},
  loadBalancing: {weight: 100, geo: IE, defaultGeo: true}}}
`

// deniedNames are the names that every type is asked for at.
var deniedNames = []string{
	"example.com.", "web.example.com.", "x.wild.example.com.", "ent.example.com.", "alias.example.com.", "dangles.example.com.",
	"dn.example.com.", "host.example.com.",
	"shop.example.com.", "geo.example.com.", "elb.example.com.", "down.example.com.", "nope.example.com.",
	longName(253), longName(252),
}

// longName returns a name in example.com of so many characters, without the final dot.
func longName(n int) string {
	label := strings.Repeat("a", 63) + "."
	name := strings.Repeat(label, 3)
	return strings.Repeat("b", n-len(name)-len("example.com")-1) + "." + name + "example.com."
}

// newDeniedWorld returns a server that signs example.com, with its key.
func newDeniedWorld(t *testing.T) (addr string, key *dns.DNSKEY) {
	t.Helper()
	dir, override := t.TempDir(), filepath.Join(t.TempDir(), "override")
	key, file := boottest.NewKey(t, t.TempDir(), "example.com.", 257)
	var lines strings.Builder
	for line := range strings.Lines(deniedRecords) {
		if name, all := strings.CutSuffix(strings.TrimSpace(line), "ALL 300"); all {
			for _, data := range allOf {
				lines.WriteString(name + data + "\n")
			}
			continue
		}
		lines.WriteString(line)
	}
	boottest.WriteFile(t, filepath.Join(dir, "records.yaml"), recordManifests(t, lines.String()))
	boottest.WriteFile(t, filepath.Join(dir, "gateways.yaml"), deniedGateways)
	boottest.WriteFile(t, override, "target 192.0.2.66 down\n")
	port := peertest.FreePort(t)
	addr = fmt.Sprintf("127.0.0.1:%d", port)
	boottest.Serve(t, fmt.Sprintf(`example.com:%d {
    bind 127.0.0.1
    dnssec {
        key file %s
    }
    kuadrant {
        manifests %s c
        override %s
    }
}
`, port, file, dir, override))
	boottest.WaitFor(t, "snapshot", func() bool {
		closed := boottest.Exchange(t, addr, "down.example.com.", dns.TypeA)
		open := boottest.Exchange(t, addr, "web.example.com.", dns.TypeA)
		return len(open.Answer) > 0 && closed.Rcode == dns.RcodeSuccess && len(closed.Answer) == 0
	})
	return addr, key
}

// startUnbound starts Unbound with its defaults, apart from where the zone and its key are, and returns its address.
func startUnbound(t *testing.T, server string, key *dns.DNSKEY) string {
	t.Helper()
	dir, port := t.TempDir(), peertest.FreePort(t)
	config, anchor := filepath.Join(dir, "unbound.conf"), filepath.Join(dir, "anchor")
	boottest.WriteFile(t, anchor, key.String()+"\n")
	boottest.WriteFile(t, config, fmt.Sprintf(`server:
    interface: 127.0.0.1@%d
    num-threads: 1
    do-daemonize: no
    username: ""
    chroot: ""
    directory: %q
    pidfile: ""
    use-syslog: no
    do-not-query-localhost: no
    trust-anchor-file: %q
remote-control:
    control-enable: no
stub-zone:
    name: example.com
    stub-addr: %s
`, port, dir, anchor, strings.Replace(server, ":", "@", 1)))
	return runResolver(t, port, peertest.Program(t, "unbound", "unbound"), "-d", "-c", config)
}

// startNamed starts BIND with its defaults, apart from where the zone and its key are, and returns its address.
func startNamed(t *testing.T, server string, key *dns.DNSKEY) string {
	t.Helper()
	dir, port := t.TempDir(), peertest.FreePort(t)
	config := filepath.Join(dir, "named.conf")
	host, serverPort, _ := strings.Cut(server, ":")
	boottest.WriteFile(t, config, fmt.Sprintf(`options {
    directory %q;
    pid-file none;
    session-keyfile none;
    listen-on port %d { 127.0.0.1; };
    port %s; // of other servers
    listen-on-v6 { none; };
    allow-query { any; };
    recursion yes;
};
controls { };
trust-anchors { example.com. static-key %d %d %d %q; };
zone "example.com" { type static-stub; server-addresses { %s; }; };
`, dir, port, serverPort, key.Flags, key.Protocol, key.Algorithm, key.PublicKey, host))
	return runResolver(t, port, peertest.Program(t, "named", "bind9"), "-g", "-n", "1", "-c", config)
}

// runResolver runs a program that listens on a port until the test ends, and returns its address once it answers.
func runResolver(t *testing.T, port int, program string, args ...string) (addr string) {
	t.Helper()
	cmd := exec.Command(program, args...)
	log := filepath.Join(t.TempDir(), "log")
	out, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = out.Close() }()
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			text, _ := os.ReadFile(log)
			t.Logf("%s printed\n%s", program, text)
		}
	})
	addr = fmt.Sprintf("127.0.0.1:%d", port)
	boottest.WaitFor(t, program, func() bool {
		reply, _, err := boottest.Client("udp").Exchange(boottest.Question("ns.example.com.", dns.TypeA), addr)
		return err == nil && len(reply.Answer) > 0
	})
	return addr
}

// resolved returns the records of an answer section, sorted and without TTLs.
func resolved(reply *dns.Msg) []string {
	var all []string
	for _, rr := range reply.Answer {
		rr = dns.Copy(rr)
		rr.Header().Ttl = 0
		all = append(all, rr.String())
	}
	slices.Sort(all)
	return all
}

// TestResolvers: validating resolvers with their defaults use denials aggressively (RFC 8198), and still find all that is there,
// whichever type is asked for first.
func TestResolvers(t *testing.T) {
	server, key := newDeniedWorld(t)
	before := func(qtype uint16) []uint16 { return []uint16{qtype, dns.TypeAAAA} }
	after := func(qtype uint16) []uint16 { return []uint16{dns.TypeAAAA, qtype} }
	for name, start := range map[string]func(*testing.T, string, *dns.DNSKEY) string{"Unbound": startUnbound, "BIND": startNamed} {
		for order, of := range map[string]func(uint16) []uint16{"before AAAA": before, "after AAAA": after} {
			t.Run(name+" "+order, func(t *testing.T) {
				t.Parallel()
				addr := start(t, server, key)
				for _, name := range deniedNames {
					for _, qtype := range deniedTypes {
						if name == "example.com." && qtype == dns.TypeDS {
							continue // resolvers ask its parent
						}
						for _, qtype := range of(qtype) {
							want := resolved(boottest.Exchange(t, server, name, qtype))
							m := boottest.Question(name, qtype)
							m.AuthenticatedData = true
							reply, _, err := boottest.Client("").Exchange(m, addr)
							if err != nil {
								t.Fatal(err)
							}
							if got := resolved(reply); reply.Rcode != dns.RcodeSuccess || !reply.AuthenticatedData || !slices.Equal(got, want) {
								t.Errorf("%.70s %s: %s, AD %v: %q, want %q",
									name, dns.Type(qtype), dns.RcodeToString[reply.Rcode], reply.AuthenticatedData, got, want)
							}
						}
					}
				}
			})
		}
	}
}
