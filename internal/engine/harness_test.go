package engine

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	clog "github.com/coredns/coredns/plugin/pkg/log"
	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/controller"
	"github.com/coredns-kuadrant/kuadrant/internal/source"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
	"github.com/coredns-kuadrant/kuadrant/records"
)

var log = clog.NewWithPlugin(PluginName)

var (
	question, firstA, allA = boottest.Question, boottest.FirstA, boottest.AllA
	newTargets             = boottest.NewTargets
)

// book is what an engine has logged.
type book struct {
	mu  sync.Mutex // guards log
	log []string
}

// add takes a line of a level.
func (r *book) add(level, format string, args []any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log = append(r.log, level+": "+fmt.Sprintf(format, args...))
}

func (r *book) Infof(format string, args ...any)    { r.add("info", format, args) }
func (r *book) Warningf(format string, args ...any) { r.add("warning", format, args) }
func (r *book) Errorf(format string, args ...any)   { r.add("error", format, args) }

// said returns how many lines of the log hold text.
func (r *book) said(text string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, line := range r.log {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// snapshots is a Listener that is snapshots of snapshots.
type snapshots func()

func (f snapshots) Published(_, _ *records.Snapshot, _ time.Duration)   { f() }
func (snapshots) Fails(string, records.Failing)                         {}
func (snapshots) Checked(*health.Target, health.Outcome, time.Duration) {}
func (snapshots) Found(*health.Target, health.Value, health.Value)      {}

// running is an engine with what it has logged. It belongs into a synctest bubble.
type running struct {
	*book
	t     *testing.T
	e     *Engine
	zones map[string]bool // those of the server block
}

// begin starts an engine on feeds, or reloads that of before, unless it is nil. Its state is in dir, "" for none.
func begin(t *testing.T, dir string, before *running, feeds ...*fakeSource) *running {
	t.Helper()
	return beginWith(t, dir, before, func(*Engine, *settings) {}, feeds...)
}

// beginWith is begin with something to be done to the engine first.
func beginWith(t *testing.T, dir string, before *running, set func(*Engine, *settings), feeds ...*fakeSource) *running {
	t.Helper()
	r := &running{t: t, book: new(book), zones: make(map[string]bool)}
	if before == nil {
		r.e = New(r.book, nil)
	} else {
		r.e, r.book = before.e, before.book
		r.mu.Lock()
		r.log = nil
		r.mu.Unlock()
	}
	s := &settings{opt: simpleOptions(60)}
	if was := r.e.settings().state; was != nil && was.dir == dir {
		s.state = was
	} else if dir != "" {
		s.state = &stateWriter{of: r.e, dir: dir, wake: newBell()}
	}
	for _, f := range feeds {
		s.feeds = append(s.feeds, fed(f))
	}
	set(r.e, s)
	for _, z := range s.opt.Zones {
		r.zones[z.Origin] = true
	}
	apply(t, r.e, s)
	return r
}

// beside has e compile all structures beside leaves, and without a pause, or none.
func beside(e *Engine, all bool) {
	if e.structure.pause = 0; all {
		e.structure.quick = 0
	}
}

// apply puts s in force, and stops e when the test ends.
func apply(t *testing.T, e *Engine, s *settings, feeds ...*fakeSource) {
	for _, f := range feeds {
		s.feeds = append(s.feeds, fed(f))
	}
	if e.inForce.Load() == nil {
		t.Cleanup(e.Stop)
	}
	e.apply(s)
	synctest.Wait()
}

// keepsFirst lets the first feed keep owners and serials.
func keepsFirst(_ *Engine, s *settings) { s.feeds[0].writesRegistry = true }

// fed is the feed of a source. The same source is the same feed.
func fed(f source.Source) *feed {
	own := &feed{name: f.Name(), source: f, stats: new(source.Stats), same: feedSettings{text: fmt.Sprintf("%p", f)}}
	if f, ok := f.(*fakeSource); ok {
		own.pools = f.pools
	}
	return own
}

// simpleOptions are those of zones, of example.com where there are none.
func simpleOptions(ttl uint32, origins ...string) *records.Options {
	if len(origins) == 0 {
		origins = []string{"example.com."}
	}
	opt := new(records.Options)
	for _, origin := range origins {
		opt.Zones = append(opt.Zones, records.ZoneOptions{Origin: origin, TTL: ttl, LoadBalancedTTL: 300})
	}
	return opt
}

// wait lets time pass.
func wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// ask returns the reply to a query, as the plugin answers it, less what of that is CoreDNS's.
func (r *running) ask(m *dns.Msg) *dns.Msg {
	now, q, reply := r.e.Current(), m.Question[0], new(dns.Msg).SetReply(m)
	if now.Snapshot == nil {
		reply.Rcode = dns.RcodeServerFailure
		return reply
	}
	z := now.Snapshot.Zone(q.Name)
	if z == nil || !r.zones[z.CorefileZone()] {
		reply.Rcode = dns.RcodeRefused
		return reply
	}
	var a records.Answer
	query := records.Query{Name: strings.ToLower(q.Name), Owner: q.Name, Type: q.Qtype, Client: netip.MustParseAddr("10.1.0.1"), Random: r.e.Random()}
	now.Snapshot.Lookup(z, &query, &a)
	if a.Unlisted {
		a = records.Answer{Rcode: dns.RcodeServerFailure}
	}
	reply.Rcode, reply.Answer, reply.Ns, reply.Extra = a.Rcode, a.Answer, a.Ns, a.Extra
	return reply
}

// reply returns the reply to a query for the address of a host below example.com, or of a name that ends with a dot.
func (r *running) reply(name string) *dns.Msg {
	if !strings.HasSuffix(name, ".") {
		name += ".example.com."
	}
	return r.ask(question(name, dns.TypeA))
}

// answer returns the first address of a host, or the rcode.
func (r *running) answer(name string) string { return firstA(r.reply(name)) }

// expect asks for hosts; want is "name=answer" for each.
func (r *running) expect(when string, want ...string) {
	r.t.Helper()
	for _, w := range want {
		name, answer, _ := strings.Cut(w, "=")
		if got := r.answer(name); got != answer {
			r.t.Errorf("%s: %s is answered with %s, want %s", when, name, got, answer)
		}
	}
}

func (r *running) serial() uint32 { return r.e.Snapshot().Zones()[0].Serial() }

// keep tells the engine that these serials are kept, and no owners, and has it compile.
func (r *running) keep(serials api.Serials) {
	kept := controller.Kept{Known: true, Serials: serials}
	before := r.e.registry.newest.Serials
	kept.SerialsChanged = slices.AppendSeq(slices.Collect(maps.Keys(maps.Collect(before.All()))), maps.Keys(maps.Collect(serials.All())))
	r.take(kept)
}

// take tells the engine what is kept, and has it compile.
func (r *running) take(kept controller.Kept) {
	r.e.TakeKept(nil, kept)
	synctest.Wait()
}

// proposed returns what a writer has kept that has kept all that the engine proposes.
func (r *running) proposed() api.Serials {
	edit := api.Serials{}.Edit()
	for _, p := range r.e.Snapshot().Proposals() {
		edit.Set(p.Origin, p.Kept)
	}
	return edit.Map()
}

// ownersOnRecord is what is kept of owners, who are policies.
func ownersOnRecord(owners map[string]api.Owner) controller.Kept {
	edit := tree.Map[api.Owner]{}.Edit()
	kept := controller.Kept{Generation: 1, Known: true}
	for name, o := range owners {
		edit.Set(name, o)
		kept.OwnersChanged = append(kept.OwnersChanged, name)
	}
	kept.Owners = edit.Map()
	return kept
}

// held is how many names of a zone the metrics say are held.
func (r *running) held(origin string) int {
	for _, z := range r.e.Held() {
		if z.Origin == origin {
			return z.Names
		}
	}
	return 0
}
