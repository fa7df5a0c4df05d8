package kuadrant

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coredns/coredns/core/dnsserver"
	"github.com/miekg/dns"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// properties are all properties of the block with their readers.
var properties = map[string]func(*parser, []string) error{
	"kubeconfig":      (*parser).kubeconfig,
	"cluster":         (*parser).cluster,
	"manifests":       (*parser).manifests,
	"namespaces":      (*parser).namespaces,
	"policies":        (*parser).policies,
	"kinds":           (*parser).kinds,
	"secrets":         (*parser).secrets,
	"publish":         (*parser).publish,
	"zone-namespaces": (*parser).zoneNamespaces,
	"geoip":           (*parser).geoip,
	"nets":            (*parser).nets,
	"override":        (*parser).override,
	"guard":           (*parser).guard,
	"state":           (*parser).state,
	"console":         (*parser).console,
	"probes":          (*parser).probes,
	"probe-deny":      (*parser).probeDeny,
	"probe-allow":     (*parser).probeAllow,
	"write-back":      (*parser).writeBack,
	"write-rate":      (*parser).writeRate,
	"lease":           (*parser).lease,
	"answer":          (*parser).answer,
	"ttl":             (*parser).ttl,
	"nameserver":      (*parser).nameserver,
	"rname":           (*parser).rname,
	"owner-txt":       (*parser).ownerTXT,
	"fallthrough":     (*parser).fallThrough,
}

