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

	"github.com/coredns-kuadrant/kuadrant/internal/coredns"
	"github.com/coredns-kuadrant/kuadrant/internal/corefile"
	"github.com/coredns-kuadrant/kuadrant/internal/engine"
	"github.com/coredns/caddy"
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/plugin"
	"github.com/coredns/coredns/plugin/metadata"
	"github.com/coredns/coredns/plugin/pkg/transport"
	"github.com/coredns/coredns/plugin/transfer"
	"github.com/miekg/dns"
)

func init() { plugin.Register(pluginName, setup) }

// setup adds the plugin to one server block. All blocks share one instance for what exists once in
// the process; the first block's start hook starts it.
func setup(c *caddy.Controller) error {
	inst, _ := c.Get(instanceKey{}).(*instance)
	if inst == nil {
		inst = newInstance(newest())
		inst.register(c)
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
