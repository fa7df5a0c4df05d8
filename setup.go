package kuadrant

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/coredns/caddy"
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/plugin"
	"github.com/coredns/coredns/plugin/metadata"
	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records"
)

const pluginName = "kuadrant"

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
	b, err := parse(c, inst.config)
	if err != nil {
		return plugin.Error(pluginName, err)
	}
	k := &Kuadrant{block: b, engine: inst.engine}
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
			inst.engine.lent.lend(b.zoneSet, k.geoip)
		}
		if t, ok := cfg.Handler("transfer").(interface{ Notify(zone string) error }); ok {
			inst.engine.notifier.listen(b.zoneSet, t.Notify)
		}
		for _, m := range k.learn(inst.config.zones) {
			log.Warningf("%s: %s", b.place, m)
		}
		return b.atStart(cfg, inst.config)
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
func (b *block) atStart(server *dnsserver.Config, cfg *config) error {
	if slices.Contains(b.zones, ".") && !b.zonesWritten && server.Handler("cache") != nil {
		return plugin.Error(pluginName, b.place.errorf("server block for the root zone with cache: write the zones, as in `kuadrant example.com` or `kuadrant .`, because the cache is bypassed for them"))
	}
	own := len(cfg.geoip) > 0 || cfg.nets != ""
	if !own && server.Handler("geoip") != nil && server.Handler("metadata") == nil {
		log.Warningf("%s: the geoip plugin locates nobody without the metadata plugin: write metadata in this server block", b.place)
	}
	for _, w := range slices.Concat(b.warnings, b.neverAsked(server), b.neverTransferred(server)) {
		log.Warning(w)
	}
	return nil
}

// parse reads one kuadrant directive. Its process-wide settings go into cfg,
// which other blocks may have written to already; the rest is returned.
func parse(c *caddy.Controller, cfg *config) (*block, error) {
	p := &parser{c: c, cfg: cfg, zone: records.ZoneOptions{
		TTL: records.DefaultTTL, LoadBalancedTTL: records.DefaultLoadBalancedTTL,
	}, seen: make(map[string]bool), published: make(map[string]bool)}
	c.Next()
	p.block.zoneSet = make(map[string]bool)
	p.block.place = placeOf(c)
	cfg.note(pluginName, p.block.place)
	args := c.RemainingArgs()
	p.block.zonesWritten = len(args) > 0
	if len(args) == 0 {
		args = c.ServerBlockKeys
	}
	for _, key := range c.ServerBlockKeys {
		zones, _ := zonesOf(key) // CoreDNS has checked them
		p.block.keys = append(p.block.keys, zones...)
	}
	for _, arg := range args {
		zones, err := zonesOf(arg)
		if err != nil {
			return nil, p.block.place.errorf("%w", err)
		}
		for _, z := range zones {
			if below, ok := strings.CutPrefix(z, "*."); ok {
				return nil, p.block.place.errorf("zone %q begins with a wildcard, and would have no name but this one: write %q, which stands for all names below it", arg, below)
			}
			p.block.zones = append(p.block.zones, z)
			p.block.zoneSet[z] = true
		}
	}
	for c.NextBlock() {
		if err := p.property(c.Val()); err != nil {
			return nil, err
		}
	}
	if c.Next() {
		if c.Val() == pluginName {
			return nil, placeOf(c).errorf("%w", plugin.ErrOnce)
		}
		return nil, placeOf(c).errorf("unexpected %q", c.Val())
	}
	return p.finish()
}

// placeOf is the place of the word that c has read last.
func placeOf(c *caddy.Controller) place {
	return place(fmt.Sprintf("%s:%d", c.File(), c.Line()))
}

// zonesOf returns the zones that a word of the Corefile means: more than one
// for a network whose length is not a multiple of 8.
func zonesOf(word string) ([]string, error) {
	zones := plugin.Host(word).NormalizeExact()
	if len(zones) == 0 || slices.ContainsFunc(zones, func(z string) bool { _, ok := dns.IsDomainName(z); return !ok }) {
		return nil, fmt.Errorf("zone %q is not a domain name", word)
	}
	return zones, nil
}

// parser reads the block of one kuadrant directive.
type parser struct {
	c     *caddy.Controller
	cfg   *config
	block block
	zone  records.ZoneOptions // of every zone of the block
	email string
	seen  map[string]bool
	// published are the domains of the block's lines `publish`.
	published map[string]bool
	at        place // of the property that is being read
	// manifestsAt is where the last directory of the block stands, clustersAt the last
	// cluster.
	manifestsAt, clustersAt place
	clusters                []clusterConfig // of the block
}

// repeatable are the properties that may stand several times in one block.
var repeatable = map[string]bool{"cluster": true, "manifests": true, "nameserver": true, "publish": true}

func (p *parser) property(name string) error {
	p.at = placeOf(p.c)
	read, ok := properties[name]
	if !ok {
		return p.at.errorf("%w", unknownProperty(name))
	}
	if p.seen[name] && !repeatable[name] {
		return p.at.errorf("%s is given twice in one block", name)
	}
	p.seen[name] = true
	args := p.c.RemainingArgs()
	if name != "cluster" && p.c.NextArg() { // only a brace ends the arguments before the line does
		return p.at.errorf("%s: unexpected %q: the property has no block of its own", name, p.c.Val())
	}
	if err := read(p, args); err != nil {
		if errors.Is(err, errDiffers) {
			return p.at.errorf("%s: %w: see %s", name, err, p.cfg.places[name])
		}
		return p.at.errorf("%s: %w", name, err)
	}
	p.cfg.note(name, p.at)
	return nil
}

// finish checks what only the whole block shows, and hands the zones to cfg.
func (p *parser) finish() (*block, error) {
	if n := len(p.block.manifests); n > 0 {
		if n < len(p.cfg.manifests) {
			return nil, p.manifestsAt.errorf("manifests: %w: see %s", errDiffers, p.cfg.places["manifests"])
		}
		p.cfg.manifests = p.block.manifests
	}
	if err := p.finishClusters(); err != nil {
		return nil, err
	}
	for _, origin := range p.block.zones {
		z := p.zone
		z.Origin = origin
		z.Rname = records.Rname(p.email, origin)
		if err := p.cfg.addZone(z, p.block.place); err != nil {
			return nil, err
		}
	}
	return &p.block, nil
}
