package api

import (
	"slices"

	"github.com/miekg/dns"
)

// delegations reads spec.delegations of a Zone. It leaves out those that cannot allow anything: a
// Zone may have very many.
func (r *reader) delegations() []Delegation {
	var all []Delegation
	for range r.elements() {
		if d, ok := r.delegation(); ok {
			all = append(all, d)
		}
	}
	return slices.Clip(all)
}

// maxPatterns bounds the patterns of one kind in one delegation: each is compared with every name of its namespaces.
const maxPatterns = 1000

// maxTypes bounds the types of one pattern: about as many have names.
const maxTypes = 100

// most returns the first count entries of a list.
func most[T any](r *reader, list []T, count int, what string) []T {
	if len(list) <= count {
		return list
	}
	r.fault("only the first %d %s count; the others allow nothing", count, what)
	return slices.Clip(list[:count])
}

// delegation reads one delegation; ok is false if it allows nothing.
//
// An unreadable list of namespaces must not pass for an empty one, which means all of them (rule
// 6.4). An unknown field may be a misspelt one, which then limits nothing: it is a fault here,
// unlike elsewhere.
func (r *reader) delegation() (d Delegation, ok bool) {
	limited, known := true, true
	for field := range r.fields() {
		switch string(field) {
		case "namespaces":
			d.Namespaces, limited = r.limits(namespaceName)
		case "zones":
			d.Zones, _ = r.limits(zonePattern)
			d.Zones = most(r, d.Zones, maxPatterns, "patterns")
		case "records":
			d.Records = most(r, r.recordDelegations(), maxPatterns, "patterns")
		default:
			known = false
			r.unknown("namespaces, zones or records")
		}
	}
	switch {
	case !known:
		r.fault("it has an unknown field, so it allows nothing")
	case !limited:
		r.fault("none of its namespaces is valid, so it allows nothing")
	}
	return d, known && limited && (len(d.Zones) > 0 || len(d.Records) > 0)
}

// unknown skips the value of an unknown field, and notes which fields exist.
func (r *reader) unknown(fields string) {
	r.walk.Skip()
	r.fault("unknown field: write %s", fields)
}

func (r *reader) recordDelegations() []RecordDelegation {
	var all []RecordDelegation
	for range r.elements() {
		var d RecordDelegation
		limited, known := true, true
		for field := range r.fields() {
			switch string(field) {
			case "pattern":
				d.Pattern = ""
				if text, ok := r.word(); ok {
					d.Pattern = r.usable(text, recordPattern)
				}
			case "types":
				d.Types, limited = r.limits(grantedType)
				d.Types = most(r, d.Types, maxTypes, "types")
			default:
				known = false
				r.unknown("pattern or types")
			}
		}
		switch {
		case !known:
			r.fault("it has an unknown field, so it allows nothing")
		case d.Pattern == "":
			r.fault("no pattern can match, so it allows nothing")
		case !limited:
			r.fault("none of its types is valid, so it allows nothing")
		default:
			all = append(all, d)
		}
	}
	return slices.Clip(all)
}

// limits reads a list of strings, converted by change, without the unusable ones. An empty list is
// nil. ok is false if the value is no list, or has entries but no usable one.
func (r *reader) limits(change func(text string) (word, wrong string)) (list []string, ok bool) {
	kind, entries := r.next(), 0
	for range r.elements() {
		entries++
		if text, ok := r.word(); ok {
			if word := r.usable(text, change); word != "" {
				list = append(list, word)
			}
		}
	}
	return slices.Clip(list), len(list) > 0 || entries == 0 && (kind == '[' || kind == 'n')
}

// usable returns change's result for the last text. If that is empty, it is a fault.
func (r *reader) usable(text string, change func(text string) (word, wrong string)) string {
	word, wrong := change(text)
	if wrong != "" {
		r.fault("%s %s", quote(text), wrong)
		return ""
	}
	return word
}

func namespaceName(text string) (name, wrong string) {
	if !isNamespace(text) {
		return "", "can never match: it is not a namespace name"
	}
	return text, ""
}

func zonePattern(text string) (pattern, wrong string) {
	if text == "@" {
		return "", "can never match: a zone's name is below its parent's"
	}
	return recordPattern(text)
}

// recordPattern returns a pattern in the spelling of the names that it is compared with.
func recordPattern(text string) (pattern, wrong string) {
	if text == "@" {
		return text, ""
	}
	if dns.IsFqdn(text) {
		return "", "can never match: patterns are relative to the zone, without a final dot"
	}
	name, wrong := CanonicalName(text)
	if wrong != "" {
		return "", "can never match: it " + wrong
	}
	return name, ""
}

func grantedType(text string) (name, wrong string) {
	name, ok := GrantedType(text)
	if !ok {
		return "", "can never match: write a type such as A, or remove types to allow all"
	}
	return name, ""
}
