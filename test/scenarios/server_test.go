package scenarios

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/peertest"
)

// TestReload reloads a running CoreDNS many times under load: no query fails, answers follow the
// newest Corefile, a Corefile that cannot start changes nothing, and nothing is left behind (rule
// 8.3).
func TestReload(t *testing.T) {
	dir := t.TempDir()
	boottest.WriteFile(t, filepath.Join(dir, "a.yaml"), fmt.Sprintf(boottest.Gateway, "a.example.com", "192.0.2.1"))
	addr := fmt.Sprintf("127.0.0.1:%d", peertest.FreePort(t))
	corefile := func(ttl int, more string) string {
		// The selection changes too: objects read under another one stand in.
		return fmt.Sprintf("example.com:%s {\nbind 127.0.0.1\nkuadrant {\nmanifests %s\nnamespaces ns other%d\nttl %d\n}\n}\n%s\n", addr[strings.LastIndex(addr, ":")+1:], dir, ttl, ttl, more)
	}
	// A taken port makes a reload fail after the start hooks have run.
	taken, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	takenPort := taken.LocalAddr().(*net.UDPAddr).Port
	inst, _ := boottest.Start(t, corefile(60, ""))
	boottest.WaitFor(t, "first answer", func() bool {
		return boottest.FirstA(boottest.Exchange(t, addr, "a.example.com.", dns.TypeA)) == "192.0.2.1"
	})

	var stop atomic.Bool
	var load sync.WaitGroup
	var failed atomic.Value
	for range 4 {
		load.Go(func() {
			client := boottest.Client("")
			for !stop.Load() {
				m, _, err := client.Exchange(boottest.Question("a.example.com.", dns.TypeA), addr)
				if err != nil || boottest.FirstA(m) != "192.0.2.1" {
					failed.Store(fmt.Sprintf("%v, %v", err, m))
				}
			}
		})
	}
	goroutines := 0
	for i := range 30 {
		ttl := 61 + i
		next, err := inst.Restart(boottest.Corefile(corefile(ttl, "")))
		if err != nil {
			t.Fatal(err)
		}
		inst = next
		if got := boottest.Exchange(t, addr, "a.example.com.", dns.TypeA).Answer[0].Header().Ttl; got != uint32(ttl) {
			t.Fatalf("TTL %d after the reload, want %d", got, ttl)
		}
		for _, broken := range []string{
			"example.org:1 {\nerratic {\nbad\n}\n}", // fails during parsing
			fmt.Sprintf("example.org:%d {\nbind 127.0.0.1\nerratic\n}", takenPort),
		} {
			if _, err := inst.Restart(boottest.Corefile(corefile(5, broken))); err == nil {
				t.Fatalf("%q: the reload did not fail", broken)
			}
		}
		if i == 4 {
			goroutines = runtime.NumGoroutine()
		}
	}
	// The remaining engine still follows its directory.
	stop.Store(true)
	load.Wait()
	if why := failed.Load(); why != nil {
		t.Errorf("a query failed: %v", why)
	}
	boottest.WriteFile(t, filepath.Join(dir, "a.yaml"), fmt.Sprintf(boottest.Gateway, "a.example.com", "192.0.2.2"))
	boottest.WaitFor(t, "answer that follows", func() bool {
		return boottest.FirstA(boottest.Exchange(t, addr, "a.example.com.", dns.TypeA)) == "192.0.2.2"
	})
	boottest.WaitFor(t, "end of what reloads have started", func() bool { return runtime.NumGoroutine() <= goroutines+8 })
	if err := inst.Stop(); err != nil {
		t.Fatal(err)
	}
	inst.ShutdownCallbacks()
}

