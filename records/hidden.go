package records

import (
	"iter"
	"slices"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// hiderOf says what keeps whoever asks from data of a type that the zone has at a name: NS
// records there or above, or a DNAME above, lead elsewhere (RFC 1034 §4.3.2, RFC 6672 §2.4).
// nil for nothing. A referral has the addresses of its own name servers.
func (z *Zone) hiderOf(name string, rtype uint16) *endpoint.Problem {
	if z.turns == 0 {
		return nil // by far the most
	}
	turn := z.turnOf(name, rtype)
	switch {
	case turn == nil, turn.name == name && rtype == dns.TypeNS:
		return nil
	case ofType(turn.static, dns.TypeNS) == nil || turn.name == z.Origin():
		return endpoint.Problemf(endpoint.ReasonHidden, "the DNAME record of %s redirects all names below it: nobody is answered from this one", endpoint.TrimDot(turn.name))
	case (rtype == dns.TypeA || rtype == dns.TypeAAAA) && slices.ContainsFunc(ofType(turn.static, dns.TypeNS), func(rr dns.RR) bool { return rr.(*dns.NS).Ns == name }):
		return nil
	}
	return endpoint.Problemf(endpoint.ReasonHidden, "the NS records of %s leave that name, and all below it, to these name servers: nobody is answered from this one", endpoint.TrimDot(turn.name))
}

// hiderOf says the same of a claim's host.
func (s *Snapshot) hiderOf(c *endpoint.Claim) *endpoint.Problem {
	return s.Zone(rdata.Base(c.Host)).hiderOf(c.Host, dns.TypeA)
}

// unsettleHidden marks the objects with hosts at or below names where NS records or a DNAME
// have come, gone or changed.
func (c *compiler) unsettleHidden() {
	turned := make(map[string]struct{})
	for _, e := range c.edits {
		if e != nil {
			for _, name := range e.turned {
				turned[name] = struct{}{}
			}
		}
	}
	if c.prev == nil || len(turned) == 0 {
		return // all are told of
	}
	for _, e := range c.clusters {
		for _, t := range e.targets.From("") {
			for _, cl := range t.Claims {
				for at, ok := cl.Host, true; ok; at, ok = rdata.Parent(at) {
					if _, is := turned[at]; is {
						c.unsettle(cl)
						break
					}
				}
			}
		}
	}
}

// restateHidden marks the objects that have data at or below names of the zone where NS
// records or a DNAME have come, gone or changed.
func (c *compiler) restateHidden(e *zoneEdit, z *Zone) {
	for _, name := range e.turned {
		n, ok := z.names.Get(name)
		if !ok {
			continue // nothing is below it
		}
		c.restateEntries(n)
		if n.children == 0 {
			continue
		}
		for below := range z.deepBelow(name) {
			if n, ok := z.names.Get(below); ok {
				c.restateEntries(n)
			}
		}
	}
}

// restateEntries marks the objects that have Records at n.
func (c *compiler) restateEntries(n *node) {
	for _, r := range n.entries {
		c.restateObject(r.Record.Cluster, r.ObjectKind(), r.Record.Name)
	}
}

// noteDeep keeps whether a name has Records, where it lies deep in the zone.
func (e *zoneEdit) noteDeep(name string, there bool) {
	if up, ok := rdata.Parent(name); !ok || name == e.zone.Origin() || up == e.zone.Origin() {
		return
	}
	if e.deep == nil {
		e.deep = e.zone.deep.Edit()
	}
	if there {
		e.deep.Set(fromRoot(name), struct{}{})
	} else {
		e.deep.Delete(fromRoot(name))
	}
}

// deepBelow yields the names below one of the zone that have Records: of those below the
// origin, it looks at all.
func (z *Zone) deepBelow(name string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if name == z.Origin() {
			for below := range z.names.All() {
				if !yield(below) {
					return
				}
			}
			return
		}
		for key := range z.deep.Beginning(fromRoot(name)) {
			if !yield(fromRoot(key)) {
				return
			}
		}
	}
}