func (p *parser) kubeconfig(args []string) error {
	if err := count(args, 1, 2, "FILE [CONTEXT]"); err != nil {
		return err
	}
	if len(p.block.manifests)+len(p.cfg.manifests) > 0 {
		return errExclude
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
	if p.cfg.kubeconfig != (kubeconfig{}) || len(p.clusters)+len(p.cfg.clusters) > 0 {
		return errExclude
	}
	m, err := newManifests(p.path(args[0]), args[1:])
	if err != nil {
		return err
	}
	if slices.ContainsFunc(p.block.manifests, func(o manifests) bool { return o.cluster == m.cluster }) {
		return fmt.Errorf("two directories for cluster %q: write a name of its own after one of them", m.cluster)
	}
	i := len(p.block.manifests)
	if all := p.cfg.manifests; all != nil && (i >= len(all) || all[i] != m) {
		return errDiffers
	}
	p.block.manifests = append(p.block.manifests, m)
	p.manifestsAt = p.at
	return nil
}

func (p *parser) namespaces(args []string) error {
	if err := count(args, 1, -1, "NAMESPACE..."); err != nil {
		return err
	}
	if err := checkNamespaces(args); err != nil {
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

func (p *parser) secrets(args []string) error {
	if len(args) != 1 || args[0] != "off" {
		return wanted(args, "off")
	}
	return share(&p.cfg.secretsOff, true)
}

func (p *parser) zoneNamespaces(args []string) error {
	if err := count(args, 1, -1, "NAMESPACE..."); err != nil {
		return err
	}
	if err := checkNamespaces(args); err != nil {
		return err
	}
	return shareList(&p.cfg.zoneNamespaces, args)
}

func (p *parser) publish(args []string) error {
	if err := count(args, 2, -1, "DOMAIN NAMESPACE..."); err != nil {
		return err
	}
	if err := checkNamespaces(args[1:]); err != nil {
		return err
	}
	domain := strings.ToLower(dns.Fqdn(strings.TrimPrefix(args[0], "*.")))
	if _, ok := dns.IsDomainName(domain); !ok || strings.Contains(domain, "*") {
		return wanted(args[:1], "a domain name, which stands for itself and all below it")
	}
	if p.published[domain] {
		return fmt.Errorf("%s is given twice in one block: write all its namespaces in one line", args[0])
	}
	p.published[domain] = true
	setting := p.cfg.publish[domain]
	if err := shareList(&setting, args[1:]); err != nil {
		return err
	}
	p.cfg.publish[domain] = setting
	if _, ok := p.cfg.publishPlaces[domain]; !ok {
		p.cfg.publishPlaces[domain] = p.at
	}
	return nil
}

func (p *parser) geoip(args []string) error {
	if err := count(args, 1, -1, "FILE..."); err != nil {
		return err
	}
	files := make([]string, len(args))
	for i, a := range args {
		files[i] = p.path(a)
	}
	return shareOrdered(&p.cfg.geoip, files)
}

func (p *parser) nets(args []string) error {
	if err := count(args, 1, 1, "FILE"); err != nil {
		return err
	}
	return share(&p.cfg.nets, p.path(args[0]))
}

func (p *parser) override(args []string) error {
	if err := count(args, 1, 1, "FILE"); err != nil {
		return err
	}
	return share(&p.cfg.override, p.path(args[0]))
}

func (p *parser) guard(args []string) error {
	const wants = "DURATION, such as 5m, up to 24h; 0 turns the guard off"
	if len(args) != 1 {
		return wanted(args, wants)
	}
	d, err := time.ParseDuration(args[0])
	if err != nil || d < 0 || d > maxGuard {
		return wanted(args, wants)
	}
	if p.cfg.guard != nil && *p.cfg.guard != d {
		return errDiffers
	}
	p.cfg.guard = &d
	return nil
}

func (p *parser) state(args []string) error {
	if err := count(args, 1, 1, "DIR"); err != nil {
		return err
	}
	return share(&p.cfg.state, p.path(args[0]))
}

func (p *parser) probes(args []string) error {
	if len(args) != 1 || args[0] != "off" {
		return wanted(args, "off")
	}
	return share(&p.cfg.probesOff, true)
}

func (p *parser) probeDeny(args []string) error { return p.prefixes(&p.cfg.probeDeny, args) }

func (p *parser) probeAllow(args []string) error { return p.prefixes(&p.cfg.probeAllow, args) }

// prefixes reads a list of CIDRs.
func (p *parser) prefixes(setting *[]string, args []string) error {
	if err := count(args, 1, -1, "CIDR..."); err != nil {
		return err
	}
	var list []string
	for _, a := range args {
		prefix, err := parsePrefix(a)
		if err != nil {
			return wanted([]string{a}, "a CIDR such as 192.0.2.0/24, or an address")
		}
		list = append(list, prefix.String())
	}
	return shareList(setting, list)
}

// parsePrefix reads a CIDR; an address is one of full length.
func parsePrefix(text string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(text); err == nil {
		addr = addr.Unmap().WithZone("")
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil || prefix.Addr().Is4In6() {
		return netip.Prefix{}, fmt.Errorf("%q is no CIDR", text)
	}
	return prefix.Masked(), nil
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
	if _, err := netip.ParseAddr(strings.TrimSuffix(args[0], ".")); err == nil {
		return wanted(args[:1], "the server's name before its addresses")
	}
	if slices.ContainsFunc(p.zone.Nameservers, func(o records.Nameserver) bool { return o.Name == ns.Name }) {
		return wanted(args[:1], "each name once")
	}
	for _, a := range args[1:] {
		addr, err := netip.ParseAddr(a)
		if err != nil || addr.Zone() != "" {
			return wanted([]string{a}, "an IP address")
		}
		if addr = addr.Unmap(); !reachable(addr) {
			return wanted([]string{a}, "an address that resolvers can send queries to")
		}
		ns.Addresses = append(ns.Addresses, addr)
	}
	inside := false
	for _, zone := range p.block.zones {
		if !rdata.IsSubdomain(zone, ns.Name) {
			continue
		}
		if inside = true; len(ns.Addresses) == 0 {
			return fmt.Errorf("%s lies in the zone %s and has no address: write its addresses after its name", ns.Name, zone)
		}
	}
	if !inside && !strings.Contains(args[0], ".") && len(p.block.zones) > 0 {
		p.block.warnings = append(p.block.warnings, fmt.Sprintf("%s: nameserver %s: names in the Corefile are complete, and this one is %s at the top level: write %s if that is meant, or %s if this is",
			p.at, args[0], ns.Name, args[0]+"."+strings.TrimSuffix(p.block.zones[0], "."), ns.Name))
	}
	if _, ok := p.cfg.serverPlaces[ns.Name]; !ok && len(ns.Addresses) > 0 {
		p.cfg.serverPlaces[ns.Name] = p.at
	}
	p.zone.Nameservers = append(p.zone.Nameservers, ns)
	return nil
}

func (p *parser) rname(args []string) error {
	if len(args) != 1 {
		return wanted(args, "EMAIL")
	}
	p.email = args[0]
	if records.Rname(p.email, "a.") == records.Rname(p.email, "b.") {
		return nil // it does not fall back to the zone's hostmaster
	}
	// Kuadrant takes what is not an address, and falls back; what is one, but
	// cannot be a name, is a mistake to be mended.
	if local, domain, _ := strings.Cut(strings.TrimSpace(p.email), "@"); local != "" && domain != "" {
		return wanted(args, "an e-mail address such as admin@example.com")
	}
	p.block.warnings = append(p.block.warnings, fmt.Sprintf(
		"%s: rname %q is not an e-mail address such as admin@example.com: the SOA has hostmaster and the zone in its place", p.at, p.email))
	return nil
}

func (p *parser) ownerTXT(args []string) error {
	const wants = "PREFIX, which names begin with: letters, digits, hyphens, underscores and dots, such as _owner-"
	if len(args) != 1 || strings.Trim(strings.ToLower(args[0]), "abcdefghijklmnopqrstuvwxyz0123456789-_.") != "" || strings.Contains(args[0], "..") || strings.HasPrefix(args[0], ".") {
		return wanted(args, wants)
	}
	p.zone.OwnerTXT = strings.ToLower(args[0])
	return nil
}

func (p *parser) fallThrough(args []string) error {
	for _, arg := range args {
		if _, err := zonesOf(arg); err != nil {
			return err
		}
	}
	p.block.fall.SetZonesFromArgs(args)
	return nil
}

// path makes a relative path relative to the directory of the Corefile's root
// plugin, as CoreDNS's own plugins do.
func (p *parser) path(file string) string {
	return rootedPath(dnsserver.GetConfig(p.c).Root, file)
}
