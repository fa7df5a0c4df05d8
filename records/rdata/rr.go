package rdata

import (
	"net/netip"
	"slices"

	"github.com/miekg/dns"
)

// Addresses returns an A or AAAA record for each address, in order.
func Addresses(owner string, ttl uint32, addrs []netip.Addr) []dns.RR {
	rrs := make([]dns.RR, len(addrs))
	for i, a := range addrs {
		rrs[i] = Address(owner, ttl, a)
	}
	return rrs
}

// CNAME returns a CNAME record.
func CNAME(owner string, ttl uint32, target string) *dns.CNAME {
	return &dns.CNAME{Hdr: Header(owner, dns.TypeCNAME, ttl), Target: target}
}

// WithOwner returns rrs with owner in place of old. Records of other owners are shared, not copied.
func WithOwner(rrs []dns.RR, old, owner string) []dns.RR {
	out := make([]dns.RR, len(rrs))
	for i, rr := range rrs {
		if rr.Header().Name == old {
			rr = CopyHeader(rr)
			rr.Header().Name = owner
		}
		out[i] = rr
	}
	return slices.Clip(out)
}

// CopyHeader returns a copy of a record whose header may be changed; its data may be shared.
func CopyHeader(rr dns.RR) dns.RR {
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

// IsCNAME reports whether rr is a CNAME.
func IsCNAME(rr dns.RR) bool { return rr.Header().Rrtype == dns.TypeCNAME }
