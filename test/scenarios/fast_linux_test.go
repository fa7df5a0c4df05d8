package scenarios

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coredns/caddy"
	_ "github.com/coredns/coredns/plugin/bufsize"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/forward"
	_ "github.com/coredns/coredns/plugin/metadata"
	_ "github.com/coredns/coredns/plugin/metrics"
	_ "github.com/coredns/coredns/plugin/multisocket"
	_ "github.com/coredns/coredns/plugin/proxyproto"
	_ "github.com/coredns/coredns/plugin/shed"
	_ "github.com/coredns/coredns/plugin/tsig"
	_ "github.com/coredns/coredns/plugin/view"
	_ "github.com/coredns/coredns/plugin/whoami"
	"github.com/miekg/dns"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/peertest"
)

// fastOutcome returns how many queries of fast-udp had an outcome.
func fastOutcome(t testing.TB, outcome string) float64 {
	t.Helper()
	return boottest.Metrics(t)["fast_udp_total{"+outcome+"}"]
}

// TestFastRoutes: the fast path answers what no other plugin, and no other block, is to see, hands on the rest, and says where it is off.
// It fails if a version of CoreDNS keeps its zones elsewhere (decision 42).
func TestFastRoutes(t *testing.T) {
	const of, off = "the block of ", "the block of example.com. has the plugin "
	dir := t.TempDir()
	_, key := boottest.NewKey(t, t.TempDir(), "example.com.", 257)
	boottest.WriteFile(t, filepath.Join(dir, "a.yaml"), boottest.GatewayFile("a", "192.0.2.1"))
	addresses := make([]string, 200)
	for i := range addresses {
		addresses[i] = fmt.Sprintf("192.0.2.%d", i)
	}
	boottest.WriteFile(t, filepath.Join(dir, "long.yaml"), boottest.GatewayFile("long", strings.Join(addresses, "}, {value: ")))
	outcomes := []string{"answered", "another block", "another plugin", "not a plain query", "not ready", "signed", "too long", "failed"}
	for _, c := range []struct {
		blocks, name, outcome string // outcome may be why it is off, or "" for the property; a type may precede the name
	}{
		{"example.com:0 {\nbind 127.0.0.1\nkuadrant {\n%s\n}\n}", "a.example.com.", "answered"},
		{"example.com:0 {\nbind lo 127.0.0.2\nkuadrant {\n%s\n}\n}", "a.example.com.", "answered"},
		{"example.com:0 {\nbind ::1\nmultisocket 3\nerrors\nbufsize 1232\ncache\nkuadrant {\n%s\n}\n}", "a.example.com.", "answered"},
		{"example.com:0 {\nbind 127.0.0.1\nkuadrant {\n%s\n}\nforward b.example.com 127.0.0.1:1\nforward c.example.com 127.0.0.1:1\n}", "a.example.com.", "answered"},
		{"tls://example.com:0 {\nbind 127.0.0.1\nwhoami\n}\nexample.com:0 {\nbind 127.0.0.1\nkuadrant {\n%s\n}\n}", "a.example.com.", "answered"},
		{"example.com:0 {\nbind 0.0.0.0\ntransfer {\nto *\n}\nkuadrant {\n%s\n}\n}", "a.example.com.", "answered"},
		{"example.com:0 {\nbind 127.0.0.1\ndnssec {\nkey file " + key + "\n}\nkuadrant {\n%s\n}\n}", "a.example.com.", "answered"},
		{"example.com:0 {\nbind 127.0.0.1\ntsig {\nrequire AXFR IXFR\nrequire_opcode UPDATE NOTIFY\n}\nkuadrant {\n%s\n}\n}", "a.example.com.", "answered"},
		{"example.com:0 {\nbind 127.0.0.1\nkuadrant {\n%s\n}\n}\nsub.example.com:0 {\nbind 127.0.0.1\nwhoami\n}", "a.example.com.", "answered"},
		{"example.com:0 {\nbind 127.0.0.1\nkuadrant {\n%s\n}\n}\nsub.example.com:0 {\nbind 127.0.0.1\nwhoami\n}", "a.sub.example.com.", "another block"},
		{"example.com:0 {\nbind 127.0.0.1\nkuadrant {\n%s\nfallthrough\n}\nwhoami\n}", "no.example.com.", "another plugin"},
		{"example.com:0 {\nbind 127.0.0.1\nkuadrant {\n%s\n}\n}", "DS example.com.", "not a plain query"},
		{"example.com:0 {\nbind 127.0.0.1\nkuadrant {\nkubeconfig " + boottest.Unreachable(t) + "\n}\n}", "a.example.com.", "not ready"},
		{"example.com:0 {\nbind 127.0.0.1\ndnssec {\nkey file " + key + "\n}\nkuadrant {\n%s\n}\n}", "DNSKEY example.com.", "signed"},
		{"example.com:0 {\nbind 127.0.0.1\nkuadrant {\n%s\n}\n}", "long.example.com.", "too long"},
		{"example.com:0 {\nbind 127.0.0.1\nkuadrant {\n%s\nfast-udp off\n}\n}", "a.example.com.", ""},
		{"example.com:0 {\nbind 127.0.0.1\ntsig {\nrequire TXT\n}\nkuadrant {\n%s\n}\n}", "a.example.com.", off + "tsig, which requires signed queries"},
		{"example.com:0 {\nbind 127.0.0.1\ntsig example.org {\nrequire_opcode QUERY\n}\nkuadrant {\n%s\n}\n}", "a.example.com.", off + "tsig, which requires signed queries"},
		{"example.com:0 {\nbind 127.0.0.1\nlog\nkuadrant {\n%s\n}\n}", "a.example.com.", off + "log"},
		{"example.com:0 {\nbind 127.0.0.1\nacl {\nallow\n}\nkuadrant {\n%s\n}\n}", "a.example.com.", off + "acl"},
		{"example.com:0 {\nbind 127.0.0.1\nmetadata\nkuadrant {\n%s\n}\n}", "a.example.com.", off + "metadata"},
		{"example.com:0 {\nbind 127.0.0.1\nview v {\nexpr true\n}\nkuadrant {\n%s\n}\n}", "a.example.com.", off + "view"},
		{"example.com:0 {\nbind 127.0.0.1\nshed\nkuadrant {\n%s\n}\n}", "a.example.com.", off + "shed"},
		{"sub.example.com:0 {\nbind 127.0.0.1\nshed\nwhoami\n}\nexample.com:0 {\nbind 127.0.0.1\nkuadrant {\n%s\n}\n}", "a.example.com.", of + "sub.example.com. has the plugin shed"},
		{"example.com:0 {\nbind 127.0.0.1\nkuadrant {\n%s\n}\n}\nsub.example.com:0 {\nbind 127.0.0.1\nshed\nwhoami\n}", "a.example.com.", of + "sub.example.com. has the plugin shed"},
		{"sub.example.com:0 {\nbind 127.0.0.1\nproxyproto\nwhoami\n}\nexample.com:0 {\nbind 127.0.0.1\nkuadrant {\n%s\n}\n}", "a.example.com.", of + "sub.example.com. has the plugin proxyproto"},
	} {
		said := boottest.Listen(t)
		inst, addr := boottest.Start(t, strings.ReplaceAll(c.blocks, "%s", "manifests "+dir))
		before := make(map[string]float64)
		for _, o := range outcomes {
			before[o] = fastOutcome(t, o)
		}
		m := boottest.Question(c.name, dns.TypeA)
		if qtype, name, typed := strings.Cut(c.name, " "); typed {
			m = boottest.Question(name, dns.StringToType[qtype])
		}
		m.SetEdns0(dns.MaxMsgSize-1, false)
		ask := func() int {
			r, _, err := boottest.Client("").Exchange(m, addr)
			if err != nil {
				t.Fatal(err)
			}
			return r.Rcode
		}
		line := "fast-udp: off at 127.0.0.1:0: " + c.outcome
		if slices.Contains(outcomes, c.outcome) {
			boottest.WaitFor(t, "query with the outcome "+c.outcome+" of\n"+c.blocks, func() bool {
				ask()
				return fastOutcome(t, c.outcome) > before[c.outcome]
			})
		} else {
			boottest.WaitFor(t, "answer and line "+line+" for\n"+c.blocks, func() bool {
				return ask() == dns.RcodeSuccess && (c.outcome == "" || said.Has("info", line))
			})
			for _, o := range outcomes {
				if n := fastOutcome(t, o); n != before[o] {
					t.Errorf("%s: %v queries have the outcome %s", c.blocks, n-before[o], o)
				}
			}
		}
		_ = inst.Stop()
		inst.ShutdownCallbacks()
		if got := said.Has("info", "fast-udp: off"); got != strings.HasPrefix(c.outcome, of) {
			t.Errorf("%s: a line says that it is off: %v", c.blocks, got)
		}
	}
}

