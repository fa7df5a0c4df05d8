package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/internal/peertest"
)

// startKnot starts Knot with zone files, keyed by origin. more is added to each zone's configuration.
func startKnot(t *testing.T, more string, zones map[string]string) (addr string) {
	t.Helper()
	dir, config := t.TempDir(), ""
	sections, lines, _ := strings.Cut(more, "\n---\n")
	config = sections + "\nzone:\n"
	for origin, text := range zones {
		writeFile(t, filepath.Join(dir, origin+"zone"), text)
		config += fmt.Sprintf("  - domain: %s\n    file: %s/%szone\n    zonefile-sync: -1\n    journal-content: all\n%s", origin, dir,
			origin, lines)
	}
	addr = peertest.StartKnot(t, dir, peertest.FreePort(t), config).Addr
	for origin := range zones {
		waitForAnswer(t, addr, origin)
	}
	return addr
}

// waitForAnswer waits until a server has loaded a zone.
func waitForAnswer(t *testing.T, addr, zone string) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		m := new(dns.Msg).SetQuestion(zone, dns.TypeSOA)
		r, _, err := (&dns.Client{Timeout: time.Second}).ExchangeContext(t.Context(), m, addr)
		if err == nil && len(r.Answer) > 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s does not answer for %s: %v", addr, zone, err)
		}
	}
}

// signing is the part of Knot's configuration that signs a zone.
const signing = `policy:
  - id: ours
    algorithm: ecdsap256sha256
    single-type-signing: on
---
    dnssec-signing: on
    dnssec-policy: ours
`

const (
	childZone = `k.example.com. 300 SOA ns1.k.example.com. hostmaster.k.example.com. 7 7200 1800 86400 60
k.example.com. 300 NS ns1.k.example.com.
ns1.k.example.com. 300 A 127.0.0.1
`
	parentZone = `example.com. 300 SOA ns.example.com. hostmaster.example.com. 1 7200 1800 86400 60
example.com. 300 NS ns.example.com.
ns.example.com. 300 A 127.0.0.1
`
)

// TestLive checks a zone with real parent and child servers, delegated correctly and incorrectly.
func TestLive(t *testing.T) {
	dir := t.TempDir()
	corefile := writeFile(t, dir+"/Corefile",
		"k.example.com {\n  kuadrant {\n    manifests "+t.TempDir()+"\n    nameserver ns1.k.example.com 127.0.0.1\n  }\n}\n")
	child := startKnot(t, signing, map[string]string{"k.example.com.": childZone})
	_, port, _ := strings.Cut(child, ":")
	ds := dsOf(t, child)
	const delegated = "k.example.com. 300 NS ns1.k.example.com.\nns1.k.example.com. 300 A 127.0.0.1\n"
	for _, c := range []struct {
		name, parent string
		code         int
		want         []string
	}{
		{"signed and delegated", delegated + ds, 1, []string{"warning: k.example.com: all name servers have one address", "0 errors, 1 warning"}},
		{"no DS", delegated, 1, []string{"the parent has no DS record", "0 errors, 2 warnings"}},
		{"not delegated", "", 1, []string{"error: k.example.com: the parent's server 127.0.0.1", "NXDOMAIN", "(NotDelegated)"}},
		{
			"DS of another key", delegated + "k.example.com. 300 DS 1 13 2 " + strings.Repeat("ab", 32) + "\n", 1,
			[]string{"bogus for resolvers that validate", "(DS)"},
		},
		{
			"wrong glue", strings.ReplaceAll(delegated, "127.0.0.1", "127.0.0.9") + ds, 1,
			[]string{"at 127.0.0.9, but it is at 127.0.0.1", "ns1.k.example.com (127.0.0.9): no answer from 127.0.0.9:"},
		},
		{
			"another server", delegated + "k.example.com. 300 NS ns.example.net.\n" + ds, 1,
			[]string{"the parent names ns.example.net, which the zone does not"},
		},
	} {
		parent := startKnot(t, "", map[string]string{"example.com.": parentZone + c.parent})
		got := kdns(t, "", "check", "--live", "k.example.com", "--corefile", corefile, "--parent", parent, "--resolver",
			parent, "--port", port)
		got.expect(t, c.name, c.code, c.want...)
	}
	// The parent's servers as seen by a resolver.
	resolver := startKnot(t, "", map[string]string{"example.com.": parentZone})
	kdns(t, "", "check", "--live", "k.example.com", "--corefile", corefile, "--resolver", resolver, "--port", port).expect(t,
		"with a resolver", 1, "the parent's server ns.example.com: ")
	for args, want := range map[string]string{
		"--live example.org":                              "2 --live: zone: no zone example.org here; the zones are k.example.com",
		"--live k..example":                               "2 is not a domain name",
		"--port 1":                                        "2 --parent, --resolver and --port need --live",
		"--live k.example.com --port 0":                   "2 is not a port",
		"--live k.example.com --parent a/b":               "2 is not a server",
		"--live k.example.com --parent 127.0.0.1:0":       "2 is not a port",
		"--live k.example.com --resolver 127.0.0.1:99999": "2 is not a port",
		"--live k.example.com --resolver 127.0.0.1:1":     "3 find the parent of k.example.com.: no answer from 127.0.0.1:1",
	} {
		kdns(t, "", append([]string{"check", "--corefile", corefile}, strings.Fields(args)...)...).expect(t, args, int(want[0]-'0'), "!"+want[2:])
	}
}

// dsOf returns the DS record of the key that a server signs with.
func dsOf(t *testing.T, addr string) string {
	t.Helper()
	m := new(dns.Msg).SetQuestion("k.example.com.", dns.TypeDNSKEY)
	r, _, err := (&dns.Client{Timeout: 20 * time.Second}).ExchangeContext(t.Context(), m, addr)
	if err != nil || len(r.Answer) != 1 {
		t.Fatalf("no key: %v, %v", r, err)
	}
	return r.Answer[0].(*dns.DNSKEY).ToDS(dns.SHA256).String() + "\n"
}
