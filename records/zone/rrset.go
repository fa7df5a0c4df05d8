package zone

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/owner"
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

// Others is a name's data apart from its Records.
type Others struct {
	// Owner is the contender that owns the steered data; nil for none. By is the one whose namespace has the name; nil if the oldest
	// Record's has it.
	Owner, By *endpoint.Contender
	// refused are the Records that the claims of others keep out.
	refused []Refusal
	// Alias is true if a member, or the simple host, is a hostname: below the apex nothing stands
	// beside it (rule 5.3).
	Alias bool
	// Fixed is the Corefile's data, which Records do not change. copied is from a zone below.
	Fixed, copied []RRset
}

// reserved reports whether the Corefile gives the name addresses.
func (at *Others) reserved() bool {
	return slices.ContainsFunc(at.Fixed, func(s RRset) bool { return endpoint.Steered(s.Type) })
}

// RRsetsOf returns the RRsets that the Records at one name form, by type (rule 5.3). It calls lose,
// which may be nil, for each Record that is left out, or not served as written.
func RRsetsOf(records []*endpoint.Record, at Others, lose func(*endpoint.Record, *endpoint.Problem)) []RRset {
	if len(records) == 0 {
		return nil
	}
	if lose == nil {
		lose = func(*endpoint.Record, *endpoint.Problem) {}
	}
	records = besideOthers(records, at, lose)
	switch len(records) {
	case 0:
		return nil
	case 1: // almost always
		if rr := records[0].RR; at.copied == nil {
			return []RRset{{rr.Header().Rrtype, []dns.RR{rr}}}
		}
	}
	sortByData(records)
	var sets []RRset
	for len(records) > 0 {
		n := 1
		rtype := records[0].RR.Header().Rrtype
		for n < len(records) && records[n].RR.Header().Rrtype == rtype {
			n++
		}
		beside := takenBy(at.Fixed, rtype) + takenBy(at.copied, rtype)
		if on := fitting(records[:n], beside, lose); len(on) > 0 {
			sets = append(sets, oneRRset(on, lose))
		}
		records = records[n:]
	}
	return slices.Clip(sets)
}

// sortByData sorts Records by type and data, then age. It makes each text once.
func sortByData(records []*endpoint.Record) {
	text := make(map[*endpoint.Record]string, len(records))
	for _, r := range records {
		if t := r.RR.Header().Rrtype; t != dns.TypeA && t != dns.TypeAAAA {
			text[r] = dataText(r.RR)
		}
	}
	slices.SortFunc(records, func(a, b *endpoint.Record) int {
		if n := cmp.Compare(a.RR.Header().Rrtype, b.RR.Header().Rrtype); n != 0 {
			return n
		}
		if t, ok := text[a]; ok {
			return cmp.Or(strings.Compare(t, text[b]), a.Older(b))
		}
		return cmp.Or(compareData(a.RR, b.RR), a.Older(b))
	})
}

// besideOthers returns the Records that may stand beside each other and the other data. Older ones
// go first.
func besideOthers(records []*endpoint.Record, at Others, lose func(*endpoint.Record, *endpoint.Problem)) []*endpoint.Record {
	if len(records) == 1 && at.By == nil && at.Owner == nil && at.refused == nil && at.Fixed == nil {
		return records // almost always
	}
	byAge := slices.Clone(records)
	slices.SortStableFunc(byAge, (*endpoint.Record).Older) // an object's Records keep their order
	byAge = endpoint.LiveFirst(byAge, (*endpoint.Record).Missing, (*endpoint.Record).Contention)
	displaced, first := administrativeTypes(byAge, lose), at.First(byAge)
	var alias, dname *endpoint.Record // the first of their type
	var other *endpoint.Record        // the first of a type other than CNAME
	n := 0
	return slices.DeleteFunc(byAge, func(r *endpoint.Record) bool {
		rtype := r.RR.Header().Rrtype
		switch {
		case n == endpoint.MaxAtName:
			lose(r, endpoint.Problemf(endpoint.ReasonConflicted, "at most %d Records may have one name: serving the older ones", endpoint.MaxAtName))
		case at.claimOn(r) != nil:
			lose(r, at.claimOn(r).Problem(r.Name, &r.Record.Meta))
		case displaced[rtype] != nil && !r.Beside:
			lose(r, endpoint.Problemf(endpoint.ReasonConflicted,
				"%s of the administering namespace has the %s records at this name", displaced[rtype].Object(r), r.Record.Type))
		case at.Owner != nil && (endpoint.Steered(rtype) || at.Alias && r.Origin > 0):
			lose(r, &endpoint.Problem{Reason: endpoint.ReasonConflicted})
		case !r.Beside && at.By != nil && !r.Record.SameNamespace(at.By.By):
			lose(r, at.stranger(r))
		case !r.Beside && at.By == nil && first != nil && !r.Record.SameNamespace(&first.Record.Meta):
			lose(r, endpoint.Problemf(endpoint.ReasonConflicted, "the name belongs to %s", first.Object(r)))
		case at.reserved() && endpoint.Steered(rtype):
			lose(r, endpoint.Problemf(endpoint.ReasonConflicted,
				"%s is a name server of the Corefile, which has its addresses", endpoint.TrimDot(r.Name)))
		case rtype == dns.TypeCNAME && alias != nil && !dns.IsDuplicate(r.RR, alias.RR):
			lose(r, endpoint.Problemf(endpoint.ReasonConflicted, "a name can have only one CNAME: %s comes first", alias.Object(r)))
		case rtype == dns.TypeCNAME && other != nil:
			lose(r, endpoint.Problemf(endpoint.ReasonConflicted, "a CNAME cannot be beside other data: %s of type %s comes first", other.Object(r), other.Record.Type))
		case rtype != dns.TypeCNAME && alias != nil:
			lose(r, endpoint.Problemf(endpoint.ReasonConflicted, "a CNAME cannot be beside other data: %s comes first", alias.Object(r)))
		case rtype == dns.TypeDNAME && dname != nil && !dns.IsDuplicate(r.RR, dname.RR):
			lose(r, endpoint.Problemf(endpoint.ReasonConflicted, "a name can have only one DNAME: %s comes first", dname.Object(r)))
		default:
			n++
			switch {
			case rtype == dns.TypeCNAME:
				alias = cmp.Or(alias, r)
			case rtype == dns.TypeDNAME:
				dname, other = cmp.Or(dname, r), cmp.Or(other, r)
			default:
				other = cmp.Or(other, r)
			}
			return false
		}
		return true
	})
}