// TestFastLameDuck: a server that shuts down answers as fast until the lame duck time is over.
func TestFastLameDuck(t *testing.T) {
	dir := t.TempDir()
	boottest.WriteFile(t, filepath.Join(dir, "a.yaml"), boottest.GatewayFile("a", "192.0.2.1"))
	inst, addr := boottest.Start(t, "example.com:0 {\nbind 127.0.0.1\nkuadrant {\nmanifests "+dir+"\n}\n}")
	begin := fastOutcome(t, "answered")
	boottest.WaitFor(t, "query that the fast path answers", func() bool {
		return boottest.AskFirst(addr, "a.example.com.") == "192.0.2.1" && fastOutcome(t, "answered") > begin
	})
	duck := func() error { // as the plugin health, which comes first
		before := fastOutcome(t, "answered")
		if got := boottest.AskFirst(addr, "a.example.com."); got != "192.0.2.1" || fastOutcome(t, "answered") == before {
			t.Errorf("in the lame duck time the answer is %s, and %v are of the fast path", got, fastOutcome(t, "answered")-before)
		}
		return nil
	}
	inst.OnFinalShutdown = append([]func() error{duck}, inst.OnFinalShutdown...)
	inst.ShutdownCallbacks()
	before := fastOutcome(t, "answered")
	if got := boottest.AskFirst(addr, "a.example.com."); got == "" || fastOutcome(t, "answered") != before {
		t.Errorf("after it the answer is %q, and %v are of the fast path", got, fastOutcome(t, "answered")-before)
	}
	_ = inst.Stop()
}

