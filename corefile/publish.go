package corefile

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/engine"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// everyNamespace stands for all namespaces in a line publish.
const everyNamespace = "*"

// publish reads who may publish at a domain and below it (rule 5.1).
func (p *parser) publish(args []string) error {
	if err := count(args, 2, -1, "DOMAIN NAMESPACE... [types TYPE...]"); err != nil {
		return err
	}
	namespaces, types := args[1:], ""
	if i := slices.Index(namespaces, "types"); i > 0 {
		all, err := checkTypes(namespaces[i+1:])
		if err != nil {
			return err
		}
		namespaces, types = namespaces[:i], " types "+strings.Join(all, " ")
	}
	if err := engine.CheckNamespaces(slices.DeleteFunc(slices.Clone(namespaces), func(ns string) bool { return ns == everyNamespace })); err != nil {
		return err
	}
	domain, err := publishDomain(args[0])
	if err != nil {
		return err
	}
	domain += types
	if p.published[domain] {
		return fmt.Errorf("%s is given twice in one block: write all its namespaces in one line", args[0]+types)
	}
	p.published[domain] = true
	setting := p.cfg.Publish[domain]
	if err := shareList(&setting, namespaces); err != nil {
		return err
	}
	if p.cfg.Publish == nil {
		p.cfg.Publish = make(map[string][]string)
	}
	p.cfg.Publish[domain] = setting
	p.cfg.Note(publishKey(domain), p.at)
	return nil
}

// publishDomain reads a domain: a name, or a pattern that begins with _, in which * stands for one label (rule 5.9).
func publishDomain(text string) (string, error) {
	domain := strings.ToLower(dns.Fqdn(strings.TrimPrefix(text, "*.")))
	wild := slices.ContainsFunc(dns.SplitDomainName(domain), func(l string) bool { return strings.Contains(l, "*") && (l != "*" || domain[0] != '_') })
	if _, ok := dns.IsDomainName(domain); !ok || wild {
		return "", wanted([]string{text}, "a domain name, which stands for itself and all below it, or one that begins with _, which may have labels *")
	}
	return domain, nil
}

// checkTypes returns the types that a line publish names, in upper case and in order.
func checkTypes(types []string) ([]string, error) {
	if len(types) == 0 {
		return nil, wanted(nil, "types such as A, AAAA or NS")
	}
	all := make([]string, len(types))
	for i, t := range types {
		all[i] = strings.ToUpper(t)
		if _, ok := dns.StringToType[all[i]]; !ok {
			return nil, wanted(types[i:i+1], "a type such as A, AAAA or NS")
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// publishKey is what Options.At finds a line by.
func publishKey(line string) string { return "publish " + line }

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
func Check(o *engine.Options) error {
	zones, domains := make(map[string]bool), make(map[string]bool)
	for _, z := range o.Zones {
		zones[z.Origin] = true
	}
	places := make(map[string]string) // a line of each domain
	for _, line := range slices.Sorted(maps.Keys(o.Publish)) {
		domain, _, _ := strings.Cut(line, " ")
		domains[domain], places[domain] = true, cmp.Or(places[domain], line)
	}
	for _, domain := range slices.Sorted(maps.Keys(domains)) {
		zone := closest(zones, domain)
		if zone == "" || closest(domains, zone) != "" || strings.HasPrefix(domain, "_") { // such lines add to others (rule 5.9)
			continue
		}
		name := cmp.Or(strings.TrimSuffix(zone, "."), ".")
		return o.At(publishKey(places[domain])).Errorf("publish: %s is a part of the zone %s, and no line says who may publish in the rest of it: "+
			"write `publish %s *` for every namespace, or `publish %s NAMESPACE...`",
			strings.TrimSuffix(domain, "."), name, name, name)
	}
	return nil
}
