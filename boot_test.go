package kuadrant

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

	"github.com/coredns/caddy"
	"github.com/miekg/dns"
)

// TestReload reloads a running CoreDNS many times under load: no query fails,
// answers follow the options of the newest Corefile, a Corefile that cannot
// start changes nothing, and nothing is left behind (rule 8.3, case N17).
func TestReload(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "a.yaml"), fmt.Sprintf(bootGateway, "a.example.com", "192.0.2.1"))
	addr := fmt.Sprintf("127.0.0.1:%d", freePort(t))
	corefile := func(ttl int, more string) string {
		// The selection changes too: what was read under another stands in.
		return fmt.Sprintf("example.com:%s {\nbind 127.0.0.1\nkuadrant {\nmanifests %s\nnamespaces ns other%d\nttl %d\n}\n}\n%s\n", addr[strings.LastIndex(addr, ":")+1:], dir, ttl, ttl, more)
	}
	// A port that is taken makes a reload fail after the start hooks have run.
	taken, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	takenPort := taken.LocalAddr().(*net.UDPAddr).Port
	inst, _ := boot(t, corefile(60, ""))
	waitFor(t, "first answer", func() bool { return firstA(exchange(t, addr, "a.example.com.", dns.TypeA)) == "192.0.2.1" })

	var stop atomic.Bool
	var load sync.WaitGroup
	var failed atomic.Value
	for range 4 {
		load.Go(func() {
			client := new(dns.Client)
			for !stop.Load() {
				m, _, err := client.Exchange(question("a.example.com.", dns.TypeA), addr)
				if err != nil || firstA(m) != "192.0.2.1" {
					failed.Store(fmt.Sprintf("%v, %v", err, m))
				}
			}
		})
	}
	goroutines := 0
	for i := range 30 {
		ttl := 61 + i
		next, err := inst.Restart(caddy.CaddyfileInput{Contents: []byte(corefile(ttl, "")), Filepath: "Corefile", ServerTypeName: "dns"})
		if err != nil {
			t.Fatal(err)
		}
		inst = next
		if got := exchange(t, addr, "a.example.com.", dns.TypeA).Answer[0].Header().Ttl; got != uint32(ttl) {
			t.Fatalf("TTL %d after the reload, want %d", got, ttl)
		}
		for _, broken := range []string{
			"example.org:1 {\nerratic {\nbad\n}\n}", // fails while it is parsed
			fmt.Sprintf("example.org:%d {\nbind 127.0.0.1\nerratic\n}", takenPort),
		} {
			if _, err := inst.Restart(caddy.CaddyfileInput{Contents: []byte(corefile(5, broken)), Filepath: "Corefile", ServerTypeName: "dns"}); err == nil {
				t.Fatalf("%q: the reload did not fail", broken)
			}
		}
		if i == 4 {
			goroutines = runtime.NumGoroutine()
		}
	}
	// The engine that stayed still follows its directory.
	stop.Store(true)
	load.Wait()
	if why := failed.Load(); why != nil {
		t.Errorf("a query failed: %v", why)
	}
	writeFile(t, filepath.Join(dir, "a.yaml"), fmt.Sprintf(bootGateway, "a.example.com", "192.0.2.2"))
	waitFor(t, "answer that follows", func() bool { return firstA(exchange(t, addr, "a.example.com.", dns.TypeA)) == "192.0.2.2" })
	waitFor(t, "end of what reloads have started", func() bool { return runtime.NumGoroutine() <= goroutines+8 })
	if err := inst.Stop(); err != nil {
		t.Fatal(err)
	}
	inst.ShutdownCallbacks()
}

// TestServerBlocks boots one engine for several blocks, a cache that must not
// keep answers of ours, metadata, and ready.
func TestServerBlocks(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.yaml")
	writeFile(t, file, fmt.Sprintf(bootGateway, "a.example.com", "192.0.2.1"))
	port, other := freePort(t), freePort(t)
	readyAddr := fmt.Sprintf("127.0.0.1:%d", freePort(t))
	inst, _ := boot(t, fmt.Sprintf(`example.com:%d {
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
	waitFor(t, "readiness", func() bool {
		resp, err := http.Get("http://" + readyAddr + "/ready")
		if err != nil {
			return false
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	for _, addr := range []string{first, second} {
		if got := firstA(exchange(t, addr, "a.example.com.", dns.TypeA)); got != "192.0.2.1" {
			t.Errorf("%s answers %s", addr, got)
		}
	}
	if got := firstA(exchange(t, first, "no.example.com.", dns.TypeA)); got != "NXDOMAIN" {
		t.Errorf("missing name: %s", got)
	}
	writeFile(t, file, fmt.Sprintf(bootGateway, "no.example.com", "192.0.2.2"))
	for _, addr := range []string{first, second} {
		waitFor(t, "answer that no cache holds back", func() bool {
			return firstA(exchange(t, addr, "no.example.com.", dns.TypeA)) == "192.0.2.2"
		})
	}
}
