package kube

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/coredns/caddy"
	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/peertest"
)

// TestFaultRestartsWithoutAPIServer: a server that writes back, and keeps its state on disk, is
// reloaded and restarted while the API server is away. It answers at once, with the same serials,
// and for the same owners, even if age alone would choose another. When the API server is back,
// only what has changed since is written (rules 5.4 and 6.7).
func TestFaultRestartsWithoutAPIServer(t *testing.T) {
	w := newFaultWorld(t, 2)
	before := w.goroutines()
	port, dir := peertest.FreePort(t), t.TempDir()
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	corefile := func(rate int) caddy.Input {
		return boottest.Corefile("example.com:%d {\nbind 127.0.0.1\ntransfer {\nto *\n}\n"+
			"kuadrant {\nkubeconfig %s\nstate %s\nzone-namespaces ns\n%s\n%s\nwrite-rate %d 100\n}\n}\n", port, w.server.Kubeconfig, dir, w.guard, faultLease, rate)
	}
	inst, _ := boottest.Start(t, string(corefile(50).Body()))
	stop := func() {
		_ = inst.Stop()
		inst.ShutdownCallbacks()
	}
	defer func() { stop() }()
	w.settles(addr)
	// The older policy, of another namespace, moves to the newer one's name.
	w.server.ApplyIn(t, "older", boottest.GatewayAt("older", "taken.example.net", "192.0.2.99"))
	nextSecond(t, boottest.Object(t, w.server, "kuadrant.io/v1", "DNSPolicy", "older", "older"))
	w.put("taken", "192.0.2.100")
	w.settles(addr)
	w.server.ApplyIn(t, "older", boottest.GatewayAt("older", "taken.example.com", "192.0.2.99"))
	boottest.WaitFor(t, "refusal", func() bool {
		return strings.Contains(fmt.Sprint(boottest.Object(t, w.server, "kuadrant.io/v1", "DNSPolicy", "older", "older").Object["status"]), "ns/taken")
	})
	// The current answer may still wait for its serial; the previous serial is kept meanwhile (rule
	// 6.7).
	boottest.WaitFor(t, "transfer of the host", func() bool {
		_, zone := boottest.WholeZone(t, boottest.Transfer(t, addr, boottest.AXFR("example.com."), nil))
		return strings.Contains(fmt.Sprint(zone), "taken.example.com.")
	})
	w.settles(addr)

	serials := func() [2]uint32 {
		return [2]uint32{boottest.SerialOf(boottest.Exchange(t, addr, "example.com.", dns.TypeSOA)), boottest.SerialOf(boottest.Exchange(t, addr, "z.example.com.", dns.TypeSOA))}
	}
	boottest.WaitFor(t, "a line for each name", func() bool {
		lines := w.kept("owners")
		for _, name := range []string{"a.z", "h1", "taken"} {
			if !strings.Contains(lines, name+".example.com. ") {
				return false
			}
		}
		return true
	})
	owners, kept, standing, published := w.kept("owners"), w.kept("serials"), w.versions(), serials()
	same := func(when string) {
		t.Helper()
		if got := serials(); got != published {
			t.Errorf("%s: serials %d, want %d", when, got, published)
		}
		for host, address := range w.hosts {
			if got := boottest.AllA(boottest.Exchange(t, addr, host+".example.com.", dns.TypeA)); got != address {
				t.Errorf("%s: %s is answered with %s", when, host, got)
			}
		}
		if got := boottest.AllA(boottest.Exchange(t, addr, "no.example.com.", dns.TypeA)); got != "NXDOMAIN" {
			t.Errorf("%s: a name that there is not is answered with %s", when, got)
		}
	}
	load := w.load(addr, nil)
	w.server.Kill()
	next, err := inst.Restart(corefile(60))
	if err != nil {
		t.Fatal(err)
	}
	inst = next
	same("reloaded")
	load.check(t)
	stop()
	inst, _ = boottest.Start(t, string(corefile(60).Body()))
	same("restarted")
	load = w.load(addr, nil)
	if next, err = inst.Restart(corefile(70)); err != nil {
		t.Fatal(err)
	}
	inst = next
	same("restarted and reloaded")
	w.server.Restart(t)
	boottest.Synced(t, "local", 1)
	w.settles(addr)
	same("API server back")
	if got := w.versions(); !maps.Equal(got, standing) || w.kept("owners") != owners || w.kept("serials") != kept {
		t.Errorf("something was written: %v, before %v;\n%s%s\nbefore:\n%s%s", got, standing, w.kept("owners"), w.kept("serials"), owners, kept)
	}
	w.put("new", "192.0.2.101")
	w.settles(addr)
	if got := serials(); int32(got[0]-published[0]) <= 0 || got[1] != published[1] {
		t.Errorf("after a change serials are %d, %d before", got, published)
	}
	load.check(t)
	stop()
	w.endsWith(before)
	w.looksFresh()
}
