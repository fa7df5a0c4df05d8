package kuadrant

import (
	"context"
	"maps"
	"net"
	"net/netip"
	"reflect"
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

	"github.com/coredns-kuadrant/kuadrant/internal/engine"
	"github.com/coredns-kuadrant/kuadrant/internal/fastpath"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// fastServers are the servers of an instance that the fast path answers for.
type fastServers struct {
	of *caddy.Instance
	sync.Mutex
	all      []*fastpath.Serving
	released bool
}

// beside starts serve for each server for UDP, unless another plugin decorates its writer. It does not wait: CoreDNS cannot stop a server
// that it is starting.
func (f *fastServers) beside(cfg *dnsserver.Config, opt *engine.Options) {
	if cfg.UDPDecorateWriterFunc != nil {
		log.Info("fast-udp: off: another plugin, such as shed, decorates the writers of UDP")
		return
	}
	var own uintptr // the same for all blocks
	cfg.UDPDecorateWriterFunc = func(s *dnsserver.Server) dns.DecorateWriter {
		for cfg := range configsOf(s) {
			if d := cfg.UDPDecorateWriterFunc; d != nil && reflect.ValueOf(d).Pointer() != own {
				log.Infof("fast-udp: off at %s: a plugin of another block, such as shed, decorates the writers of UDP",
					strings.TrimPrefix(s.Addr, transport.DNS+"://"))
				return d(s)
			}
		}
		if opt.FastUDP != "off" {
			go f.serve(s)
		}
		return nil
	}
	own = reflect.ValueOf(cfg.UDPDecorateWriterFunc).Pointer()
}

// serve has the fast path answer at the addresses of a server, for the blocks where it can.
func (f *fastServers) serve(s *dnsserver.Server) {
	f.Lock()
	defer f.Unlock()
	if f.released {
		return
	}
	routes, why := routesOf(s)
	conns, first := f.besides(s)
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
		Secrets: s.TsigSecret, Say: func(line string) { log.Info(line) }, Lost: func(n uint32) { fastLost.Add(float64(n)) },
	}))
}

// besides returns the sockets for UDP at a server's address, and whether the first one is its own: the plugin multisocket makes more
// servers.
func (f *fastServers) besides(s *dnsserver.Server) (conns []*net.UDPConn, first bool) {
	var its *net.UDPConn
	for server, conn := range socketsOf(f.of) {
		if server == reflect.ValueOf(s).Pointer() {
			its = conn
		}
	}
	for _, conn := range socketsOf(f.of) {
		if its != nil && conn.LocalAddr().String() == its.LocalAddr().String() {
			conns = append(conns, conn)
		}
	}
	return conns, len(conns) > 0 && conns[0] == its
}

// socketsOf yields an instance's servers with their sockets for UDP; none if CoreDNS keeps them elsewhere. They are read from fields that
// are not exported (docs/decisions/0042).
func socketsOf(inst *caddy.Instance) func(yield func(server uintptr, conn *net.UDPConn) bool) {
	return func(yield func(uintptr, *net.UDPConn) bool) {
		for _, l := range inst.Servers() {
			server, packet := reflect.ValueOf(l).FieldByName("server"), reflect.ValueOf(l).FieldByName("packet")
			if server.Kind() != reflect.Interface || packet.Kind() != reflect.Interface {
				continue
			}
			server, packet = server.Elem(), packet.Elem()
			isUDP := server.Kind() == reflect.Pointer && packet.IsValid() && packet.Type() == reflect.TypeFor[*net.UDPConn]()
			if isUDP && !yield(server.Pointer(), (*net.UDPConn)(packet.UnsafePointer())) {
				return
			}
		}
	}
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

// besideFast are the plugins before this one that let such queries pass as they are, or that serve only others.
var besideFast = []string{"cancel", "nsid", "bufsize", "prometheus", "errors", "chaos", "tsig", "cache", "transfer", "dnssec"}

// routesOf returns the routes of a server, and why some blocks are left out. Only CoreDNS knows which blocks share a server: it is read
// from a field that is not exported (docs/decisions/0042).
func routesOf(s *dnsserver.Server) (routes *fastRoutes, why string) {
	routes = &fastRoutes{server: s.Addr, blocks: make(map[string]*fastBlock)}
	var reasons []string
	for cfg, of := range configsOf(s) {
		if cfg.ProxyProtoConnPolicy != nil { // of the whole server
			return &fastRoutes{}, "the block of " + of.zone + " has the plugin proxyproto"
		}
		routes.blocks[of.zone] = nil
		k, ours := cfg.Handler(pluginName).(*Kuadrant)
		if !ours {
			continue
		}
		if reason := slowed(cfg, of.blocks); reason != "" {
			reasons = append(reasons, "the block of "+of.zone+" has "+reason)
			continue
		}
		b := &fastBlock{Kuadrant: k}
		b.metrics, _ = cfg.Handler("prometheus").(*metrics.Metrics)
		if size, ok := cfg.Handler("bufsize").(bufsize.Bufsize); ok {
			b.size = size.Size
		}
		routes.blocks[of.zone] = b
	}
	if len(routes.blocks) == 0 {
		return routes, "this version of CoreDNS keeps its zones elsewhere"
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
			if of, _ := closest(served, zone); of == b {
				measured := *b
				measured.measured = zone
				f.blocks[zone] = &measured
			}
		}
	}
}

// servedZone is a zone of a server, with the number of its blocks.
type servedZone struct {
	zone   string
	blocks int
}

