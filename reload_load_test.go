package kuadrant

import (
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/coredns/caddy"
	"github.com/miekg/dns"
)

// loadRecords is how many names the zone of TestReloadsUnderLoad has that change together:
// a transfer takes several messages.
const loadRecords = 1500

// loadFile returns a zone with data of all kinds, every address of which names the version.
func loadFile(v int) string {
	addr := fmt.Sprintf("10.0.%d.%d", v>>8, v&255)
	var b strings.Builder
	fmt.Fprintf(&b, `apiVersion: kubi.zone/v1alpha1
kind: Zone
metadata: {name: org, namespace: dns, creationTimestamp: "2026-01-01T00:00:00Z"}
spec: {domainName: example.org., delegations: [{zones: ["*"], records: [{pattern: "*"}, {pattern: "@"}]}]}
---
{apiVersion: externaldns.k8s.io/v1alpha1, kind: DNSEndpoint, metadata: {name: e, namespace: dns}, spec: {endpoints: [
  {dnsName: two.example.org, recordType: A, targets: [%[1]s], setIdentifier: a}, {dnsName: two.example.org, recordType: A, targets: [%[1]s], setIdentifier: b},
  {dnsName: "*.wild.example.org", recordType: A, targets: [%[1]s]}]}}
---
{apiVersion: kuadrant.io/v1alpha1, kind: DNSRecord, metadata: {name: r, namespace: dns, labels: {kuadrant.io/coredns-zone-name: example.org}}, spec: {rootHost: chain.example.org, endpoints: [
  {dnsName: chain.example.org, recordType: CNAME, targets: [klb.chain.example.org]},
  {dnsName: klb.chain.example.org, recordType: CNAME, targets: [ie.klb.chain.example.org], setIdentifier: IE, providerSpecific: [{name: geo-code, value: IE}]},
  {dnsName: ie.klb.chain.example.org, recordType: CNAME, targets: [a.klb.chain.example.org], setIdentifier: a, providerSpecific: [{name: weight, value: "%[2]d"}]},
  {dnsName: a.klb.chain.example.org, recordType: A, targets: [%[1]s]}]}}
`, addr, v%3)
	for i := range loadRecords {
		if i == v%loadRecords {
			continue // names come and go
		}
		fmt.Fprintf(&b, "---\n{apiVersion: kubi.zone/v1alpha1, kind: Record, metadata: {name: r%[1]d, namespace: dns}, spec: {domainName: r%[1]d.example.org., type: A, rdata: %[2]s}}\n", i, addr)
	}
	return b.String()
}

// loadVersion returns the address that all of a transfer's have, and how many there are.
func loadVersion(t *testing.T, content map[string]bool) (addr string, n int) {
	t.Helper()
	for line := range content {
		f := strings.Fields(line)
		if f[3] != "A" {
			continue
		}
		if n++; addr == "" {
			addr = f[4]
		} else if f[4] != addr {
			t.Errorf("a transfer has %s and %s", addr, f[4])
			return addr, n
		}
	}
	return addr, n
}

// loadClient is a secondary that keeps a copy by IXFR.
type loadClient struct {
	addr    string
	serial  uint32
	content map[string]bool
	steps   int
}

// refresh brings the copy up to date. A transfer that breaks off, as one of a server that
// is on its way out may, counts for nothing.
func (c *loadClient) refresh(t *testing.T) {
	var rrs []dns.RR
	in, err := new(dns.Transfer).In(ixfrOf("example.org.", c.serial), c.addr)
	if err != nil {
		return
	}
	for a := range in {
		if err = a.Error; err == nil {
			rrs = append(rrs, a.RR...)
		}
	}
	if err != nil || len(rrs) < 2 {
		return
	}
	first := rrs[0].(*dns.SOA)
	if second, ok := rrs[1].(*dns.SOA); ok && c.content != nil {
		steps := 0
		for _, rr := range rrs[1 : len(rrs)-1] {
			if rr.Header().Rrtype == dns.TypeSOA {
				steps++
			}
		}
		c.content = applyIXFR(t, c.content, rrs, second.Serial, steps/2)
		c.steps++
	} else {
		_, c.content = wholeZone(t, transferred{rrs: rrs})
	}
	c.serial = first.Serial
	if _, n := loadVersion(t, c.content); n != loadRecords+2 {
		t.Errorf("a copy of serial %d has %d addresses, want %d", c.serial, n, loadRecords+2)
	}
}

