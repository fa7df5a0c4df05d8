package kuadrant

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coredns-kuadrant/kuadrant/internal/coredns"
	"github.com/coredns-kuadrant/kuadrant/internal/corefile"
	"github.com/coredns-kuadrant/kuadrant/internal/engine"
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns/caddy"
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/plugin"
	"github.com/coredns/coredns/plugin/metadata"
	"github.com/coredns/coredns/plugin/pkg/transport"
	"github.com/coredns/coredns/plugin/transfer"
	"github.com/miekg/dns"
)

const pluginName = engine.PluginName

func init() { plugin.Register(pluginName, setup) }

// instanceKey finds the instance in the storage that all server blocks of a Corefile share.
type instanceKey struct{}

// setup adds the plugin to one server block. All blocks share one instance for what exists once in
// the process; the first block's start hook starts it.
func setup(c *caddy.Controller) error {
	inst, _ := c.Get(instanceKey{}).(*instance)
	if inst == nil {
		inst = newInstance()
		inst.fast.of = newest()
		hookDecorated()
		inst.alive = alive(inst.fast.of)
		c.Set(instanceKey{}, inst)
		c.OnStartup(inst.start)
		c.OnShutdown(inst.stop)
		c.OnFinalShutdown(inst.fast.leave)
		c.OnRestart(inst.restart)
		c.OnRestartFailed(inst.takeBack)
		for _, cfg := range coredns.Configs(c) { // they have what comes before us
			for i, add := range cfg.Plugin {
				cfg.Plugin[i] = guardCaches(add)
			}
		}
	}
	b, err := corefile.Parse(c, inst.config)
	if err != nil {
		return plugin.Error(pluginName, err)
	}
	k := New(b, inst.server.engine)
	k.blocks = inst.blocks
	cfg := dnsserver.GetConfig(c)
	k.before = len(cfg.Plugin)
	for i, add := range cfg.Plugin { // dnssec comes before us
		cfg.Plugin[i] = k.guard(add)
	}
	cfg.AddPlugin(func(next plugin.Handler) plugin.Handler {
		k.Next = next
		return k
	})
	if cfg.UDPDecorateWriterFunc == nil {
		cfg.UDPDecorateWriterFunc = inst.fast.decorate
	}
	inst.first = append(inst.first, func() {
		k.geoip, _ = cfg.Handler("geoip").(metadata.Provider)
		if k.geoip != nil && cfg.Handler("metadata") != nil {
			inst.blocks.lent.lend(b.ZoneSet, k.geoip)
			inst.config.Lent = true
		}
		k.rewritten = cfg.Handler("rewrite") != nil
		inst.blocks.ask = cmp.Or(inst.blocks.ask, digOf(cfg))
	})
	c.OnStartup(func() error {
		if t, ok := cfg.Handler("transfer").(interface{ Notify(zone string) error }); ok {
			inst.blocks.listeners = append(inst.blocks.listeners, inst.server.notifier.listen(b.ZoneSet, t.Notify))
		}
		for _, m := range k.learn(inst.config.Zones) {
			log.Warningf("%s: %s", b.Place, m)
		}
		for _, m := range neverPassed(k, b) {
			log.Warningf("%s: %s", b.Place, m)
		}
		return atStart(b, cfg, inst.config)
	})
	return nil
}

// digOf returns the start of a dig command for a server block; "" if it does not serve plain DNS.
func digOf(cfg *dnsserver.Config) string {
	if cfg.Transport != transport.DNS {
		return ""
	}
	host := "127.0.0.1"
	if len(cfg.ListenHosts) > 0 {
		if addr, err := netip.ParseAddr(cfg.ListenHosts[0]); err == nil && !addr.IsUnspecified() {
			host = addr.String()
		}
	}
	return "dig @" + host + " -p " + cfg.Port
}

// newest returns the instance that CoreDNS is setting up: during that it is the newest. It is nil if nobody starts one.
func newest() *caddy.Instance {
	if all := caddy.Instances(); len(all) > 0 {
		return all[len(all)-1]
	}
	return nil
}

// alive returns a function that reports whether CoreDNS has started an instance, and still has it. One whose start panicked stays listed.
func alive(own *caddy.Instance) func() bool {
	return func() bool { return own == nil || slices.Contains(caddy.Instances(), own) && len(own.Servers()) > 0 }
}

// atStart checks what needs the whole server block, and logs warnings. By then all plugins of all
// blocks are set up.
func atStart(b *corefile.Block, server *dnsserver.Config, cfg *engine.Options) error {
	if slices.Contains(b.Zones, ".") && !b.ZonesWritten && server.Handler("cache") != nil {
		return plugin.Error(pluginName, b.Place.Errorf("a server block for the root zone with cache must name the zones, as in `kuadrant example.com` or `kuadrant .`; the cache is bypassed for them"))
	}
	own := len(cfg.GeoIP) > 0 || cfg.Nets != ""
	if !own && server.Handler("geoip") != nil && server.Handler("metadata") == nil {
		log.Warningf("%s: the geoip plugin cannot locate clients without the metadata plugin; add `metadata` to this server block", b.Place)
	}
	for _, w := range slices.Concat(b.Warnings, neverAsked(b, server), neverTransferred(b, server)) {
		log.Warning(w)
	}
	return nil
}

