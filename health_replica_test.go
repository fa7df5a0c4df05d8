package kuadrant

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coredns/caddy"
	"github.com/coredns/coredns/plugin/metadata"
	"github.com/coredns/coredns/plugin/pkg/dnstest"
	"github.com/coredns/coredns/plugin/test"
	"github.com/coredns/coredns/request"
	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/corefile"
	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/health"
)

// replica is one server of a play: a real engine on feeds, with a real prober.
type replica struct {
	plugin *Kuadrant
	feeds  map[string]*fakeSource

	mu    sync.Mutex
	ended map[string]int // how many checks have ended, by target and host
	bell  chan struct{}  // one place: a check has ended
}

// newReplica starts a server in the place of before, which may be nil and is not
// stopped. It belongs into a synctest bubble, as do its methods.
func newReplica(t *testing.T, text string, locator *geo.DB, clusters []*api.Cluster, before *replica) *replica {
	t.Helper()
	inst := newInstance()
	if before != nil {
		inst.server = &server{engine: before.plugin.engine}
	}
	b, err := corefile.Parse(caddy.NewTestController("dns", text), inst.config)
	if err != nil {
		t.Fatal(err)
	}
	r := &replica{feeds: make(map[string]*fakeSource), ended: make(map[string]int), bell: make(chan struct{}, 1)}
	opts := probing(inst.config, nil, log, inst.server.engine.failing.changed)
	tell := opts.Ended
	opts.Ended = func(target *health.Target, o health.Outcome, took time.Duration) {
		tell(target, o, took)
		r.note(target)
	}
	e := inst.server.engine
	s := &settings{opt: inst.config.Records(), prober: health.NewProber(opts)}
	if before == nil { // else it is asked already
		e.random = rand.New(rand.NewPCG(1, 2)).Uint64
	}
	var feeds []*fakeSource
	for _, c := range clusters {
		f := &fakeSource{name: c.Name, place: c.Name, uid: c.UID}
		r.feeds[c.Name] = f
		feeds = append(feeds, f)
	}
	apply(t, e, s, feeds...)
	// Nothing watches the networks' file: that would keep time from passing.
	with := *s
	with.locator = locator
	e.inForce.Store(&with)
	r.plugin = &Kuadrant{block: b, engine: e}
	return r
}

// show publishes what all clusters hold.
func (r *replica) show(clusters []*api.Cluster) {
	for _, c := range clusters {
		own := *c
		r.feeds[c.Name].send(&own)
	}
}

// checkName is how checks are counted: by what is asked of whom.
func checkName(address string, port uint16, host string) string {
	return fmt.Sprintf("%s@%d host=%s", address, port, host)
}

func (r *replica) note(t *health.Target) {
	r.mu.Lock()
	r.ended[checkName(t.Address, t.Port, t.Host)]++
	r.mu.Unlock()
	select {
	case r.bell <- struct{}{}:
	default: // it will look anyway
	}
}

func (r *replica) checks(name string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended[name]
}

// found is what is shown of one answer.
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
	say := func(label string) string { return metadata.ValueFunc(ctx, pluginName+"/"+label)() }
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
