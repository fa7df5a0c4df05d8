package zone

import (
	"slices"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
)

// maxRRset bounds an RRset in a message, in octets, each record with a compressed owner name. A
// message of 65,535 octets also has a header, a question and an owner name of 255 octets, an OPT
// and a TSIG, a chain of CNAMEs that leads to the RRset, and signatures: 5,535 octets are for them.
// An RRset that fits into no message is never answered (RFC 2181 §9), and keeps secondaries from
// the whole zone (rule 8.1).
const maxRRset = 60_000

// recordOctets is how many octets a record adds to an RRset in a message: a pointer to its owner
// name, the fields before its data (RFC 1035 §3.2.1), and its data.
func recordOctets(rr dns.RR) int {
	const pointer, fields = 2, 10
	n := int(rr.Header().Rdlength) // known since the record was checked
	switch rr := rr.(type) {
	case *dns.A:
		n = len(rr.A)
	case *dns.AAAA:
		n = len(rr.AAAA)
	}
	if n == 0 {
		n = dns.Len(rr) // the Corefile's
	}
	return pointer + fields + n
}

// takenBy is the size in a message, in octets, of the records of a type among sets.
func takenBy(sets []RRset, rtype uint16) (n int) {
	for _, rr := range OfType(sets, rtype) {
		n += recordOctets(rr)
	}
	return n
}

// fitting returns those of some Records of one type, sorted by data and then by age, that fit into
// a message beside other records of the RRset, whose octets beside counts. Those of the oldest
// objects stay; at least one does if nothing is beside them. It calls lose for each of the others.
func fitting(records []*endpoint.Record, beside int, lose func(*endpoint.Record, *endpoint.Problem)) []*endpoint.Record {
	all := beside
	var oldest []int // the first one of each data
	for i, r := range records {
		if i == 0 || compareData(records[i-1].RR, r.RR) != 0 {
			all += recordOctets(r.RR)
			oldest = append(oldest, i)
		}
	}
	if all <= maxRRset || len(oldest) == 1 && beside == 0 {
		return records
	}
	slices.SortStableFunc(oldest, func(i, j int) int { return records[i].Older(records[j]) })
	stays := make([]bool, len(records))
	room := maxRRset - beside
	for n, i := range oldest {
		size := recordOctets(records[i].RR)
		if stays[i] = size <= room || n == 0 && beside == 0; stays[i] {
			room -= size
		}
	}
	kept := make([]*endpoint.Record, 0, len(records))
	stay := false
	for i, r := range records {
		if i == 0 || compareData(records[i-1].RR, r.RR) != 0 {
			stay = stays[i]
		}
		if stay {
			kept = append(kept, r)
			continue
		}
		lose(r, endpoint.Problemf(endpoint.ReasonConflicted,
			"the %s records at the name have more than the %d octets that a message can hold: serving those of older objects",
			r.Record.Type, maxRRset))
	}
	return kept
}