// TestReloadsUnderLoad changes a zone while it is asked, transferred and reloaded: every
// copy is one generation, IXFR leads from any to the newest, and nothing is left running.
func TestReloadsUnderLoad(t *testing.T) {
	const versions = 12
	dir, port := t.TempDir(), freePort(t)
	file, addr := filepath.Join(dir, "zone.yaml"), fmt.Sprintf("127.0.0.1:%d", port)
	writeFile(t, file, loadFile(0))
	corefile := func(ttl int) caddy.Input {
		return caddy.CaddyfileInput{Filepath: "Corefile", ServerTypeName: "dns", Contents: fmt.Appendf(nil,
			"example.org:%d {\nbind 127.0.0.1\nkuadrant {\nmanifests %s\nttl %d\n}\ntransfer {\nto *\n}\n}\n", port, dir, ttl)}
	}
	before := runtime.NumGoroutine()
	inst, err := caddy.Start(corefile(60))
	if err != nil {
		t.Fatal(err)
	}
	text := func(name string, qtype uint16) string {
		m, _, err := new(dns.Client).Exchange(new(dns.Msg).SetQuestion(name, qtype), addr)
		if err != nil {
			return ""
		}
		if m.Rcode != dns.RcodeSuccess || len(m.Answer) == 0 {
			t.Errorf("%s is answered with %s and %d records", name, dns.RcodeToString[m.Rcode], len(m.Answer))
			return ""
		}
		return m.Answer[len(m.Answer)-1].String()
	}
	waitFor(t, "first answer", func() bool {
		m, _, err := new(dns.Client).Exchange(new(dns.Msg).SetQuestion("chain.example.org.", dns.TypeA), addr)
		return err == nil && len(m.Answer) == 4
	})
	var done atomic.Bool
	var others sync.WaitGroup
	secondaries := [3]loadClient{{addr: addr}, {addr: addr}, {addr: addr}}
	for i := range secondaries {
		others.Go(func() {
			for !done.Load() {
				secondaries[i].refresh(t)
			}
		})
	}
	for range 3 {
		others.Go(func() {
			for !done.Load() {
				for _, name := range []string{"two.example.org.", "chain.example.org.", "x.wild.example.org."} {
					text(name, dns.TypeA)
				}
			}
		})
	}
	for v := 1; v <= versions; v++ {
		writeFile(t, file, loadFile(v))
		if v%4 == 0 {
			if inst, err = inst.Restart(corefile(60 + v)); err != nil {
				t.Fatal(err)
			}
		}
		want := fmt.Sprintf("10.0.%d.%d", v>>8, v&255)
		waitFor(t, "version "+want, func() bool { return strings.HasSuffix(text("two.example.org.", dns.TypeA), want) })
	}
	done.Store(true)
	others.Wait()
	_, newest := wholeZone(t, xfr(t, addr, axfrOf("example.org."), nil))
	steps := 0
	for i := range secondaries {
		secondaries[i].refresh(t)
		if steps += secondaries[i].steps; !maps.Equal(secondaries[i].content, newest) {
			t.Errorf("secondary %d, at %d, has another copy: %s", i, secondaries[i].serial, difference(secondaries[i].content, newest))
		}
	}
	if steps < versions {
		t.Errorf("only %d incremental transfers", steps)
	}
	if err := inst.Stop(); err != nil {
		t.Error(err)
	}
	inst.ShutdownCallbacks()
	waitFor(t, "the end of all goroutines", func() bool { return runtime.NumGoroutine() <= before })
}
