package rdata

import (
	"net/netip"

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
	return (*Copies)(nil).WithOwner(rrs, old, owner)
}

// Copies is memory for WithOwner that its owner uses again. What does not fit, and all of a nil *Copies, is allocated.
type Copies struct {
	rrs   [8]dns.RR
	a     [4]dns.A
	aaaa  [4]dns.AAAA
	cname [4]dns.CNAME
	used  struct{ rrs, a, aaaa, cname int }
}

// Reset has the memory of earlier copies used again.
func (c *Copies) Reset() { c.used = struct{ rrs, a, aaaa, cname int }{} }

// WithOwner is the function WithOwner, in c's memory.
func (c *Copies) WithOwner(rrs []dns.RR, old, owner string) []dns.RR {
	out := c.list(len(rrs))
	for i, rr := range rrs {
		if rr.Header().Name == old {
			rr = c.copyHeader(rr)
			rr.Header().Name = owner
		}
		out[i] = rr
	}
	return out
}

// list returns a list of n records, clipped.
func (c *Copies) list(n int) []dns.RR {
	if c == nil || c.used.rrs+n > len(c.rrs) {
		return make([]dns.RR, n)
	}
	c.used.rrs += n
	return c.rrs[c.used.rrs-n : c.used.rrs : c.used.rrs]
}

func (c *Copies) copyHeader(rr dns.RR) dns.RR {
	if c == nil {
		return CopyHeader(rr)
	}
	switch rr := rr.(type) {
	case *dns.A:
		if place(c.a[:], &c.used.a, rr) {
			return &c.a[c.used.a-1]
		}
	case *dns.AAAA:
		if place(c.aaaa[:], &c.used.aaaa, rr) {
			return &c.aaaa[c.used.aaaa-1]
		}
	case *dns.CNAME:
		if place(c.cname[:], &c.used.cname, rr) {
			return &c.cname[c.used.cname-1]
		}
	}
	return CopyHeader(rr)
}

// place copies a record into the next place; ok is false if there is none.
func place[T any](all []T, used *int, rr *T) (ok bool) {
	if *used == len(all) {
		return false
	}
	all[*used] = *rr
	*used++
	return true
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
