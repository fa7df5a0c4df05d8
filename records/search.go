package records

import (
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// search finds what answers for name, which lies in the zone and is in lower case: the
// node of its own, or the wildcard that covers it (RFC 4592 §3.3.1); nil means that the
// name does not exist. turn is not nil where the search ends above it, at a zone cut or
// a DNAME (RFC 1034 §4.3.2, RFC 6672 §3.2).
func (z *Zone) search(name string, qtype uint16) (n, turn *node) {
	if z.turns > 0 {
		if turn = z.turnOf(name, qtype); turn != nil {
			return nil, turn
		}
	}
	if n, ok := z.names.Get(name); ok && !n.void {
		return n, nil
	}
	for off, end := dns.NextLabel(name, 0); !end; off, end = dns.NextLabel(name, off) {
		if n, ok := z.names.Get(name[off:]); ok && !n.void {
			return z.covering(n.wild, name), nil // of the closest encloser
		}
	}
	if n, _ := z.names.Get("."); n != nil {
		return z.covering(n.wild, name), nil
	}
	return nil, nil
}

// covering returns the wildcard that answers for a name which has no node: none where the
// name would tell who owns a host, which is the server's alone to say (rule 5.8).
func (z *Zone) covering(wild *node, name string) *node {
	if wild == nil || z.TellsOwner(name) {
		return nil
	}
	return wild
}

// turnOf returns the first node on the way from the apex to name that ends a search for
// it; nil for none.
func (z *Zone) turnOf(name string, qtype uint16) (turn *node) {
	if n, ok := z.names.Get(name); ok && n.cut {
		return nil // a zone below, whose DS is asked for: nothing of this zone hides it
	}
	for at := range rdata.Ancestors(name) {
		n, exists := z.names.Get(at)
		if exists && n.turn && (at != name || qtype != dns.TypeDS && ofType(n.static, dns.TypeNS) != nil && at != z.Origin()) {
			turn = n
		}
		if at == z.Origin() {
			break
		}
	}
	return turn
}

// turn puts what q meets at n into a: a referral, or the DNAME with the CNAME that it
// makes. on tells whether the search goes on at that CNAME.
func (z *Zone) turn(n *node, q *Query, a *Answer) (on bool) {
	if n.name != z.Origin() {
		if ns := ofType(n.static, dns.TypeNS); ns != nil {
			z.refer(n, ns, q, a)
			return false
		}
	}
	set := ofType(n.static, dns.TypeDNAME)
	dname := set[0].(*dns.DNAME)
	target, err := rdata.Canonical(substitute(q.Name, n.name, dname.Target))
	if err != nil { // RFC 6672 §2.2
		a.Rcode, a.Answer = dns.RcodeYXDomain, set
		return false
	}
	a.Answer = []dns.RR{dname, rdata.CNAME(q.Owner, dname.Hdr.Ttl, target)}
	return q.Type != dns.TypeCNAME && q.Type != dns.TypeANY
}

// substitute returns name with target in place of owner, which it lies below.
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

// refer makes a a referral to the zone that begins at n: its NS records, and the
// addresses that this zone has of its servers, below the cut or beside it (RFC 1034
// §4.3.2, RFC 9471). Where it is to be signed it has the DS records (RFC 4035 §3.1.4); they say
// nothing without a signature.
func (z *Zone) refer(n *node, ns []dns.RR, q *Query, a *Answer) {
	a.Referral, a.Ns = true, ns
	if q.Signed {
		if ds := ofType(n.static, dns.TypeDS); ds != nil {
			a.Ns = slices.Clip(slices.Concat(ns, ds))
		}
	}
	a.Extra = z.glueOf(n.name, ns)
}

// glueOf returns the addresses that the zone has of the name servers of a cut: first those
// at or below it, all of which the client needs (RFC 9471 §3.1), then others.
func (z *Zone) glueOf(cut string, ns []dns.RR) []dns.RR {
	within := func(server string) bool { return rdata.IsSubdomain(cut, server) }
	needed := z.appendGlue(nil, ns, maxGlue, within)
	beside := func(server string) bool { return !within(server) }
	return slices.Clip(z.appendGlue(needed, ns[:min(len(ns), maxTargets)], maxAdditional, beside))
}

// appendGlue appends the addresses that the zone has of those servers that of reports, until
// there are as many as most, or a few more.
func (z *Zone) appendGlue(glue, ns []dns.RR, most int, of func(server string) bool) []dns.RR {
	for _, rr := range ns {
		if server := rr.(*dns.NS).Ns; len(glue) < most && of(server) {
			if n, ok := z.names.Get(server); ok {
				glue = n.appendKnown(glue)
			}
		}
	}
	return glue
}

// maxGlue is how many addresses of name servers below a cut are given, or a few more: ten times as
// many as the root has. Each query takes time for each.
const maxGlue = 256

// How many targets of one answer are looked up for their addresses, and how many records
// of these are added: they are optional, and the work has a bound.
const (
	maxTargets    = 32
	maxAdditional = 128
)

// addAdditional adds the addresses that are known here of what the answer's last RRset
// names (RFC 1035 §3.3.9 and §3.3.11, RFC 2782, RFC 9460 §4.1), each name once.
func (s *Snapshot) addAdditional(a *Answer) {
	if len(a.Answer) == 0 || a.Extra != nil {
		return
	}
	rtype := a.Answer[len(a.Answer)-1].Header().Rrtype
	switch rtype {
	case dns.TypeNS, dns.TypeMX, dns.TypeSRV, dns.TypeSVCB, dns.TypeHTTPS:
	default:
		return
	}
	var seen []string
	for _, rr := range a.Answer {
		target := targetOf(rr)
		if target == "" || len(seen) == maxTargets || slices.Contains(seen, target) {
			continue
		}
		seen = append(seen, target)
		if z := s.Zone(target); z != nil && len(a.Extra) < maxAdditional && z.Unread == nil {
			a.Extra = z.appendKnown(a.Extra, target)
			if len(a.Extra) < maxAdditional && isAlias(rr) {
				a.Extra = z.appendBindings(a.Extra, target, rtype)
			}
		}
	}
	a.Extra = slices.Clip(a.Extra[:min(len(a.Extra), maxAdditional)])
}

// targetOf returns the name of the host that rr leads to; "" for none.
func targetOf(rr dns.RR) string {
	switch rr := rr.(type) {
	case *dns.NS:
		return rr.Ns
	case *dns.MX:
		return rr.Mx
	case *dns.SRV:
		return rr.Target
	case *dns.SVCB:
		return ownTarget(rr)
	case *dns.HTTPS:
		return ownTarget(&rr.SVCB)
	}
	return ""
}

// ownTarget returns the target of a service binding, which is its owner where it is the
// root (RFC 9460 §2.5).
func ownTarget(rr *dns.SVCB) string {
	switch {
	case rr.Target == "." && rr.Priority == 0:
		return "" // the service is not there (RFC 9460 §2.5.1)
	case rr.Target == ".":
		return strings.ToLower(rr.Hdr.Name)
	}
	return rr.Target
}

// isAlias tells whether rr is a service binding that leads to those of another name, which are
// of use to whoever asks for it (RFC 9460 §4.1).
func isAlias(rr dns.RR) bool {
	switch rr := rr.(type) {
	case *dns.SVCB:
		return rr.Priority == 0
	case *dns.HTTPS:
		return rr.Priority == 0
	}
	return false
}

// appendBindings appends the service bindings of a type at name.
func (z *Zone) appendBindings(rrs []dns.RR, name string, rtype uint16) []dns.RR {
	n, turn := z.search(name, rtype)
	if turn != nil || n == nil {
		return rrs
	}
	bindings := ofType(n.static, rtype)
	if n.name != name { // a wildcard's
		bindings = rdata.WithOwner(bindings, n.name, name)
	}
	return append(rrs, bindings...)
}

// appendKnown appends the addresses at name that do not depend on the client.
func (z *Zone) appendKnown(rrs []dns.RR, name string) []dns.RR {
	n, turn := z.search(name, dns.TypeA)
	if turn != nil {
		n, _ = z.names.Get(name) // glue
	}
	switch {
	case n == nil:
		return rrs
	case n.name != name:
		return append(rrs, rdata.WithOwner(n.appendKnown(nil), n.name, name)...)
	}
	return n.appendKnown(rrs)
}

// appendKnown is the same of one node.
func (n *node) appendKnown(rrs []dns.RR) []dns.RR {
	rrs = append(append(rrs, ofType(n.static, dns.TypeA)...), ofType(n.static, dns.TypeAAAA)...)
	if n.steered.data != nil {
		rrs = n.steered.data.AppendKnown(rrs)
	}
	return rrs
}
