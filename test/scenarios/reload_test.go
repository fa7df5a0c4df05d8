package scenarios

import (
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coredns/caddy"
	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/peertest"
)

// TestReloadWithBrokenFile: a manifest that has become unreadable has the same effect after a
// reload as without one (rule 8.3).
func TestReloadWithBrokenFile(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) { t.Helper(); boottest.WriteFile(t, filepath.Join(dir, name+".yaml"), text) }
	write("a", boottest.GatewayFile("a", "192.0.2.1"))
	write("b", boottest.GatewayFile("b", "192.0.2.2"))
	port := peertest.FreePort(t)
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	corefile := func(reads string, ttl int) caddy.Input {
		return boottest.Corefile("example.com:%d {\nbind 127.0.0.1\nkuadrant {\n%s\nttl %d\n}\n}\n", port, reads, ttl)
	}
	expect := func(when, name, want string) {
		t.Helper()
		if got := boottest.FirstA(boottest.Exchange(t, addr, name+".example.com.", dns.TypeA)); got != want {
			t.Errorf("%s: %s is answered with %s, want %s", when, name, got, want)
		}
	}
	await := func(name, want string) {
		t.Helper()
		boottest.WaitFor(t, name+" at "+want, func() bool {
			return boottest.FirstA(boottest.Exchange(t, addr, name+".example.com.", dns.TypeA)) == want
		})
	}
	inst, err := caddy.Start(corefile("manifests "+dir, 60))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = inst.Stop()
		inst.ShutdownCallbacks()
	}()
	await("b", "192.0.2.2")
	write("b", "{ broken")
	write("a", boottest.GatewayFile("a", "192.0.2.11"))
	await("a", "192.0.2.11") // the source has seen the broken file too
	reload := func(reads string) {
		t.Helper()
		if inst, err = inst.Restart(corefile(reads, 30)); err != nil {
			t.Fatal(err)
		}
	}
	reload("manifests " + dir)
	expect("right after the reload", "b", "192.0.2.2")
	expect("right after the reload", "no", "NXDOMAIN")
	write("a", boottest.GatewayFile("a", "192.0.2.12"))
	await("a", "192.0.2.12")
	expect("after the directory was read", "b", "192.0.2.2")
	expect("after the directory was read", "no", "NXDOMAIN")

	config := filepath.Join(t.TempDir(), "kubeconfig")
	boottest.WriteFile(t, config, `{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}],
users: [{name: u, user: {token: t}}], contexts: [{name: c, context: {cluster: c, user: u}}]}`)
	reload("kubeconfig " + config)
	expect("with the API server away", "a", "192.0.2.12")
	expect("with the API server away", "b", "192.0.2.2")
	expect("with the API server away", "no", "NXDOMAIN")

	write("b", boottest.GatewayFile("b", "192.0.2.22"))
	reload("manifests " + dir)
	await("b", "192.0.2.22")
	expect("once the file is whole", "no", "NXDOMAIN")
}

// TestMetricsAfterReload: metrics describe the engine that answers. What a reload removes is gone;
// a failed reload changes nothing.
func TestMetricsAfterReload(t *testing.T) {
	port := peertest.FreePort(t)
	one, two := t.TempDir(), t.TempDir()
	corefile := func(zone, dir, cluster, more string) caddy.Input {
		return boottest.Corefile("%s:%d {\nbind 127.0.0.1\nkuadrant {\nmanifests %s %s\n}\n}\n%s", zone, port, dir, cluster, more)
	}
	series := func() map[string]float64 {
		return boottest.Metrics(t)
	}
	has := func(when string, want bool, names ...string) {
		t.Helper()
		got := series()
		for _, name := range names {
			if _, ok := got[name]; ok != want {
				t.Errorf("%s: is there %s? %v, want %v", when, name, ok, want)
			}
		}
	}
	inst, err := caddy.Start(corefile("example.com", one, "first", ""))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = inst.Stop()
		inst.ShutdownCallbacks()
	}()
	boottest.WaitFor(t, "snapshot", func() bool { _, ok := series()["serial{example.com.}"]; return ok })
	old := []string{"serial{example.com.}", "snapshot_names{example.com.}", "conflicts{example.com.}", "source_synced{first}", "source_last_event_timestamp_seconds{first}"}
	now := []string{"serial{example.org.}", "snapshot_names{example.org.}", "conflicts{example.org.}", "source_synced{second}", "source_last_event_timestamp_seconds{second}"}
	has("at first", true, old...)
	if _, err := inst.Restart(corefile("example.org", two, "second", "example.net:1 {\nerratic {\nbad\n}\n}")); err == nil {
		t.Fatal("the reload did not fail")
	}
	// A taken port makes a reload fail after the new engine has started.
	taken, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	if _, err := inst.Restart(corefile("example.org", two, "second", fmt.Sprintf("example.net:%d {\nbind 127.0.0.1\nerratic\n}", taken.LocalAddr().(*net.UDPAddr).Port))); err == nil {
		t.Fatal("the reload did not fail")
	}
	has("after failures", true, old...)
	has("after failures", false, now...)
	before := series()["snapshot_timestamp_seconds{}"]
	if inst, err = inst.Restart(corefile("example.org", two, "second", "")); err != nil {
		t.Fatal(err)
	}
	boottest.WaitFor(t, "snapshot", func() bool { return series()["snapshot_timestamp_seconds{}"] > before })
	has("after the reload", false, old...)
	has("after the reload", true, now...)
}

