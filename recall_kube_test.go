package kuadrant

import (
	"fmt"
	"strings"
	"testing"

	"github.com/coredns/caddy"
	"github.com/miekg/dns"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

// staleReply returns the addresses of the reply to a query with EDNS, or its rcode, and
// whether the reply says that it comes from the state on disk.
func staleReply(t *testing.T, addr, name string) (answer string, stale bool) {
	t.Helper()
	q := question(name, dns.TypeA)
	q.SetEdns0(1232, false)
	m, _, err := new(dns.Client).Exchange(q, addr)
	if err != nil {
		t.Fatal(err)
	}
	if opt := m.IsEdns0(); opt != nil {
		for _, o := range opt.Option {
			if e, ok := o.(*dns.EDNS0_EDE); ok && e.InfoCode == dns.ExtendedErrorCodeStaleAnswer {
				stale = true
			}
		}
	}
	return allA(m), stale
}

// TestStateWithAPIServer: a server that is started while its API server is away answers at
// once, with the same serial, and says so; so it does after a reload and another restart.
// When the API server is back, changes arrive and replies say nothing more (issue 5).
func TestStateWithAPIServer(t *testing.T) {
	server := kubetest.Start(t)
	server.InstallCRDs(t)
	server.Apply(t, fmt.Sprintf(bootGateway, "a.example.com", "192.0.2.1"))
	dir, port := t.TempDir(), freePort(t)
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	corefile := func(ttl int) string {
		return fmt.Sprintf("example.com:%d {\nbind 127.0.0.1\nkuadrant {\nkubeconfig %s\nstate %s\nttl %d\nguard 0\n}\n}\n", port, server.Kubeconfig, dir, ttl)
	}
	serial := func() uint32 {
		t.Helper()
		return exchange(t, addr, "example.com.", dns.TypeSOA).Answer[0].(*dns.SOA).Serial
	}
	var inst *caddy.Instance
	stop := func() {
		t.Helper()
		if err := inst.Stop(); err != nil {
			t.Fatal(err)
		}
		inst.ShutdownCallbacks()
	}
	expect := func(when, name, want string, wantStale bool) {
		t.Helper()
		if got, stale := staleReply(t, addr, name+".example.com."); got != want || stale != wantStale {
			t.Errorf("%s: %s is answered with %s, stale %v; want %s, %v", when, name, got, stale, want, wantStale)
		}
	}
	inst, _ = boot(t, corefile(60))
	waitFor(t, "answer", func() bool { return allA(exchange(t, addr, "a.example.com.", dns.TypeA)) == "192.0.2.1" })
	waitFor(t, "denial", func() bool { return allA(exchange(t, addr, "no.example.com.", dns.TypeA)) == "NXDOMAIN" })
	expect("with the API server", "a", "192.0.2.1", false)
	waitFor(t, "a serial that is kept", func() bool { return keptSerial(t, server, "kuadrant-dns") == serial() })
	published := serial()
	stop()
	server.Kill()

	log := listen(t)
	inst, _ = boot(t, corefile(60))
	defer func() { stop() }()
	expect("API server away", "a", "192.0.2.1", true)
	expect("API server away", "no", "NXDOMAIN", true)
	if got := serial(); got != published {
		t.Errorf("serial %d, want %d", got, published)
	}
	if got := scraped(t, answering.Load().engine)["state_served{local}"]; got != 1 {
		t.Errorf("the metric is %v", got)
	}
	if !log.has("info", "Answering for cluster local from the state in "+dir) {
		t.Errorf("logged %s", strings.Join(log.all(), "\n"))
	}
	next, err := inst.Restart(caddy.CaddyfileInput{Contents: []byte(corefile(30)), Filepath: "Corefile", ServerTypeName: "dns"})
	if err != nil {
		t.Fatal(err)
	}
	inst = next
	expect("reloaded", "a", "192.0.2.1", true)
	expect("reloaded", "no", "NXDOMAIN", true)
	if got := serial(); got != published {
		t.Errorf("serial %d, which nobody has kept, want %d", got, published) // the TTL is another one
	}
	stop()
	inst, _ = boot(t, corefile(30))
	expect("restarted", "a", "192.0.2.1", true)
	expect("restarted", "no", "NXDOMAIN", true)
	if got := serial(); got != published {
		t.Errorf("serial %d after a restart, want %d", got, published)
	}

	server.Restart(t)
	waitFor(t, "end of what is stale", func() bool { _, stale := staleReply(t, addr, "a.example.com."); return !stale })
	expect("API server back", "a", "192.0.2.1", false)
	waitFor(t, "the serial of another TTL", func() bool { return int32(serial()-published) > 0 && keptSerial(t, server, "kuadrant-dns") == serial() })
	reloaded := serial()
	if !log.has("info", "Answering for cluster local from what has been listed") {
		t.Errorf("logged %s", strings.Join(log.all(), "\n"))
	}
	server.Apply(t, fmt.Sprintf(bootGateway, "a.example.com", "192.0.2.2"))
	waitFor(t, "change", func() bool { return allA(exchange(t, addr, "a.example.com.", dns.TypeA)) == "192.0.2.2" })
	waitFor(t, "the serial of the change", func() bool { return int32(serial()-reloaded) > 0 })
}

// keptSerial returns the serial of example.com that is kept beside the Lease of that name; 0
// for none.
func keptSerial(t *testing.T, server *kubetest.Server, lease string) uint32 {
	t.Helper()
	kept := stands(t, server, "v1", "ConfigMap", "default", lease+"-serials")
	if kept == nil {
		return 0
	}
	text, _, _ := unstructured.NestedString(kept.Object, "data", "serials")
	for line := range strings.Lines(text) {
		var zone, hash string
		var serial uint32
		if n, _ := fmt.Sscan(line, &zone, &hash, &serial); n == 3 && zone == "example.com." {
			return serial
		}
	}
	return 0
}

// TestStateOfDirectory: a directory in which a file is broken at the start is answered from the
// state as far as the file goes, until it can be read.
func TestStateOfDirectory(t *testing.T) {
	manifests, dir, port := t.TempDir(), t.TempDir(), freePort(t)
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	text := fmt.Sprintf("example.com:%d {\nbind 127.0.0.1\nkuadrant {\nmanifests %s\nstate %s/made\n}\n}\n", port, manifests, dir)
	write := func(name, text string) { t.Helper(); writeFile(t, manifests+"/"+name+".yaml", text) }
	write("a", gatewayFile("a", "192.0.2.1"))
	write("b", gatewayFile("b", "192.0.2.2"))
	inst, _ := boot(t, text)
	waitFor(t, "answer", func() bool { return firstA(exchange(t, addr, "b.example.com.", dns.TypeA)) == "192.0.2.2" })
	_ = inst.Stop()
	inst.ShutdownCallbacks()
	write("b", "{ broken")
	write("a", gatewayFile("a", "192.0.2.11"))
	inst, _ = boot(t, text)
	defer func() {
		_ = inst.Stop()
		inst.ShutdownCallbacks()
	}()
	if got, stale := staleReply(t, addr, "b.example.com."); got != "192.0.2.2" || !stale {
		t.Errorf("answered with %s, stale %v", got, stale)
	}
	waitFor(t, "what can be read", func() bool { return firstA(exchange(t, addr, "a.example.com.", dns.TypeA)) == "192.0.2.11" })
	if got, stale := staleReply(t, addr, "no.example.com."); got != "NXDOMAIN" || !stale {
		t.Errorf("answered with %s, stale %v", got, stale)
	}
	write("b", gatewayFile("b", "192.0.2.22"))
	waitFor(t, "the file", func() bool { got, stale := staleReply(t, addr, "b.example.com."); return got == "192.0.2.22" && !stale })
}
