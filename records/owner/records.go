package owner

import (
	"slices"

	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
)

// OfRecords returns the owner of a name that has only Records: the contender of the oldest that nothing keeps out; nil for none.
func OfRecords(name string, at []*endpoint.Record, out func(*endpoint.Record) bool) *endpoint.Contender {
	var first *endpoint.Record
	for _, r := range at {
		if r.Owns() && (first == nil || r.Older(first) < 0) && !out(r) {
			first = r
		}
	}
	if first == nil {
		return nil
	}
	c := ofRecord(name, first)
	c.Addresses = slices.ContainsFunc(at, func(r *endpoint.Record) bool {
		return endpoint.Steered(r.RR.Header().Rrtype) && r.Record.SameNamespace(c.By) && !out(r)
	})
	return c
}

// ofRecord returns the contender of one Record's namespace.
func ofRecord(name string, r *endpoint.Record) *endpoint.Contender {
	return &endpoint.Contender{By: &r.Record.Meta, Kind: r.ObjectKind(), Host: name, RType: r.RR.Header().Rrtype, Static: true}
}

// ByRecord returns the claim of a Record at a name.
func ByRecord(kind ClaimKind, name string, r *endpoint.Record) Claim {
	return Claim{Kind: kind, By: ofRecord(name, r)}
}

// Contenders returns the contenders of the Records at a name, one for each namespace that may have records there: out reports what a claim
// keeps out.
func Contenders(name string, at []*endpoint.Record, out func(*endpoint.Record) bool) (all []*endpoint.Contender) {
	type namespace struct{ realm, name string }
	place := make(map[namespace]int)
	var first []*endpoint.Record // the oldest record of each contender
	for _, r := range at {
		if !r.Owns() || out(r) {
			continue
		}
		key := namespace{r.Record.Realm(), r.Record.Namespace()}
		i, known := place[key]
		if !known {
			i, first, all = len(all), append(first, r), append(all, &endpoint.Contender{Host: name, Static: true, Gone: true})
			place[key] = i
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
	if !r.Owns() {
		return false
	}
	i := slices.IndexFunc(at, (*endpoint.Record).Owns)
	return i >= 0 && !at[i].Record.SameNamespace(&r.Record.Meta)
}
