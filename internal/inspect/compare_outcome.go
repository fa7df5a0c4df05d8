package inspect

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records"
)

// ours returns the end of our answer.
func ours(x *records.Explanation) Outcome {
	r := Reply{Rcode: x.Rcode, Answer: AnswerOf(x), Authority: recordsOf(x.Authority)}
	return outcome(x.Name, x.Type, &r)
}

// AnswerOf returns the records of an explanation's answer.
func AnswerOf(x *records.Explanation) []dns.RR { return recordsOf(x.Answer) }

// recordsOf reads records, one in each text, and leaves out invalid ones. The texts may come from elsewhere: as dns.NewRR
// reads them, $INCLUDE would read a file.
func recordsOf(texts []string) (rrs []dns.RR) {
	for _, text := range texts {
		lines := dns.NewZoneParser(strings.NewReader(text+"\n"), ".", "")
		if rr, ok := lines.Next(); ok {
			rrs = append(rrs, rr)
		}
	}
	return rrs
}

// mostAliases bounds the CNAMEs followed in an answer: more than any resolver does.
const mostAliases = 64

// outcome returns the end of an answer, whose records may have any order.
func outcome(name, rtype string, r *Reply) Outcome {
	o := Outcome{Rcode: r.Rcode}
	first := true
	lower := func(ttl uint32) {
		if first || ttl < o.TTL {
			o.TTL, first = ttl, false
		}
	}
	at, alias := dns.Fqdn(name), ""
	for range mostAliases {
		var data []string
		next := ""
		for _, rr := range r.Answer {
			h := rr.Header()
			if !strings.EqualFold(h.Name, at) {
				continue
			}
			switch {
			case dns.Type(h.Rrtype).String() == rtype:
				lower(h.Ttl)
				data = append(data, dataText(rr))
			case h.Rrtype == dns.TypeCNAME:
				lower(h.Ttl)
				next = strings.ToLower(rr.(*dns.CNAME).Target)
			}
		}
		if data != nil {
			slices.Sort(data)
			o.Answers = [][]string{slices.Compact(data)}
			return o
		}
		if next == "" {
			break
		}
		at, alias = next, next
	}
	switch {
	case r.Rcode != rcodeFine && r.Rcode != rcodeAbsent:
	case alias != "" && (r.Rcode == rcodeAbsent || !denied(r.Authority)):
		o.Answers = [][]string{{"CNAME " + trim(alias)}}
	case r.Rcode == rcodeFine:
		var servers []string
		for _, ns := range referral(at, r.Authority) {
			lower(ns.Hdr.Ttl)
			o.cut = strings.ToLower(ns.Hdr.Name)
			text := dataText(ns)
			if rtype != "NS" || !strings.EqualFold(o.cut, at) { // else they are the data asked for
				text = "NS " + trim(text)
			}
			servers = append(servers, text)
		}
		if servers != nil {
			slices.Sort(servers)
			o.Answers = [][]string{slices.Compact(servers)}
		}
	}
	return o
}

// denied reports whether an answer's authority denies data (RFC 2308 §2.2).
func denied(authority []dns.RR) bool {
	return slices.ContainsFunc(authority, func(rr dns.RR) bool { return rr.Header().Rrtype == dns.TypeSOA })
}

// referral returns the NS records of an answer without data that refers to other servers (RFC 1034 §4.3.2); nil if it
// is no referral: with an SOA record it denies data (RFC 2308 §2.2).
func referral(name string, authority []dns.RR) (all []*dns.NS) {
	for _, rr := range authority {
		switch rr := rr.(type) {
		case *dns.SOA:
			return nil
		case *dns.NS:
			if dns.IsSubDomain(rr.Hdr.Name, name) && (len(all) == 0 || strings.EqualFold(all[0].Hdr.Name, rr.Hdr.Name)) {
				all = append(all, rr)
			}
		}
	}
	return all
}

// dataText returns the data of a record: an address in its usual form, others as in a zone file, with names in lower
// case.
func dataText(rr dns.RR) string {
	rr = lowerNames(rr)
	if unknown, ok := rr.(*dns.RFC3597); ok { // its text has its own form of class and type
		return strings.ToLower(unknown.Rdata)
	}
	text := strings.TrimPrefix(rr.String(), rr.Header().String())
	if a, err := netip.ParseAddr(text); err == nil {
		return a.String()
	}
	switch rr.(type) {
	case *dns.CNAME, *dns.NS, *dns.PTR, *dns.MX, *dns.SRV, *dns.DNAME, *dns.SOA, *dns.TLSA, *dns.SMIMEA, *dns.RP, *dns.AFSDB, *dns.KX:
		return strings.ToLower(text)
	}
	return text
}

// lowerNames returns a record with the names among its texts in lower case (RFC 4343 §3).
func lowerNames(rr dns.RR) dns.RR {
	switch rr.(type) {
	case *dns.SVCB, *dns.HTTPS, *dns.NAPTR, *dns.CAA:
		rr = dns.Copy(rr)
	}
	switch rr := rr.(type) {
	case *dns.SVCB:
		rr.Target = strings.ToLower(rr.Target)
	case *dns.HTTPS:
		rr.Target = strings.ToLower(rr.Target)
	case *dns.NAPTR:
		rr.Replacement = strings.ToLower(rr.Replacement)
	case *dns.CAA: // the tag (RFC 8659 §4.1)
		rr.Tag = strings.ToLower(rr.Tag)
	}
	return rr
}
