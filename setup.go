package kuadrant

import (
	"slices"

	"github.com/coredns/caddy"
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/plugin"
	"github.com/coredns/coredns/plugin/metadata"

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
	k := &Kuadrant{block: b, engine: inst.server.engine, blocks: inst.blocks}
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