// TestServerBlocks boots one engine for several blocks, with a cache that must not keep our
// answers, metadata, and ready.
func TestServerBlocks(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.yaml")
	boottest.WriteFile(t, file, fmt.Sprintf(boottest.Gateway, "a.example.com", "192.0.2.1"))
	port, other := peertest.FreePort(t), peertest.FreePort(t)
	readyAddr := fmt.Sprintf("127.0.0.1:%d", peertest.FreePort(t))
	inst, _ := boottest.Start(t, fmt.Sprintf(`example.com:%d {
    bind 127.0.0.1
    cache 3600
    metadata
    ready %s
    kuadrant {
        manifests %s
    }
}
.:%d {
    bind 127.0.0.1
    cache 3600
    kuadrant example.com {
        fallthrough
    }
    erratic
}
`, port, readyAddr, dir, other))
	defer func() {
		_ = inst.Stop()
		inst.ShutdownCallbacks()
	}()
	first, second := fmt.Sprintf("127.0.0.1:%d", port), fmt.Sprintf("127.0.0.1:%d", other)
	boottest.WaitFor(t, "readiness", func() bool {
		resp, err := http.Get("http://" + readyAddr + "/ready")
		if err != nil {
			return false
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	for _, addr := range []string{first, second} {
		if got := boottest.FirstA(boottest.Exchange(t, addr, "a.example.com.", dns.TypeA)); got != "192.0.2.1" {
			t.Errorf("%s answers %s", addr, got)
		}
	}
	if got := boottest.FirstA(boottest.Exchange(t, first, "no.example.com.", dns.TypeA)); got != "NXDOMAIN" {
		t.Errorf("missing name: %s", got)
	}
	boottest.WriteFile(t, file, fmt.Sprintf(boottest.Gateway, "no.example.com", "192.0.2.2"))
	for _, addr := range []string{first, second} {
		boottest.WaitFor(t, "answer that no cache holds back", func() bool {
			return boottest.FirstA(boottest.Exchange(t, addr, "no.example.com.", dns.TypeA)) == "192.0.2.2"
		})
	}
}

// TestUselessProbes: the log names a probe without effect once, with the reason, and does not name
// others.
func TestUselessProbes(t *testing.T) {
	dir := t.TempDir()
	probe := func(name, spec string) {
		t.Helper()
		boottest.WriteFile(t, filepath.Join(dir, name+".yaml"), fmt.Sprintf(
			"apiVersion: kuadrant.io/v1alpha1\nkind: DNSHealthCheckProbe\nmetadata: {namespace: ns, name: %s}\nspec: {%s}\n", name, spec))
	}
	boottest.WriteFile(t, filepath.Join(dir, "a.yaml"), fmt.Sprintf(boottest.Gateway, "a.example.com", "192.0.2.1"))
	probe("good", "address: 192.0.2.1, port: 8080")
	probe("allowed", "address: 127.0.7.1, port: 8080")
	probe("typo", "address: 192.0.2.11, port: 8080")
	probe("port", "address: 192.0.2.1, port: 22")
	log := boottest.Listen(t)
	boottest.Serve(t, fmt.Sprintf("example.com:0 {\nbind 127.0.0.1\nkuadrant {\nmanifests %s c\nprobe-allow 127.0.7.0/24\n}\n}\n", dir))
	logged := func(line string) {
		t.Helper()
		boottest.WaitFor(t, "log line "+line, func() bool { return log.Has("warning", line) })
	}
	logged("DNSHealthCheckProbe ns/typo in cluster c: no name of its namespace publishes 192.0.2.11, and probe-allow does not cover it; the probe is ignored")
	logged("DNSHealthCheckProbe ns/port in cluster c: spec.port 22: Only ports 80, 443, 1024-49151 are allowed")
	probe("port", "address: 192.0.2.1, port: 1023")
	logged("DNSHealthCheckProbe ns/port in cluster c: spec.port 1023: Only ports")
	for _, name := range []string{"good", "allowed"} {
		if log.Has("warning", "DNSHealthCheckProbe ns/"+name) {
			t.Errorf("%s is reported: %q", name, log.All())
		}
	}
}

// staleReply returns the addresses of the reply to a query with EDNS, or its rcode, and whether the
// reply says that it comes from the state on disk.
func staleReply(t *testing.T, addr, name string) (answer string, stale bool) {
	t.Helper()
	q := boottest.Question(name, dns.TypeA)
	q.SetEdns0(1232, false)
	m, _, err := boottest.Client("").Exchange(q, addr)
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
	return boottest.AllA(m), stale
}

// TestStateOfDirectory: if a file in the directory is broken at the start, the state on disk answers
// for it until it can be read.
func TestStateOfDirectory(t *testing.T) {
	manifests, dir, port := t.TempDir(), t.TempDir(), peertest.FreePort(t)
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	text := fmt.Sprintf("example.com:%d {\nbind 127.0.0.1\nkuadrant {\nmanifests %s\nstate %s/made\n}\n}\n", port, manifests, dir)
	write := func(name, text string) { t.Helper(); boottest.WriteFile(t, manifests+"/"+name+".yaml", text) }
	write("a", boottest.GatewayFile("a", "192.0.2.1"))
	write("b", boottest.GatewayFile("b", "192.0.2.2"))
	inst, _ := boottest.Start(t, text)
	boottest.WaitFor(t, "answer", func() bool {
		return boottest.FirstA(boottest.Exchange(t, addr, "b.example.com.", dns.TypeA)) == "192.0.2.2"
	})
	_ = inst.Stop()
	inst.ShutdownCallbacks()
	write("b", "{ broken")
	write("a", boottest.GatewayFile("a", "192.0.2.11"))
	inst, _ = boottest.Start(t, text)
	defer func() {
		_ = inst.Stop()
		inst.ShutdownCallbacks()
	}()
	if got, stale := staleReply(t, addr, "b.example.com."); got != "192.0.2.2" || !stale {
		t.Errorf("answered with %s, stale %v", got, stale)
	}
	boottest.WaitFor(t, "what can be read", func() bool {
		return boottest.FirstA(boottest.Exchange(t, addr, "a.example.com.", dns.TypeA)) == "192.0.2.11"
	})
	if got, stale := staleReply(t, addr, "no.example.com."); got != "NXDOMAIN" || !stale {
		t.Errorf("answered with %s, stale %v", got, stale)
	}
	write("b", boottest.GatewayFile("b", "192.0.2.22"))
	boottest.WaitFor(t, "the file", func() bool { got, stale := staleReply(t, addr, "b.example.com."); return got == "192.0.2.22" && !stale })
}
