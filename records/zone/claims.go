package zone

import (
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/owner"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// ClaimOf returns the claim on a name of the zone, whose owner is own, or nil, in what the edit knows now: all Records, and the owners of the
// names above, are there. Its zero value is none.
func (e *Edit) ClaimOf(name string, own *endpoint.Contender) owner.Claim {
	if name == e.Zone.Origin() {
		return owner.Claim{}
	}
	above := endpoint.AboveUnderscored(name)
	if above == name {
		r := e.reachTo(name)
		if at := e.stop(name, e.Node(name), own, r); at.cut.By != nil {
			return at.cut
		}
		if r.wildcard.By != nil && e.Zone.Administers(r.wildcard.By.By) {
			return owner.Claim{} // that namespace has granted the name itself
		}
		return r.wildcard // of other namespaces' data, whoever has addresses here
	}
	r := e.reachBelow(above)
	if r.cut.By != nil {
		return r.cut
	}
	claim := r.wildcard
	if has := e.OwnerOf(above); has != nil {
		claim = owner.Claim{Kind: owner.Above, By: has}
	} else if isChallenge(name, above) {
		claim = owner.Claim{}
		if up, ok := rdata.Parent(above); ok && above != e.Zone.Origin() { // *.above claims nothing here: see Rival
			claim = e.reachBelow(up).wildcard
			claim.Strict = true
		}
	}
	return e.claimBelow(name, above, own, claim)
}

// isChallenge reports whether a name is the one at which a certificate for above is asked for.
func isChallenge(name, above string) bool {
	return len(name) == len(endpoint.Challenge)+len(above) && strings.HasPrefix(name, endpoint.Challenge)
}

// claimBelow returns the claim on a name with labels that begin with _ below above, where claim holds, unless NS records on the way there
// delegate it. own is the name's owner, or nil.
func (e *Edit) claimBelow(name, above string, own *endpoint.Contender, claim owner.Claim) owner.Claim {
	if e.delegating == 0 {
		return claim
	}
	path := slices.Collect(func(yield func(string) bool) {
		for at := range rdata.Ancestors(name) {
			if at == above || !yield(at) {
				return
			}
		}
	})
	for _, at := range slices.Backward(path) {
		r, n, has := reach{wildcard: claim}, e.Node(at), own
		if at != name {
			has = e.ownerUnder(at, n, &r)
		}
		if r = e.stop(at, n, has, r); r.cut.By != nil {
			return r.cut
		}
	}
	return claim
}

// OwnerOf returns the owner of a name without labels that begin with _; nil for none.
func (e *Edit) OwnerOf(name string) *endpoint.Contender {
	r := e.reachTo(name)
	return e.ownerUnder(name, e.Node(name), &r)
}

// reachTo returns what is claimed at a name without labels that begin with _ by those above it; a wildcard claims nothing of itself.
func (e *Edit) reachTo(name string) reach {
	up, ok := rdata.Parent(name)
	switch {
	case !ok || name == e.Zone.Origin():
		return reach{}
	case isWildcardOf(name, up):
		return e.reachAt(up)
	}
	return e.reachBelow(up)
}

// reachAt returns what is claimed below a name, except by the wildcard there.
func (e *Edit) reachAt(name string) reach {
	if name == e.Zone.Origin() {
		return reach{}
	}
	r, n := e.reachTo(name), e.Node(name)
	return e.stop(name, n, e.ownerUnder(name, n, &r), r)
}

// reachBelow returns what is claimed below a name without labels that begin with _.
func (e *Edit) reachBelow(name string) reach {
	if e.reachable && e.reachName == name {
		return e.reach
	}
	r := e.reachAt(name)
	if n := e.Node(name); r.cut.By == nil && e.hasWildcard(name, n) {
		wildcard := rdata.WildcardOf(name)
		if own := e.ownerUnder(wildcard, e.Node(wildcard), &r); own != nil {
			r.wildcard = owner.Claim{Kind: owner.Wildcard, By: own, Since: e.since(wildcard, own)}
		}
	}
	e.reachName, e.reach, e.reachable = name, r, true
	return r
}

// hasWildcard reports whether the wildcard below a name, whose node is n, may have an owner.
func (e *Edit) hasWildcard(name string, n *Node) bool {
	if n != nil && n.wild != nil {
		return true
	}
	wildcard := rdata.WildcardOf(name)
	if n := e.Node(wildcard); n != nil { // its Records may be refused
		return true
	}
	_, reserved := e.owned.Get(wildcard)
	return reserved
}

// stop returns what is claimed at a name, of what is claimed below the one above it: NS records claim it all, and a name with addresses or
// a CNAME of its own is covered by no wildcard. n is its node, own its owner; either may be nil.
func (e *Edit) stop(name string, n *Node, own *endpoint.Contender, r reach) reach {
	if r.cut.By != nil {
		return r
	}
	if own != nil && (!own.Static || own.Addresses) {
		r.wildcard = owner.Claim{}
	}
	if e.delegating > 0 && n != nil && !n.Cut {
		if ns := delegatorAt(n, own); ns != nil {
			r.cut = owner.ByRecord(owner.Delegation, name, ns)
		}
	}
	return r
}

// delegatorAt returns the first NS Record by which a name is delegated: of the administering namespace, else of its owner's; nil for none.
func delegatorAt(n *Node, own *endpoint.Contender) (first *endpoint.Record) {
	for _, r := range n.Records {
		if r.RR.Header().Rrtype != dns.TypeNS || !r.Administrative && (own == nil || !own.By.SameNamespace(&r.Record.Meta)) {
			continue
		}
		if first == nil || r.Administrative && !first.Administrative || r.Administrative == first.Administrative && r.Older(first) < 0 {
			first = r
		}
	}
	return first
}

// ownerUnder returns the owner of a name below which r is claimed; nil for none. n is its node, or nil.
func (e *Edit) ownerUnder(name string, n *Node, r *reach) *endpoint.Contender {
	if by, ok := e.owned.Get(name); ok {
		return by.holder(n)
	}
	switch {
	case n == nil:
		return nil
	case n.Steered.Owner != nil:
		return n.Steered.Owner
	}
	claim := &r.wildcard
	if r.cut.By != nil {
		claim = &r.cut
	}
	if claim.By == nil || claim.Kind == owner.Wildcard && e.Zone.Administers(claim.By.By) && !endpoint.Underscored(name) {
		claim = &owner.Claim{}
	}
	return owner.OfRecords(name, n.Records, e.outBy(claim, n))
}

// keptOut returns the claim that keeps a Record at a node out, if claim is the one on its name; nil for none. A wildcard keeps out nothing of
// namespaces that have addresses or a CNAME at a name without labels that begin with _, in Records or as one of hosts, contenders there.
func (e *Edit) keptOut(r *endpoint.Record, n *Node, claim *owner.Claim, hosts ...*endpoint.Contender) *owner.Claim {
	who := e.claimant(r)
	kept := e.ClaimFor(n.Name, claim, &who)
	if kept == nil || kept.Kind != owner.Wildcard || endpoint.Underscored(n.Name) {
		return kept
	}
	if slices.ContainsFunc(hosts, func(c *endpoint.Contender) bool { return c.Host == n.Name && !c.Static && c.By.SameNamespace(who.By) }) ||
		n.steersIn(who.By) {
		return nil
	}
	return kept
}

// steersIn reports whether the namespace of m has Records with addresses or a CNAME at the node, which may be nil.
func (n *Node) steersIn(m *api.Meta) bool {
	return n != nil && slices.ContainsFunc(n.Records, func(r *endpoint.Record) bool {
		return endpoint.Steered(r.RR.Header().Rrtype) && r.Record.SameNamespace(m)
	})
}

// outBy returns a function that reports whether keptOut returns a claim.
func (e *Edit) outBy(claim *owner.Claim, n *Node, hosts ...*endpoint.Contender) func(*endpoint.Record) bool {
	return func(r *endpoint.Record) bool { return e.keptOut(r, n, claim, hosts...) != nil }
}

// claimant returns a Record as who wants its name.
func (e *Edit) claimant(r *endpoint.Record) owner.Claimant {
	who := owner.Claimant{By: &r.Record.Meta, Administrative: r.Administrative, Bound: r.Bound}
	if r.Bound {
		who.Since = e.sinceOf(r.Name, who.By, false)
	}
	return who
}

// since returns since when the owner of a name has it.
func (e *Edit) since(name string, own *endpoint.Contender) int64 {
	since := e.sinceOf(name, own.By, !own.Static)
	if own.Reserved() && since == 0 {
		return math.MaxInt64 // unknown, as the object is gone: what has a line of its own stays
	}
	return since
}

func (e *Edit) sinceOf(name string, m *api.Meta, host bool) int64 {
	if e.Since == nil {
		return m.Created
	}
	return e.Since(name, m, host)
}

// Rival returns the claim of a namespace that has had a name one label below another one for longer than that of m has had this one: a
// certificate for the wildcard below it would be good for both (rule 5.9). The zero Claim is none.
func (e *Edit) Rival(above string, m *api.Meta) owner.Claim {
	rivals := e.rivals(above, m)
	for at := range e.Below(above) {
		if up, _ := rdata.Parent(at); up == above && rivals(at) {
			r := e.reachBelow(above)
			return owner.Claim{Kind: owner.Certificate, By: e.ownerUnder(at, e.Node(at), &r)}
		}
	}
	return owner.Claim{}
}

// rivals returns a function that reports whether a name one label below another one is as Rival has it.
func (e *Edit) rivals(above string, m *api.Meta) func(at string) bool {
	since, own := int64(math.MaxInt64), e.OwnerOf(above)
	if own != nil && own.By.SameNamespace(m) {
		since = e.since(above, own)
	} else {
		own = nil
	}
	r := e.reachBelow(above)
	return func(at string) bool {
		if at[0] == '_' {
			return false
		}
		has := e.ownerUnder(at, e.Node(at), &r)
		return has != nil && !has.By.SameNamespace(m) && (own == nil || owner.Before(e.since(at, has), has.By, since, own.By))
	}
}

// Below yields the names below one of the zone's that have, or may have, an owner, and maybe the name itself.
func (e *Edit) Below(name string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		if name == e.Zone.Origin() {
			owned, stop := iter.Pull2(e.owned.from("")) // reserved ones may have no node, and the order must not depend on it
			defer stop()
			has, _, more := owned()
			for at := range e.names.From("") {
				for ; more && has <= at; has, _, more = owned() {
					if has < at && !yield(has) {
						return
					}
				}
				if !yield(at) {
					return
				}
			}
			for ; more && yield(has); has, _, more = owned() {
			}
			return
		}
		prefix := rdata.FromRoot(name)
		for key := range e.deep.edit().From(prefix) {
			if !strings.HasPrefix(key, prefix) || !yield(rdata.FromRoot(key)) {
				return
			}
		}
	}
}

