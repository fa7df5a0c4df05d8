package zone

import (
	"cmp"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

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
	records = coexisting(records, at, lose)
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
