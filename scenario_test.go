package kuadrant

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/coredns/caddy"
	"github.com/coredns/coredns/plugin"
	"github.com/coredns/coredns/plugin/pkg/dnstest"
	clog "github.com/coredns/coredns/plugin/pkg/log"
	"github.com/coredns/coredns/plugin/test"
	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/controller"
	"github.com/coredns-kuadrant/kuadrant/internal/corefile"
	"github.com/coredns-kuadrant/kuadrant/internal/engine"
	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
	"github.com/coredns-kuadrant/kuadrant/internal/source"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/records/recordstest"
)

var update = flag.Bool("update", false, "rewrite the expectations of testdata/*.txtar with what was seen")

func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "16") // scenarios wait for looks at directories, once a second
	flag.Parse()
	if !testing.Verbose() {
		clog.Discard()
	}
	kubetest.Main(m)
}

// TestScenarios plays the files in testdata (recordstest.Scenario) with the whole plugin: objects are read from real files by the
// real source.
func TestScenarios(t *testing.T) {
	recordstest.RunScenarios(t, "testdata/*.txtar", *update, func(_ *testing.T, s *recordstest.Scenario) recordstest.Stage { return newScenario(s) })
}

// scenario is the plugin that a file is played with.
type scenario struct {
	t       testing.TB
	file    *recordstest.Scenario
	dir     string
	plugin  *Kuadrant
	chain   plugin.Handler // the plugin, with what stands in front of it
	started bool
	dirty   bool
	step    int
	marker  string        // the Gateway of this step
	written chan struct{} // closed once the next step is written; guarded by mu, as marker is
	mu      sync.Mutex
	// draw is that of this query, if it was drawn: all that answer the query have the same.
	draw  uint64
	drawn bool
}

// between is a directory that is looked at between steps alone: what a step writes is read as one, however long that takes.
type between struct {
	source.Source
	s *scenario
}

// Run implements source.Source.
func (b *between) Run(ctx context.Context, publish func(*api.Cluster)) error {
	return b.Source.Run(ctx, func(c *api.Cluster) {
		publish(c)
		b.s.mu.Lock()
		marker, written := b.s.marker, b.s.written
		b.s.mu.Unlock()
		if _, ok := c.Gateways.Get(marker); ok {
			select {
			case <-written:
			case <-ctx.Done():
			}
		}
	})
}

func newScenario(s *recordstest.Scenario) *scenario {
	return &scenario{t: s.T, file: s, dir: s.T.TempDir(), dirty: true}
}

// Snapshot implements recordstest.Stage.
func (s *scenario) Snapshot() *records.Snapshot { return s.plugin.engine.Snapshot() }

