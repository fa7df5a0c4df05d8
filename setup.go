package kuadrant

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/coredns/caddy"
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/plugin"
	"github.com/miekg/dns"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/coredns-kuadrant/kuadrant/api"
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
	cfg.AddPlugin(func(next plugin.Handler) plugin.Handler {
		k.Next = next
		return k
	})
	c.OnStartup(func() error {
		if slices.Contains(b.zones, ".") && !b.zonesWritten && cfg.Handler("cache") != nil {
			return plugin.Error(pluginName, c.Errf("server block for the root zone with cache: write the zones, as in `kuadrant example.com` or `kuadrant .`, because the cache is bypassed for them"))
		}
		return nil
	})
	return nil
}

// parse reads one kuadrant directive. Its process-wide settings go into cfg,
// which other blocks may have written to already; the rest is returned.
func parse(c *caddy.Controller, cfg *config) (*block, error) {
	p := &parser{c: c, cfg: cfg, zone: records.ZoneOptions{
		TTL: records.DefaultTTL, LoadBalancedTTL: records.DefaultLoadBalancedTTL,
	}, seen: make(map[string]bool)}
	c.Next()
	p.block.zoneSet = make(map[string]bool)
	p.block.line = c.File() + ":" + strconv.Itoa(c.Line())
	args := c.RemainingArgs()
	p.block.zonesWritten = len(args) > 0
	origins := args
	if len(args) == 0 {
		origins = c.ServerBlockKeys
	}
	for _, o := range origins {
		hosts := plugin.Host(o).NormalizeExact()
		if len(hosts) == 0 {
			return nil, c.Errf("zone %q is not a domain name", o)
		}
		for _, h := range hosts {
			if _, ok := dns.IsDomainName(h); !ok {
				return nil, c.Errf("zone %q is not a domain name", o)
			}
			p.block.zones = append(p.block.zones, h)
			p.block.zoneSet[h] = true
		}
	}
	for c.NextBlock() {
		if err := p.property(c.Val()); err != nil {
			return nil, err
		}
	}
	if c.Next() {
		return nil, plugin.ErrOnce
	}
	return p.finish()
}

// parser reads the block of one kuadrant directive.
type parser struct {
	c     *caddy.Controller
	cfg   *config
	block block
	zone  records.ZoneOptions // of every zone of the block
	email string
	seen  map[string]bool
}

// repeatable are the properties that may stand several times in one block.
var repeatable = map[string]bool{"manifests": true, "nameserver": true}

func (p *parser) property(name string) error {
	read, ok := properties[name]
	if !ok {
		return p.c.Errf("unknown property %q", name)
	}
	if p.seen[name] && !repeatable[name] {
		return p.c.Errf("%s is given twice in one block", name)
	}
	p.seen[name] = true
	args := p.c.RemainingArgs()
	if err := read(p, args); err != nil {
		return p.c.Errf("%s: %v", name, err)
	}
	return nil
}

// properties are all properties of the block with their readers.
var properties = map[string]func(*parser, []string) error{
	"kubeconfig":  (*parser).kubeconfig,
	"manifests":   (*parser).manifests,
	"namespaces":  (*parser).namespaces,
	"policies":    (*parser).policies,
	"kinds":       (*parser).kinds,
	"geoip":       (*parser).geoip,
	"nets":        (*parser).nets,
	"answer":      (*parser).answer,
	"ttl":         (*parser).ttl,
	"nameserver":  (*parser).nameserver,
	"rname":       (*parser).rname,
	"fallthrough": (*parser).fallThrough,
}

func (p *parser) kubeconfig(args []string) error {
	if err := count(args, 1, 2, "FILE [CONTEXT]"); err != nil {
		return err
	}
	k := kubeconfig{file: p.path(args[0])}
	if len(args) == 2 {
		k.context = args[1]
	}
	return share(&p.cfg.kubeconfig, k)
}

func (p *parser) manifests(args []string) error {
	if err := count(args, 1, 2, "DIR [CLUSTER]"); err != nil {
		return err
	}
	m, err := newManifests(p.path(args[0]), args[1:])
	if err != nil {
		return err
	}
	p.block.manifests = append(p.block.manifests, m)
	return nil
}

func (p *parser) namespaces(args []string) error {
	if err := count(args, 1, -1, "NAMESPACE..."); err != nil {
		return err
	}
	return shareList(&p.cfg.namespaces, args)
}

