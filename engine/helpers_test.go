package engine

import (
	"context"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	clog "github.com/coredns/coredns/plugin/pkg/log"
	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/controller"
	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/records"
)

var log = clog.NewWithPlugin(PluginName)

var (
	question, firstA, allA = boottest.Question, boottest.FirstA, boottest.AllA
	newTargets             = boottest.NewTargets
)

// answerer answers from an engine as the plugin does, less what of that is CoreDNS's.
type answerer struct {
	block  *served
	engine *Engine
}

// served are the zones of a server block.
type served struct {
	Zones   []string
	ZoneSet map[string]bool
}

// Ready is that of the plugin.
func (k *answerer) Ready() bool { return k.engine.Ready() }

// ask returns the reply to a query.
func ask(t testing.TB, k *answerer, _ context.Context, m *dns.Msg) (*dns.Msg, int) {
	t.Helper()
	now, q, reply := k.engine.Current(), m.Question[0], new(dns.Msg).SetReply(m)
	if now.Snapshot == nil {
		reply.Rcode = dns.RcodeServerFailure
		return reply, reply.Rcode
	}
	z := now.Snapshot.Zone(q.Name)
	if z == nil || !k.block.ZoneSet[z.CorefileZone()] {
		reply.Rcode = dns.RcodeRefused
		return reply, reply.Rcode
	}
	var a records.Answer
	query := records.Query{Name: strings.ToLower(q.Name), Owner: q.Name, Type: q.Qtype, Client: netip.MustParseAddr("10.1.0.1"), Random: k.engine.Random()}
	if db := k.engine.Locator(); db != nil {
		query.Locator = db
	}
	now.Snapshot.Lookup(z, &query, &a)
	if a.Unlisted {
		a = records.Answer{Rcode: dns.RcodeServerFailure}
	}
	reply.Rcode, reply.Answer, reply.Ns, reply.Extra = a.Rcode, a.Answer, a.Ns, a.Extra
	if m.IsEdns0() != nil {
		reply.SetEdns0(1232, false)
		switch {
		case reply.Rcode == dns.RcodeServerFailure:
			reply.IsEdns0().Option = []dns.EDNS0{&dns.EDNS0_EDE{InfoCode: dns.ExtendedErrorCodeNotReady}}
		case now.Stale():
			reply.IsEdns0().Option = []dns.EDNS0{&dns.EDNS0_EDE{InfoCode: dns.ExtendedErrorCodeStaleAnswer}}
		}
	}
	return reply, reply.Rcode
}

// keep tells the engine that these serials are kept, and no owners, and has it compile.
func (e *Engine) keep(serials api.Serials) { e.TakeKept(e.news(serials)) }

// news is that these serials are kept, beside those of Zones, and no owners.
func (e *Engine) news(serials api.Serials) controller.Kept {
	kept := controller.Kept{Known: true, Serials: serials}
	before := e.keeping.newest.Serials
	kept.SerialsChanged = slices.AppendSeq(slices.Collect(maps.Keys(maps.Collect(before.All()))), maps.Keys(maps.Collect(serials.All())))
	return kept
}

// kept returns what a writer has kept that has kept all that snap proposes.
func kept(snap *records.Snapshot) api.Serials {
	edit := api.Serials{}.Edit()
	for _, p := range snap.Proposals() {
		edit.Set(p.Origin, p.Kept)
	}
	return edit.Map()
}
