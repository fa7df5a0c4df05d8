package kuadrant

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/coredns/caddy"
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/plugin"
	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/console"
	"github.com/coredns-kuadrant/kuadrant/internal/corefile"
	"github.com/coredns-kuadrant/kuadrant/internal/engine"
)

// endings is how often the end of a server with the directive failing_end has
// failed.
var endings atomic.Int32

// panics makes the start of a server with the directive panicking_start panic.
var panics atomic.Bool

func init() {
	dnsserver.Directives = slices.Insert(dnsserver.Directives, slices.Index(dnsserver.Directives, pluginName)+1, "panicking_start")
	plugin.Register("panicking_start", func(c *caddy.Controller) error {
		c.OnStartup(func() error {
			if panics.Load() {
				panic("this server does not start")
			}
			return nil
		})
		return nil
	})
	dnsserver.Directives = slices.Insert(dnsserver.Directives, slices.Index(dnsserver.Directives, pluginName), "failing_end")
	plugin.Register("failing_end", func(c *caddy.Controller) error {
		c.OnShutdown(func() error {
			endings.Add(1)
			return errors.New("this server does not end as it should")
		})
		return nil
	})
}

// reloaded is a CoreDNS with one directory that a test reloads.
type reloaded struct {
	t          *testing.T
	inst       *caddy.Instance
	dir, addr  string
	port       int
	directives string // beside bind and kuadrant
	properties string // beside manifests and ttl
}

// startReloaded starts CoreDNS on a directory with the given file.
func startReloaded(t *testing.T, directives, properties, manifest string) *reloaded {
	t.Helper()
	r := &reloaded{t: t, dir: t.TempDir(), port: freePort(t), directives: directives, properties: properties}
	r.addr = fmt.Sprintf("127.0.0.1:%d", r.port)
	r.write(manifest)
	var err error
	if r.inst, err = caddy.Start(r.corefile(60)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stopAll)
	return r
}

// write replaces the file.
func (r *reloaded) write(manifest string) {
	r.t.Helper()
	writeFile(r.t, filepath.Join(r.dir, "a.yaml"), manifest)
}

func (r *reloaded) corefile(ttl int) caddy.Input {
	return caddy.CaddyfileInput{Filepath: "Corefile", ServerTypeName: "dns", Contents: fmt.Appendf(nil,
		"example.com:%d {\nbind 127.0.0.1\n%s\nkuadrant {\nmanifests %s\nttl %d\n%s\n}\n}\n", r.port, r.directives, r.dir, ttl, r.properties)}
}

// await waits until the host a is answered with these addresses.
func (r *reloaded) await(want string) {
	r.t.Helper()
	waitFor(r.t, want, func() bool { return answersOf(r.t, r.addr, "a.example.com.") == want })
}

// ttl is that of the answer.
func (r *reloaded) ttl() uint32 {
	r.t.Helper()
	return exchange(r.t, r.addr, "a.example.com.", dns.TypeA).Answer[0].Header().Ttl
}

// TestReloadWithFailingEnd: CoreDNS says that a reload has failed also where the
// new servers answer and another plugin of the old ones did not end well. What
// answers goes on to follow its sources then.
func TestReloadWithFailingEnd(t *testing.T) {
	r := startReloaded(t, "failing_end", "", gatewayFile("a", "192.0.2.1"))
	r.await("192.0.2.1")
	before, ended := answering.Load(), endings.Load()
	if _, err := r.inst.Restart(r.corefile(30)); err == nil || endings.Load() != ended+1 {
		t.Fatalf("the reload did not fail: %v", err)
	}
	if ttl := r.ttl(); ttl != 30 {
		t.Errorf("TTL %d: the new servers do not answer", ttl)
	}
	r.write(gatewayFile("a", "192.0.2.2"))
	r.await("192.0.2.2")
	if before.engine.Ended() || answering.Load() != before {
		t.Error("the engine has ended")
	}
}

// stopAll ends all instances of CoreDNS in this process.
func stopAll() {
	for _, i := range slices.Clone(caddy.Instances()) {
		_ = i.Stop()
		i.ShutdownCallbacks()
	}
}

// TestReloadWithFailingEndToNothing: the same where the new Corefile has no
// kuadrant: the old engine ends, and metrics tell of it no more.
func TestReloadWithFailingEndToNothing(t *testing.T) {
	defer stopAll()
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "a.yaml"), gatewayFile("a", "192.0.2.1"))
	port := freePort(t)
	corefile := func(more string) caddy.Input {
		return caddy.CaddyfileInput{Filepath: "Corefile", ServerTypeName: "dns", Contents: fmt.Appendf(nil, "example.com:%d {\nbind 127.0.0.1\nerratic\n%s\n}\n", port, more)}
	}
	inst, err := caddy.Start(corefile("failing_end\nkuadrant {\nmanifests " + dir + "\n}"))
	if err != nil {
		t.Fatal(err)
	}
	before := answering.Load()
	if _, err := inst.Restart(corefile("")); err == nil {
		t.Fatal("the reload did not fail")
	}
	if !before.engine.Ended() || answering.Load() == before {
		t.Error("the old engine goes on")
	}
}