// Settings that are most likely mistakes, but can be served: each is a log line at the start with
// its place in the Corefile. A setting that can never work is a set-up error.

// neverAsked returns the warnings of Block.Outside, unless the server block rewrites names.
func neverAsked(b *corefile.Block, server *dnsserver.Config) []string {
	if server.Handler("rewrite") != nil {
		return nil
	}
	return b.Outside()
}

// neverPassed returns warnings where fallthrough passes nothing on.
func neverPassed(k *Kuadrant, b *corefile.Block) (warnings []string) {
	if k.Next == nil && len(b.Fall.Zones) > 0 {
		return []string{"fallthrough: no plugin follows kuadrant in this server block, so missing names get REFUSED; remove it, or add one such as forward"}
	}
	for _, zone := range b.Fall.Zones {
		if !slices.ContainsFunc(b.Zones, func(of string) bool { return dns.IsSubDomain(of, zone) || dns.IsSubDomain(zone, of) }) {
			warnings = append(warnings, fmt.Sprintf("fallthrough: %q has no name in common with the zones %s; check it", zone, strings.Join(b.Zones, " ")))
		}
	}
	return warnings
}

// neverTransferred returns a warning if the server block has the transfer plugin, but that lists
// none of our zones. It is silent if another plugin has zones to transfer: the stanza may be for
// those.
func neverTransferred(b *corefile.Block, server *dnsserver.Config) (warnings []string) {
	t, ok := server.Handler("transfer").(*transfer.Transfer)
	if !ok {
		return nil
	}
	for _, h := range server.Handlers() {
		if _, ok := h.(transfer.Transferer); ok && h.Name() != pluginName {
			return nil
		}
	}
	if slices.ContainsFunc(b.Zones, func(zone string) bool { return transfers(t, zone) }) {
		return nil
	}
	return []string{fmt.Sprintf("%s: transfer lists none of kuadrant's zones in this server block, %s; they are not transferred, and secondaries get no NOTIFY",
		b.Place, strings.Join(b.Zones, " "))}
}

// transfers reports whether the plugin has a stanza for the zone. It tries a request: without a
// stanza, the plugin passes it on.
func transfers(t *transfer.Transfer, zone string) bool {
	bare := *t
	bare.Transferers, bare.Next = []transfer.Transferer{noTransferer{}}, plugin.HandlerFunc(passOn)
	m := &dns.Msg{Question: []dns.Question{{Name: zone, Qtype: dns.TypeAXFR, Qclass: dns.ClassINET}}}
	what, _ := bare.ServeDNS(context.Background(), nobodyOverTCP{}, m) // the error is noTransferer's
	return what != passedOn
}

// noTransferer transfers no zone, with an error that does not pass the request on.
type noTransferer struct{}

// Transfer implements transfer.Transferer.
func (noTransferer) Transfer(string, uint32) (<-chan []dns.RR, error) {
	return nil, errors.New("asked for its zones only")
}

// nobodyOverTCP is nobody on a TCP connection.
type nobodyOverTCP struct{ nobody }

// RemoteAddr implements dns.ResponseWriter.
func (nobodyOverTCP) RemoteAddr() net.Addr { return new(net.TCPAddr) }

// server outlives reloads of the Corefile. reload guards the fields that do not belong to the engine or the notifier.
type server struct {
	engine   *engine.Engine
	said     *eventLog
	news     *news
	started  time.Time
	notifier *notifier      // notifies secondaries
	console  *consoleServer // nil if the Corefile has none
	shown    engine.Console // its settings
	// blocks belong to the Corefile in force; nil before the first.
	blocks atomic.Pointer[serverBlocks]
	// holder is the instance that configured the server last.
	holder *instance
}

// serverBlocks is what the server blocks of one Corefile share, beside their server.
type serverBlocks struct {
	// lent locates clients for callers without a query.
	lent lentLocators
	// signings are the dnssec plugins of all server blocks. They are known before the first query.
	signings []*signing
	// listeners are the transfer plugins.
	listeners []*listening
	// ask is the start of a command that queries the first server block; "" if that does not serve plain DNS.
	ask string
}

func newServer() *server {
	s := &server{news: &news{Logger: log}, started: time.Now()}
	s.notifier = newNotifier(func() *records.Snapshot { return s.engine.Snapshot() })
	s.notifier.warnf, s.notifier.infof = s.news.Warningf, s.news.Infof
	s.said = newSaid(s.news, s.notifier.ring)
	s.engine = engine.New(s.news, s.said)
	s.said.corefile = func() *engine.Options { return s.engine.Current().Listed }
	return s
}