func (p *parser) policies(args []string) error {
	if err := count(args, 1, -1, "SELECTOR"); err != nil {
		return err
	}
	text := strings.Join(args, " ")
	selector, err := labels.Parse(text)
	if err != nil {
		return err
	}
	if selector.Empty() {
		return errEmptySelector
	}
	return share(&p.cfg.policies, selector.String())
}

func (p *parser) kinds(args []string) error {
	if err := count(args, 1, -1, "KIND..."); err != nil {
		return err
	}
	var kinds []string
	for _, a := range args {
		k, ok := api.ParseKind(a)
		if !ok {
			return unknownKind(a)
		}
		kinds = append(kinds, k.String())
	}
	return shareList(&p.cfg.kinds, kinds)
}

func (p *parser) geoip(args []string) error {
	if err := count(args, 1, -1, "FILE..."); err != nil {
		return err
	}
	files := make([]string, len(args))
	for i, a := range args {
		files[i] = p.path(a)
	}
	return shareList(&p.cfg.geoip, files)
}

func (p *parser) nets(args []string) error {
	if err := count(args, 1, 1, "FILE"); err != nil {
		return err
	}
	return share(&p.cfg.nets, p.path(args[0]))
}

func (p *parser) answer(args []string) error {
	if len(args) != 1 || args[0] != "chain" && args[0] != "flatten" {
		return wanted(args, "chain or flatten")
	}
	p.zone.Flatten = args[0] == "flatten"
	return nil
}

func (p *parser) ttl(args []string) error {
	if err := count(args, 1, 2, "DEFAULT [LOADBALANCED]"); err != nil {
		return err
	}
	for i, target := range []*uint32{&p.zone.TTL, &p.zone.LoadBalancedTTL} {
		if i == len(args) {
			break
		}
		// RFC 2181 §8: a TTL has 31 bits.
		n, err := strconv.ParseUint(args[i], 10, 31)
		if err != nil {
			return wanted(args[i:i+1], "seconds from 0 to 2147483647")
		}
		*target = uint32(n)
	}
	return nil
}

func (p *parser) nameserver(args []string) error {
	if err := count(args, 1, -1, "NAME [ADDRESS...]"); err != nil {
		return err
	}
	ns := records.Nameserver{Name: strings.ToLower(dns.Fqdn(args[0]))}
	if _, ok := dns.IsDomainName(ns.Name); !ok || ns.Name == "." || strings.HasPrefix(ns.Name, "*") {
		return wanted(args[:1], "a domain name")
	}
	if slices.ContainsFunc(p.zone.Nameservers, func(o records.Nameserver) bool { return o.Name == ns.Name }) {
		return wanted(args[:1], "each name once")
	}
	for _, a := range args[1:] {
		addr, err := netip.ParseAddr(a)
		if err != nil || addr.Zone() != "" {
			return wanted([]string{a}, "an IP address")
		}
		ns.Addresses = append(ns.Addresses, addr.Unmap())
	}
	p.zone.Nameservers = append(p.zone.Nameservers, ns)
	return nil
}

func (p *parser) rname(args []string) error {
	if err := count(args, 1, 1, "EMAIL"); err != nil {
		return err
	}
	p.email = args[0]
	return nil
}

func (p *parser) fallThrough(args []string) error {
	p.block.fall.SetZonesFromArgs(args)
	return nil
}

// path makes a relative path relative to the directory of the Corefile's root
// plugin, as CoreDNS's own plugins do.
func (p *parser) path(file string) string {
	return rootedPath(dnsserver.GetConfig(p.c).Root, file)
}

// finish checks what only the whole block shows, and hands the zones to cfg.
func (p *parser) finish() (*block, error) {
	if err := p.cfg.addManifests(p.block.manifests); err != nil {
		return nil, p.c.Err(err.Error())
	}
	for _, origin := range p.block.zones {
		z := p.zone
		z.Origin = origin
		z.Rname = records.Rname(p.email, origin)
		for _, ns := range z.Nameservers {
			if records.IsSubdomain(origin, ns.Name) && len(ns.Addresses) == 0 {
				return nil, p.c.Errf("nameserver %s lies in the zone %s and has no address: write its addresses after its name", ns.Name, origin)
			}
		}
		if err := p.cfg.addZone(z, p.block.line); err != nil {
			return nil, p.c.Err(err.Error())
		}
	}
	return &p.block, nil
}
