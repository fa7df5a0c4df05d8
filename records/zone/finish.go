package zone

import (
	"slices"
	"time"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
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
	if p.Written {
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

// become makes the zone the same generation as o, which has the same content.
func (z *Zone) become(o *Zone) {
	z.serial, z.SOASet, z.Negative, z.journal = o.serial, o.SOASet, o.Negative, o.journal
}

// pass puts z, the edited zone, behind its publisher, and gives it the published serial. before is the
// version before it, nil for none.
func (e *Edit) pass(z, before *Zone, p Past, now time.Time) {
	g := e.nextPublisher(z, before)
	if before == nil {
		g.seen = p.Retired
	}
	g.kept, g.beside, g.withheld = p.Kept, p.Beside, !p.Listed
	if p.Published.Serial != 0 {
		hash, _ := parseHash(p.Published.Hash)
		g.see(Numbered{p.Published.Serial, hash})
	}
	was := g.published
	if p.Kept.Serial != 0 {
		g.keep(z, e.id)
	}
	switch {
	case g.state == current:
		g.since = time.Time{}
	case g.since.IsZero() || g.published != was:
		g.since = now
	}
	z.publisher = &g
	z.display(g.interim(before, now))
	g.proposed = g.proposal(z, before, now)
}

// nextPublisher returns before's publisher, updated for z as the newest version: it is behind, or current if z has the published content.
func (e *Edit) nextPublisher(z, before *Zone) publisher {
	switch {
	case before == nil:
		return publisher{}
	case before.publisher == nil:
		before = &Zone{
			Zone: before.Zone, Nodes: before.Nodes, trees: trees{dnames: before.dnames}, hash: before.hash, made: before.made,
			publisher: &publisher{published: before.bare(), seen: before.last()},
		}
	}
	g := *before.publisher
	anew := before.Nodes != e.Zone.Nodes
	if before.hash != z.hash {
		g.push(before, e.replaced(before, anew))
	}
	if g.published != nil {
		g.state = behind
		if g.published.hash == z.hash {
			g.state = current
		}
	}
	switch {
	case g.state == unpublished:
	case g.state == current && len(g.recent) == 0:
		g.changed, g.blind = tree.Map[uint32]{}, 0
	case anew:
		g.changed, g.blind = tree.Map[uint32]{}, e.id
	case before.hash != z.hash:
		g.note(e.changedNames(), e.id)
	}
	return g
}

// replaced returns how many of before's names the edited zone does not share.
func (e *Edit) replaced(before *Zone, anew bool) int {
	if anew {
		return before.Nodes.Len()
	}
	return len(e.Settled)
}

// changedNames returns the names at which the edited zone may differ from the one before.
func (e *Edit) changedNames() []string {
	if len(e.redirected) > 0 {
		e.settleRedirected()
		e.redirected = nil
	}
	slices.Sort(e.Settled)
	e.Settled = slices.Compact(e.Settled)
	return e.Settled
}

// delta returns the changes from before to the zone's next version; nil if that is too much for a
// journal.
func (e *Edit) delta(before, next *Zone) *Delta {
	if before.Nodes != e.Zone.Nodes { // it was made anew
		return deltaOf(before, next, nil)
	}
	return deltaOf(before, next, e.changedNames())
}

// settleRedirected adds the names below DNAMEs that came or went to those compared. If there are
// any, it looks at all names of the zone: nothing else takes that long, but a DNAME rarely hides
// names.
func (e *Edit) settleRedirected() {
	owners := make(map[string]bool, len(e.redirected))
	for _, owner := range e.redirected {
		if n, ok := e.Zone.Nodes.Get(owner); ok && n.Children > 0 {
			owners[owner] = true
		}
	}
	if len(owners) == 0 {
		return
	}
	for name := range e.Zone.Nodes.All() { // new names have been settled
		for up := name; up != e.Zone.Origin(); {
			if up, _ = rdata.Parent(up); owners[up] {
				e.Settled = append(e.Settled, name)
				break
			}
		}
	}
}
