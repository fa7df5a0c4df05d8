package owner

import (
	"slices"

	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
)

// OfRecords returns the owner of a name that has only Records: the contender of the oldest; nil for none. Records that stand beside others'
// data own nothing (rule 5.3).
func OfRecords(name string, at []*endpoint.Record) *endpoint.Contender {
	var first *endpoint.Record
	for _, r := range at {
		if !r.Beside && (first == nil || r.Older(first) < 0) {
			first = r
		}
	}
	if first == nil {
		return nil
	}
	return &endpoint.Contender{By: &first.Record.Meta, Kind: first.ObjectKind(), Host: name, RType: first.RR.Header().Rrtype}
}

// Contenders returns the contenders of the Records at a name, one for each namespace that may have records there; above is the owner of the
// name above the labels that begin with _ (rule 5.9).
func Contenders(name string, at []*endpoint.Record, above *endpoint.Contender) (all []*endpoint.Contender) {
	var first []*endpoint.Record // the oldest record of each contender
	for _, r := range at {
		if r.Beside || r.Bound && Strange(above, &r.Record.Meta) {
			continue
		}
		i := slices.IndexFunc(first, func(o *endpoint.Record) bool { return o.Record.SameNamespace(&r.Record.Meta) })
		if i < 0 {
			i, first, all = len(all), append(first, r), append(all, &endpoint.Contender{Host: name, Static: true, Gone: true})
		}
		if r.Older(first[i]) < 0 {
			first[i] = r
		}
		c := all[i]
		c.Addresses = c.Addresses || endpoint.Steered(r.RR.Header().Rrtype)
		c.Gone = c.Gone && r.Missing()
	}
	for i, r := range first {
		all[i].By, all[i].Kind, all[i].RType = &r.Record.Meta, r.ObjectKind(), r.RR.Header().Rrtype
	}
	return all
}

// Meets reports whether a Record's namespace differs from those at a name already.
func Meets(at []*endpoint.Record, r *endpoint.Record) bool {
	if r.Beside {
		return false
	}
	i := slices.IndexFunc(at, func(o *endpoint.Record) bool { return !o.Beside })
	return i >= 0 && !at[i].Record.SameNamespace(&r.Record.Meta)
}
