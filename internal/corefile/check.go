package corefile

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/internal/engine"
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// WatchNamespaces is the environment variable equivalent to the property namespaces: a comma-separated list.
const WatchNamespaces = "WATCH_NAMESPACES"

// Check completes o from the environment. It returns an error if the Corefile as a whole cannot work.
func Check(o *engine.Options) error {
	if sel := &o.Selection; sel.Namespaces == nil {
		names := strings.FieldsFunc(os.Getenv(WatchNamespaces), func(r rune) bool { return r == ',' || r == ' ' })
		if err := checkNamespaces(names); err != nil {
			return o.At(engine.PluginName).Errorf("variable %s: %w", WatchNamespaces, err)
		}
		sel.Namespaces = slices.Compact(slices.Sorted(slices.Values(names)))
		o.Note("namespaces", WatchNamespaces)
	}
	for _, property := range []string{"write-back", "write-rate", "lease"} {
		if at := o.At(property); at != "" && len(o.Manifests) > 0 {
			return at.Errorf("%s: not allowed with manifests: nothing is written back to files", property)
		}
	}
	if at := o.At("group"); at != "" && len(o.Manifests) > 0 {
		return at.Errorf("group: manifests have no main cluster: write it in the block of a line manifests")
	}
	return checkPublish(o)
}

// Warnings returns the probable mistakes that only the whole Corefile shows. They do not prevent serving.
func Warnings(o *engine.Options) []string { return slices.Concat(idlePublish(o), idleAddresses(o)) }

// idlePublish returns a warning for each publish line whose domain is unrelated to all zones of the Corefile, sorted
// by domain: such a line, perhaps misspelt, restricts nothing (rule 5.1).
func idlePublish(o *engine.Options) (warnings []string) {
	for _, line := range o.Publish {
		fixed := line.Domain[strings.LastIndex(line.Domain, "*.")+1:] // without the * labels of a pattern
		if !slices.ContainsFunc(o.Zones, func(z records.ZoneOptions) bool { return related(z.Origin, strings.TrimPrefix(fixed, ".")) }) {
			warnings = append(warnings, fmt.Sprintf("%s: %s: no zone of the Corefile has this name, contains it or lies below it; the line has no effect",
				o.At(publishKey(line)), strings.Replace(strings.TrimSuffix(publishKey(line), "."), ". types ", " types ", 1)))
		}
	}
	return warnings
}

// idleAddresses returns a warning for each nameserver line with addresses whose name is in no zone of the Corefile:
// the addresses are never served.
func idleAddresses(o *engine.Options) (warnings []string) {
	addressed := make(map[string]bool)
	for _, z := range o.Zones {
		for _, ns := range z.Nameservers {
			addressed[ns.Name] = addressed[ns.Name] || len(ns.Addresses) > 0
		}
	}
	for _, name := range slices.Sorted(maps.Keys(addressed)) {
		if addressed[name] && !slices.ContainsFunc(o.Zones, func(z records.ZoneOptions) bool { return rdata.IsSubdomain(z.Origin, name) }) {
			warnings = append(warnings, fmt.Sprintf("%s: nameserver %s: no zone of the Corefile contains this name, so its addresses are not served; add them to the zone that does",
				o.At(nameserverKey(name)), strings.TrimSuffix(name, ".")))
		}
	}
	return warnings
}

// related reports whether one of two names is, or contains, the other.
func related(a, b string) bool { return rdata.IsSubdomain(a, b) || rdata.IsSubdomain(b, a) }

// nameserverKey is the key of a nameserver line for Options.At.
func nameserverKey(name string) string { return "nameserver " + name }
