package records

import (
	"slices"

	"github.com/coredns-kuadrant/kuadrant/records/rdata"
	"github.com/coredns-kuadrant/kuadrant/records/zone"
	"github.com/miekg/dns"
)

// leadOn puts into a what ends q's search in z at n: a referral, or the DNAME with its CNAME, which leads on.
func leadOn(z *zone.Zone, n *zone.Node, q *Query, a *Answer) finding {
	if n.Name != z.Origin() {
		if ns := zone.OfType(n.Static, dns.TypeNS); ns != nil {
			refer(z, n, ns, q, a)
			return ended
		}
	}
	set := zone.OfType(n.Static, dns.TypeDNAME)
	dname := set[0].(*dns.DNAME)
	target, err := rdata.Canonical(substitute(q.Name, n.Name, dname.Target))
	if err != nil { // RFC 6672 §2.2
		a.Rcode, a.Answer = dns.RcodeYXDomain, set
		return ended
	}
	a.Answer = []dns.RR{dname, rdata.CNAME(q.Owner, dname.Hdr.Ttl, target)}
	if q.Type == dns.TypeCNAME || q.Type == dns.TypeANY {
		return ended
	}
	return leads
}

// substitute returns name, which lies below owner, with target in place of owner.
func substitute(name, owner, target string) string {
	prefix := name
	if owner != "." {
		prefix = name[:len(name)-len(owner)]
	}
	if target == "." {
		return prefix
	}
	return prefix + target
}

// refer makes a a referral to the zone that begins at n: its NS records, and this zone's addresses
// of its servers, below the cut or beside it (RFC 1034 §4.3.2, RFC 9471). A signed referral has the
// DS records too, or the proof that there are none (RFC 4035 §3.1.4).
func refer(z *zone.Zone, n *zone.Node, ns []dns.RR, q *Query, a *Answer) {
	a.Referral, a.Ns = true, ns
	if q.Signed {
		ds := zone.OfType(n.Static, dns.TypeDS)
		if ds == nil {
			ds = []dns.RR{z.Denial(n.Name, dns.TypeDS, z.Negative[0].Header().Ttl)}
		}
		a.Ns = slices.Clip(slices.Concat(ns, ds))
	}
	a.Extra = z.GlueOf(n.Name, ns)
}
