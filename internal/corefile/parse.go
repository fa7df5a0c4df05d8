package corefile

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/coredns/caddy"
	"github.com/coredns/coredns/plugin"
	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/engine"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// Parse reads one kuadrant directive. It merges process-wide settings into cfg, which earlier blocks may have filled,
// and returns the settings of this block.
func Parse(c *caddy.Controller, cfg *engine.Options) (*Block, error) {
	p := &parser{c: c, cfg: cfg, zone: records.ZoneOptions{
		TTL: records.DefaultTTL, LoadBalancedTTL: records.DefaultLoadBalancedTTL,
	}, seen: make(map[string]bool), published: make(map[string]bool)}
	c.Next()
	p.block.ZoneSet = make(map[string]bool)
	p.block.Place = placeOf(c)
	cfg.Note(engine.PluginName, p.block.Place)
	args := c.RemainingArgs()
	p.block.ZonesWritten = len(args) > 0
	if len(args) == 0 {
		args = c.ServerBlockKeys
	}
	for _, key := range c.ServerBlockKeys {
		zones, _ := zonesOf(key) // CoreDNS has checked the key
		p.block.Keys = append(p.block.Keys, zones...)
	}
	for _, arg := range args {
		zones, err := zonesOf(arg)
		if err != nil {
			return nil, p.block.Place.Errorf("%w", err)
		}
		for _, z := range zones {
			if below, ok := strings.CutPrefix(z, "*."); ok {
				return nil, p.block.Place.Errorf("zone %q begins with a wildcard; write %q, which includes all names below it", arg, below)
			}
			p.block.Zones = append(p.block.Zones, z)
			p.block.ZoneSet[z] = true
		}
	}
	for c.NextBlock() {
		if err := p.property(c.Val()); err != nil {
			return nil, err
		}
	}
	if c.Next() {
		if c.Val() == engine.PluginName {
			return nil, placeOf(c).Errorf("%w", plugin.ErrOnce)
		}
		return nil, placeOf(c).Errorf("unexpected %q", c.Val())
	}
	return p.finish()
}

// placeOf returns the place of the last word that c read.
func placeOf(c *caddy.Controller) engine.Place {
	return engine.Place(fmt.Sprintf("%s:%d", c.File(), c.Line()))
}

// zonesOf returns the zones that a word of the Corefile denotes: several for a network whose length is not a multiple
// of 8.
func zonesOf(word string) ([]string, error) {
	zones := plugin.Host(word).NormalizeExact()
	if len(zones) == 0 || slices.ContainsFunc(zones, func(z string) bool { _, ok := dns.IsDomainName(z); return !ok }) {
		return nil, fmt.Errorf("zone %q is not a domain name", word)
	}
	if _, wrong := api.CanonicalName(zones[0]); wrong != "" {
		return nil, fmt.Errorf("zone %q %s", zones[0], wrong)
	}
	return zones, nil
}

// parser reads the block of one kuadrant directive.
type parser struct {
	c     *caddy.Controller
	cfg   *engine.Options
	block Block
	zone  records.ZoneOptions // for every zone of the block
	email string
	seen  map[string]bool
	// published holds the domains of the block's publish lines.
	published map[string]bool
	at        engine.Place // of the property being read
	// manifestsAt is the place of the block's last manifests line, clustersAt that of its last cluster.
	manifestsAt, clustersAt engine.Place
	clusters                []engine.Cluster   // of the block
	dirs                    []engine.Manifests // of the block
}

// repeatable are the properties that a block may repeat.
var repeatable = map[string]bool{"cluster": true, "manifests": true, "nameserver": true, "publish": true}

func (p *parser) property(name string) error {
	p.at = placeOf(p.c)
	read, ok := properties[name]
	if !ok {
		return p.at.Errorf("%w", unknownProperty(name))
	}
	if p.seen[name] && !repeatable[name] {
		return p.at.Errorf("%s appears twice in one block", name)
	}
	p.seen[name] = true
	args := p.c.RemainingArgs()
	if name != "cluster" && name != "manifests" && p.c.NextArg() { // only a brace ends the arguments before the line does
		return p.at.Errorf("%s: unexpected %q; the property takes no block", name, p.c.Val())
	}
	if err := read(p, args); err != nil {
		if errors.Is(err, errDiffers) {
			return p.at.Errorf("%s: %w; see %s", name, err, p.cfg.At(name))
		}
		return p.at.Errorf("%s: %w", name, err)
	}
	p.cfg.Note(name, p.at)
	return nil
}

// finish makes the checks that need the whole block, and adds its zones to cfg.
func (p *parser) finish() (*Block, error) {
	if n := len(p.dirs); n > 0 {
		if n < len(p.cfg.Manifests) {
			return nil, p.manifestsAt.Errorf("manifests: %w; see %s", errDiffers, p.cfg.At("manifests"))
		}
		p.cfg.Manifests = p.dirs
	}
	if err := p.finishClusters(); err != nil {
		return nil, err
	}
	for _, origin := range p.block.Zones {
		z := p.zone
		z.Origin = origin
		z.Rname = records.Rname(p.email)
		if err := addZone(p.cfg, z, p.block.Place); err != nil {
			return nil, err
		}
	}
	return &p.block, nil
}
