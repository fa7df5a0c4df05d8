package kuadrant

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/coredns/caddy"
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/plugin"
	"github.com/coredns/coredns/plugin/metadata"
	"github.com/coredns/coredns/plugin/transfer"
	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/corefile"
	"github.com/coredns-kuadrant/kuadrant/engine"
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
	c.OnStartup(func() error {
		k.geoip, _ = cfg.Handler("geoip").(metadata.Provider)
		if k.geoip != nil && cfg.Handler("metadata") != nil {
			inst.blocks.lent.lend(b.ZoneSet, k.geoip)
		}
		if t, ok := cfg.Handler("transfer").(interface{ Notify(zone string) error }); ok {
			inst.blocks.listeners = append(inst.blocks.listeners, inst.server.notifier.listen(b.ZoneSet, t.Notify))
		}
		for _, m := range k.learn(inst.config.Zones) {
			log.Warningf("%s: %s", b.Place, m)
		}
		return atStart(b, cfg, inst.config)
	})
	return nil
}

// alive returns what tells whether CoreDNS has the instance that is being set
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
		return plugin.Error(pluginName, b.Place.Errorf("server block for the root zone with cache: write the zones, as in `kuadrant example.com` or `kuadrant .`, because the cache is bypassed for them"))
	}
	own := len(cfg.GeoIP) > 0 || cfg.Nets != ""
	if !own && server.Handler("geoip") != nil && server.Handler("metadata") == nil {
		log.Warningf("%s: the geoip plugin locates nobody without the metadata plugin: write metadata in this server block", b.Place)
	}
	for _, w := range slices.Concat(b.Warnings, neverAsked(b, server), neverTransferred(b, server)) {
		log.Warning(w)
	}
	return nil
}

// What of a Corefile most likely is a mistake, and is served as it stands: each is a line of
// the log at the start that says where it stands. What can never work is a set-up error.

// neverAsked returns a warning for each zone of the block that has nothing to do with the
// zones of its server block: CoreDNS hands no query for it to this one. One that rewrites
// names may.
func neverAsked(b *corefile.Block, server *dnsserver.Config) (warnings []string) {
	if server.Handler("rewrite") != nil {
		return nil
	}
	for _, zone := range b.Outside() {
		warnings = append(warnings, fmt.Sprintf("%s: the zone %s lies outside of this server block, which is for %s: nobody asks here for its names: write a server block for it",
			b.Place, zone, strings.Join(b.Keys, " ")))
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
	return []string{fmt.Sprintf("%s: transfer names other zones than those of kuadrant in this server block, %s: these are not transferred, and nobody is told of their changes",
		b.Place, strings.Join(b.Zones, " "))}
}

// transfers tells whether the plugin has a stanza for the zone: it shows in what becomes of
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
