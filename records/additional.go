package records

import (
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/records/zone"
	"github.com/miekg/dns"
)

// addAdditional adds the addresses known here of the names in the answer's last RRset (RFC 1035
// §3.3.9 and §3.3.11, RFC 2782, RFC 9460 §4.1), each name once.
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
		if target == "" || len(seen) == zone.MaxTargets || slices.Contains(seen, target) {
			continue
		}
		seen = append(seen, target)
		if z := s.Zone(target); z != nil && len(a.Extra) < zone.MaxAdditional && z.Unread == nil {
			a.Extra = z.AppendKnown(a.Extra, target)
			if len(a.Extra) < zone.MaxAdditional && isAlias(rr) {
				a.Extra = z.AppendBindings(a.Extra, target, rtype)
			}
		}
	}
	a.Extra = slices.Clip(a.Extra[:min(len(a.Extra), zone.MaxAdditional)])
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

// ownTarget returns the target of a service binding: the owner itself if the target is the root
// (RFC 9460 §2.5).
func ownTarget(rr *dns.SVCB) string {
	switch {
	case rr.Target == "." && rr.Priority == 0:
		return "" // the service is unavailable (RFC 9460 §2.5.1)
	case rr.Target == ".":
		return strings.ToLower(rr.Hdr.Name)
	}
	return rr.Target
}

// isAlias reports whether rr is a service binding that leads to the bindings of another name, which
// the client needs next (RFC 9460 §4.1).
func isAlias(rr dns.RR) bool {
	switch rr := rr.(type) {
	case *dns.SVCB:
		return rr.Priority == 0
	case *dns.HTTPS:
		return rr.Priority == 0
	}
	return false
}