// configure applies an instance's Corefile to the server. On an error the server stays as it is. The caller holds reload.
func (s *server) configure(i *instance) (err error) {
	if err := corefile.Check(i.config); err != nil {
		return err
	}
	console := s.console
	if i.config.Console != s.shown {
		if console, err = s.openConsole(i.config); err != nil {
			return err
		}
	}
	s.said.ask.Store(&i.blocks.ask)
	runs := engine.Parts{s.notifier: s.notifier.run}
	if console != nil {
		runs[console] = console.run
	}
	if err := s.engine.Configure(i.config, runs); err != nil {
		if console != nil && console != s.console {
			console.close()
		}
		return err
	}
	if s.console != nil && s.console != console {
		s.console.close() // at once: a reload may want its port back
	}
	s.console, s.shown, s.holder = console, i.config.Console, i
	s.blocks.Store(i.blocks)
	s.notifier.use(i.blocks.listeners)
	return nil
}

// stop stops the server. The caller holds reload.
func (s *server) stop() {
	if s.console != nil {
		s.console.close()
	}
	s.engine.Stop()
}

// instance is what all server blocks of one Corefile share. It takes over the previous Corefile's server, if there is one.
type instance struct {
	config *engine.Options
	blocks *serverBlocks
	server *server
	fast   fastServers
	// first are the blocks' look-ups of other plugins, which run before the server is configured.
	first []func()
	// alive reports whether CoreDNS has started the instance and still has it. CoreDNS silently
	// drops one that it could not start.
	alive func() bool
}

// reload lets instances find each other: CoreDNS passes nothing from the old one to the new one. It also guards the servers.
var reload struct {
	sync.Mutex
	// handed is the server that a restart under way hands over; nil if none, or once it was taken.
	handed *server
	// begun is the last instance that started a server of its own. It is needed when a reload adds the first kuadrant block and fails:
	// CoreDNS tells nobody.
	begun *instance
}

// answering is the server that metrics describe: the newest; nil for none.
var answering atomic.Pointer[server]

// newInstance returns an instance with the server that was handed over, else with a new one.
func newInstance() *instance {
	reload.Lock()
	defer reload.Unlock()
	i := &instance{config: new(engine.Options), blocks: new(serverBlocks), server: reload.handed, alive: func() bool { return true }}
	i.fast.options = i.config
	reload.handed = nil
	if i.server == nil {
		i.server = newServer()
	}
	return i
}

// start configures the server.
func (i *instance) start() error {
	reload.Lock()
	defer reload.Unlock()
	i.fast.prepare()
	s, begins := i.server, i.server.holder == nil
	for _, look := range i.first {
		look()
	}
	if f := reload.begun; f != nil && f.server != s && !f.alive() {
		answering.CompareAndSwap(f.server, nil)
		f.server.stop()
		reload.begun = nil
	}
	if err := s.configure(i); err != nil {
		return plugin.Error(pluginName, err)
	}
	for _, w := range corefile.Warnings(i.config) {
		log.Warning(w)
	}
	switch {
	case begins:
		reload.begun = i
		answering.Store(s)
	case reload.begun != nil && reload.begun.server == s: // after its reload, it has started well
		reload.begun = nil
	}
	return nil
}

// restart prepares the server for a new instance that replaces this one.
func (i *instance) restart() error {
	reload.Lock()
	defer reload.Unlock()
	reload.handed = i.server
	return nil
}

// takeBack restores this instance's options after a failed reload. CoreDNS also calls it if the new servers answer, the old ones have
// stopped, and another plugin's shutdown failed.
func (i *instance) takeBack() error {
	reload.Lock()
	defer reload.Unlock()
	s, next := i.server, i.server.holder
	if !i.alive() {
		i.fast.release() // CoreDNS has stopped its servers
	}
	if reload.handed == s && i.alive() {
		reload.handed = nil // no instance took it
	}
	switch {
	case !i.alive() && (next == i || !next.alive()):
		i.end()
	case i.alive() && next != i:
		if err := s.configure(i); err != nil {
			log.Errorf("reload: failed, and the previous options cannot be restored: %v; those of the new Corefile stay in force. Reload again", err)
			return nil
		}
	}
	return nil
}

// stop stops the server, unless another instance has taken it over.
func (i *instance) stop() error {
	reload.Lock()
	defer reload.Unlock()
	if i.server.holder != i || reload.handed == i.server {
		i.fast.release() // at the end of a reload; else fastServers.leave does, after the lame duck time
	}
	if i.server.holder == i {
		i.end()
	}
	return nil
}

// end stops the server. Metrics still describe it, as it still answers until the lame duck time is
// over; not so at the end of a reload. The caller holds reload.
func (i *instance) end() {
	if reload.handed == i.server {
		reload.handed = nil
		answering.CompareAndSwap(i.server, nil)
	}
	if reload.begun == i {
		reload.begun = nil
	}
	i.server.stop()
}
