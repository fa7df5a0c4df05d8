package zone

import (
	"cmp"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/internal/boolean"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
)

// Settle makes the RRsets of changed nodes, and removes names without any data.
func (e *Edit) Settle() {
	for i := 0; i < len(e.stale); i++ { // the apex may add one
		n := e.stale[i]
		n.stale = false
		if n.Name == e.Zone.Origin() && len(e.Zone.Corefile.Nameservers) == 0 && !e.Zone.StandsFor(n.Name) {
			e.renew(e.make(e.Zone.Nameservers()[0].Name)) // it becomes the placeholder, or ceases to be
		}
		e.settleAt(n)
	}
	for _, n := range e.stale {
		switch {
		case n.empty():
			e.remove(n)
		case n.Unserved:
			e.attach(n)
		}
	}
	e.stale = nil
}

// settleAt makes a node's RRsets, and updates the counts.
func (e *Edit) settleAt(n *Node) {
	turn, lost := n.Turn, n.Lost
	e.list(n, -1)
	n.Static = e.setsAt(n)
	e.list(n, 1)
	e.Conflicts += int(n.Lost - lost)
	if _, several := e.several[n.Name]; several || len(n.Records) > 1 || lost+n.Lost > 0 || n.Cut && len(n.Records) > 0 {
		e.Contended = append(e.Contended, n.Name)
	}
	n.Turn = e.Zone.turnsAt(n)
	if turn != n.Turn {
		e.Turns += boolean.Int(n.Turn) - boolean.Int(turn)
	}
	if turn || n.Turn {
		e.Turned = append(e.Turned, n.Name)
		e.redirect(n)
	}
	e.content = e.content.minus(n.digest)
	n.digest = n.sum()
	e.content = e.content.plus(n.digest)
	if e.served() { // and will be compared with
		e.Settled = append(e.Settled, n.Name)
	}
}

// setsAt returns a name's RRsets without the steered data.
func (e *Edit) setsAt(n *Node) []RRset {
	fixed, known := e.Zone.Fixed[n.Name]
	if known && e.Zone.StandsFor(n.Name) {
		known = StandsIn(&e.Zone.Zone, e.Node(e.Zone.Origin()))
	}
	n.Lost = 0
	sets := RRsetsOf(n.Records, e.others(n), func(_ *endpoint.Record, p *endpoint.Problem) {
		if p.Reason == endpoint.ReasonConflicted {
			n.Lost++
		}
	})
	e.noteForeign(n, sets)
	if known {
		if n.Name == e.Zone.Origin() && OfType(sets, dns.TypeNS) != nil {
			fixed = fixed[1:] // the Zone has name servers of its own (rule 6.8)
		}
		sets = merge(sets, fixed)
		if sets == nil {
			sets = []RRset{}
		}
	}
	copies, _ := e.copied.Get(n.Name)
	txts, _ := e.ownerTXTs.Get(n.Name)
	return merge(merge(sets, copies), txts) // nobody else has TXT or a CNAME there: see endpoint.Zone
}

// SetsNow returns the RRsets of a node's Records, before Settle has made them.
func (e *Edit) SetsNow(n *Node) []RRset { return RRsetsOf(n.Records, e.others(n), nil) }

// SetsBeside is SetsNow for a node whose owner is about to be by.
func (e *Edit) SetsBeside(n *Node, by Ownership) []RRset {
	var own *endpoint.Contender
	if by.By != nil {
		own = by.holder(n)
	}
	at := Others{Owner: by.Owner, By: by.By, Alias: by.Alias, refused: e.refusals(n, own), Fixed: e.Zone.Fixed[n.Name]}
	return RRsetsOf(n.Records, at, nil)
}

// others returns a name's data apart from its Records, and finds out what claims keep out.
func (e *Edit) others(n *Node) Others {
	refused := e.refusals(n, e.ownerHere(n))
	if refused != nil {
		e.refused.edit().Set(n.Name, refused)
	} else if _, was := e.refused.Get(n.Name); was {
		e.refused.edit().Delete(n.Name)
	}
	return e.Zone.othersBy(n, &e.trees)
}

// ownerHere returns the owner of a node's name, once those above are known; nil for none.
func (e *Edit) ownerHere(n *Node) *endpoint.Contender {
	if !e.claimable(n) {
		return nil // nobody asks
	}
	var r reach
	if endpoint.Underscored(n.Name) {
		r.wildcard = e.ClaimOf(n.Name, nil)
	} else {
		r = e.reachTo(n.Name)
	}
	return e.ownerUnder(n.Name, n, &r)
}

// Others returns a name's data apart from its Records.
func (z *Zone) Others(n *Node) Others { return z.othersBy(n, &z.trees) }

// othersBy returns a name's data apart from its Records, by the zone's trees or edits of them.
func (z *Zone) othersBy(n *Node, t *trees) Others {
	by, _ := t.owned.Get(n.Name)
	copies, _ := t.copied.Get(n.Name)
	refused, _ := t.refused.Get(n.Name)
	return Others{
		Owner: cmp.Or(by.Owner, n.Steered.Owner), By: cmp.Or(by.By, n.Steered.Owner), refused: refused,
		Alias: by.Alias, Fixed: z.Fixed[n.Name], copied: copies,
	}
}

// SetOwner keeps the Records at name from the owner's data; the zero Ownership ends that.
func (e *Edit) SetOwner(name string, by Ownership) {
	if by.By == nil {
		e.owned.edit().Delete(name)
	} else {
		e.owned.edit().Set(name, by)
	}
	e.noteDeep(name)
	e.reachable = false
	if e.Node(name) != nil {
		e.renew(e.make(name))
	}
}

// turnsAt reports whether n ends a search on its way through the zone.
func (z *Zone) turnsAt(n *Node) bool {
	for i := range n.Static {
		switch n.Static[i].Type {
		case dns.TypeDNAME:
			return true
		case dns.TypeNS:
			if !n.Cut && n.Name != z.Origin() {
				return true
			}
		}
	}
	return false
}

// redirect notes whether n, which is settled, has a DNAME.
func (e *Edit) redirect(n *Node) {
	_, was := e.dnames.Get(n.Name)
	is := OfType(n.Static, dns.TypeDNAME) != nil
	if was == is {
		return
	}
	if is {
		e.dnames.edit().Set(n.Name, struct{}{})
	} else {
		e.dnames.edit().Delete(n.Name)
	}
	e.redirected = append(e.redirected, n.Name)
}

// NewZone returns a zone with only the Corefile's data.
// cuts are the origins of the zones served here that begin below it.
func NewZone(at endpoint.Zone, cuts []string) *Zone {
	z := &Zone{Zone: at, Fixed: fixedSets(&at)}
	e := z.Edit(0)
	for name := range z.Fixed {
		e.renew(e.make(name))
	}
	e.renew(e.make(z.Origin()))
	for _, origin := range cuts {
		e.setCut(e.make(origin), true)
	}
	e.Settle()
	z.Nodes, z.content = e.names.Map(), e.content // the Corefile has no DNAMEs
	for _, n := range z.Nodes.All() {             // the edit did not know the cuts
		z.Listed += boolean.Int(n.Listed(z))
	}
	return z
}
