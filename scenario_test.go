package kuadrant

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/coredns/caddy"
	"github.com/coredns/coredns/plugin"
	"github.com/coredns/coredns/plugin/pkg/dnstest"
	clog "github.com/coredns/coredns/plugin/pkg/log"
	"github.com/coredns/coredns/plugin/test"
	"github.com/miekg/dns"
	"golang.org/x/tools/txtar"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/corefile"
	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

var update = flag.Bool("update", false, "rewrite the expectations of testdata/*.txtar with what was seen")

func TestMain(m *testing.M) {
	flag.Parse()
	if !testing.Verbose() {
		clog.Discard()
	}
	kubetest.Main(m)
}

// TestScenarios plays the files in testdata. A file is a list of sections, in
// the order of time:
//
//	corefile          the kuadrant directive; without it "kuadrant example.com"
//	nets              lines of CIDR and code: where clients are
//	pools             lines of a cluster and the namespaces in which it pools
//	dnssec            zones that CoreDNS's dnssec plugin lists; RRSIG records are
//	                  seen with their type and signer alone
//	CLUSTER/FILE      the file's new content, empty to delete it
//	ask               questions, each followed by what is seen:
//	                  > NAME TYPE [from=ADDR] [ecs=CIDR] [do] [times=N]
//	verdicts          the status of all policies, Zones, Records, DNSRecords and DNSEndpoints
//	children          the objects that a writer would have each policy have
//	registry          the lines that a writer would keep, which are kept from then on
//	status            the status of all DNSRecords and DNSHealthCheckProbes, as a writer writes it
//
// Objects are read from real files by the real source.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("find scenarios: %v, %d files", err, len(files))
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			seen := newScenario(t, archive).play()
			if *update {
				if err := os.WriteFile(file, txtar.Format(seen), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			for i, f := range archive.Files {
				want, got := bytes.TrimSpace(f.Data), bytes.TrimSpace(seen.Files[i].Data)
				if !bytes.Equal(want, got) {
					t.Errorf("section %d, %s:\n--- want\n%s\n--- seen\n%s", i+1, f.Name, want, got)
				}
			}
		})
	}
}

// scenario is one file being played.
type scenario struct {
	t       *testing.T
	archive *txtar.Archive
	dir     string
	plugin  *Kuadrant
	chain   plugin.Handler // the plugin, with what stands in front of it
	started bool
	dirty   bool
	step    int
	serials map[string]uint32 // the first serial seen of each zone
}

func newScenario(t *testing.T, a *txtar.Archive) *scenario {
	return &scenario{t: t, archive: a, dir: t.TempDir(), dirty: true, serials: make(map[string]uint32)}
}

// play plays all sections and returns them with what was seen.
func (s *scenario) play() *txtar.Archive {
	out := &txtar.Archive{Comment: s.archive.Comment, Files: slices.Clone(s.archive.Files)}
	for i, f := range out.Files {
		switch {
		case f.Name == "corefile" || f.Name == "nets" || f.Name == "pools" || f.Name == "dnssec":
			if s.started {
				s.t.Fatalf("section %s comes after the start", f.Name)
			}
		case f.Name == "ask":
			s.settle()
			out.Files[i].Data = s.ask(string(f.Data))
		case f.Name == "verdicts":
			s.settle()
			out.Files[i].Data = s.verdicts()
		case f.Name == "children":
			s.settle()
			out.Files[i].Data = s.children()
		case f.Name == "registry":
			s.settle()
			out.Files[i].Data = s.registry()
		case f.Name == "status":
			s.settle()
			out.Files[i].Data = s.statuses()
		default:
			s.write(f)
		}
	}
	return out
}

func (s *scenario) section(name, missing string) string {
	for _, f := range s.archive.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return missing
}

