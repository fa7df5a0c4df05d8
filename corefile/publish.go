package corefile

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// everyNamespace stands for all namespaces in a line publish.
const everyNamespace = "*"

// publish reads who may publish at a domain and below it (rule 5.1).
func (p *parser) publish(args []string) error {
	if err := count(args, 2, -1, "DOMAIN NAMESPACE..."); err != nil {
		return err
	}
	if err := checkNamespaces(slices.DeleteFunc(slices.Clone(args[1:]), func(ns string) bool { return ns == everyNamespace })); err != nil {
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
	setting := p.cfg.Publish[domain]
	if err := shareList(&setting, args[1:]); err != nil {
		return err
	}
	if p.cfg.Publish == nil {
		p.cfg.Publish = make(map[string][]string)
	}
	p.cfg.Publish[domain] = setting
	p.cfg.Note(publishKey(domain), p.at)
	return nil
}

// publishKey is what Options.At finds a line by.
func publishKey(domain string) string { return "publish " + domain }

// closest returns the longest of names that is name or contains it; "" for none.
func closest(names map[string]bool, name string) string {
	for at := range rdata.Ancestors(name) {
		if names[at] {
			return at
		}
	}
	return ""
}

// Check fails where lines publish say who may publish in a part of a zone, and none says it of the zone: nothing opens or closes
// by silence (rule 5.1).
func (o *Options) Check() error {
	zones, domains := make(map[string]bool), make(map[string]bool)
	for _, z := range o.Zones {
		zones[z.Origin] = true
	}
	for domain := range o.Publish {
		domains[domain] = true
	}
	for _, domain := range slices.Sorted(maps.Keys(domains)) {
		zone := closest(zones, domain)
		if zone == "" || closest(domains, zone) != "" || strings.HasPrefix(domain, "_") { // such lines add to others (rule 5.9)
			continue
		}
		name := cmp.Or(strings.TrimSuffix(zone, "."), ".")
		return o.At(publishKey(domain)).Errorf("publish: %s is a part of the zone %s, and no line says who may publish in the rest of it: "+
			"write `publish %s *` for every namespace, or `publish %s NAMESPACE...`",
			strings.TrimSuffix(domain, "."), name, name, name)
	}
	return nil
}
