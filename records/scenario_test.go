package records_test

import (
	"flag"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/coredns/caddy"
	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/internal/corefile"
	"github.com/coredns-kuadrant/kuadrant/internal/engine"
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/records/recordstest"
)

var update = flag.Bool("update", false, "rewrite the expectations of ../testdata/*.txtar with what was seen")

// TestScenarios plays the files of ../testdata without a server, and those of testdata, which say what no server can be brought to. Each
// step is compared with what comes from nothing.
func TestScenarios(t *testing.T) {
	for _, files := range []string{"../testdata/*.txtar", "testdata/*.txtar"} {
		recordstest.RunScenarios(t, files, *update, func(t *testing.T, s *recordstest.Scenario) recordstest.Stage {
			if s.Section("dnssec", "") != "" {
				return nil // another plugin signs
			}
			return newStage(t, s)
		})
	}
}

// stage is a world that a scenario is played in.
type stage struct {
	t      *testing.T
	w      *recordstest.World
	block  *corefile.Block
	nets   geo.Locator
	random *rand.Rand
	dirty  bool
}

func newStage(t *testing.T, s *recordstest.Scenario) *stage {
	cfg := new(engine.Options)
	block, err := corefile.Parse(caddy.NewTestController("dns", strings.TrimSpace(s.Section("corefile", "kuadrant example.com"))), cfg)
	if err != nil {
		t.Fatal(err)
	}
	st := &stage{t: t, w: recordstest.New(t, nil), block: block, random: rand.New(rand.NewPCG(1, 2))}
	st.w.Options = cfg.Records()
	if text := s.Section("nets", ""); text != "" {
		if st.nets, err = geo.ParseNets("nets", strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range s.Archive.Files {
		if cluster, _, ok := strings.Cut(f.Name, "/"); ok {
			st.w.Apply(t, "cluster "+cluster+" uid="+cluster)
		}
	}
	for line := range strings.Lines(s.Section("pools", "")) {
		words := strings.Fields(line)
		st.w.Apply(t, "cluster "+words[0]+" pools="+strings.Join(words[1:], ","))
	}
	for line := range strings.Lines(s.Section("groups", "")) {
		words := strings.Fields(line)
		st.w.Apply(t, "cluster "+words[0]+" group="+words[1])
	}
	return st
}

// Write implements recordstest.Stage.
func (s *stage) Write(cluster, file string, content []byte) {
	s.dirty = true
	if err := s.w.File(cluster, file, content); err != nil {
		s.t.Fatalf("write %s/%s: %v", cluster, file, err)
	}
}

// Settle implements recordstest.Stage.
func (s *stage) Settle() {
	if s.dirty || s.w.Snapshot == nil {
		s.w.Step(s.t)
	}
	s.dirty = false
}

// Apply plays a section world. A first one before any files is what a server starts with.
func (s *stage) Apply(text string) {
	if s.dirty {
		s.Settle()
	}
	s.w.Apply(s.t, text)
	s.dirty = true
}

// Snapshot implements recordstest.Stage.
func (s *stage) Snapshot() *records.Snapshot { return s.w.Snapshot }

// Exchange implements recordstest.Stage.
func (s *stage) Exchange(q recordstest.Question) (*dns.Msg, string) {
	r := recordstest.Reply(s.w.Snapshot, s.block.Zones, q.Msg, q.From, s.nets, s.random.Uint64())
	if r == nil || r.Rcode == dns.RcodeNameError && len(r.Answer) == 0 && s.block.Fall.Through(strings.ToLower(q.Msg.Question[0].Name)) {
		return nil, "NEXT"
	}
	return r, ""
}

// Keep implements recordstest.Stage.
func (s *stage) Keep() map[string]api.Owner {
	lines := s.w.Register()
	s.w.Step(s.t)
	return lines
}
