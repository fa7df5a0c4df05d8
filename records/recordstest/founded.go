package recordstest

import (
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// founded checks that what Records are told is true. A client gets the data of a served Record, in
// the answer or as a referral. It does not get those of one that is not served, unless another
// object has the same data, there or at a wildcard above.
func founded(s *records.Snapshot, wrong func(string, ...any)) {
	type datum struct {
		name, text string
		served     bool
	}
	told, more := make(map[datum][]string), make(map[datum]bool)
	for _, c := range s.Objects().Clusters {
		for name, rec := range c.Records.All() {
			v := s.Verdict(c.Name, api.Ref{Kind: api.KindRecord, Name: name})
			if v == nil || v.FQDN == "" || s.Zone(v.FQDN) == nil || rec.Class != "IN" {
				continue
			}
			rr := dataOf(s, v.FQDN, rec)
			if rr == nil {
				continue
			}
			cond := v.Conditions[0]
			if cond.Status != api.ConditionTrue && cond.Message == "" {
				wrong("Record %s is not told why it is not served", name)
			}
			served := cond.Status == api.ConditionTrue
			key := datum{v.FQDN, strings.TrimPrefix(rr.String(), rr.Header().String()), served}
			if served && cond.Message != api.MessageServed { // the message has more to say
				more[key] = true
				continue
			}
			told[key] = append(told[key], rec.Type+" "+c.Name+" "+name)
		}
	}
	for key, objects := range told {
		rtype, _, _ := strings.Cut(objects[0], " ")
		given := isGiven(s, key.name, rtype, key.text)
		_, twin := told[datum{key.name, key.text, !key.served}]
		twin = twin || more[datum{key.name, key.text, !key.served}]
		for up, ok := rdata.Parent(key.name); ok && given && !twin; up, ok = rdata.Parent(up) {
			wildcard := datum{rdata.WildcardOf(up), key.text, true}
			_, twin = told[wildcard]
			twin = twin || more[wildcard]
		}
		if given != key.served && !twin && !(given && othersSay(s, key.name, rtype)) {
			wrong("%s %s %s of %v: it is given to who asks: %v, and it is told: %v", key.name, rtype, key.text, objects, given, key.served)
		}
	}
}

// written are types whose data have only one text form.
var written = []uint16{dns.TypeA, dns.TypeAAAA, dns.TypeCNAME, dns.TypeNS, dns.TypeDNAME, dns.TypeTXT, dns.TypeMX, dns.TypeSRV, dns.TypeDS}

// dataOf returns a Record's data; nil if they are unreadable.
func dataOf(s *records.Snapshot, name string, rec *api.Record) dns.RR {
	rtype := dns.StringToType[rec.Type]
	if !slices.Contains(written, rtype) {
		return nil
	}
	origin := s.ZoneOf(name, rtype).Origin()
	rr, ok := dns.NewZoneParser(strings.NewReader(name+" 60 IN "+rec.Type+" "+rec.RData+"\n"), origin, "").Next()
	if !ok {
		return nil
	}
	return rr
}

// isGiven reports whether a query for a name and type returns the data.
func isGiven(s *records.Snapshot, name, rtype, text string) bool {
	t := dns.StringToType[rtype]
	q := records.Query{Name: name, Owner: name, Type: t, Locator: Network}
	var a records.Answer
	s.Lookup(s.ZoneOf(name, t), &q, &a)
	return slices.ContainsFunc(slices.Concat(a.Answer, a.Ns, a.Extra), func(rr dns.RR) bool {
		return rr.Header().Rrtype == t && strings.EqualFold(rr.Header().Name, name) && strings.EqualFold(strings.TrimPrefix(rr.String(),
			rr.Header().String()), text)
	})
}

// othersSay reports whether objects of other kinds have records of a type at a name, or at a wildcard above it.
func othersSay(s *records.Snapshot, name, rtype string) bool {
	names := []string{name}
	for up, ok := rdata.Parent(name); ok; up, ok = rdata.Parent(up) {
		names = append(names, rdata.WildcardOf(up))
	}
	says := func(all []api.Endpoint) bool {
		return slices.ContainsFunc(all, func(e api.Endpoint) bool { return e.Type == rtype && slices.Contains(names, e.DNSName) })
	}
	for _, c := range s.Objects().Clusters {
		for _, e := range c.DNSEndpoints.All() {
			if says(e.Endpoints) {
				return true
			}
		}
		for _, e := range c.DNSRecords.All() {
			if says(e.Endpoints) {
				return true
			}
		}
	}
	return rtype == "A" || rtype == "AAAA" || rtype == "CNAME" // a policy
}
