package records

import (
	"cmp"
	"slices"
	"time"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/tree"
)

// Zone is one served zone. It is immutable.
type Zone struct {
	site
	// fixed is what the Corefile puts into the zone, by owner name.
	fixed map[string][]rrset
	names tree.Map[*node] // by lower-case owner name
	// delegations is what the zone holds of the zones served here that begin below it, by
	// their origins; copied is the same by owner name.
	delegations tree.Map[*delegation]
	copied      tree.Map[[]rrset]
	// told is what is said of the owners of hosts, by owner name (rule 5.8).
	told tree.Map[[]rrset]
	// barred has the owner of names at which others' Records are not served, beside what
	// its own data there tell.
	barred tree.Map[bar]
	// hidden has the owner of a name that NS or DNAME records would hide, by the name of
	// those: they are not served.
	hidden tree.Map[*claim]
	// content is the digest of all names, hash that of the whole zone: the SOA
	// less its serial is in it too (rule 6.7).
	content, hash digest
	// conflicts counts the claims on hosts of the zone that lost.
	conflicts int
	// turns counts the names at which a search leaves the zone or goes elsewhere: cuts
	// to zones that are not served here, and DNAMEs.
	turns int
	// voids counts the nodes of names that do not exist.
	voids  int
	serial uint32
	// numbered is the generation of the snapshot in which the zone has got its serial.
	numbered uint32
	// soa is the SOA RRset; negative is the same with the TTL of negative
	// answers (RFC 2308 §3); glue holds the addresses of the zone's own name
	// servers. All are shared and clipped. Versions with the same content have the same
	// SOA record, and no others have.
	soa, negative, glue []dns.RR
	// dnames are the owner names of DNAMEs.
	dnames tree.Map[struct{}]
	// journal is how the zone became what it is.
	journal journal
}

// Origin returns the zone's name, in lower case with a final dot.
func (z *Zone) Origin() string { return z.origin }

// Serial returns the SOA serial.
func (z *Zone) Serial() uint32 { return z.serial }

// Names returns the number of names in the zone, empty non-terminals included.
func (z *Zone) Names() int { return z.names.Len() - z.voids }

// Conflicts returns how many claims on hosts of the zone are kept from being
// served by another object's.
func (z *Zone) Conflicts() int { return z.conflicts }

// node is one existing name of a zone. It is immutable once its zone is
// published.
type node struct {
	name string
	// static is its RRsets but for the steered data, by type: those of its Records, of
	// the Corefile, and what is copied from zones below. It is not nil where the name
	// exists for one of these.
	static  []rrset
	entries []*entry // the Records
	steered steered
	// digest is that of all that the node holds.
	digest digest
	// wild is the node of *.name, nil where there is none (RFC 4592 §2.2).
	wild *node
	// children counts the existing names one label below, so that a name which
	// has only those is an empty non-terminal.
	children int32
	// edit is the edit that made the node and may still change it.
	edit uint32
	// lost counts the Records that are not served for what else is at the name.
	lost int32
	// cut is true where another zone served here begins: the name exists, and
	// this zone answers for DS alone at it (RFC 4035 §3.1.4.1).
	cut bool
	// turn is true where a search ends its way through the zone: NS records at a cut to
	// a zone that is not served here, or a DNAME.
	turn bool
	// void is true where the name does not exist: all that it has are Records that are
	// not served.
	void bool
	// several is true where there were several Records before this edit.
	several bool
	// stale is true while static is to be made anew.
	stale bool
}

func (n *node) empty() bool {
	return n.children == 0 && n.static == nil && n.steered.owner == nil && !n.cut
}

// zoneEdit is the next version of a Zone while it is being made. Nodes made by
// one edit are changed in place by it; older ones are copied first.
type zoneEdit struct {
	zone      *Zone
	names     *tree.Edit[*node]
	content   digest
	conflicts int
	turns     int
	voids     int
	id        uint32
	// stale are the nodes whose RRsets are to be made anew.
	stale []*node
	// settled are the names that were: nothing else differs from the zone before.
	settled []string
	// contended are the names at which the verdicts of several Records may have changed.
	contended []string
	// addressed are the names that may have addresses now and had none, or the other way.
	addressed []string
	// delegations and copied are the next versions of the zone's; nil for the same.
	delegations *tree.Edit[*delegation]
	copied      *tree.Edit[[]rrset]
	told        *tree.Edit[[]rrset] // the same
	barred      *tree.Edit[bar]     // the same
	hidden      *tree.Edit[*claim]  // the same
	// dnames is the next version of the zone's; nil for the same. redirected are the names
	// that it differs at.
	dnames     *tree.Edit[struct{}]
	redirected []string
	// above is the name that make was last at on its way up, and its node, which
	// this edit may change: most names of a zone have one parent.
	above     string
	aboveNode *node
}

