package corefile

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

func (p *parser) zoneNamespaces(args []string) error {
	if err := count(args, 1, -1, "NAMESPACE..."); err != nil {
		return err
	}
	if err := checkNamespaces(args); err != nil {
		return err
	}
	return shareList(&p.cfg.ZoneNamespaces, args)
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
	if err := checkASCII(args[0]); err != nil {
		return err
	}
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
		if addr = addr.Unmap(); rdata.NoHost(addr) != "" {
			return wanted([]string{a}, "an address that resolvers can query")
		}
		ns.Addresses = append(ns.Addresses, addr)
	}
	inside := false
	for _, zone := range p.block.Zones {
		if !rdata.IsSubdomain(zone, ns.Name) {
			continue
		}
		if inside = true; len(ns.Addresses) == 0 {
			return fmt.Errorf("%s is in zone %q and has no address; write its addresses after its name", ns.Name, zone)
		}
	}
	if !inside && !strings.Contains(args[0], ".") && len(p.block.Zones) > 0 {
		p.block.Warnings = append(p.block.Warnings, fmt.Sprintf("%s: nameserver %s: names in the Corefile are absolute, so this is the top-level name %s; write %s if you mean that, or %s to keep it",
			p.at, args[0], ns.Name, args[0]+"."+strings.TrimSuffix(p.block.Zones[0], "."), ns.Name))
	}
	if len(ns.Addresses) > 0 {
		p.cfg.Note(nameserverKey(ns.Name), p.at)
	}
	p.zone.Nameservers = append(p.zone.Nameservers, ns)
	return nil
}

func (p *parser) rname(args []string) error {
	if len(args) != 1 {
		return wanted(args, "EMAIL")
	}
	p.email = args[0]
	if _, domain, _ := strings.Cut(p.email, "@"); checkASCII(domain) != nil {
		return checkASCII(domain)
	}
	if records.Rname(p.email) != "" {
		return nil
	}
	// Like Kuadrant, fall back if EMAIL is not an address. An address that cannot be an RNAME is an error.
	if local, domain, _ := strings.Cut(strings.TrimSpace(p.email), "@"); local != "" && domain != "" {
		return wanted(args, "an e-mail address such as admin@example.com")
	}
	p.block.Warnings = append(p.block.Warnings, fmt.Sprintf(
		"%s: rname %q is not an e-mail address such as admin@example.com; using hostmaster@<zone> instead", p.at, p.email))
	return nil
}

func (p *parser) ownerTXT(args []string) error {
	const wants = "a PREFIX of letters, digits, hyphens, underscores and dots, such as _owner-"
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
	p.block.Fall.SetZonesFromArgs(args)
	return nil
}
