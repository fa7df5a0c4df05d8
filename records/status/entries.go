package status

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/zone"
)

// The bounds of a Zone's status.entries: API servers refuse objects of more than about 1 MiB.
const (
	maxEntries     = 1000
	maxEntriesSize = 768 << 10 // octets in JSON
)

// Entries returns the content for a Zone's status.entries, made for the caller: the zone's records
// as in a transfer, the SOA first, up to a bound; more is true if there are more. They are nil if
// the Zone is not served.
func (s *View) Entries(cluster, name string) (entries []api.Entry, more bool) {
	z := s.zoneOfObject(cluster, name)
	if z == nil {
		return nil, false
	}
	size := 0
	add := func(rr dns.RR) bool {
		e := entryText(rr)
		text, _ := json.Marshal(e) // its length in a status: only the case of the field names differs
		if size += len(text) + len(","); len(entries) == maxEntries || size > maxEntriesSize {
			more = true
			return false
		}
		entries = append(entries, e)
		return true
	}
	// With the serial beside them in the status.
	add(z.Zone.SOA(z.MName(), cmp.Or(z.Keep().Serial, z.Serial())))
	for rrs := range z.Transfer() {
		for _, rr := range rrs {
			if !add(rr) {
				return entries, true
			}
		}
	}
	return entries, more
}

// zoneOfObject returns the zone served for a Zone; nil for none.
func (s *View) zoneOfObject(cluster, name string) *zone.Zone {
	a := s.Table.Admission(cluster, name)
	if a == nil || a.Problem != nil {
		return nil
	}
	z := s.Zone(a.FQDN)
	if z == nil || z.Origin() != a.FQDN || z.Object == nil || z.Object.Name != name || z.Object.Cluster != cluster {
		return nil
	}
	return z
}

// entryText returns a record as an entry.
func entryText(rr dns.RR) api.Entry {
	h := rr.Header()
	return api.Entry{
		FQDN: h.Name, Type: dns.Type(h.Rrtype).String(), Class: dns.Class(h.Class).String(), TTL: h.Ttl,
		RData: strings.TrimPrefix(rr.String(), h.String()),
	}
}

// overfull returns v, the verdict on a Zone, with one more condition if its status.entries does not
// hold all records.
func (s *View) overfull(cluster, name string, v *api.Verdict) *api.Verdict {
	z := s.zoneOfObject(cluster, name)
	if v == nil || z == nil {
		return v
	}
	entries, more := s.Entries(cluster, name)
	if !more {
		return v
	}
	kept := *v
	kept.Conditions = append(v.Conditions[:len(v.Conditions):len(v.Conditions)], api.Condition{
		Type: api.ConditionEntries, Status: api.ConditionFalse, Reason: endpoint.ReasonTooMany,
		Message: fmt.Sprintf("status.entries has only the first %d records of the zone; a zone transfer has all", len(entries)),
	})
	return &kept
}