// newZone returns a zone that holds what the Corefile puts there, and no more.
// cuts are the origins of the zones served here that begin below it.
func newZone(at site, cuts []string) *Zone {
	z := &Zone{site: at, fixed: at.fixedSets()}
	e := z.edit(0)
	for name := range z.fixed {
		e.renew(e.make(name))
	}
	e.renew(e.make(z.origin))
	for _, origin := range cuts {
		e.make(origin).cut = true
	}
	e.settle()
	z.names, z.content = e.names.Map(), e.content // the Corefile has no DNAMEs
	return z
}

func (z *Zone) edit(id uint32) *zoneEdit {
	return &zoneEdit{zone: z, names: z.names.Edit(), content: z.content, conflicts: z.conflicts, turns: z.turns, voids: z.voids, id: id}
}

// set puts steered data at name, or takes it away where data has no owner.
func (e *zoneEdit) set(name string, data steered) {
	if data.owner == nil {
		if _, ok := e.names.Get(name); !ok {
			return
		}
	}
	n := e.make(name)
	if (n.steered.owner == nil) != (data.owner == nil) {
		e.addressed = append(e.addressed, name)
	}
	n.steered = data
	e.renew(n)
}

// add puts a Record at its name.
func (e *zoneEdit) add(r *entry) {
	n := e.make(r.name)
	n.entries = append(n.entries, r)
	e.renew(n)
}

// drop takes a Record away from its name.
func (e *zoneEdit) drop(r *entry) {
	n := e.make(r.name)
	n.several = n.several || len(n.entries) > 1
	n.entries = slices.DeleteFunc(slices.Clone(n.entries), func(o *entry) bool { return o == r })
	if len(n.entries) == 0 {
		n.entries = nil
	}
	e.renew(n)
}

// node returns what there is at name as edited so far; nil for nothing.
func (e *zoneEdit) node(name string) *node {
	n, _ := e.names.Get(name)
	return n
}

// renew has the RRsets of a node, which this edit may change, made anew.
func (e *zoneEdit) renew(n *node) {
	if !n.stale {
		n.stale = true
		e.stale = append(e.stale, n)
	}
}

