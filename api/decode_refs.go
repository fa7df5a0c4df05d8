package api

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// kindSecret is the kind of the providers that this server serves.
const kindSecret = "Secret"

// providerRefs reads v1's list of at most one reference, and returns the first; nil for none.
func (r *reader) providerRefs(invalid *notes) *Provider {
	var first *Provider
	n := 0
	for range r.elements() {
		if n++; n == 1 {
			first = r.providerRef(invalid)
		}
	}
	if n > 1 {
		invalid.add(fmt.Sprintf("spec.providerRefs: Too many: %d: must have at most 1 item", n))
	}
	return first
}

// providerRef reads a reference, nil for none: Kuadrant's authoritative DNSRecords have one without a name.
func (r *reader) providerRef(invalid *notes) *Provider {
	if !r.is('{', "an object") {
		return nil
	}
	p := &Provider{Kind: kindSecret}
	for field := range r.fields() {
		switch string(field) {
		case "name":
			p.Name, _ = r.word()
		case "namespace":
			p.Namespace, _ = r.word()
		case "kind":
			if kind, ok := r.word(); ok && kind != "" {
				p.Kind = kind
			}
		}
	}
	switch {
	case strings.EqualFold(p.Kind, kindSecret) && p.Name == "":
		return nil
	case strings.EqualFold(p.Kind, kindSecret):
		if p.Kind = kindSecret; !isSubdomain(p.Name) {
			invalid.add(r.path() + ".name " + quote(p.Name) + ": write the name of a Secret")
		}
	case strings.EqualFold(p.Kind, "ManagedZone"):
		invalid.add(r.path() + ".kind ManagedZone is no longer supported: refer to a Secret with the fields ZONE_ID and DOMAIN_NAME instead")
	}
	return p
}

// selector reads a label selector. A wrong one selects nothing.
func (r *reader) selector(invalid *notes) labels.Selector {
	var s metav1.LabelSelector
	for field := range r.fields() {
		switch string(field) {
		case "matchLabels":
			s.MatchLabels = r.stringMap(allKeys)
		case "matchExpressions":
			s.MatchExpressions = nil
			for range r.elements() {
				s.MatchExpressions = append(s.MatchExpressions, r.requirement())
			}
		}
	}
	// A map has no order, but the message about a wrong entry must be the same each time.
	all := metav1.LabelSelector{MatchExpressions: s.MatchExpressions}
	for _, key := range slices.Sorted(maps.Keys(s.MatchLabels)) {
		all.MatchExpressions = append(all.MatchExpressions, metav1.LabelSelectorRequirement{
			Key: key, Operator: metav1.LabelSelectorOpIn, Values: []string{s.MatchLabels[key]},
		})
	}
	selector, err := metav1.LabelSelectorAsSelector(&all)
	if err != nil {
		const longest = 200 // the error repeats the text it is about
		why := err.Error()
		invalid.add(r.path() + ": " + strings.ToValidUTF8(why[:min(len(why), longest)], ""))
		return labels.Nothing()
	}
	return selector
}

func (r *reader) requirement() (q metav1.LabelSelectorRequirement) {
	for field := range r.fields() {
		switch string(field) {
		case "key":
			q.Key, _ = r.word()
		case "operator":
			text, _ := r.word()
			q.Operator = metav1.LabelSelectorOperator(text)
		case "values":
			q.Values = nil
			for range r.elements() {
				if text, ok := r.word(); ok {
					q.Values = append(q.Values, text)
				}
			}
		}
	}
	return q
}

// maxExclusions is the CRD's limit; each address is compared with all.
const maxExclusions = 20

func (r *reader) exclusions(invalid *notes) []Exclusion {
	var list []Exclusion
	n := 0
	for range r.elements() {
		text, ok := r.text()
		if n++; !ok || n > maxExclusions {
			continue
		}
		x, err := parseExclusion(text)
		if err != "" {
			invalid.add(err)
			continue
		}
		list = append(list, x)
	}
	if n > maxExclusions {
		invalid.add(fmt.Sprintf("spec.excludeAddresses: Too many: %d: must have at most %d items", n, maxExclusions))
	}
	return list
}

// parseExclusion parses a CIDR, an address or a host name; wrong says what is wrong with it.
func parseExclusion(text string) (x Exclusion, wrong string) {
	if strings.Contains(text, "/") {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return x, "could not parse the CIDR from the excludeAddresses field: " + quote(text) +
				" is not an address and a length such as 10.0.0.0/8"
		}
		if a := p.Addr(); a.Is4In6() && p.Bits() >= 96 {
			p = netip.PrefixFrom(a.Unmap(), p.Bits()-96)
		}
		return Exclusion{Prefix: p.Masked()}, ""
	}
	if a, err := netip.ParseAddr(text); err == nil && a.Zone() == "" {
		a = a.Unmap()
		return Exclusion{Prefix: netip.PrefixFrom(a, a.BitLen())}, ""
	}
	host := strings.ToLower(strings.TrimSuffix(text, "."))
	if !isHostname(host) {
		return x, "spec.excludeAddresses: " + notHost(text, " is not an address, a CIDR or a hostname")
	}
	return Exclusion{Hostname: host}, ""
}

// isHostname reports whether s, in lower case and without a final dot, can be a host's name. What
// looks like an address cannot: its last label is a number (RFC 1123 §2.1).
func isHostname(s string) bool {
	if s == "" || len(s) > 253 {
		return false
	}
	last := s
	for label := range strings.SplitSeq(s, ".") {
		if len(label) == 0 || len(label) > 63 || !only(label, lower+digits+"-_") {
			return false
		}
		last = label
	}
	return !only(last, digits)
}
