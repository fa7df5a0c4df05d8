package api

import (
	"slices"
	"strings"

	"github.com/miekg/dns"
)

// delegations reads spec.delegations of a Zone. What can never allow anything is left
// out: a Zone may have very many.
func (r *reader) delegations() []Delegation {
	var all []Delegation
	for range r.elements() {
		if d, ok := r.delegation(); ok {
			all = append(all, d)
		}
	}
	return slices.Clip(all)
}

// maxPatterns is how many patterns of one kind one delegation can have: each is looked at for each name of its namespaces.
const maxPatterns = 1000

// maxTypes is how many types one pattern can have: about as many have names.
const maxTypes = 100

// most returns the first entries of a list, as many as count.
func most[T any](r *reader, list []T, count int, what string) []T {
	if len(list) <= count {
		return list
	}
	r.fault("only the first %d %s count; the others allow nothing", count, what)
	return slices.Clip(list[:count])
}

// delegation reads one of them; ok is false where it allows nothing.
//
// A list of namespaces that cannot be read must not pass for an empty one, which means
// all of them (rule 6.4). A field that there is not may be one that is misspelt, and so
// limits nothing: it is a fault here, though not elsewhere.
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

// unknown reads the value of a field that there is not, and says which there are.
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
				d.Types, limited = r.limits(typeName)
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

// limits reads a list of strings, each as change makes it, less those that are
// unusable. An empty list is nil. ok is false where the list has entries, or is no list,
// and none of it is usable.
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

// usable returns what change makes of the text that was read last. Where that is
// nothing, it is a fault.
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

// recordPattern returns a pattern in the spelling of the names that it is compared
// with.
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

// typeName returns the name of a type in upper case.
func typeName(text string) (name, wrong string) {
	name = strings.ToUpper(text)
	// RFC 6895 §3.1: no data has a type from 128 to 255; ANY is one of them.
	if t, ok := dns.StringToType[name]; ok && (t < 128 || t > 255) {
		return name, ""
	}
	if number, ok := strings.CutPrefix(name, "TYPE"); ok && number != "" && len(number) <= 5 && only(number, digits) {
		return name, "" // RFC 3597 §5
	}
	return "", "can never match: write a type such as A, or remove types to allow all"
}
