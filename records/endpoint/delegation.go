package endpoint

import (
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// grantee returns an object's namespace as the delegations of a zone name it; "", which they cannot
// name, for one that is separate from the namespace they mean.
func grantee(zone *api.Zone, m *api.Meta) string {
	if m.Apart && m.Cluster != zone.Cluster {
		return ""
	}
	return m.Namespace()
}

// mayRecord reports whether a zone's delegations let the namespace of m publish records of the type
// at a name relative to the zone; "" is its apex (rules 5.1 and 6.4).
func mayRecord(zone *api.Zone, m *api.Meta, relative, rtype string) bool {
	for d := range zone.DelegationsTo(grantee(zone, m)) {
		if slices.ContainsFunc(d.Records, func(r api.RecordDelegation) bool {
			return matchPattern(r.Pattern, relative) && grants(r.Types, rtype)
		}) {
			return true
		}
	}
	return false
}

// mayZone reports whether a zone's delegations let the namespace of m have a sub-zone at a name relative to the zone. One with a label that
// begins with _ is granted to others than the zone's namespace by a pattern with such a label alone (rule 5.9).
func mayZone(zone *api.Zone, m *api.Meta, relative string) bool {
	named := Underscored(relative) && !m.SameNamespace(&zone.Meta)
	for d := range zone.DelegationsTo(grantee(zone, m)) {
		if slices.ContainsFunc(d.Zones, func(pattern string) bool {
			return matchPattern(pattern, relative) && (!named || Underscored(pattern))
		}) {
			return true
		}
	}
	return false
}

// mayHave reports whether a zone's delegations let the namespace of m have anything at a name relative to the zone.
func mayHave(zone *api.Zone, m *api.Meta, relative string) bool {
	for d := range zone.DelegationsTo(grantee(zone, m)) {
		if slices.ContainsFunc(d.Records, func(r api.RecordDelegation) bool { return matchPattern(r.Pattern, relative) }) {
			return true
		}
	}
	return mayZone(zone, m, relative)
}

// matchPattern reports whether a pattern of rule 6.4 matches a name. Both are in lower
// case, relative to the zone and without a final dot; the apex is `@` in a pattern and
// "" as a name. A leading label `*` takes one or more labels; in other labels, `*` takes
// any characters of one.
func matchPattern(pattern, name string) bool {
	if pattern == "@" || name == "" {
		return pattern == "@" && name == ""
	}
	if pattern == "*" {
		return true
	}
	rest, many := strings.CutPrefix(pattern, rdata.Wildcard)
	for { // from the right
		p, _ := dns.PrevLabel(rest, 1)
		n, _ := dns.PrevLabel(name, 1)
		if !matchLabel(rest[p:], name[n:]) {
			return false
		}
		rest, name = rest[:max(p-1, 0)], name[:max(n-1, 0)]
		switch {
		case rest == "":
			return (name == "") != many
		case name == "":
			return false
		}
	}
}

// matchLabel reports whether a pattern matches a label; `*` stands for any characters. It takes
// time proportional to the product of their lengths at most.
func matchLabel(pattern, label string) bool {
	p, l := 0, 0
	star, from := -1, 0 // the last `*`; its match ends before from
	for l < len(label) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, from = p, l
			p++
		case p < len(pattern) && pattern[p] == label[l]:
			p++
			l++
		case star >= 0:
			from++
			p, l = star+1, from
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
