package zone

import (
	"net/netip"
	"slices"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// fixedSets returns the RRsets that the Corefile puts into the zone, by owner name: the apex NS
// set, and the addresses of the name servers in the zone. A name server without an address has a
// key without sets, so that its name exists (rule 6.8).
func fixedSets(at *endpoint.Zone) map[string][]RRset {
	sets := make(map[string][]RRset)
	servers, ttl := at.Nameservers(), uint32(endpoint.ApexTTL)
	if at.Object != nil {
		ttl = at.Object.TTL
	}
	ns := make([]dns.RR, 0, len(servers))
	for _, s := range servers {
		ns = append(ns, &dns.NS{Hdr: rdata.Header(at.Origin, dns.TypeNS, ttl), Ns: s.Name})
		if !rdata.IsSubdomain(at.Origin, s.Name) {
			continue
		}
		v4, v6 := splitFamilies(s.Addresses)
		own := append([]RRset{}, sets[s.Name]...)
		if len(v4) > 0 {
			own = append(own, RRset{dns.TypeA, rdata.Addresses(s.Name, ttl, v4)})
		}
		if len(v6) > 0 {
			own = append(own, RRset{dns.TypeAAAA, rdata.Addresses(s.Name, ttl, v6)})
		}
		sets[s.Name] = own
	}
	sets[at.Origin] = append([]RRset{{dns.TypeNS, slices.Clip(ns)}}, sets[at.Origin]...)
	return sets
}

// splitFamilies returns the IPv4 and the IPv6 addresses, each in order.
func splitFamilies(addrs []netip.Addr) (v4, v6 []netip.Addr) {
	for _, a := range addrs {
		if a.Is4() {
			v4 = append(v4, a)
		} else {
			v6 = append(v6, a)
		}
	}
	return v4, v6
}