// ClaimFor returns the claim that keeps an object out of a name, if claim is the one on the name; nil for none.
func (e *Edit) ClaimFor(name string, claim *owner.Claim, who *owner.Claimant) *owner.Claim {
	if claim.Refuses(who) {
		return claim
	}
	if above := endpoint.AboveUnderscored(name); who.Bound && isChallenge(name, above) {
		if rival := e.Rival(above, who.By); rival.Refuses(who) {
			return &rival
		}
	}
	return nil
}

// refusals returns the Records at a node that claims keep out; own is the owner of its name, or nil.
func (e *Edit) refusals(n *Node, own *endpoint.Contender) (all []Refusal) {
	if !e.claimable(n) {
		return nil // almost always
	}
	var hosts []*endpoint.Contender
	claim, has := e.ClaimOf(n.Name, own), (*owner.Claim)(nil)
	if own != nil {
		hosts = []*endpoint.Contender{own}
		if !own.Static || own.Addresses {
			has = &owner.Claim{Kind: owner.Name, By: own}
		}
	}
	for _, r := range n.Records {
		c := e.keptOut(r, n, &claim, hosts...)
		if c != nil && c.Kind == owner.Wildcard && has != nil && !own.By.SameNamespace(&r.Record.Meta) {
			c = has // the name itself is somebody's
		}
		if c != nil {
			all = append(all, Refusal{r, c})
		}
	}
	return all
}

