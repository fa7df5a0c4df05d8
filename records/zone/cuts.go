package zone

import (
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// Delegation returns what the zone above should hold of the edited zone, which is settled, as are those below it; nodeAt finds names. nil
// for nothing: no server of it has been named.
func (e *Edit) Delegation(nodeAt func(name string) *Node) *delegation {
	z := e.Zone
	apex := e.Node(z.Origin())
	if apex == nil || StandsIn(&z.Zone, apex) {
		return nil
	}
	ns := OfType(apex.Static, dns.TypeNS)
	if len(ns) == 0 {
		return nil
	}
	d := &delegation{names: []string{z.Origin()}, sets: [][]RRset{{{dns.TypeNS, ns}}}}
	for _, rr := range ns {
		server := rr.(*dns.NS).Ns
		if !rdata.IsSubdomain(z.Origin(), server) || slices.Contains(d.names[1:], server) {
			continue
		}
		var glue []RRset
		nodeAt(server).transfer(func(rrs []dns.RR) bool {
			if t := rrs[0].Header().Rrtype; t == dns.TypeA || t == dns.TypeAAAA {
				glue = append(glue, RRset{t, rrs})
			}
			return true
		})
		switch {
		case glue == nil:
		case server == z.Origin():
			d.sets[0] = merge(d.sets[0], glue)
		default:
			d.names, d.sets = append(d.names, server), append(d.sets, glue)
		}
	}
	return d
}

// StandsIn reports whether the zone with the given apex has only the placeholder as name server
// (rule 6.8).
func StandsIn(at *endpoint.Zone, apex *Node) bool {
	return len(at.Corefile.Nameservers) == 0 &&
		!slices.ContainsFunc(apex.Records, func(r *endpoint.Record) bool { return r.RR.Header().Rrtype == dns.TypeNS })
}

// StandsIn reports whether the zone has only the placeholder as name server (rule 6.8).
func (z *Zone) StandsIn() bool {
	apex, ok := z.Nodes.Get(z.Origin())
	return ok && StandsIn(&z.Zone, apex)
}

// equal reports whether two delegations are the same; nil is none.
func (d *delegation) equal(o *delegation) bool {
	if d == nil || o == nil {
		return d == o
	}
	return slices.Equal(d.names, o.names) && slices.EqualFunc(d.sets, o.sets, func(a, b []RRset) bool {
		return slices.EqualFunc(a, b, RRset.equal)
	})
}

// Delegate makes d the zone's delegation of the zone with that origin; nil removes it.
func (e *Edit) Delegate(origin string, d *delegation) {
	old, _ := e.Zone.delegations.Get(origin)
	if d.equal(old) {
		return
	}
	if old != nil {
		e.delegations.edit().Delete(origin)
		for _, name := range old.names {
			e.copied.edit().Delete(name)
			e.renew(e.make(name))
		}
	}
	if d != nil {
		e.delegations.edit().Set(origin, d)
		for i, name := range d.names {
			e.copied.edit().Set(name, d.sets[i])
			e.renew(e.make(name))
		}
	}
}

// Depth returns a number that is larger for an origin than for those above it. Zones copy from
// deeper ones.
func Depth(origin string) int {
	if origin == "." {
		return 0
	}
	return strings.Count(origin, ".")
}