// Write implements recordstest.Stage.
func (s *scenario) Write(cluster, file string, content []byte) {
	path := filepath.Join(s.dir, cluster, strings.TrimSuffix(file, ".yaml")+".yaml")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	s.dirty = true
	if len(content) == 0 {
		if err := os.Remove(path); err != nil {
			s.t.Fatal(err)
		}
		return
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// Settle implements recordstest.Stage. Each step writes a Gateway of its own name into every cluster, whose arrival shows that
// all that was written before is served. From then on the directories are not looked at until the next step is written.
func (s *scenario) Settle() {
	if !s.dirty {
		return
	}
	s.dirty = false
	s.step++
	clusters, err := os.ReadDir(s.dir)
	if err != nil {
		s.t.Fatal(err)
	}
	marker := fmt.Sprintf("step-%d", s.step)
	for _, c := range clusters {
		text := "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {namespace: zz-scenario, name: " + marker + "}\n"
		if err := os.WriteFile(filepath.Join(s.dir, c.Name(), "zz-scenario.yaml"), []byte(text), 0o644); err != nil {
			s.t.Fatal(err)
		}
	}
	s.mu.Lock()
	before := s.written
	s.marker, s.written = "zz-scenario/"+marker, make(chan struct{})
	s.mu.Unlock()
	if s.started {
		close(before)
	} else {
		s.start(s.file.Section("corefile", "kuadrant example.com"), func(cfg *engine.Options) {
			for _, c := range clusters {
				sel := cfg.Selection
				sel.Pools = cfg.Pools[c.Name()]
				dir := source.Directory(source.DirectoryOptions{
					Cluster: c.Name(), Dir: filepath.Join(s.dir, c.Name()), Selection: sel, Logf: log.Warningf, Infof: log.Infof,
				})
				cfg.Sources = append(cfg.Sources, &between{dir, s})
			}
		})
	}
	s.await(marker)
}

// await waits until a Gateway is there in each cluster, and what was written before it. A structure that is compiled aside comes
// later than leaves.
func (s *scenario) await(marker string) {
	s.t.Helper()
	waitFor(s.t, "objects of "+marker, func() bool {
		if !s.plugin.Ready() || s.Snapshot().Behind() {
			return false
		}
		current := s.Snapshot().Objects().Clusters
		return !slices.ContainsFunc(current, func(c *api.Cluster) bool {
			_, ok := c.Gateways.Get("zz-scenario/" + marker)
			return !ok
		})
	})
}

// start starts the plugin by a directive of a Corefile, and what else is to be configured.
func (s *scenario) start(directive string, configure func(*engine.Options)) {
	ctl := caddy.NewTestController("dns", strings.TrimSpace(directive))
	inst := newInstance(nil)
	b, err := corefile.Parse(ctl, inst.config)
	if err != nil {
		s.t.Fatal(err)
	}
	if nets := s.file.Section("nets", ""); nets != "" {
		inst.config.Nets = filepath.Join(s.t.TempDir(), "nets")
		if err := os.WriteFile(inst.config.Nets, []byte(nets), 0o644); err != nil {
			s.t.Fatal(err)
		}
	}
	inst.config.Pools = make(map[string]api.Pools)
	for line := range strings.Lines(s.file.Section("pools", "")) {
		if words := strings.Fields(line); len(words) > 0 {
			inst.config.Pools[words[0]] = api.PoolsIn(words[1:]...)
		}
	}
	inst.config.Groups = make(map[string]string)
	for line := range strings.Lines(s.file.Section("groups", "")) {
		words := strings.Fields(line)
		inst.config.Groups[words[0]] = words[1]
	}
	configure(inst.config)
	draws := rand.New(rand.NewPCG(1, 2))
	inst.server.engine.Random = func() uint64 {
		if !s.drawn {
			s.draw, s.drawn = draws.Uint64(), true
		}
		return s.draw
	}
	s.plugin = &Kuadrant{block: b, engine: inst.server.engine, blocks: inst.blocks, Next: plugin.HandlerFunc(
		func(context.Context, dns.ResponseWriter, *dns.Msg) (int, error) { return rcodeNext, nil })}
	s.chain = s.plugin
	if zones := strings.Fields(s.file.Section("dnssec", "")); len(zones) > 0 {
		s.chain = s.plugin.guard(dnssecFor(s.t, zones...))(s.plugin)
	}
	if err := inst.start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = inst.stop() })
	s.started = true
}

// rcodeNext is what the handler behind the plugin returns.
const rcodeNext = 4000

// Exchange implements recordstest.Stage.
func (s *scenario) Exchange(q recordstest.Question) (reply *dns.Msg, instead string) {
	s.drawn = false
	defer s.compareFast(q)
	rec := dnstest.NewRecorder(&test.ResponseWriter{RemoteIP: q.From})
	rcode, err := s.chain.ServeDNS(context.Background(), rec, q.Msg.Copy())
	switch {
	case err != nil:
		return nil, "error " + err.Error()
	case rcode == rcodeNext:
		return nil, "NEXT"
	case rec.Msg == nil:
		return nil, dns.RcodeToString[rcode]
	}
	return rec.Msg, ""
}

// Keep implements recordstest.Stage: the registry holds what a writer would keep now, as in a ConfigMap that is written.
func (s *scenario) Keep() map[string]api.Owner {
	s.t.Helper()
	e := s.plugin.engine
	lines := maps.Collect(e.Snapshot().ZoneOwners())
	for group := range e.Snapshot().Groups() {
		maps.Insert(lines, e.Snapshot().Owners(group))
	}
	all := tree.Map[api.Owner]{}.Edit()
	before := maps.Collect(e.Snapshot().Objects().Acquired.All())
	kept := controller.Kept{Generation: uint64(s.step) + 1, Known: true}
	for _, key := range slices.Sorted(maps.Keys(lines)) {
		o := lines[key]
		all.Set(key, o)
		if before[key] != o {
			kept.OwnersChanged = append(kept.OwnersChanged, key)
		}
		delete(before, key)
	}
	kept.OwnersChanged = slices.AppendSeq(kept.OwnersChanged, maps.Keys(before))
	kept.Owners = all.Map()
	e.TakeKept(nil, kept)
	waitFor(s.t, "snapshot with the registry", func() bool {
		return maps.Equal(maps.Collect(e.Snapshot().Objects().Acquired.All()), lines)
	})
	return lines
}
