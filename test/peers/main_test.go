// Package peers compares answers and transfers with those of other name servers for the same zones,
// and has these take transfers. It has only tests. If such a program is not installed, its test is
// skipped.
package peers

import (
	"math/rand/v2"
	"reflect"
	"runtime"
	"testing"

	"github.com/coredns/caddy"
	clog "github.com/coredns/coredns/plugin/pkg/log"
	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant"
	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/coredns"
	"github.com/coredns-kuadrant/kuadrant/internal/corefile"
	"github.com/coredns-kuadrant/kuadrant/internal/engine"
	"github.com/coredns-kuadrant/kuadrant/records"
)

func TestMain(m *testing.M) { boottest.Main(m) }

// handler is the plugin alone: nothing runs, and it answers from what a test publishes.
type handler struct {
	*kuadrant.Kuadrant
	engine *engine.Engine
}

// newHandler returns a handler for a Corefile directive.
func newHandler(t *testing.T, directive string) handler {
	t.Helper()
	cfg, e := new(engine.Options), engine.New(clog.NewWithPlugin("kuadrant"), nil)
	b, err := corefile.Parse(caddy.NewTestController("dns", directive), cfg)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Manifests = []engine.Manifests{{Dir: t.TempDir(), Cluster: "c"}}
	if err := e.Load(cfg); err != nil {
		t.Fatal(err)
	}
	return handler{kuadrant.New(b, e), e}
}

// server is CoreDNS with the plugin for all zones. It answers from what a test publishes.
type server struct {
	addr string
	*engine.Engine
}

// newServer starts a server, and waits until the fast path answers there, if this system has it.
func newServer(t *testing.T) (s server) {
	t.Helper()
	inst, addr := boottest.Start(t, ".:0 {\nbind 127.0.0.1\nkuadrant . {\nmanifests "+t.TempDir()+"\n}\n}")
	t.Cleanup(func() { _ = inst.Stop(); inst.ShutdownCallbacks() })
	for of := range coredns.Servers(inst) {
		for b := range coredns.Blocks(of) {
			k := reflect.ValueOf(b.Handler("kuadrant")).Elem()
			s = server{addr, (*engine.Engine)(k.FieldByName("engine").UnsafePointer())}
		}
	}
	boottest.WaitFor(t, "query that the fast path answers", func() bool {
		boottest.Exchange(t, addr, "example.org.", dns.TypeA)
		return runtime.GOOS != "linux" || fastAnswers(t) > 0
	})
	return s
}

// fastAnswers returns how many queries the fast path has answered.
func fastAnswers(t *testing.T) float64 { return boottest.Metrics(t)["fast_udp_total{answered}"] }

// transferred returns the records of a transfer of example.org with these objects.
func transferred(t *testing.T, o *boottest.ZoneObjects) (rrs []dns.RR) {
	t.Helper()
	h := newHandler(t, "kuadrant example.org {\nnameserver ns1.example.net\n}")
	h.engine.Publish(records.Compile(nil, api.Objects{Clusters: []*api.Cluster{o.Published()}}, h.engine.Options(), h.engine.Now()))
	ch, err := h.Transfer("example.org.", 0)
	if err != nil {
		t.Fatal(err)
	}
	for part := range ch {
		rrs = append(rrs, part...)
	}
	return rrs
}

func pickOne(r *rand.Rand, from ...string) string { return from[r.IntN(len(from))] }
