package zone

import (
	"bytes"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// RRset is one RRset of a name. Snapshots and messages share its records: nobody may change them,
// and the slice is clipped, so that an append copies.
type RRset struct {
	Type uint16
	RRs  []dns.RR
}

// OfType returns the records of a type among sets.
func OfType(sets []RRset, rtype uint16) []dns.RR {
	for i := range sets {
		if sets[i].Type == rtype {
			return sets[i].RRs
		}
	}
	return nil
}

// compareData orders records of one type by their data, ignoring TTLs and owner names; 0 means
// equal.
func compareData(a, b dns.RR) int {
	switch a := a.(type) {
	case *dns.A:
		if b, ok := b.(*dns.A); ok {
			return bytes.Compare(a.A, b.A)
		}
	case *dns.AAAA:
		if b, ok := b.(*dns.AAAA); ok {
			return bytes.Compare(a.AAAA, b.AAAA)
		}
	}
	return strings.Compare(dataText(a), dataText(b))
}

// dataText returns a record's data in master-file form, in their canonical spelling.
func dataText(rr dns.RR) string {
	switch rr := rr.(type) { // the library writes no header for these, or another one
	case *dns.RFC3597:
		return rr.Rdata
	case *dns.NULL:
		return rr.Data
	}
	return strings.TrimPrefix(rr.String(), rr.Header().String())
}

// equal reports whether two RRsets have the same records.
func (s RRset) equal(o RRset) bool {
	return s.Type == o.Type && slices.EqualFunc(s.RRs, o.RRs, func(a, b dns.RR) bool {
		return a == b || a.Header().Ttl == b.Header().Ttl && compareData(a, b) == 0
	})
}

// merge merges RRsets of the same type in both lists, each data once, with the lower TTL. It
// changes neither list.
func merge(a, b []RRset) []RRset {
	if len(b) == 0 {
		return a
	}
	all := slices.Clone(a)
	for _, s := range b {
		i, found := slices.BinarySearchFunc(all, s.Type, func(s RRset, rtype uint16) int { return int(s.Type) - int(rtype) })
		if !found {
			all = slices.Insert(all, i, s)
			continue
		}
		all[i] = all[i].with(s)
	}
	return slices.Clip(all)
}

// with returns one set with the records of both.
func (s RRset) with(o RRset) RRset {
	rrs := slices.Concat(s.RRs, o.RRs)
	ttl := rrs[0].Header().Ttl
	for _, rr := range rrs {
		ttl = min(ttl, rr.Header().Ttl)
	}
	slices.SortStableFunc(rrs, compareData)
	rrs = slices.CompactFunc(rrs, func(a, b dns.RR) bool { return compareData(a, b) == 0 })
	for i, rr := range rrs {
		if rr.Header().Ttl != ttl {
			rrs[i] = rdata.CopyHeader(rr)
			rrs[i].Header().Ttl = ttl
		}
	}
	return RRset{s.Type, slices.Clip(rrs)}
}