// zoneFile is a manifest with two zones, each with one variable address.
const zoneFile = `apiVersion: kubi.zone/v1alpha1
kind: Zone
metadata: {name: org, namespace: dns, creationTimestamp: "2026-01-01T00:00:00Z"}
spec: {domainName: example.org., delegations: [{zones: ["*"], records: [{pattern: "*"}, {pattern: "@"}]}]}
---
apiVersion: kubi.zone/v1alpha1
kind: Zone
metadata: {name: sub, namespace: dns, creationTimestamp: "2026-01-01T00:00:00Z"}
spec: {domainName: sub.example.org., delegations: [{records: [{pattern: "*"}, {pattern: "@"}]}]}
---
{apiVersion: kubi.zone/v1alpha1, kind: Record, metadata: {name: a, namespace: dns}, spec: {domainName: a.example.org., type: A, rdata: 192.0.2.%d}}
---
{apiVersion: kubi.zone/v1alpha1, kind: Record, metadata: {name: b, namespace: dns}, spec: {domainName: b.sub.example.org., type: A, rdata: 192.0.2.%d}}
`

// TestReloadKeepsJournals: after a reload, secondaries are notified only of later changes, and an
// IXFR continues from before it.
func TestReloadKeepsJournals(t *testing.T) {
	dir := t.TempDir()
	write := func(a, b int) { boottest.WriteFile(t, filepath.Join(dir, "zones.yaml"), fmt.Sprintf(zoneFile, a, b)) }
	write(1, 1)
	to, told := boottest.Notified(t)
	port := peertest.FreePort(t)
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	corefile := func(ttl int) caddy.Input {
		return boottest.Corefile("example.org:%d {\nbind 127.0.0.1\nkuadrant {\nmanifests %s\nttl %d\n}\ntransfer {\nto * %s\n}\n}\n", port, dir, ttl, to)
	}
	inst, err := caddy.Start(corefile(60))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = inst.Stop()
		inst.ShutdownCallbacks()
	}()
	both := []string{"NOTIFY example.org.", "NOTIFY sub.example.org."}
	if got := boottest.Take(t, told, 2); !slices.Equal(got, both) {
		t.Errorf("at the start: %q", got)
	}
	soa, before := boottest.WholeZone(t, boottest.Transfer(t, addr, boottest.AXFR("example.org."), nil))
	// A NOTIFY does not say which change it is about.
	served := soa.Serial
	changes := func() {
		t.Helper()
		boottest.WaitFor(t, "another serial", func() bool {
			return boottest.SerialOf(boottest.Exchange(t, addr, "example.org.", dns.TypeSOA)) != served
		})
		served = boottest.SerialOf(boottest.Exchange(t, addr, "example.org.", dns.TypeSOA))
	}
	write(2, 1)
	changes()
	if got := boottest.Take(t, told, 1); got[0] != both[0] {
		t.Errorf("a change: %q", got)
	}
	for i := range 3 {
		if inst, err = inst.Restart(corefile(61 + i)); err != nil { // no name has the TTL of hosts
			t.Fatal(err)
		}
		// CoreDNS does not stop servers that have not started yet: they would keep answering from
		// the old snapshot next to the new servers.
		for _, network := range []string{"udp", "tcp"} {
			client := dns.Client{Net: network, Timeout: 10 * time.Second}
			if _, _, err := client.Exchange(boottest.Question("example.org.", dns.TypeSOA), addr); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(3, 1)
	changes()
	if got := boottest.Take(t, told, 1); got[0] != both[0] {
		t.Errorf("a change after reloads: %q", got)
	}
	write(3, 2)
	if got := boottest.Take(t, told, 1); got[0] != both[1] {
		t.Errorf("another one: %q", got)
	}
	inc := boottest.Transfer(t, addr, boottest.IXFR("example.org.", soa.Serial), nil)
	_, after := boottest.WholeZone(t, boottest.Transfer(t, addr, boottest.AXFR("example.org."), nil))
	if got := boottest.ApplyIXFR(t, before, inc.RRs, soa.Serial, 2); !maps.Equal(got, after) {
		t.Errorf("from before the reloads: %v\nwant %v", got, after)
	}
}

// loadRecords is the number of names in TestReloadsUnderLoad's zone that change together: a
// transfer takes several messages.
const loadRecords = 1500

// loadFile returns a zone with data of all kinds; every address contains the version.
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

// loadVersion returns the address that all records of a transfer have, and their number.
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
	steps   *atomic.Int64 // of all clients
}

