package records

import (
	"slices"

	"github.com/miekg/dns"
)

// hiderOf says what keeps whoever asks from the data of an entry that the zone has: NS
// records at its name or above, or a DNAME above, lead elsewhere (RFC 1034 §4.3.2, RFC
// 6672 §2.4). nil for nothing. A referral has the addresses of its own name servers.
func (z *Zone) hiderOf(e *entry) *problem {
	if z.turns == 0 {
		return nil
	}
	rtype := e.rr.Header().Rrtype
	turn := z.turnOf(e.name, rtype)
	switch {
	case turn == nil, turn.name == e.name && rtype == dns.TypeNS:
		return nil
	case ofType(turn.static, dns.TypeNS) == nil || turn.name == z.origin:
		return problemf(reasonHidden, "the DNAME record of %s redirects all names below it: nobody is answered from this one", trimDot(turn.name))
	case (rtype == dns.TypeA || rtype == dns.TypeAAAA) && slices.ContainsFunc(ofType(turn.static, dns.TypeNS), func(rr dns.RR) bool { return rr.(*dns.NS).Ns == e.name }):
		return nil
	}
	return problemf(reasonHidden, "the NS records of %s leave that name, and all below it, to these name servers: nobody is answered from this one", trimDot(turn.name))
}

// restateHidden marks the objects that have data at or below names of the zone where NS
// records or a DNAME have come, gone or changed. It looks at the whole zone, once: such
// changes are rare, and concern all names below.
func (c *compiler) restateHidden(e *zoneEdit, z *Zone) {
	if len(e.turned) == 0 {
		return
	}
	turned := make(map[string]struct{}, len(e.turned))
	for _, name := range e.turned {
		turned[name] = struct{}{}
	}
	for name, n := range z.names.All() {
		if len(n.entries) == 0 {
			continue
		}
		for at, ok := name, true; ok; at, ok = parent(at) {
			if _, is := turned[at]; is {
				for _, r := range n.entries {
					c.restateObject(r.record.Cluster, r.objectKind(), r.record.Name)
				}
				break
			}
			if at == z.origin {
				break
			}
		}
	}
}
