package records

import (
	"net/netip"
	"slices"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// rrset is one RRset of a name. Its records are shared by every snapshot and
// message that holds them: nobody may change them, and the slice is clipped, so
// that an append copies.
type rrset struct {
	rtype uint16
	rrs   []dns.RR
}

// addressRRs returns an A or AAAA record for each address, in order.
func addressRRs(owner string, ttl uint32, addrs []netip.Addr) []dns.RR {
	rrs := make([]dns.RR, len(addrs))
	for i, a := range addrs {
		rrs[i] = rdata.Address(owner, ttl, a)
	}
	return rrs
}

func cnameRR(owner string, ttl uint32, target string) *dns.CNAME {
	return &dns.CNAME{Hdr: rdata.Header(owner, dns.TypeCNAME, ttl), Target: target}
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

// withOwner returns rrs with every record that belongs to old given to owner
// instead. Records of other owners are shared, not copied.
func withOwner(rrs []dns.RR, old, owner string) []dns.RR {
	out := make([]dns.RR, len(rrs))
	for i, rr := range rrs {
		if rr.Header().Name == old {
			rr = copyHeader(rr)
			rr.Header().Name = owner
		}
		out[i] = rr
	}
	return slices.Clip(out)
}

// copyHeader returns a record whose header can be changed; its data may still
// be shared.
func copyHeader(rr dns.RR) dns.RR {
	switch rr := rr.(type) {
	case *dns.A:
		c := *rr
		return &c
	case *dns.AAAA:
		c := *rr
		return &c
	case *dns.CNAME:
		c := *rr
		return &c
	}
	return dns.Copy(rr)
}