// configsOf yields the blocks of a server; none if it keeps them elsewhere.
func configsOf(s *dnsserver.Server) func(yield func(*dnsserver.Config, servedZone) bool) {
	return func(yield func(*dnsserver.Config, servedZone) bool) {
		zones := reflect.ValueOf(s).Elem().FieldByName("zones")
		if zones.Kind() != reflect.Map || zones.Type() != reflect.TypeFor[map[string][]*dnsserver.Config]() {
			return
		}
		for it := zones.MapRange(); it.Next(); {
			zone, configs := servedZone{it.Key().String(), it.Value().Len()}, it.Value()
			for i := range configs.Len() {
				if !yield((*dnsserver.Config)(configs.Index(i).UnsafePointer()), zone) {
					return
				}
			}
		}
	}
}

// slowed says what in a server block wants to see each query; "" for nothing.
func slowed(cfg *dnsserver.Config, blocks int) string {
	if blocks > 1 || len(cfg.FilterFuncs) > 0 {
		return "the plugin view"
	}
	if len(cfg.Handlers()) != len(cfg.Plugin) {
		return "a plugin that CoreDNS does not list"
	}
	for _, h := range cfg.Handlers() {
		before := slices.Index(dnsserver.Directives, h.Name()) < slices.Index(dnsserver.Directives, pluginName)
		if before && !slices.Contains(besideFast, h.Name()) || h.Name() == "metadata" {
			return "the plugin " + h.Name()
		}
		if h.Name() == "tsig" && requires(h) {
			return "the plugin tsig, which requires signed queries"
		}
	}
	return ""
}

// requires reports whether the plugin tsig may refuse a plain query that is not signed: no transfer, and no update.
func requires(tsig any) bool {
	v := reflect.Indirect(reflect.ValueOf(tsig))
	types, opcodes, allTypes, allOpcodes := v.FieldByName("types"), v.FieldByName("opcodes"), v.FieldByName("allTypes"), v.FieldByName("allOpcodes")
	if types.Kind() != reflect.Map || opcodes.Kind() != reflect.Map || allTypes.Kind() != reflect.Bool || allOpcodes.Kind() != reflect.Bool {
		return true
	}
	for _, t := range types.MapKeys() {
		if !t.CanUint() || t.Uint() != uint64(dns.TypeAXFR) && t.Uint() != uint64(dns.TypeIXFR) {
			return true
		}
	}
	for _, o := range opcodes.MapKeys() {
		if !o.CanInt() || o.Int() == dns.OpcodeQuery {
			return true
		}
	}
	return allTypes.Bool() || allOpcodes.Bool()
}

// fastAnswerer answers queries of one worker. It implements fastpath.Answerer, and reuses its memory.
type fastAnswerer struct {
	*fastRoutes
	found   lookup
	copies  rdata.Copies
	reply   message
	to      fastWriter
	request request.Request
	extra   [8]dns.RR
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
	fastOutcomes
)

var fastWords = [fastOutcomes]string{
	fastAnswered: "answered", fastNotPlain: "not a plain query", fastElsewhere: "another block", fastSigned: "signed",
	fastOnward: "another plugin", fastUnknown: "not ready", fastLong: "too long",
}

// Unread implements fastpath.Answerer.
func (f *fastAnswerer) Unread() { f.outcome[fastNotPlain].Inc() }

// Answer implements fastpath.Answerer: what the server's chain would answer. A query that makes it panic is left to that, which says so.
func (f *fastAnswerer) Answer(q *fastpath.Query, from netip.Addr, out []byte) (n int) {
	outcome := fastUnknown
	defer func() {
		if recover() != nil {
			n = 0
		}
		f.outcome[outcome].Inc()
	}()
	n, outcome = f.answer(q, from, out)
	return n
}

func (f *fastAnswerer) answer(q *fastpath.Query, from netip.Addr, out []byte) (n, outcome int) {
	r := &q.Msg
	f.copies.Reset()
	f.found = lookup{qname: q.Lower(), copies: &f.copies}
	l := &f.found
	k, _ := closest(f.blocks, l.qname)
	if k == nil || q.Cookie && edns.SupportedOption(dns.EDNS0COOKIE) {
		return 0, fastElsewhere
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
	a := &l.answer
	switch {
	case l.outcome == notOurs:
		return 0, fastOnward
	case l.outcome == notReady, a.Unlisted:
		return 0, fastUnknown
	case l.outcome != answered:
		return 0, fastNotPlain
	case a.Rcode == dns.RcodeNameError && len(a.Answer) == 0 && k.block.Fall.Through(l.qname):
		return 0, fastOnward
	}
	if _, onward := l.leadsTo(r); onward {
		return 0, fastOnward
	}
	m := &f.reply
	m.Msg = dns.Msg{}
	f.to.set(from)
	f.request = request.Request{Req: r, W: &f.to}
	m.fill(&f.to, r, l, closed(a))
	own := len(m.Extra)
	m.Extra = append(f.extra[:0], m.Extra...)
	f.request.SizeAndDo(&m.Msg)
	added := 0 // octets of an OPT record that the plugin prometheus does not see
	for _, rr := range m.Extra[own:] {
		added += dns.Len(rr)
	}
	packed := fastpath.Pack(&m.Msg, out)
	length := len(packed)
	if packed == nil || length > min(f.request.Size(), fragmented) {
		length = m.Len()
		f.request.Scrub(&m.Msg)
		var err error
		if packed, err = m.PackBuffer(out); err != nil || len(packed) > len(out) {
			return 0, fastLong
		}
	}
	countAnswer(l)
	if k.metrics != nil {
		f.report(k, q, l, length-added, start)
	}
	return copy(out, packed), fastAnswered
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