// administrativeTypes returns, by type, the first of some Records that stand beside any owner's: other namespaces' Records of these types do
// not join them (rule 5.3). nil for none, or if there are no others. It calls note for each that displaces others.
func administrativeTypes(records []*endpoint.Record, note func(*endpoint.Record, *endpoint.Problem)) (first map[uint16]*endpoint.Record) {
	beside := func(r *endpoint.Record) bool { return r.Beside }
	if !slices.ContainsFunc(records, beside) || !slices.ContainsFunc(records, func(r *endpoint.Record) bool { return !r.Beside }) {
		return nil // almost always
	}
	first = make(map[uint16]*endpoint.Record)
	for _, r := range records {
		if rtype := r.RR.Header().Rrtype; r.Beside && first[rtype] == nil {
			first[rtype] = r
		}
	}
	for _, r := range records {
		rtype := r.RR.Header().Rrtype
		others := func(o *endpoint.Record) bool { return !o.Beside && o.RR.Header().Rrtype == rtype }
		if i := slices.IndexFunc(records, others); r.Beside && i >= 0 {
			note(r, endpoint.Problemf(endpoint.ReasonDisplaces, "the %s records of other namespaces at this name, the first of %s, are not served beside it",
				r.Record.Type, records[i].Object(r)))
		}
	}
	return first
}

// claimOn returns the claim that keeps a Record out; nil for none.
func (at *Others) claimOn(r *endpoint.Record) *owner.Claim {
	i := slices.IndexFunc(at.refused, func(o Refusal) bool { return o.record == r })
	if i < 0 {
		return nil
	}
	return at.refused[i].claim
}

// stranger returns the problem that another namespace has the name of a Record.
func (at *Others) stranger(r *endpoint.Record) *endpoint.Problem {
	if at.Owner != nil {
		return &endpoint.Problem{Reason: endpoint.ReasonConflicted}
	}
	return endpoint.Problemf(endpoint.ReasonConflicted, "%s", at.By.Owns("the name", &r.Record.Meta))
}

// First returns the first of some Records that may have the name: of the namespace that has it, or of any if none is known to; nil for
// none.
func (at *Others) First(records []*endpoint.Record) *endpoint.Record {
	i := slices.IndexFunc(records, func(r *endpoint.Record) bool {
		return r.Owns() && at.claimOn(r) == nil && (at.By == nil || r.Record.SameNamespace(at.By.By))
	})
	if i < 0 {
		return nil
	}
	return records[i]
}

// HasAlias reports whether one host's contenders answer with a hostname.
func HasAlias(contenders []*endpoint.Contender) (any bool) {
	for _, c := range contenders {
		addresses, hostnames := c.LeadsTo()
		if addresses && !c.Pools() {
			return false // the addresses win (rule 1.7)
		}
		any = any || hostnames
	}
	return any
}

// oneRRset makes one RRset of Records of one type, sorted by data: each data once, with the lowest
// TTL (RFC 2181 §5 and §5.2).
func oneRRset(records []*endpoint.Record, lose func(*endpoint.Record, *endpoint.Problem)) RRset {
	ttl := records[0].RR.Header().Ttl
	for _, r := range records {
		ttl = min(ttl, r.RR.Header().Ttl)
	}
	rrs := make([]dns.RR, 0, len(records))
	for _, r := range records {
		rr := r.RR
		if rr.Header().Ttl != ttl {
			lose(r, endpoint.Problemf(endpoint.ReasonTTL, "the %s records at a name must have one TTL: serving the lowest, %d", r.Record.Type, ttl))
			rr = rdata.CopyHeader(rr)
			rr.Header().Ttl = ttl
		}
		if n := len(rrs); n == 0 || compareData(rrs[n-1], rr) != 0 {
			rrs = append(rrs, rr)
		}
	}
	return RRset{records[0].RR.Header().Rrtype, slices.Clip(rrs)}
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