func (s *scenario) write(f txtar.File) {
	path := filepath.Join(s.dir, filepath.FromSlash(f.Name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	s.dirty = true
	if len(bytes.TrimSpace(f.Data)) == 0 {
		if err := os.Remove(path); err != nil {
			s.t.Fatal(err)
		}
		return
	}
	if err := os.WriteFile(path, f.Data, 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// settle waits until all that was written is served. Each step writes a Gateway
// of its own name into every cluster, whose arrival shows that.
func (s *scenario) settle() {
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
	if !s.started {
		s.start(s.section("corefile", "kuadrant example.com"), func(cfg *corefile.Options) {
			for _, c := range clusters {
				cfg.Manifests = append(cfg.Manifests, corefile.Manifests{Dir: filepath.Join(s.dir, c.Name()), Cluster: c.Name()})
			}
		})
	}
	s.await(marker)
}

// await waits until a Gateway is there in each cluster, and what was written before it.
func (s *scenario) await(marker string) {
	s.t.Helper()
	waitFor(s.t, "objects of "+marker, func() bool {
		if !s.plugin.Ready() {
			return false
		}
		current := s.plugin.engine.snap.Load().Objects().Clusters
		return !slices.ContainsFunc(current, func(c *api.Cluster) bool {
			_, ok := c.Gateways.Get("zz-scenario/" + marker)
			return !ok
		})
	})
}

// start starts the plugin by a directive of a Corefile, and what else is to be configured.
func (s *scenario) start(directive string, configure func(*corefile.Options)) {
	ctl := caddy.NewTestController("dns", strings.TrimSpace(directive))
	inst := newInstance()
	b, err := corefile.Parse(ctl, inst.config)
	if err != nil {
		s.t.Fatal(err)
	}
	configure(inst.config)
	if nets := s.section("nets", ""); nets != "" {
		inst.config.Nets = filepath.Join(s.t.TempDir(), "nets")
		if err := os.WriteFile(inst.config.Nets, []byte(nets), 0o644); err != nil {
			s.t.Fatal(err)
		}
	}
	inst.config.Pools = make(map[string]api.Pools)
	for line := range strings.Lines(s.section("pools", "")) {
		if words := strings.Fields(line); len(words) > 0 {
			inst.config.Pools[words[0]] = api.PoolsIn(words[1:]...)
		}
	}
	inst.engine.random = rand.New(rand.NewPCG(1, 2)).Uint64
	s.plugin = &Kuadrant{block: b, engine: inst.engine, blocks: inst.blocks, Next: plugin.HandlerFunc(
		func(context.Context, dns.ResponseWriter, *dns.Msg) (int, error) { return rcodeNext, nil })}
	s.chain = s.plugin
	if zones := strings.Fields(s.section("dnssec", "")); len(zones) > 0 {
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

// ask asks every question of the section and writes down what is seen.
func (s *scenario) ask(section string) []byte {
	var out strings.Builder
	for line := range strings.Lines(section) {
		if !strings.HasPrefix(line, ">") {
			continue
		}
		out.WriteString(line)
		for _, seen := range s.question(strings.Fields(line)[1:]) {
			out.WriteString(seen + "\n")
		}
		out.WriteString("\n")
	}
	return []byte(strings.TrimRight(out.String(), "\n") + "\n")
}

func (s *scenario) question(words []string) []string {
	m := new(dns.Msg)
	m.SetQuestion(dns.Fqdn(words[0]), dns.StringToType[words[1]])
	w := &test.ResponseWriter{RemoteIP: "192.0.2.200"}
	times := 1
	for _, word := range words[2:] {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "from":
			w.RemoteIP = value
		case "ecs":
			p := netip.MustParsePrefix(value)
			sub := &dns.EDNS0_SUBNET{Code: dns.EDNS0SUBNET, Family: 1, SourceNetmask: uint8(p.Bits()), Address: net.IP(p.Addr().AsSlice())}
			if p.Addr().Is6() {
				sub.Family = 2
			}
			m.SetEdns0(1232, m.IsEdns0() != nil && m.IsEdns0().Do())
			m.IsEdns0().Option = append(m.IsEdns0().Option, sub)
		case "do":
			m.SetEdns0(1232, true)
		case "times":
			times, _ = strconv.Atoi(value)
		default:
			s.t.Fatalf("unknown word %q in a question", word)
		}
	}
	if times > 1 {
		return s.shares(m, w, times)
	}
	return s.exchange(m, w)
}

func (s *scenario) exchange(m *dns.Msg, w dns.ResponseWriter) []string {
	rec := dnstest.NewRecorder(w)
	rcode, err := s.chain.ServeDNS(context.Background(), rec, m)
	switch {
	case err != nil:
		return []string{"error " + err.Error()}
	case rcode == rcodeNext:
		return []string{"NEXT"}
	case rec.Msg == nil:
		return []string{dns.RcodeToString[rcode]}
	}
	return s.format(s.received(rec.Msg))
}

// received returns a reply as a client reads it.
func (s *scenario) received(reply *dns.Msg) *dns.Msg {
	s.t.Helper()
	wire, err := reply.Pack()
	if err != nil {
		s.t.Fatalf("pack the reply: %v\n%v", err, reply)
	}
	m := new(dns.Msg)
	if err := m.Unpack(wire); err != nil {
		s.t.Fatalf("no client can read the reply: %v\n%v", err, reply)
	}
	return m
}

func (s *scenario) format(m *dns.Msg) []string {
	head := dns.RcodeToString[m.Rcode]
	if m.Authoritative {
		head += " aa"
	}
	lines := []string{head}
	for _, part := range []struct {
		prefix string
		rrs    []dns.RR
	}{{"", m.Answer}, {"auth ", m.Ns}, {"extra ", m.Extra}} {
		for _, rr := range part.rrs {
			if opt, ok := rr.(*dns.OPT); ok {
				lines = append(lines, formatOptions(opt)...)
				continue
			}
			lines = append(lines, part.prefix+s.formatRR(rr))
		}
	}
	return lines
}

func formatOptions(opt *dns.OPT) (lines []string) {
	for _, o := range opt.Option {
		switch o := o.(type) {
		case *dns.EDNS0_SUBNET:
			lines = append(lines, fmt.Sprintf("ecs %s/%d scope %d", o.Address, o.SourceNetmask, o.SourceScope))
		case *dns.EDNS0_EDE:
			lines = append(lines, fmt.Sprintf("ede %d", o.InfoCode))
		}
	}
	return lines
}

// formatRR shows a serial by how much it has grown, since it starts with a date.
func (s *scenario) formatRR(rr dns.RR) string {
	if sig, ok := rr.(*dns.RRSIG); ok {
		return fmt.Sprintf("%s %d RRSIG %s %s", sig.Hdr.Name, sig.Hdr.Ttl, dns.TypeToString[sig.TypeCovered], sig.SignerName)
	}
	if soa, ok := rr.(*dns.SOA); ok {
		c := *soa
		first, seen := s.serials[c.Hdr.Name]
		if !seen {
			first = c.Serial
			s.serials[c.Hdr.Name] = first
		}
		c.Serial -= first
		rr = &c
	}
	fields := strings.Fields(rr.String())
	return strings.Join(slices.Delete(fields, 2, 3), " ") // without the class
}

// shares asks many times and shows what part of the answers each one is, to
// 5 %.
func (s *scenario) shares(m *dns.Msg, w dns.ResponseWriter, times int) []string {
	counts := make(map[string]int)
	for range times {
		rec := dnstest.NewRecorder(w)
		if _, err := s.plugin.ServeDNS(context.Background(), rec, m.Copy()); err != nil || rec.Msg == nil {
			s.t.Fatalf("no reply: %v", err)
		}
		var data []string
		for _, rr := range rec.Msg.Answer {
			fields := strings.Fields(rr.String())
			data = append(data, fields[len(fields)-1])
		}
		counts[strings.Join(data, " ")]++
	}
	var lines []string
	for answer, n := range counts {
		lines = append(lines, fmt.Sprintf("%3d%% %s", (n*20+times/2)/times*5, answer))
	}
	slices.Sort(lines)
	return lines
}

func (s *scenario) verdicts() []byte {
	var out bytes.Buffer
	for _, c := range s.plugin.engine.snap.Load().Objects().Clusters {
		for name := range c.Policies.All() {
			s.verdict(&out, c.Name, api.Ref{Kind: api.KindDNSPolicy, Name: name})
		}
		for _, kind := range []api.Kind{api.KindZone, api.KindRecord, api.KindDNSRecord, api.KindDNSEndpoint} {
			for name := range c.Names(kind, "") {
				s.verdict(&out, c.Name, api.Ref{Kind: kind, Name: name})
			}
		}
	}
	return out.Bytes()
}

// verdict writes down the status of one object.
func (s *scenario) verdict(out *bytes.Buffer, cluster string, ref api.Ref) {
	v := s.plugin.engine.snap.Load().Verdict(cluster, ref)
	if v == nil {
		return // a child
	}
	if ref.Kind == api.KindDNSPolicy {
		fmt.Fprintf(out, "%s %s records=%d\n", cluster, ref.Name, v.TotalRecords)
	} else {
		fmt.Fprintf(out, "%s %s %s fqdn=%s parent=%s\n", cluster, ref.Kind, ref.Name, v.FQDN, v.Parent)
	}
	for _, cond := range v.Conditions {
		fmt.Fprintf(out, "  %s=%s %s: %s\n", cond.Type, cond.Status, cond.Reason, cond.Message)
	}
	for _, r := range v.Records {
		for _, cond := range r.Conditions {
			fmt.Fprintf(out, "  %s %s=%s %s: %s\n", r.Host, cond.Type, cond.Status, cond.Reason, cond.Message)
		}
	}
}