// refresh updates the copy. An aborted transfer, as from a server that is shutting down, is
// ignored.
func (c *loadClient) refresh(t *testing.T) {
	var rrs []dns.RR
	const patience = 20 * time.Second
	in, err := (&dns.Transfer{DialTimeout: patience, ReadTimeout: patience, WriteTimeout: patience}).In(boottest.IXFR("example.org.", c.serial), c.addr)
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
		c.content = boottest.ApplyIXFR(t, c.content, rrs, second.Serial, steps/2)
		c.steps.Add(1)
	} else {
		_, c.content = boottest.WholeZone(t, boottest.Transferred{RRs: rrs})
	}
	c.serial = first.Serial
	if _, n := loadVersion(t, c.content); n != loadRecords+2 {
		t.Errorf("a copy of serial %d has %d addresses, want %d", c.serial, n, loadRecords+2)
	}
}

// TestReloadsUnderLoad changes a zone while it is queried, transferred and reloaded: every copy is
// one generation, IXFR leads from any to the newest, and nothing is left running.
func TestReloadsUnderLoad(t *testing.T) {
	const versions = 12
	dir, port := t.TempDir(), peertest.FreePort(t)
	file, addr := filepath.Join(dir, "zone.yaml"), fmt.Sprintf("127.0.0.1:%d", port)
	boottest.WriteFile(t, file, loadFile(0))
	corefile := func(ttl int) caddy.Input {
		return boottest.Corefile("example.org:%d {\nbind 127.0.0.1\nkuadrant {\nmanifests %s\nttl %d\n}\ntransfer {\nto *\n}\n}\n", port, dir, ttl)
	}
	before := runtime.NumGoroutine()
	inst, err := caddy.Start(corefile(60))
	if err != nil {
		t.Fatal(err)
	}
	text := func(name string, qtype uint16) string {
		m, _, err := boottest.Client("").Exchange(new(dns.Msg).SetQuestion(name, qtype), addr)
		if err != nil {
			return ""
		}
		if m.Rcode != dns.RcodeSuccess || len(m.Answer) == 0 {
			t.Errorf("%s is answered with %s and %d records", name, dns.RcodeToString[m.Rcode], len(m.Answer))
			return ""
		}
		return m.Answer[len(m.Answer)-1].String()
	}
	boottest.WaitFor(t, "first answer", func() bool {
		m, _, err := boottest.Client("").Exchange(new(dns.Msg).SetQuestion("chain.example.org.", dns.TypeA), addr)
		return err == nil && len(m.Answer) == 4
	})
	var done atomic.Bool
	var others sync.WaitGroup
	var steps atomic.Int64
	var secondaries [3]loadClient
	for i := range secondaries {
		secondaries[i] = loadClient{addr: addr, steps: &steps}
		secondaries[i].refresh(t) // later transfers are incremental
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
		before := steps.Load()
		boottest.WriteFile(t, file, loadFile(v))
		if v%4 == 0 {
			if inst, err = inst.Restart(corefile(60 + v)); err != nil {
				t.Fatal(err)
			}
		}
		want := fmt.Sprintf("10.0.%d.%d", v>>8, v&255)
		boottest.WaitFor(t, "version "+want, func() bool { return strings.HasSuffix(text("two.example.org.", dns.TypeA), want) })
		boottest.WaitFor(t, "incremental transfer", func() bool { return steps.Load() > before })
	}
	done.Store(true)
	others.Wait()
	_, newest := boottest.WholeZone(t, boottest.Transfer(t, addr, boottest.AXFR("example.org."), nil))
	for i := range secondaries {
		secondaries[i].refresh(t)
		if !maps.Equal(secondaries[i].content, newest) {
			t.Errorf("secondary %d, at %d, has another copy: %s", i, secondaries[i].serial, boottest.Difference(secondaries[i].content, newest))
		}
	}
	if err := inst.Stop(); err != nil {
		t.Error(err)
	}
	inst.ShutdownCallbacks()
	boottest.WaitFor(t, "the end of all goroutines", func() bool { return runtime.NumGoroutine() <= before })
}