// counted returns what the plugin prometheus has counted, without what depends on time.
func counted(t testing.TB) map[string]float64 {
	t.Helper()
	families, err := prometheus.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]float64)
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "coredns_dns_") {
			continue
		}
		for _, m := range f.GetMetric() {
			key := f.GetName() + fmt.Sprint(m.GetLabel())
			h := m.GetHistogram()
			all[key] += m.GetCounter().GetValue()
			all[key+" count"] += float64(h.GetSampleCount())
			if !strings.Contains(key, "duration") {
				all[key+" sum"] += h.GetSampleSum()
			}
		}
	}
	return all
}

// TestFastMetrics: the plugin prometheus counts the same with the fast path and without.
func TestFastMetrics(t *testing.T) {
	dir := t.TempDir()
	boottest.WriteFile(t, filepath.Join(dir, "a.yaml"), boottest.GatewayFile("a", "192.0.2.1"))
	counts, port, other := make(map[string]map[string]float64), peertest.FreePort(t), peertest.FreePort(t)
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	for _, mode := range []string{"on", "off"} {
		inst, _ := boottest.Start(t, fmt.Sprintf("example.com:%d a.example.com:%d {\nbind 127.0.0.1\nprometheus 127.0.0.1:0\nerrors\n"+
			"kuadrant {\nmanifests %s\nfast-udp %s\n}\n}\nexample.org:%d {\nbind 127.0.0.1\nkuadrant\n}", port, other, dir, mode, port))
		before, answered, asked := counted(t), fastOutcome(t, "answered"), 0.0
		boottest.WaitFor(t, "answer", func() bool { // of a block that is not counted
			return boottest.Exchange(t, addr, "no.example.org.", dns.TypeA).Rcode == dns.RcodeNameError && (mode == "off" || fastOutcome(t, "answered") > answered)
		})
		answered = fastOutcome(t, "answered")
		for _, name := range []string{"a.example.com.", "A.Example.Com.", "no.example.com.", "example.com."} {
			for _, qtype := range []uint16{dns.TypeA, dns.TypeTXT, dns.TypeSOA, dns.TypeCAA, 65280} {
				for _, change := range []func(*dns.Msg){
					func(*dns.Msg) {},
					func(m *dns.Msg) { m.SetEdns0(1232, true) },
					func(m *dns.Msg) { boottest.WithSubnet(m, 1, "198.51.100.0", 24, 0) },
				} {
					m := boottest.Question(name, qtype)
					change(m)
					if _, _, err := boottest.Client("").Exchange(m, addr); err != nil {
						t.Fatal(err)
					}
					asked++
				}
			}
		}
		if n := fastOutcome(t, "answered") - answered; mode == "on" && n != asked {
			t.Errorf("the fast path answers %v of %v queries", n, asked)
		}
		_ = inst.Stop() // CoreDNS counts behind the reply
		inst.ShutdownCallbacks()
		counts[mode] = make(map[string]float64)
		for key, n := range counted(t) {
			if n -= before[key]; n != 0 {
				counts[mode][key] = n
			}
		}
	}
	if len(counts["off"]) == 0 || !maps.Equal(counts["on"], counts["off"]) {
		t.Errorf("with the fast path %v\nwithout %v", counts["on"], counts["off"])
	}
}