// TestReloadThatPanics: where the start of another plugin panics, the old servers
// go on to answer, and so does what feeds them.
func TestReloadThatPanics(t *testing.T) {
	r := startReloaded(t, "panicking_start", "", gatewayFile("a", "192.0.2.1"))
	r.await("192.0.2.1")
	before := answering.Load()
	panics.Store(true)
	defer panics.Store(false)
	_, _ = r.inst.Restart(r.corefile(30)) // caddy catches the panic, and returns no error
	if ttl := r.ttl(); ttl != 60 {
		t.Errorf("TTL %d: the old servers do not answer", ttl)
	}
	r.write(gatewayFile("a", "192.0.2.2"))
	r.await("192.0.2.2")
	if before.engine.Ended() || answering.Load() != before {
		t.Error("the old engine has ended")
	}
}

// TestReloadThatFailsFirst: reloads that fail while they bring the first kuadrant
// into the Corefile leave one engine running at most, and one that succeeds
// leaves none but its own.
func TestReloadThatFailsFirst(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "a.yaml"), gatewayFile("a", "192.0.2.1"))
	taken, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	corefile := func(text string, args ...any) caddy.Input {
		return caddy.CaddyfileInput{Filepath: "Corefile", ServerTypeName: "dns", Contents: fmt.Appendf(nil, text, args...)}
	}
	port := freePort(t)
	inst, err := caddy.Start(corefile("example.org:%d {\nbind 127.0.0.1\nerratic\n}", port))
	if err != nil {
		t.Fatal(err)
	}
	const both = "example.com:%d {\nbind 127.0.0.1\npanicking_start\nkuadrant {\nmanifests %s\n}\n}\nexample.org:%d {\nbind 127.0.0.1\nerratic\n}\n"
	var servers []*server
	panics.Store(true)
	_, _ = inst.Restart(corefile(both, port, dir, port)) // caddy catches the panic, and returns no error
	panics.Store(false)
	servers = append(servers, answering.Load())
	for range 3 {
		if _, err := inst.Restart(corefile(both, port, dir, taken.LocalAddr().(*net.UDPAddr).Port)); err == nil {
			t.Fatal("the reload did not fail")
		}
		servers = append(servers, answering.Load())
	}
	if _, err = inst.Restart(corefile(both, port, dir, freePort(t))); err != nil {
		t.Fatal(err)
	}
	for i, e := range servers {
		if !e.engine.Ended() || e == answering.Load() {
			t.Errorf("engine %d of a reload that failed goes on", i)
		}
	}
	stopAll()
}

// TestConfigureChecks: a server takes no Corefile that opens or closes a part of a zone by silence (rule 5.1).
func TestConfigureChecks(t *testing.T) {
	i := newInstance(nil)
	text := "kuadrant open.test {\nmanifests " + t.TempDir() + "\npublish api.open.test api\n}"
	if _, err := corefile.Parse(caddy.NewTestController("dns", text), i.config); err != nil {
		t.Fatal(err)
	}
	if err := i.server.configure(i); err == nil || !strings.HasPrefix(err.Error(), "Testfile:3 - Error during parsing: publish: ") {
		t.Error(err)
	}
}

// brokenListener is a listener that fails.
type brokenListener struct{ net.Listener }

func (brokenListener) Accept() (net.Conn, error) { return nil, errors.New("no buffers") }

// TestConsoleThatFailsIsLogged: where nobody can connect any more, the log says so; where the server ends, it does not.
func TestConsoleThatFailsIsLogged(t *testing.T) {
	t.Parallel()
	for _, fails := range []bool{true, false} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		s := &consoleServer{listener: l, server: console.HTTPServer(http.NotFoundHandler())}
		if fails {
			s.listener = brokenListener{l}
		} else {
			cancel()
		}
		told := boottest.Listen(t)
		s.run(ctx)
		cancel()
		s.close()
		if fails != told.Has("warning", "console "+l.Addr().String()+": stopped: no buffers") {
			t.Errorf("fails: %v", fails)
		}
	}
}

// TestConsoleIsOff: without the property `console`, nothing is opened.
func TestConsoleIsOff(t *testing.T) {
	if c, err := newServer().openConsole(new(engine.Options)); err != nil || c != nil {
		t.Errorf("opened %v, %v", c, err)
	}
}
