package health

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coredns/caddy"
	"github.com/coredns/coredns/plugin/metadata"
	"github.com/coredns/coredns/plugin/pkg/dnstest"
	clog "github.com/coredns/coredns/plugin/pkg/log"
	"github.com/coredns/coredns/plugin/test"
	"github.com/coredns/coredns/request"
	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant"
	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/internal/corefile"
	"github.com/coredns-kuadrant/kuadrant/internal/engine"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// handed is a source that publishes the clusters that a test hands it.
type handed struct {
	cluster string
	publish func(*api.Cluster)
	last    *api.Cluster
}

func (f *handed) Name() string     { return f.cluster }
func (f *handed) Identity() string { return f.cluster }
func (f *handed) Run(ctx context.Context, publish func(*api.Cluster)) error {
	f.publish, f.last = publish, new(api.Cluster)
	<-ctx.Done()
	return nil
}

// send publishes c with its changes, and waits until it is compiled.
func (f *handed) send(c *api.Cluster) {
	for k := range api.NumKinds {
		for _, of := range []*api.Cluster{f.last, c} {
			for name := range of.Names(k, "") {
				if ref := (api.Ref{Kind: k, Name: name}); f.last.MetaOf(ref) != c.MetaOf(ref) {
					c.Changed = append(c.Changed, ref)
				}
			}
		}
	}
	f.last = c
	f.publish(c)
	synctest.Wait()
}

// replica is one server of a play: a real engine with feeds and a real prober.
type replica struct {
	plugin *kuadrant.Kuadrant
	engine *engine.Engine
	feeds  map[string]*handed
	*counting
}

// counting counts checks.
type counting struct {
	mu    sync.Mutex
	ended map[string]int // the number of ended checks, by target and host
	bell  chan struct{}  // capacity 1: a check has ended
}

// newReplica starts a server in place of before, which may be nil and is not stopped. It must run
// in a synctest bubble, as must its methods.
func newReplica(t *testing.T, text string, locator *geo.DB, clusters []*api.Cluster, before *replica) *replica {
	t.Helper()
	r := &replica{feeds: make(map[string]*handed), counting: &counting{ended: make(map[string]int), bell: make(chan struct{}, 1)}}
	if before != nil { // it answers already
		r.engine, r.counting = before.engine, before.counting
	} else {
		r.engine = engine.New(clog.NewWithPlugin("kuadrant"), r)
		r.engine.Random = rand.New(rand.NewPCG(1, 2)).Uint64
		t.Cleanup(r.engine.Stop)
	}
	cfg := new(engine.Options)
	block, err := corefile.Parse(caddy.NewTestController("dns", text), cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range clusters {
		f := &handed{cluster: c.Name}
		r.feeds[c.Name] = f
		cfg.Sources = append(cfg.Sources, f)
	}
	// Do not watch the networks' file: that would keep time from advancing.
	if cfg.Nets = ""; locator != nil {
		cfg.Locator = locator
	}
	if err := r.engine.Configure(cfg, nil); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	r.plugin = kuadrant.New(block, r.engine)
	return r
}

// show publishes the content of all clusters.
func (r *replica) show(clusters []*api.Cluster) {
	for _, c := range clusters {
		own := *c
		r.feeds[c.Name].send(&own)
	}
}

// checkName returns the key by which checks are counted: the request and its target.
func checkName(address string, port uint16, host string) string {
	return fmt.Sprintf("%s@%d host=%s", address, port, host)
}

// Checked implements engine.Listener.
func (r *counting) Checked(t *health.Target, _ health.Outcome, _ time.Duration) {
	r.mu.Lock()
	r.ended[checkName(t.Address, t.Port, t.Host)]++
	r.mu.Unlock()
	select {
	case r.bell <- struct{}{}:
	default: // the reader will look anyway
	}
}

// Published, Fails and Found implement engine.Listener.
func (*counting) Published(_, _ *records.Snapshot, _ time.Duration) {}
func (*counting) Fails(string, records.Failing)                     {}
func (*counting) Found(_ *health.Target, _, _ health.Value)         {}

func (r *counting) checks(name string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended[name]
}

// found formats one answer.
func (r *replica) found(m *dns.Msg, from string, chain bool) string {
	subnet := len(m.Extra) > 0
	ctx := metadata.ContextWithMetadata(context.Background())
	w := &test.ResponseWriter{RemoteIP: from}
	ctx = r.plugin.Metadata(ctx, request.Request{Req: m, W: w})
	rec := dnstest.NewRecorder(w)
	if rcode, err := r.plugin.ServeDNS(ctx, rec, m); err != nil || rec.Msg == nil {
		return fmt.Sprintf("no reply: rcode %d, %v", rcode, err)
	}
	if len(rec.Msg.Answer) == 0 {
		if rec.Msg.Rcode == dns.RcodeSuccess {
			return "NODATA"
		}
		return dns.RcodeToString[rec.Msg.Rcode]
	}
	say := func(label string) string { return metadata.ValueFunc(ctx, "kuadrant/"+label)() }
	line := say("class") + " " + say("geo")
	var all, last string
	for _, rr := range rec.Msg.Answer {
		fields := strings.Fields(rr.String())
		if rr.Header().Rrtype != dns.TypeCNAME {
			line += " " + fields[4]
		}
		last = fields[4]
		all += "\n  " + strings.Join(slices.Delete(fields, 2, 3), " ")
	}
	if rec.Msg.Answer[len(rec.Msg.Answer)-1].Header().Rrtype == dns.TypeCNAME {
		line += " " + last
	}
	if subnet {
		line += " scope=" + say("scope")
	}
	if chain {
		line += all
	}
	return line
}
