package records

import (
	"maps"
	"slices"
	"time"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/internal/tree"
)

// Zone is one served zone. It is immutable.
type Zone struct {
	origin string
	opt    *ZoneOptions
	// static is what the options put into the zone, by owner name.
	static map[string][]rrset
	names  tree.Map[*node] // by lower-case owner name
	// content is the digest of all names, hash that of the whole zone: the SOA
	// less its serial is in it too (rule 6.7).
	content, hash digest
	// conflicts counts the claims on hosts of the zone that lost.
	conflicts int
	serial    uint32
	// soa is the SOA RRset; negative is the same with the TTL of negative
	// answers (RFC 2308 §3); glue holds the addresses of the zone's own name
	// servers. All are shared and clipped.
	soa, negative, glue []dns.RR
}

// Origin returns the zone's name, in lower case with a final dot.
func (z *Zone) Origin() string { return z.origin }

// Serial returns the SOA serial.
func (z *Zone) Serial() uint32 { return z.serial }

// Names returns the number of names in the zone, empty non-terminals included.
func (z *Zone) Names() int { return z.names.Len() }

// Conflicts returns how many claims on hosts of the zone are kept from being
// served by another object's.
func (z *Zone) Conflicts() int { return z.conflicts }

// node is one existing name of a zone. It is immutable once its zone is
// published.
type node struct {
	name    string
	static  []rrset
	steered steered
	// wild is the node of *.name, nil where there is none (RFC 4592 §2.2).
	wild *node
	// children counts the existing names one label below, so that a name which
	// has only those is an empty non-terminal.
	children int32
	// cut is true where another zone served here begins: the name exists, and
	// this zone has nothing at it (RFC 4035 §3.1.4.1 for DS).
	cut bool
	// edit is the edit that made the node and may still change it.
	edit uint32
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
	id        uint32
	// above is the name that make was last at on its way up, and its node, which
	// this edit may change: most names of a zone have one parent.
	above     string
	aboveNode *node
}

// newZone returns a zone that holds what its options put there, and no more.
// cuts are the origins of the zones served here that begin below it.
func newZone(opt *ZoneOptions, cuts []string) *Zone {
	z := &Zone{origin: opt.Origin, opt: opt, static: opt.staticSets()}
	e := z.edit(0)
	for name, sets := range z.static {
		e.make(name).static = sets
	}
	for _, origin := range cuts {
		e.make(origin).cut = true
	}
	for _, name := range slices.Sorted(maps.Keys(z.static)) {
		for _, s := range z.static[name] {
			e.content = e.content.plus(digestOf(s.rrs))
			if name != z.origin || s.rtype != dns.TypeNS {
				z.glue = append(z.glue, s.rrs...)
			}
		}
	}
	z.glue = slices.Clip(z.glue)
	z.names, z.content = e.names.Map(), e.content
	return z
}

func (z *Zone) edit(id uint32) *zoneEdit {
	return &zoneEdit{zone: z, names: z.names.Edit(), content: z.content, conflicts: z.conflicts, id: id}
}

// set puts data at name, or takes it away where data has no owner.
func (e *zoneEdit) set(name string, data steered) {
	if data.owner == nil {
		if _, ok := e.names.Get(name); !ok {
			return
		}
	}
	n := e.make(name)
	e.content = e.content.minus(n.steered.digest).plus(data.digest)
	n.steered = data
	if n.empty() {
		e.remove(n)
	}
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
	above := e.aboveNode
	above.children++
	if isWildcardOf(name, up) {
		above.wild = n
	}
	return n
}

// own returns a node that this edit may change in place of n.
func (e *zoneEdit) own(n *node) *node {
	if n.edit == e.id {
		return n
	}
	c := *n
	c.edit = e.id
	e.names.Set(c.name, &c)
	if up, ok := parent(c.name); ok && isWildcardOf(c.name, up) && c.name != e.zone.origin {
		e.make(up).wild = &c
	}
	return &c
}

// remove deletes an empty node, and the names above it that become empty.
func (e *zoneEdit) remove(n *node) {
	for n.name != e.zone.origin && n.empty() {
		e.names.Delete(n.name)
		e.aboveNode = nil
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

// find returns the node that answers for name, which lies in the zone: its own,
// or the wildcard that covers it (RFC 4592 §3.3.1). nil means that the name
// does not exist. name is in lower case.
func (z *Zone) find(name string) *node {
	if n, ok := z.names.Get(name); ok {
		return n
	}
	for off, end := dns.NextLabel(name, 0); !end; off, end = dns.NextLabel(name, off) {
		if n, ok := z.names.Get(name[off:]); ok {
			return n.wild // of the closest encloser
		}
	}
	n, _ := z.names.Get(".")
	if n == nil {
		return nil
	}
	return n.wild
}

// finish returns the edited zone. before is the zone of the same name in the
// snapshot before, nil for none: an unchanged hash keeps its serial (rule 6.7).
// Without it, retired is the serial that the zone had when it was served last, 0
// for none.
func (e *zoneEdit) finish(before *Zone, retired uint32, now time.Time) *Zone {
	z := *e.zone
	z.names, z.content, z.conflicts = e.names.Map(), e.content, e.conflicts
	z.hash = z.content.plus(digestOf([]dns.RR{z.opt.soa(0)}))
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
	z.number(z.serial)
	return &z
}

// number gives the zone its serial, before anybody else sees it.
func (z *Zone) number(serial uint32) {
	soa := z.opt.soa(serial)
	denial := *soa
	denial.Hdr.Ttl = min(soa.Hdr.Ttl, soa.Minttl)
	z.serial, z.soa, z.negative = serial, []dns.RR{soa}, []dns.RR{&denial}
}
