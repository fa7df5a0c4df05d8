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

// instanceKey finds the instance in the storage that all server blocks of one
// Corefile share.
type instanceKey struct{}

// setup adds the plugin to one server block. The process-wide part of all
// blocks goes into one instance, which the first block's start hook starts.
func setup(c *caddy.Controller) error {
	inst, _ := c.Get(instanceKey{}).(*instance)
	if inst == nil {
		inst = newInstance()
		inst.alive = alive()
		c.Set(instanceKey{}, inst)
		c.OnStartup(inst.start)
		c.OnShutdown(inst.stop)
		c.OnRestart(inst.restart)
		c.OnRestartFailed(inst.takeBack)
	}
	b, err := corefile.Parse(c, inst.config)
	if err != nil {
		return plugin.Error(pluginName, err)
	}
	k := New(b, inst.server.engine)
	k.blocks = inst.blocks
	cfg := dnsserver.GetConfig(c)
	for i, add := range cfg.Plugin { // dnssec comes before us
		cfg.Plugin[i] = k.guard(add)
	}
	cfg.AddPlugin(func(next plugin.Handler) plugin.Handler {
		k.Next = next
		return k
	})
	inst.first = append(inst.first, func() {
		k.geoip, _ = cfg.Handler("geoip").(metadata.Provider)
		if k.geoip != nil && cfg.Handler("metadata") != nil {
			inst.blocks.lent.lend(b.ZoneSet, k.geoip)
			inst.config.Lent = true
		}
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

// digOf begins a command that asks a server block; "" for one that does not speak plain DNS.
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

// alive returns what reports whether CoreDNS has the instance that is being set
// up, and has started its servers: one whose start has panicked stays on the
// list. It is the newest of all while it is set up.
func alive() func() bool {
	all := caddy.Instances()
	if len(all) == 0 {
		return func() bool { return true } // nobody starts it
	}
	own := all[len(all)-1]
	return func() bool { return slices.Contains(caddy.Instances(), own) && len(own.Servers()) > 0 }
}

// atStart checks what only the whole server block shows, and logs what to look
// at: all plugins of all blocks have been set up.
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

// What of a Corefile most likely is a mistake, and is served as it stands: each is a line of
// the log at the start that says where it stands. What can never work is a set-up error.

// neverAsked returns the warnings of Block.Outside, unless the server block rewrites names.
func neverAsked(b *corefile.Block, server *dnsserver.Config) []string {
	if server.Handler("rewrite") != nil {
		return nil
	}
	return b.Outside()
}

// neverPassed returns a warning where names that fallthrough is about go nowhere.
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

// neverTransferred returns a warning where the server block has the transfer plugin, and that
// lists none of its zones. Where another plugin has zones to transfer, they may be meant.
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

// transfers reports whether the plugin has a stanza for the zone: it shows in what becomes of
// a request. None leaves it to the next plugin.
func transfers(t *transfer.Transfer, zone string) bool {
	bare := *t
	bare.Transferers, bare.Next = []transfer.Transferer{noTransferer{}}, plugin.HandlerFunc(passOn)
	m := &dns.Msg{Question: []dns.Question{{Name: zone, Qtype: dns.TypeAXFR, Qclass: dns.ClassINET}}}
	what, _ := bare.ServeDNS(context.Background(), nobodyOverTCP{}, m) // its error is that of noTransferer
	return what != passedOn
}

// noTransferer transfers no zone, and says so in a way that is no pass.
type noTransferer struct{}

// Transfer implements transfer.Transferer.
func (noTransferer) Transfer(string, uint32) (<-chan []dns.RR, error) {
	return nil, errors.New("asked for its zones only")
}

// nobodyOverTCP is nobody at the other end of a connection.
type nobodyOverTCP struct{ nobody }

// RemoteAddr implements dns.ResponseWriter.
func (nobodyOverTCP) RemoteAddr() net.Addr { return new(net.TCPAddr) }

// server is what goes on from Corefile to Corefile, however often a CoreDNS is reloaded. reload guards what is not the
// engine's or the notifier's.
type server struct {
	engine   *engine.Engine
	said     *said
	news     *news
	started  time.Time
	notifier *notifier      // tells secondaries of changes
	console  *consoleServer // nil if the Corefile says nothing of one
	shown    engine.Console // what it was made of
	// blocks are those of the Corefile that is in force; nil before the first.
	blocks atomic.Pointer[serverBlocks]
	// holder is the instance that has configured the server last.
	holder *instance
}

// serverBlocks is what the server blocks of one Corefile have in common beside their server.
type serverBlocks struct {
	// lent find clients for those who ask without a query.
	lent lentLocators
	// signings are the dnssec plugins of all server blocks. They are known before the first query.
	signings []*signing
	// listeners are the transfer plugins.
	listeners []*listening
	// ask begins a command that asks the first server block; "" if that speaks no plain DNS.
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

// configure makes the server what the Corefile of an instance says. Where that cannot work, it stays as it is. The caller
// holds reload.
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

// stop ends everything. The caller holds reload.
func (s *server) stop() {
	if s.console != nil {
		s.console.close()
	}
	s.engine.Stop()
}

// instance is what all server blocks of one Corefile share. Its server is that of the Corefile before where there is one.
type instance struct {
	config *engine.Options
	blocks *serverBlocks
	server *server
	// first is what each block looks up among the plugins before the server is configured.
	first []func()
	// alive reports whether CoreDNS has started the instance and has it still: it
	// drops one that it could not start, without telling anybody.
	alive func() bool
}

// reload is what instances find each other by: CoreDNS shares nothing between the old one and the new one. It guards the
// servers, too.
var reload struct {
	sync.Mutex
	// handed is the server that a restart under way hands on; nil for none, and once it was taken.
	handed *server
	// begun is the instance that was the last to begin with a server of its own: where a reload brings the first kuadrant into
	// the Corefile and fails, nobody is told.
	begun *instance
}

// answering is the server that metrics tell of: the newest; nil for none.
var answering atomic.Pointer[server]

// newInstance returns an instance with the server that was handed on, else with one of its own.
func newInstance() *instance {
	reload.Lock()
	defer reload.Unlock()
	i := &instance{config: new(engine.Options), blocks: new(serverBlocks), server: reload.handed, alive: func() bool { return true }}
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
	case reload.begun != nil && reload.begun.server == s: // it was reloaded, so it has begun well
		reload.begun = nil
	}
	return nil
}

// restart says that a new instance is about to start in place of this one.
func (i *instance) restart() error {
	reload.Lock()
	defer reload.Unlock()
	reload.handed = i.server
	return nil
}

// takeBack lets the options of this instance come back where a reload has failed. CoreDNS calls it as well where the old servers
// have ended and the new ones answer, and the end of some other plugin failed.
func (i *instance) takeBack() error {
	reload.Lock()
	defer reload.Unlock()
	s, next := i.server, i.server.holder
	if reload.handed == s && i.alive() {
		reload.handed = nil // nobody has taken it
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

// stop ends the server, unless another instance has it now.
func (i *instance) stop() error {
	reload.Lock()
	defer reload.Unlock()
	if i.server.holder == i {
		i.end()
	}
	return nil
}

// end ends the server. Metrics go on to tell of it, as it goes on to answer until the
// lame duck time ends; but not at the end of a reload. The caller holds reload.
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