// claimable reports whether a claim may keep out Records at a node.
func (e *Edit) claimable(n *Node) bool {
	return slices.ContainsFunc(n.Records, func(r *endpoint.Record) bool { return r.Bound || e.delegating > 0 && !r.Administrative })
}

// Out returns a function that reports whether a claim keeps a Record at a node out, before it is known who owns the name: hosts has those who
// want it.
func (e *Edit) Out(n *Node, hosts []*endpoint.Contender) func(*endpoint.Record) bool {
	if !e.claimable(n) {
		return func(*endpoint.Record) bool { return false } // almost always
	}
	claim := e.ClaimOf(n.Name, nil)
	return e.outBy(&claim, n, hosts...)
}

// Delegating reports whether the zone has NS records below its apex.
func (e *Edit) Delegating() bool { return e.delegating > 0 }

// holder returns the owner of a name, whose node is n, or nil: the contender with its addresses or CNAME, else whose namespace has it, as
// Static.
func (by *Ownership) holder(n *Node) *endpoint.Contender {
	switch {
	case by.Owner != nil: // of the same namespace
		return by.Owner
	case by.By.Static:
		return by.By
	}
	return &endpoint.Contender{ // it cannot be served there, and Records of its namespace may be
		By: by.By.By, Kind: by.By.Kind, Host: by.By.Host, Static: true, Addresses: n.steersIn(by.By.By),
	}
}