// TestFastReload: reloads that turn the fast path on and off, or remove the plugin, lose no query, and none waits for a query to the sockets
// of CoreDNS (fastpath.Prepare).
func TestFastReload(t *testing.T) {
	dir := t.TempDir()
	boottest.WriteFile(t, filepath.Join(dir, "a.yaml"), boottest.GatewayFile("a", "192.0.2.1"))
	port := peertest.FreePort(t)
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	corefile := func(lines string) caddy.Input {
		return boottest.Corefile("example.com:%d {\nbind 127.0.0.1\n%s\n}\n", port, lines)
	}
	kuadrant := "kuadrant {\nmanifests " + dir
	on, off := corefile(kuadrant+"\n}"), corefile(kuadrant+"\nfast-udp off\n}")
	logged := corefile("log . {\nclass error\n}\n" + kuadrant + "\n}")
	inst, err := caddy.Start(on)
	if err != nil {
		t.Fatal(err)
	}
	boottest.Exchange(t, addr, "a.example.com.", dns.TypeA)
	done := make(chan struct{})
	var clients sync.WaitGroup
	var asked atomic.Int64
	for range 4 {
		clients.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if _, _, err := boottest.Client("").Exchange(boottest.Question("a.example.com.", dns.TypeA), addr); err != nil {
					t.Errorf("after %d queries: %v", asked.Load(), err)
					return
				}
				asked.Add(1)
			}
		})
	}
	for range 10 {
		for _, next := range []caddy.Input{corefile("whoami"), on, off, logged, on} {
			if inst, err = inst.Restart(next); err != nil {
				t.Fatal(err)
			}
			answered := fastOutcome(t, "answered")
			for before := asked.Load(); asked.Load() < before+50 || string(next.Body()) == string(on.Body()) && fastOutcome(t, "answered") == answered; {
				if t.Failed() {
					break
				}
				time.Sleep(time.Millisecond)
			}
		}
	}
	close(done)
	clients.Wait()
	_ = inst.Stop()
	inst.ShutdownCallbacks()
}
