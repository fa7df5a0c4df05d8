package zone

import (
	"slices"
	"time"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// Finish returns the edited zone. before is the zone of that name in the snapshot before, nil for
// none: the same hash keeps its serial (rule 6.7).
func (e *Edit) Finish(before *Zone, p Past, now time.Time) *Zone {
	z := *e.Zone
	for _, t := range [...]interface{ end() }{&e.delegations, &e.copied, &e.ownerTXTs, &e.owned, &e.dnames, &e.deep, &e.bound, &e.refused, &e.foreign} {
		t.end()
	}
	z.Nodes, z.trees, z.sums = e.names.Map(), e.trees, e.sums
	z.Glue = z.ownGlue()
	z.made, z.publisher = e.id, nil
	z.hash = z.content.plus(digestOf([]dns.RR{z.Zone.SOA(z.MName(), 0)}))
	if before != nil && before.hash == z.hash {
		z.made = before.made
	}
	if p.Gated {
		e.pass(&z, before, p, now)
	} else {
		e.count(&z, before, p, now)
	}
	return &z
}

// count gives z, the edited zone, this server's own next serial, if it keeps serials by itself.
func (e *Edit) count(z, before *Zone, p Past, now time.Time) {
	last := p.Retired.Serial
	if before != nil && before.publisher != nil { // a writer kept them before
		if before.publisher.published == nil {
			last = before.serial
		}
		before = before.publisher.published
	}
	switch {
	case before == nil && last == 0:
		z.serial = firstSerial(now)
	case before == nil:
		z.serial = nextSerial(last, now)
	case before.hash == z.hash:
		z.serial = before.serial
	default:
		z.serial = nextSerial(before.serial, now)
	}
	first := before == nil && last == 0
	resumed := z.resumed(z.serial, p.Published, first, now)
	switch serial := z.after(resumed, p.Kept, first && p.Published.Serial == 0, now); {
	case before == nil || serial != z.serial:
		z.number(serial) // others have published too: one serial may have had two contents
	case before.hash == z.hash:
		z.become(before)
	default:
		z.number(serial)
		z.journal = before.journal.with(e.delta(before, z))
	}
}

// after returns the zone's serial, taking into account what anybody published last (rule 6.7).
// serial is what it would be otherwise; first is true if nothing was published here yet.
func (z *Zone) after(serial uint32, kept api.Kept, first bool, now time.Time) uint32 {
	switch later := newer(kept.Serial, serial); {
	case kept.Serial == 0:
	case kept.Hash == z.Hash() && (first || later):
		return kept.Serial
	case kept.Hash != z.Hash() && (later || kept.Serial == serial):
		return nextSerial(kept.Serial, now)
	}
	return serial
}

// MName returns the first of the zone's name servers.
func (z *Zone) MName() string {
	if apex, ok := z.Nodes.Get(z.Origin()); ok {
		if ns := OfType(apex.Static, dns.TypeNS); len(ns) > 0 {
			return ns[0].(*dns.NS).Ns
		}
	}
	return z.Nameservers()[0].Name
}

// Unaddressed returns the zone's first name server that lies in it, not in a zone below, and has no address; "" for none.
func (z *Zone) Unaddressed() string {
	apex, ok := z.Nodes.Get(z.Origin())
	if !ok {
		return ""
	}
	for _, rr := range OfType(apex.Static, dns.TypeNS) {
		server := rr.(*dns.NS).Ns
		if !rdata.IsSubdomain(z.Origin(), server) {
			continue
		}
		n, turn := z.Search(server, dns.TypeA)
		if turn == nil && (n == nil || n.Steered.Owner == nil && len(n.appendKnown(nil)) == 0) {
			return server
		}
	}
	return ""
}

// ownGlue returns the addresses of the zone's name servers if all of them lie in it, and none
// depends on checks.
func (z *Zone) ownGlue() []dns.RR {
	apex, ok := z.Nodes.Get(z.Origin())
	if !ok {
		return nil
	}
	servers := OfType(apex.Static, dns.TypeNS)
	if slices.ContainsFunc(servers, func(rr dns.RR) bool {
		name := rr.(*dns.NS).Ns
		n, _ := z.Nodes.Get(name)
		return !rdata.IsSubdomain(z.Origin(), name) || n != nil && n.Steered.Owner != nil
	}) {
		return nil // another zone served here may have it, or a query finds it
	}
	return slices.Clip(z.appendGlue(nil, servers[:min(len(servers), MaxTargets)], MaxAdditional, func(string) bool { return true }))
}

// number sets the zone's serial, before others see the zone. It has no journal then.
func (z *Zone) number(serial uint32) {
	soa := z.Zone.SOA(z.MName(), serial)
	denial := *soa
	denial.Hdr.Ttl = min(soa.Hdr.Ttl, soa.Minttl)
	z.serial, z.SOASet, z.Negative, z.journal = serial, []dns.RR{soa}, []dns.RR{&denial}, journal{}
}

// become makes the zone the same generation as o, which has the same content.
func (z *Zone) become(o *Zone) {
	z.serial, z.SOASet, z.Negative, z.journal = o.serial, o.SOASet, o.Negative, o.journal
}
