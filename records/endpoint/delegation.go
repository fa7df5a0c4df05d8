package endpoint

import (
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// grantee returns the namespace of an object as the delegations of a zone name it: "", which
// they cannot name, for one that is set apart from the one which they mean.
func grantee(zone *api.Zone, m *api.Meta) string {
	if m.Apart && m.Cluster != zone.Cluster {
		return ""
	}
	return m.Namespace()
}

// mayRecord reports whether the delegations of a zone let the namespace of m publish records
// of the type at a name, which is relative to the zone; "" is its apex (rules 5.1 and
// 6.4).
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

// mayZone reports whether the delegations of a zone let the namespace of m have a sub-zone at
// a name, which is relative to the zone.
func mayZone(zone *api.Zone, m *api.Meta, relative string) bool {
	for d := range zone.DelegationsTo(grantee(zone, m)) {
		if slices.ContainsFunc(d.Zones, func(pattern string) bool { return matchPattern(pattern, relative) }) {
			return true
		}
	}
	return false
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
		wanted, label := lastLabel(rest), lastLabel(name)
		if !matchLabel(wanted, label) {
			return false
		}
		rest, name = withoutLast(rest, wanted), withoutLast(name, label)
		switch {
		case rest == "":
			return (name == "") != many
		case name == "":
			return false
		}
	}
}

// lastLabel returns the last label of a name that has no final dot.
func lastLabel(name string) string {
	for at := len(name) - 1; at >= 0; at-- {
		if name[at] != '.' {
			continue
		}
		escapes := 0
		for at-escapes > 0 && name[at-escapes-1] == '\\' {
			escapes++
		}
		if escapes%2 == 0 { // else the dot is part of a label (RFC 1035 §5.1)
			return name[at+1:]
		}
	}
	return name
}

// withoutLast returns name without its last label, and the dot before it.
func withoutLast(name, last string) string {
	return strings.TrimSuffix(name[:len(name)-len(last)], ".")
}

// matchLabel reports whether a pattern, in which `*` stands for any characters, matches a
// label. It takes time in proportion to the product of their lengths at the most.
func matchLabel(pattern, label string) bool {
	p, l := 0, 0
	star, from := -1, 0 // the last `*`, and what it takes ends before from
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
