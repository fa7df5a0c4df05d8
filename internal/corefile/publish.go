package corefile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/engine"
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// everyNamespace means all namespaces in a publish line.
const everyNamespace = "*"

// publish reads a publish line: who may publish at a domain and below (rule 5.1).
func (p *parser) publish(args []string) error {
	if err := count(args, 2, -1, "DOMAIN NAMESPACE... [types TYPE...]"); err != nil {
		return err
	}
	namespaces, written := args[1:], ""
	var types []string
	if i := slices.Index(namespaces, "types"); i > 0 {
		var err error
		if types, err = checkTypes(namespaces[i+1:]); err != nil {
			return err
		}
		namespaces, written = namespaces[:i], " types "+strings.Join(types, " ")
	}
	if err := checkNamespaces(slices.DeleteFunc(slices.Clone(namespaces), func(ns string) bool { return ns == everyNamespace })); err != nil {
		return err
	}
	domain, err := publishDomain(args[0])
	if err != nil {
		return err
	}
	line := records.Publish{Domain: domain, Types: types}
	key := publishKey(line)
	if p.published[key] {
		return fmt.Errorf("%s appears twice in one block; write all its namespaces on one line", args[0]+written)
	}
	p.published[key] = true
	i, known := slices.BinarySearchFunc(p.cfg.Publish, key, func(o records.Publish, key string) int { return cmp.Compare(publishKey(o), key) })
	if !known {
		p.cfg.Publish = slices.Insert(p.cfg.Publish, i, line)
	}
	p.cfg.Note(key, p.at)
	return shareList(&p.cfg.Publish[i].Namespaces, namespaces)
}

// publishDomain parses a domain: a name, or a pattern that begins with _, in which * matches one label (rule 5.9).
func publishDomain(text string) (string, error) {
	if err := checkASCII(text); err != nil {
		return "", err
	}
	domain := strings.ToLower(dns.Fqdn(strings.TrimPrefix(text, "*.")))
	wild := slices.ContainsFunc(dns.SplitDomainName(domain), func(l string) bool { return strings.Contains(l, "*") && (l != "*" || domain[0] != '_') })
	if _, ok := dns.IsDomainName(domain); !ok || wild {
		return "", wanted([]string{text}, "a domain name without wildcards, or one that begins with _, which may have * labels")
	}
	return domain, nil
}

// checkTypes returns the record types of a publish line by name, sorted.
func checkTypes(types []string) ([]string, error) {
	if len(types) == 0 {
		return nil, wanted(nil, "types such as A, AAAA or NS")
	}
	all := make([]string, len(types))
	for i, t := range types {
		var ok bool
		if all[i], ok = api.GrantedType(t); !ok {
			return nil, wanted(types[i:i+1], "a type such as A, AAAA or NS")
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// publishKey is the key of a publish line for Options.At.
func publishKey(line records.Publish) string {
	if len(line.Types) == 0 {
		return "publish " + line.Domain
	}
	return "publish " + line.Domain + " types " + strings.Join(line.Types, " ")
}

// checkPublish returns an error if publish lines cover a part of a zone and none covers the zone itself: no part is
// open or closed by omission (rule 5.1).
func checkPublish(o *engine.Options) error {
	zones, domains := make(map[string]bool), make(map[string]bool)
	for _, z := range o.Zones {
		zones[z.Origin] = true
	}
	for _, line := range o.Publish {
		domains[line.Domain] = true
	}
	for _, line := range o.Publish {
		for zone := range rdata.Ancestors(line.Domain) {
			if _, covered := rdata.Closest(domains, zone); covered || !zones[zone] {
				continue
			}
			name := cmp.Or(strings.TrimSuffix(zone, "."), ".")
			return o.At(publishKey(line)).Errorf("publish: %s is only a part of zone %q; say who may publish in the rest: "+
				"`publish %s *` for every namespace, or `publish %s NAMESPACE...`",
				strings.TrimSuffix(line.Domain, "."), name, name, name)
		}
	}
	return nil
}
