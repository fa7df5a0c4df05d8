package records

import (
	"cmp"
	"slices"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// The SOA fields of a zone that only the Corefile knows, and the TTL of what
// stands at its apex, in seconds (rule 6.8).
const (
	soaRefresh = 3600
	soaRetry   = 600
	soaExpire  = 1209600
	soaMinimum = 60
	apexTTL    = 3600
)

// fixedSets returns the RRsets that the Corefile puts into the zone: the apex NS set,
// and the addresses of the name servers that lie in the zone. Their keys are owner
// names. A name server without an address has an entry without sets, so that its name
// exists (rule 6.8).
func (at *site) fixedSets() map[string][]rrset {
	sets := make(map[string][]rrset)
	servers, ttl := at.nameservers(), uint32(apexTTL)
	if at.object != nil {
		ttl = at.object.TTL
	}
	ns := make([]dns.RR, 0, len(servers))
	for _, s := range servers {
		ns = append(ns, &dns.NS{Hdr: header(at.origin, dns.TypeNS, ttl), Ns: s.Name})
		if !rdata.IsSubdomain(at.origin, s.Name) {
			continue
		}
		v4, v6 := splitFamilies(s.Addresses)
		own := append([]rrset{}, sets[s.Name]...)
		if len(v4) > 0 {
			own = append(own, rrset{dns.TypeA, addressRRs(s.Name, ttl, v4)})
		}
		if len(v6) > 0 {
			own = append(own, rrset{dns.TypeAAAA, addressRRs(s.Name, ttl, v6)})
		}
		sets[s.Name] = own
	}
	sets[at.origin] = append([]rrset{{dns.TypeNS, slices.Clip(ns)}}, sets[at.origin]...)
	return sets
}

// nameservers returns the name servers of the Corefile, or ns.<origin> to stand in.
func (at *site) nameservers() []Nameserver {
	switch {
	case len(at.corefile.Nameservers) > 0:
		return at.corefile.Nameservers
	default:
		return []Nameserver{{Name: within("ns", at.origin)}}
	}
}

// within returns the name of a label in origin, or origin itself where that would be too
// long for a name.
func within(label, origin string) string {
	name, err := rdata.Below(origin, label)
	if err != nil {
		return origin
	}
	return name
}

// soa returns the zone's SOA record with the given serial; ns is its first name server
// (rule 6.8).
func (at *site) soa(ns string, serial uint32) *dns.SOA {
	rname := at.corefile.Rname
	if rname == "" || at.origin != at.corefile.Origin && rname == hostmaster(at.corefile.Origin) {
		rname = hostmaster(at.origin)
	}
	soa := &dns.SOA{
		Hdr: header(at.origin, dns.TypeSOA, apexTTL), Ns: ns, Mbox: rname, Serial: serial,
		Refresh: soaRefresh, Retry: soaRetry, Expire: soaExpire, Minttl: soaMinimum,
	}
	if z := at.object; z != nil {
		soa.Hdr.Ttl = z.TTL
		soa.Ns, soa.Mbox = cmp.Or(z.Mname, ns), cmp.Or(z.Rname, rname)
		soa.Refresh, soa.Retry, soa.Expire, soa.Minttl = z.Refresh, z.Retry, z.Expire, z.Minimum
	}
	return soa
}
