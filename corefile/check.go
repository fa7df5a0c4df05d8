package corefile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/engine"
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// Warnings returns what is most likely a mistake in the whole Corefile, and is served as it stands.
func Warnings(o *engine.Options) []string { return slices.Concat(idlePublish(o), idleAddresses(o)) }

// idlePublish returns a warning for each line publish whose domain has nothing to do with the zones of the Corefile, in the order
// of the domains: other names are not served, and a misspelt one closes nothing (rule 5.1).
func idlePublish(o *engine.Options) (warnings []string) {
	for _, line := range slices.Sorted(maps.Keys(o.Publish)) {
		domain, types, _ := strings.Cut(line, " ")
		fixed := domain[strings.LastIndex(domain, "*.")+1:] // behind the labels * of a pattern
		if !slices.ContainsFunc(o.Zones, func(z records.ZoneOptions) bool { return related(z.Origin, strings.TrimPrefix(fixed, ".")) }) {
			warnings = append(warnings, fmt.Sprintf("%s: publish %s: no zone served here now has this name, contains it or lies in it: the line lets nobody publish, and limits nobody",
				o.At(publishKey(line)), strings.TrimSpace(strings.TrimSuffix(domain, ".")+" "+types)))
		}
	}
	return warnings
}

// idleAddresses returns a warning for each line nameserver with addresses whose name lies in no zone of the Corefile: they are
// those of a name that is served elsewhere.
func idleAddresses(o *engine.Options) (warnings []string) {
	addressed := make(map[string]bool)
	for _, z := range o.Zones {
		for _, ns := range z.Nameservers {
			addressed[ns.Name] = addressed[ns.Name] || len(ns.Addresses) > 0
		}
	}
	for _, name := range slices.Sorted(maps.Keys(addressed)) {
		if addressed[name] && !slices.ContainsFunc(o.Zones, func(z records.ZoneOptions) bool { return rdata.IsSubdomain(z.Origin, name) }) {
			warnings = append(warnings, fmt.Sprintf("%s: nameserver %s: no zone served here now contains this name, so its addresses are not served: they belong into the zone that it lies in",
				o.At(nameserverKey(name)), strings.TrimSuffix(name, ".")))
		}
	}
	return warnings
}

// related reports whether one of two names is, or contains, the other.
func related(a, b string) bool { return rdata.IsSubdomain(a, b) || rdata.IsSubdomain(b, a) }

// nameserverKey is what Options.At finds a line nameserver by.
func nameserverKey(name string) string { return "nameserver " + name }