// settle makes the RRsets of the nodes that have changed, and takes away the names that
// nothing is left of.
func (e *zoneEdit) settle() {
	for i := 0; i < len(e.stale); i++ { // the apex may add one
		n := e.stale[i]
		n.stale = false
		if n.name == e.zone.origin && len(e.zone.corefile.Nameservers) == 0 && !e.zone.standsFor(n.name) {
			e.renew(e.make(e.zone.nameservers()[0].Name)) // it stands in, or does not any more
		}
		turn, lost, addressed := n.turn, n.lost, n.addressed()
		n.static = e.setsAt(n)
		e.conflicts += int(n.lost - lost)
		if len(n.entries) > 1 || n.several || lost+n.lost > 0 || n.cut && len(n.entries) > 0 {
			e.contended = append(e.contended, n.name)
		}
		if addressed != n.addressed() {
			e.addressed = append(e.addressed, n.name)
		}
		n.turn = e.zone.turnsAt(n)
		if turn != n.turn {
			e.turns += btoi(n.turn) - btoi(turn)
		}
		if turn || n.turn {
			e.redirect(n)
		}
		e.content = e.content.minus(n.digest)
		n.digest = n.sum()
		e.content = e.content.plus(n.digest)
		if e.zone.soa != nil { // it has been served, and is compared with
			e.settled = append(e.settled, n.name)
		}
	}
	for _, n := range e.stale {
		switch {
		case n.empty():
			e.remove(n)
		case n.void:
			e.attach(n)
		}
	}
	e.stale = nil
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// setsAt returns the RRsets of a name but for the steered data.
func (e *zoneEdit) setsAt(n *node) []rrset {
	fixed, known := e.zone.fixed[n.name]
	if known && e.zone.standsFor(n.name) {
		known = e.zone.standsIn(e.node(e.zone.origin))
	}
	n.lost = 0
	sets := rrsetsOf(n.entries, e.standing(n), func(_ *entry, p *problem) {
		if p.reason == reasonConflicted {
			n.lost++
		}
	})
	if known {
		if n.name == e.zone.origin && ofType(sets, dns.TypeNS) != nil {
			fixed = fixed[1:] // the Zone has name servers of its own (rule 6.8)
		}
		sets = merge(sets, fixed)
		if sets == nil {
			sets = []rrset{}
		}
	}
	copies, _ := current(e.copied, e.zone.copied).Get(n.name)
	told, _ := current(e.told, e.zone.told).Get(n.name)
	sets = merge(sets, copies)
	if ofType(sets, dns.TypeCNAME) != nil || n.steered.aliased() {
		return sets // nothing stands beside a CNAME
	}
	return merge(sets, told)
}

// current returns what an edit, which may be nil, has made of a map so far.
func current[V any](edit *tree.Edit[V], m tree.Map[V]) interface{ Get(string) (V, bool) } {
	if edit != nil {
		return edit
	}
	return m
}

// standsFor tells whether name is the one that is made up where nobody has named a name
// server.
func (at *site) standsFor(name string) bool {
	return len(at.corefile.Nameservers) == 0 && at.nameservers()[0].Name == name
}

// standing returns what a name holds apart from its Records.
func (e *zoneEdit) standing(n *node) standing {
	barred, _ := current(e.barred, e.zone.barred).Get(n.name)
	at := standing{owner: cmp.Or(n.steered.owner, barred.owner), kept: barred.kept, fixed: e.zone.fixed[n.name]}
	at.hider, _ = current(e.hidden, e.zone.hidden).Get(n.name)
	return at
}

// standing is the same in a zone that is not edited.
func (z *Zone) standing(n *node) standing {
	barred, _ := z.barred.Get(n.name)
	hider, _ := z.hidden.Get(n.name)
	return standing{owner: cmp.Or(n.steered.owner, barred.owner), kept: barred.kept, hider: hider, fixed: z.fixed[n.name]}
}

// hide makes o what there is to say of the NS and DNAME records at a name.
func (e *zoneEdit) hide(name string, o *occlusion) {
	if e.hidden == nil {
		e.hidden = e.zone.hidden.Edit()
	}
	if o == nil || o.outdone == nil {
		e.hidden.Delete(name)
	} else {
		e.hidden.Set(name, o.outdone)
	}
	e.renew(e.make(name))
}

// bar says whose a name is; kept is standing.kept.
type bar struct {
	owner *claim
	kept  bool
}

// bar keeps the Records at name, where there are any, from what belongs to an owner; none
// ends that.
func (e *zoneEdit) bar(name string, by bar) {
	if e.barred == nil {
		e.barred = e.zone.barred.Edit()
	}
	if by.owner == nil {
		e.barred.Delete(name)
	} else {
		e.barred.Set(name, by)
	}
	if e.node(name) != nil {
		e.renew(e.make(name))
	}
}

// turnsAt tells whether a search ends its way through the zone at n.
func (z *Zone) turnsAt(n *node) bool {
	for i := range n.static {
		switch n.static[i].rtype {
		case dns.TypeDNAME:
			return true
		case dns.TypeNS:
			if !n.cut && n.name != z.origin {
				return true
			}
		}
	}
	return false
}

// make returns the node at name for changing, adding it and the empty
// non-terminals above it where they are missing.
func (e *zoneEdit) make(name string) *node {
	n, ok := e.names.Get(name)
	if ok {
		return e.own(n)
	}
	n = &node{name: name, edit: e.id}
	e.names.Set(name, n)
	if name == e.zone.origin {
		return n
	}
	up, _ := parent(name)
	if e.aboveNode == nil || e.above != up {
		e.above, e.aboveNode = up, e.make(up)
	}
	e.attachTo(n, e.aboveNode)
	return n
}

// attachTo makes n, which did not exist, a name below above.
func (e *zoneEdit) attachTo(n, above *node) {
	if above.void {
		e.attach(above)
	}
	above.children++
	if isWildcardOf(n.name, above.name) {
		above.wild = n
	}
}

// attach makes a void node a name that exists.
func (e *zoneEdit) attach(n *node) {
	n.void = false
	e.voids--
	up, _ := parent(n.name)
	e.attachTo(n, e.make(up))
}

// own returns a node that this edit may change in place of n.
func (e *zoneEdit) own(n *node) *node {
	if n.edit == e.id {
		return n
	}
	c := *n
	c.edit, c.entries, c.several = e.id, slices.Clip(n.entries), false
	e.names.Set(c.name, &c)
	if up, ok := parent(c.name); ok && !c.void && isWildcardOf(c.name, up) && c.name != e.zone.origin {
		e.make(up).wild = &c
	}
	return &c
}

// remove takes an empty node away, and the names above it that become empty. One that
// has Records stays as a void node.
func (e *zoneEdit) remove(n *node) {
	if here := e.node(n.name); here != n {
		return // it went with a name below it
	}
	for n.name != e.zone.origin && n.empty() {
		was := n.void
		if len(n.entries) == 0 {
			e.names.Delete(n.name)
			e.voids -= btoi(was)
			e.aboveNode = nil
		} else {
			n.void = true
			e.voids += 1 - btoi(was)
		}
		if was {
			return // the names above know
		}
		up, _ := parent(n.name)
		above := e.make(up)
		above.children--
		if isWildcardOf(n.name, up) {
			above.wild = nil
		}
		n = above
	}
}

// isWildcardOf tells whether name is *.up.
func isWildcardOf(name, up string) bool {
	return len(name) == len(up)+len(wildcardPrefix) && name[:len(wildcardPrefix)] == wildcardPrefix ||
		up == "." && name == wildcardPrefix
}

// finish returns the edited zone. before is the zone of the same name in the
// snapshot before, nil for none: an unchanged hash keeps its serial (rule 6.7).
// Without it, retired is the serial that the zone had when it was served last, 0
// for none. kept is what its Zone's status says.
func (e *zoneEdit) finish(before *Zone, retired uint32, kept api.Kept, now time.Time) *Zone {
	z := *e.zone
	z.names, z.content, z.conflicts, z.turns = e.names.Map(), e.content, e.conflicts, e.turns
	z.voids = e.voids
	if e.copied != nil {
		z.delegations, z.copied = e.delegations.Map(), e.copied.Map()
	}
	if e.dnames != nil {
		z.dnames = e.dnames.Map()
	}
	if e.told != nil {
		z.told = e.told.Map()
	}
	if e.barred != nil {
		z.barred = e.barred.Map()
	}
	if e.hidden != nil {
		z.hidden = e.hidden.Map()
	}
	z.glue = z.ownGlue()
	z.numbered = e.id
	z.hash = z.content.plus(digestOf([]dns.RR{z.site.soa(z.mname(), 0)}))
	switch {
	case before == nil && retired == 0:
		z.serial = firstSerial(now)
	case before == nil:
		z.serial = nextSerial(retired, now)
	case before.hash == z.hash:
		z.serial = before.serial
	default:
		z.serial = nextSerial(before.serial, now)
	}
	switch serial := z.after(z.serial, kept, before == nil && retired == 0, now); {
	case before == nil || serial != z.serial:
		z.number(serial) // others have published too: one serial may have meant two things
	case before.hash == z.hash:
		z.become(before)
	default:
		z.number(serial)
		z.journal = before.journal.with(e.delta(before, &z))
	}
	return &z
}

// after returns the serial that the zone has in view of what its Zone says was published
// last, whoever published it (rule 6.7). serial is what it would have without that; first
// is true where nothing was published here yet.
func (z *Zone) after(serial uint32, kept api.Kept, first bool, now time.Time) uint32 {
	switch newer := int32(kept.Serial-serial) > 0; {
	case kept.Hash == "" || kept.Serial == 0:
	case kept.Hash == z.Hash() && (first || newer):
		return kept.Serial
	case kept.Hash != z.Hash() && (newer || kept.Serial == serial):
		return nextSerial(kept.Serial, now)
	}
	return serial
}

// mname returns the first of the zone's name servers.
func (z *Zone) mname() string {
	if apex, ok := z.names.Get(z.origin); ok {
		if ns := ofType(apex.static, dns.TypeNS); len(ns) > 0 {
			return ns[0].(*dns.NS).Ns
		}
	}
	return z.nameservers()[0].Name
}

// ownGlue returns the addresses of the zone's name servers where all of them lie in it.
func (z *Zone) ownGlue() []dns.RR {
	apex, ok := z.names.Get(z.origin)
	if !ok {
		return nil
	}
	servers := ofType(apex.static, dns.TypeNS)
	if slices.ContainsFunc(servers, func(rr dns.RR) bool { return !IsSubdomain(z.origin, rr.(*dns.NS).Ns) }) {
		return nil // another zone served here may have it
	}
	return z.glueOf(servers)
}

// appendAddresses appends the static addresses that the zone has at name to rrs.
func (z *Zone) appendAddresses(rrs []dns.RR, name string) []dns.RR {
	n, ok := z.names.Get(name)
	if !ok {
		return rrs
	}
	rrs = append(rrs, ofType(n.static, dns.TypeA)...)
	return append(rrs, ofType(n.static, dns.TypeAAAA)...)
}

// number gives the zone its serial, before anybody else sees it. It has no journal then.
func (z *Zone) number(serial uint32) {
	soa := z.site.soa(z.mname(), serial)
	denial := *soa
	denial.Hdr.Ttl = min(soa.Hdr.Ttl, soa.Minttl)
	z.serial, z.soa, z.negative, z.journal = serial, []dns.RR{soa}, []dns.RR{&denial}, journal{}
}

// become makes the zone the same generation as o, which has the same content.
func (z *Zone) become(o *Zone) {
	z.serial, z.numbered, z.soa, z.negative, z.journal = o.serial, o.numbered, o.soa, o.negative, o.journal
}
