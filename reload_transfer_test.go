package kuadrant

import (
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/coredns/caddy"
	"github.com/miekg/dns"
)

// notified is a secondary that takes NOTIFYs over UDP until the test ends. One that comes once more, as its
// answer took too long, counts once.
func notified(t *testing.T) (addr string, zones <-chan string) {
	t.Helper()
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	got, ready := make(chan string, 1000), make(chan struct{})
	var taken sync.Map
	server := &dns.Server{
		PacketConn: socket, NotifyStartedFunc: func() { close(ready) },
		MsgAcceptFunc: func(dns.Header) dns.MsgAcceptAction { return dns.MsgAccept },
		Handler: dns.HandlerFunc(func(w dns.ResponseWriter, m *dns.Msg) {
			notify := dns.OpcodeToString[m.Opcode] + " " + m.Question[0].Name
			if _, again := taken.LoadOrStore(fmt.Sprint(m.Id, notify), true); !again {
				got <- notify
			}
			_ = w.WriteMsg(new(dns.Msg).SetReply(m))
		}),
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.ActivateAndServe() })
	<-ready
	t.Cleanup(func() {
		_ = server.Shutdown()
		serving.Wait()
	})
	return socket.LocalAddr().String(), got
}

// take returns the next n NOTIFYs, in order of their zones.
func take(t *testing.T, zones <-chan string, n int) (names []string) {
	t.Helper()
	for range n {
		select {
		case name := <-zones:
			names = append(names, name)
		case <-time.After(time.Minute):
			t.Fatalf("no NOTIFY after %q", names)
		}
	}
	slices.Sort(names)
	return names
}

// zoneFile is a manifest with two zones, in each of which one address may change.
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

// TestReloadKeepsJournals: after a reload secondaries are told of what changes from then
// on, and of nothing else, and an IXFR goes on from before it.
func TestReloadKeepsJournals(t *testing.T) {
	dir := t.TempDir()
	write := func(a, b int) { writeFile(t, filepath.Join(dir, "zones.yaml"), fmt.Sprintf(zoneFile, a, b)) }
	write(1, 1)
	to, told := notified(t)
	port := freePort(t)
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	corefile := func(ttl int) caddy.Input {
		return caddy.CaddyfileInput{Filepath: "Corefile", ServerTypeName: "dns", Contents: fmt.Appendf(nil,
			"example.org:%d {\nbind 127.0.0.1\nkuadrant {\nmanifests %s\nttl %d\n}\ntransfer {\nto * %s\n}\n}\n", port, dir, ttl, to)}
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
	if got := take(t, told, 2); !slices.Equal(got, both) {
		t.Errorf("at the start: %q", got)
	}
	soa, before := wholeZone(t, xfr(t, addr, axfrOf("example.org."), nil))
	// A NOTIFY alone does not say which change it is about.
	served := soa.Serial
	changes := func() {
		t.Helper()
		waitFor(t, "another serial", func() bool { return serialOf(exchange(t, addr, "example.org.", dns.TypeSOA)) != served })
		served = serialOf(exchange(t, addr, "example.org.", dns.TypeSOA))
	}
	write(2, 1)
	changes()
	if got := take(t, told, 1); got[0] != both[0] {
		t.Errorf("a change: %q", got)
	}
	for i := range 3 {
		if inst, err = inst.Restart(corefile(61 + i)); err != nil { // no name has the TTL of hosts
			t.Fatal(err)
		}
		// CoreDNS does not stop servers that have not begun yet: they would go on to answer from the
		// snapshot of then beside those that come after them.
		for _, network := range []string{"udp", "tcp"} {
			client := dns.Client{Net: network, Timeout: 10 * time.Second}
			if _, _, err := client.Exchange(question("example.org.", dns.TypeSOA), addr); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(3, 1)
	changes()
	if got := take(t, told, 1); got[0] != both[0] {
		t.Errorf("a change after reloads: %q", got)
	}
	write(3, 2)
	if got := take(t, told, 1); got[0] != both[1] {
		t.Errorf("another one: %q", got)
	}
	inc := xfr(t, addr, ixfrOf("example.org.", soa.Serial), nil)
	_, after := wholeZone(t, xfr(t, addr, axfrOf("example.org."), nil))
	if got := applyIXFR(t, before, inc.rrs, soa.Serial, 2); !maps.Equal(got, after) {
		t.Errorf("from before the reloads: %v\nwant %v", got, after)
	}
}
