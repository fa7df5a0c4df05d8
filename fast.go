package kuadrant

import (
	"context"
	"maps"
	"net"
	"net/netip"
	"path"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coredns/caddy"
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/plugin/bufsize"
	"github.com/coredns/coredns/plugin/metrics"
	"github.com/coredns/coredns/plugin/pkg/edns"
	"github.com/coredns/coredns/plugin/pkg/transport"
	"github.com/coredns/coredns/request"
	"github.com/miekg/dns"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/coredns-kuadrant/kuadrant/internal/coredns"
	"github.com/coredns-kuadrant/kuadrant/internal/engine"
	"github.com/coredns-kuadrant/kuadrant/internal/fastpath"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// fastServers are the servers of an instance that the fast path answers for.
type fastServers struct {
	of      *caddy.Instance
	options *engine.Options
	sync.Mutex
	all      []*fastpath.Serving
	released bool
}

// prepare is for the sockets that CoreDNS has before a reload.
func (f *fastServers) prepare() {
	if f.options.FastUDP == "off" {
		return
	}
	for _, inst := range caddy.Instances() {
		for _, conn := range coredns.Servers(inst) {
			fastpath.Prepare(conn)
		}
	}
}

// decorate is the UDPDecorateWriterFunc of each block, by which CoreDNS tells of a server that it starts. It does not wait: CoreDNS cannot
// stop a server that it is starting.
func (f *fastServers) decorate(s *dnsserver.Server) dns.DecorateWriter {
	if other, _ := decorator(s); other != nil {
		return other(s)
	}
	go f.serve(s)
	return nil
}

// decorator returns the UDPDecorateWriterFunc of another plugin in a block of a server, such as shed, and says which block has which
// plugin; nil for none.
func decorator(s *dnsserver.Server) (other func(*dnsserver.Server) dns.DecorateWriter, which string) {
	own := reflect.ValueOf(new(fastServers).decorate).Pointer() // the same for all instances
	for b := range coredns.Blocks(s) {
		if d := reflect.ValueOf(b.UDPDecorateWriterFunc); !d.IsNil() && d.Pointer() != own {
			name, _, _ := strings.Cut(path.Base(runtime.FuncForPC(d.Pointer()).Name()), ".") // of its package
			return b.UDPDecorateWriterFunc, "the block of " + b.Zone + " has the plugin " + name
		}
	}
	return nil, ""
}

// hookDecorated has CoreDNS call serveDecorated. It does so for each instance, since CoreDNS forgets hooks at SIGUSR1. The caller
// holds reload.
func hookDecorated() {
	if !slices.Contains(caddy.ListPlugins()["event_hooks"], pluginName) {
		caddy.RegisterEventHook(pluginName, serveDecorated)
	}
}

// serveDecorated calls serve for the servers of an instance for which decorate does not: it says why the fast path is off there.
func serveDecorated(event caddy.EventName, info any) error {
	inst, _ := info.(*caddy.Instance)
	if event != caddy.InstanceStartupEvent || inst == nil {
		return nil
	}
	if i, ours := inst.Storage[instanceKey{}].(*instance); ours {
		for s := range coredns.Servers(inst) {
			if other, _ := decorator(s); other != nil {
				i.fast.serve(s)
			}
		}
	}
	return nil
}

// serve has the fast path answer at the addresses of a server, for the blocks where it can.
func (f *fastServers) serve(s *dnsserver.Server) {
	f.Lock()
	defer f.Unlock()
	if f.released || f.options.FastUDP == "off" {
		return
	}
	routes, why := routesOf(s)
	conns, first := coredns.Sockets(f.of, s)
	switch {
	case len(conns) > 0 && !first:
		return
	case len(conns) == 0 && why == "":
		why = "its socket is not found"
	}
	if why != "" {
		log.Infof("fast-udp: off at %s: %s", strings.TrimPrefix(s.Addr, transport.DNS+"://"), why)
	}
	if len(conns) == 0 || !routes.answers() {
		return
	}
	f.all = append(f.all, fastpath.Serve(conns, &fastpath.Server{
		Answerer: func() fastpath.Answerer { return newFastAnswerer(routes) },
		Handler: dns.HandlerFunc(func(w dns.ResponseWriter, r *dns.Msg) {
			ctx := context.WithValue(context.Background(), dnsserver.Key{}, s)
			s.ServeDNS(context.WithValue(ctx, dnsserver.LoopKey{}, 0), w, r)
		}),
		Accept: coredns.Accept(s), Secrets: s.TsigSecret,
		Say: func(line string) { log.Info(line) }, Lost: func(n uint32) { fastLost.Add(float64(n)) },
	}))
}

// release ends what serve began, unless the next instance goes on with it.
func (f *fastServers) release() {
	f.Lock()
	defer f.Unlock()
	for _, s := range f.all {
		s.Release()
	}
	f.released = true
}

// leave ends what serve began, and hands the addresses over to other processes, before this one ends.
func (f *fastServers) leave() error {
	f.release()
	for _, s := range f.all {
		s.Leave()
	}
	return nil
}

// fastRoutes are the zones of a server's blocks, as it chooses among them.
type fastRoutes struct {
	server string
	// blocks has all zones, in lower case; nil for those that the fast path does not answer for. Zones that prometheus counts for apart
	// are among them.
	blocks map[string]*fastBlock
}

// answers reports whether the fast path answers for a block.
func (f *fastRoutes) answers() bool {
	for _, b := range f.blocks {
		if b != nil {
			return true
		}
	}
	return false
}

// fastBlock is a server block whose queries the fast path may answer.
type fastBlock struct {
	*Kuadrant
	// metrics is the plugin prometheus; nil without it. measured is the zone that it counts a query for.
	metrics  *metrics.Metrics
	measured string
	size     int // the most octets of a reply by the plugin bufsize; 0 for any
}

// routesOf returns the routes of a server, and why it has none for some blocks of the plugin.
func routesOf(s *dnsserver.Server) (routes *fastRoutes, why string) {
	routes = &fastRoutes{server: s.Addr, blocks: make(map[string]*fastBlock)}
	_, all := decorator(s) // why it has none for any
	var reasons []string
	for b := range coredns.Blocks(s) {
		place := "the block of " + b.Zone + " has "
		routes.blocks[b.Zone] = nil
		if b.ProxyProtoConnPolicy != nil {
			all = place + "the plugin proxyproto"
		}
		k, ours := b.Handler(pluginName).(*Kuadrant)
		if !ours {
			continue
		}
		before, reason := b.Before(pluginName, k.before)
		if reason != "" {
			reasons = append(reasons, place+reason)
			continue
		}
		block := &fastBlock{Kuadrant: k}
		for _, h := range before {
			switch h := h.(type) {
			case *metrics.Metrics:
				block.metrics = h
			case bufsize.Bufsize:
				block.size = h.Size
			}
		}
		routes.blocks[b.Zone] = block
	}
	switch {
	case len(routes.blocks) == 0, coredns.Accept(s) == nil:
		return new(fastRoutes), "this version of CoreDNS keeps its zones or opcodes elsewhere"
	case all != "" && (len(reasons) > 0 || routes.answers()):
		return new(fastRoutes), all
	}
	routes.measure()
	slices.Sort(reasons)
	return routes, strings.Join(slices.Compact(reasons), ", ")
}

// measure finds the zones that the plugin prometheus counts for: those of its block on other servers, too.
func (f *fastRoutes) measure() {
	served := maps.Clone(f.blocks)
	for _, b := range served {
		if b == nil || b.metrics == nil {
			continue
		}
		for _, zone := range b.metrics.ZoneNames() {
			if of, _ := rdata.Closest(served, zone); of == b {
				measured := *b
				measured.measured = zone
				f.blocks[zone] = &measured
			}
		}
	}
}

// fastAnswerer answers queries of one worker. It implements fastpath.Answerer, and reuses its memory.
type fastAnswerer struct {
	*fastRoutes
	found   lookup
	copies  rdata.Copies
	reply   message
	to      fastWriter
	request request.Request
	counts  map[fastKey]*fastCounters
	outcome [fastOutcomes]prometheus.Counter
}

func newFastAnswerer(routes *fastRoutes) *fastAnswerer {
	f := &fastAnswerer{fastRoutes: routes, counts: make(map[fastKey]*fastCounters)}
	for o, word := range fastWords {
		f.outcome[o] = fastTotal.WithLabelValues(word)
	}
	return f
}

// fastWriter is the dns.ResponseWriter of a reply that the fast path writes: it has the client's address alone.
type fastWriter struct {
	dns.ResponseWriter
	addr net.UDPAddr
	ip   [16]byte
}

// RemoteAddr implements dns.ResponseWriter.
func (w *fastWriter) RemoteAddr() net.Addr { return &w.addr }

func (w *fastWriter) set(from netip.Addr) {
	if from.Is4() {
		ip := from.As4()
		w.addr.IP = w.ip[:copy(w.ip[:], ip[:])]
		return
	}
	w.ip = from.As16()
	w.addr.IP = w.ip[:]
}

// The outcomes of fastTotal.
const (
	fastAnswered = iota
	fastNotPlain
	fastElsewhere
	fastSigned
	fastOnward
	fastUnknown
	fastLong
	fastFailed
	fastOutcomes
)

var fastWords = [fastOutcomes]string{
	fastAnswered: "answered", fastNotPlain: "not a plain query", fastElsewhere: "another block", fastSigned: "signed",
	fastOnward: "another plugin", fastUnknown: "not ready", fastLong: "too long", fastFailed: "failed",
}

// Answer implements fastpath.Answerer: what the server's chain would answer.
func (f *fastAnswerer) Answer(q *fastpath.Query, from netip.Addr, out []byte) (n int) {
	outcome := fastFailed
	defer func() {
		if p := recover(); p != nil {
			n = 0
			log.Errorf("fast-udp: a panic, so CoreDNS answers the query for %s: %v", q.Msg.Question[0].Name, p)
		}
		f.outcome[outcome].Inc()
	}()
	n, outcome = f.answer(q, from, out)
	return n
}

func (f *fastAnswerer) answer(q *fastpath.Query, from netip.Addr, out []byte) (n, outcome int) {
	if q == nil {
		return 0, fastNotPlain
	}
	r := &q.Msg
	f.copies.Reset()
	f.found = lookup{qname: q.Lower(), copies: &f.copies}
	l := &f.found
	k, _ := rdata.Closest(f.blocks, l.qname)
	if k == nil {
		return 0, fastElsewhere
	}
	if q.Cookie && edns.SupportedOption(dns.EDNS0COOKIE) {
		return 0, fastNotPlain
	}
	opt := r.IsEdns0()
	if k.signing != nil && (opt != nil && opt.Do() || r.Question[0].Qtype == dns.TypeDNSKEY) {
		return 0, fastSigned
	}
	if opt != nil && k.size > 0 && int(opt.UDPSize()) > k.size {
		opt.SetUDPSize(uint16(k.size))
	}
	start := time.Time{}
	if k.metrics != nil {
		start = time.Now()
	}
	k.lookup(context.Background(), from, r, l)
	switch _, onward := l.leadsTo(r); {
	case l.outcome == notOurs, onward:
		return 0, fastOnward
	case l.outcome == notReady, l.answer.Unlisted:
		return 0, fastUnknown
	case l.outcome != answered:
		return 0, fastNotPlain
	}
	packed, length := f.pack(r, from, l, out)
	if packed == nil {
		return 0, fastLong
	}
	countAnswer(l)
	if k.metrics != nil {
		f.report(k, q, l, length, start)
	}
	return copy(out, packed), fastAnswered
}

// pack packs a reply into out, and returns it; nil if it is too long. length is what the plugin prometheus takes for its length.
func (f *fastAnswerer) pack(r *dns.Msg, from netip.Addr, l *lookup, out []byte) (packed []byte, length int) {
	m := &f.reply
	m.Msg = dns.Msg{}
	f.to.set(from)
	f.request = request.Request{Req: r, W: &f.to}
	m.fill(&f.to, r, l, closed(&l.answer))
	if packed, length = fastpath.Pack(&m.Msg, out); packed == nil || length > min(f.request.Size(), fragmented) {
		f.request.Scrub(&m.Msg)
		var err error
		if packed, err = m.PackBuffer(out); err != nil || len(packed) > len(out) {
			return nil, 0
		}
	}
	return packed, length
}

// fragmented is the length above which request.Scrub compresses any reply over IPv6; over IPv4 it is longer.
const fragmented = 1220

func init() {
	for _, word := range fastWords {
		fastTotal.WithLabelValues(word) // exported before the first query, too
	}
}

var (
	fastTotal = promauto.NewCounterVec(prometheus.CounterOpts{
		Namespace: "coredns", Subsystem: pluginName, Name: "fast_udp_total",
		Help: "Number of queries of fast-udp, by outcome: answered, or why CoreDNS got them.",
	}, []string{"outcome"})
	fastLost = promauto.NewCounter(prometheus.CounterOpts{
		Namespace: "coredns", Subsystem: pluginName, Name: "fast_udp_dropped_total",
		Help: "Number of messages that the kernel dropped at the sockets of fast-udp.",
	})
)
