package records

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/miekg/dns"
)

// ofType returns the records of a type among sets.
func ofType(sets []rrset, rtype uint16) []dns.RR {
	for i := range sets {
		if sets[i].rtype == rtype {
			return sets[i].rrs
		}
	}
	return nil
}

// steeredType tells whether data of the type belong to one owner (rule 5.3).
func steeredType(t uint16) bool { return t == dns.TypeA || t == dns.TypeAAAA || t == dns.TypeCNAME }

// standing is what a name holds apart from its Records.
type standing struct {
	// owner is the object that the steered data belong to; nil for none but the Records.
	owner *claim
	// kept is true where the owner has the name for longer than its age tells (rule 5.4).
	kept bool
	// hider is the object that has a name which NS or DNAME records here would hide, and
	// is older than they are; nil for none.
	hider *claim
	// fixed is what the Corefile puts there: Records do not change it.
	fixed []rrset
}

// reserved tells whether the Corefile gives the name addresses.
func (at *standing) reserved() bool {
	return slices.ContainsFunc(at.fixed, func(s rrset) bool { return steeredType(s.rtype) })
}

// rrsetsOf returns the RRsets that the Records at one name make together, by type
// (rule 5.3). lose, which may be nil, is told of each that is not among them, or not as
// it is written.
func rrsetsOf(entries []*entry, at standing, lose func(*entry, *problem)) []rrset {
	if len(entries) == 0 {
		return nil
	}
	if lose == nil {
		lose = func(*entry, *problem) {}
	}
	entries = standingBeside(entries, at, lose)
	switch len(entries) {
	case 0:
		return nil
	case 1: // by far the most
		rr := entries[0].rr
		return []rrset{{rr.Header().Rrtype, []dns.RR{rr}}}
	}
	sortByData(entries)
	var sets []rrset
	for len(entries) > 0 {
		n := 1
		for n < len(entries) && entries[n].rr.Header().Rrtype == entries[0].rr.Header().Rrtype {
			n++
		}
		sets = append(sets, oneRRset(entries[:n], lose))
		entries = entries[n:]
	}
	return slices.Clip(sets)
}

// sortByData puts entries in the order of their types and data, then age. The text of each
// is made once.
func sortByData(entries []*entry) {
	text := make(map[*entry]string, len(entries))
	for _, e := range entries {
		if t := e.rr.Header().Rrtype; t != dns.TypeA && t != dns.TypeAAAA {
			text[e] = dataText(e.rr)
		}
	}
	slices.SortFunc(entries, func(a, b *entry) int {
		if n := cmp.Compare(a.rr.Header().Rrtype, b.rr.Header().Rrtype); n != 0 {
			return n
		}
		if t, ok := text[a]; ok {
			return cmp.Or(strings.Compare(t, text[b]), a.record.Older(&b.record.Meta))
		}
		return cmp.Or(compareData(a.rr, b.rr), a.record.Older(&b.record.Meta))
	})
}

// maxAtName is how many Records of one name are served at the most: a message holds no
// more than some thousand addresses.
const maxAtName = 1000

// standingBeside returns those of entries that may stand beside each other and beside
// what else there is. Older ones go first.
func standingBeside(entries []*entry, at standing, lose func(*entry, *problem)) []*entry {
	if len(entries) == 1 && at.owner == nil && at.hider == nil && at.fixed == nil {
		return entries // by far the most
	}
	byAge := slices.Clone(entries)
	slices.SortFunc(byAge, func(a, b *entry) int { return a.record.Older(&b.record.Meta) })
	var alias, dname *entry           // the first of their type
	owners := make(map[uint16]*entry) // the first of each type
	var other *entry                  // the first of another type than CNAME
	namespaces := make(map[string]*entry)
	n := 0
	return slices.DeleteFunc(byAge, func(e *entry) bool {
		rtype := e.rr.Header().Rrtype
		switch {
		case n == maxAtName:
			lose(e, problemf(reasonConflicted, "%d Records have the name, which is the most: the older ones are served", maxAtName))
		case at.owner != nil && (steeredType(rtype) || at.owner.ownsAll(e, at.kept)):
			lose(e, &problem{reason: reasonConflicted})
		case e.kind != 0 && at.owner != nil && at.owner.by.Namespace() != e.record.Namespace():
			lose(e, &problem{reason: reasonConflicted})
		case e.kind != 0 && stranger(namespaces, e) != nil:
			first := stranger(namespaces, e)
			lose(e, problemf(reasonConflicted, "the name belongs to %s %s", first.objectKind(), inCluster(&first.record.Meta, &e.record.Meta)))
		case owners[rtype] != nil && !owners[rtype].sameOwner(e):
			first := owners[rtype]
			lose(e, problemf(reasonConflicted, "the %s records of the name belong to %s %s", e.record.Type, first.objectKind(), inCluster(&first.record.Meta, &e.record.Meta)))
		case at.hider != nil && e.hidesNames():
			lose(e, problemf(reasonConflicted, "the record would hide %s, which belongs to %s %s",
				trimDot(at.hider.host), at.hider.kind, inCluster(at.hider.by, &e.record.Meta)))
		case at.reserved() && steeredType(rtype):
			lose(e, problemf(reasonConflicted, "%s is a name server of its zone, with addresses of its own in the Corefile", trimDot(e.name)))
		case rtype == dns.TypeCNAME && alias != nil && !dns.IsDuplicate(e.rr, alias.rr):
			lose(e, problemf(reasonConflicted, "one name has one CNAME: Record %s is older", inCluster(&alias.record.Meta, &e.record.Meta)))
		case rtype == dns.TypeCNAME && other != nil:
			lose(e, problemf(reasonConflicted, "a CNAME may not stand beside other data: Record %s of type %s is older", inCluster(&other.record.Meta, &e.record.Meta), other.record.Type))
		case rtype != dns.TypeCNAME && alias != nil:
			lose(e, problemf(reasonConflicted, "no data may stand beside a CNAME: Record %s is older", inCluster(&alias.record.Meta, &e.record.Meta)))
		case rtype == dns.TypeDNAME && dname != nil && !dns.IsDuplicate(e.rr, dname.rr):
			lose(e, problemf(reasonConflicted, "one name has one DNAME: Record %s is older", inCluster(&dname.record.Meta, &e.record.Meta)))
		default:
			n++
			owners[rtype] = cmp.Or(owners[rtype], e)
			if e.kind == 0 || namespaces[e.record.Namespace()] == nil {
				namespaces[e.record.Namespace()] = e
			}
			switch {
			case rtype == dns.TypeCNAME:
				alias = cmp.Or(alias, e)
			case rtype == dns.TypeDNAME:
				dname, other = cmp.Or(dname, e), cmp.Or(other, e)
			default:
				other = cmp.Or(other, e)
			}
			return false
		}
		return true
	})
}

// stranger returns an entry of another namespace than e's; nil for none.
func stranger(namespaces map[string]*entry, e *entry) (found *entry) {
	for namespace, o := range namespaces {
		if namespace != e.record.Namespace() && (found == nil || o.record.Older(&found.record.Meta) < 0) {
			found = o
		}
	}
	return found
}

// ownsAll tells whether the claim, which has a name, keeps everything from it that is
// younger, or came later: the names at and below klb.H' are all its own (rule 5.7), and beside a CNAME to
// a hostname nothing can stand.
func (c *claim) ownsAll(e *entry, kept bool) bool {
	if !kept && c.by.Older(&e.record.Meta) >= 0 {
		return false
	}
	return c.steers() && IsSubdomain(klbLabel+base(c.host), e.name) || e.origin > 0 && e.name == c.host && c.needsAlias()
}

// needsAlias tells whether the claim's host is answered with a CNAME to a hostname, to
// some clients at least.
func (c *claim) needsAlias() bool {
	if c.targets == nil {
		return false
	}
	hostnames, addresses := false, false
	for i := range c.targets.leaves {
		l := &c.targets.leaves[i]
		hostnames, addresses = hostnames || len(l.hostnames) > 0, addresses || len(l.v4)+len(l.v6) > 0
	}
	return hostnames && (!addresses || c.pools())
}

// oneRRset makes one RRset of entries of one type, which are in the order of their data:
// each data once, with the lowest TTL of all (RFC 2181 §5 and §5.2).
func oneRRset(entries []*entry, lose func(*entry, *problem)) rrset {
	ttl := entries[0].rr.Header().Ttl
	for _, e := range entries {
		ttl = min(ttl, e.rr.Header().Ttl)
	}
	rrs := make([]dns.RR, 0, len(entries))
	for _, e := range entries {
		rr := e.rr
		if rr.Header().Ttl != ttl {
			lose(e, problemf(reasonTTL, "the records of type %s at one name have one TTL: the lowest, %d, is served", e.record.Type, ttl))
			rr = copyHeader(rr)
			rr.Header().Ttl = ttl
		}
		if n := len(rrs); n == 0 || compareData(rrs[n-1], rr) != 0 {
			rrs = append(rrs, rr)
		}
	}
	return rrset{entries[0].rr.Header().Rrtype, slices.Clip(rrs)}
}

// compareData orders records of one type by their data, whatever their TTLs and owner
// names; 0 means that it is the same.
func compareData(a, b dns.RR) int {
	switch a := a.(type) {
	case *dns.A:
		if b, ok := b.(*dns.A); ok {
			return bytes.Compare(a.A, b.A)
		}
	case *dns.AAAA:
		if b, ok := b.(*dns.AAAA); ok {
			return bytes.Compare(a.AAAA, b.AAAA)
		}
	}
	return strings.Compare(dataText(a), dataText(b))
}

// dataText is the data of a record as in a master file.
func dataText(rr dns.RR) string {
	return strings.TrimPrefix(rr.String(), rr.Header().String())
}

// hasOther tells whether the Records at a name have data that stand beside the steered
// data of owner.
func (c *compiler) hasOther(name string, owner *claim) bool {
	i := c.zoneOf(name)
	n := c.nodeAt(name)
	if n == nil || len(n.entries) == 0 {
		return false
	}
	at := standing{owner: owner, kept: c.holds(owner), fixed: c.zones[i].fixed[name]}
	if o, ok := c.occlusions.Get(name); ok {
		at.hider = o.outdone
	}
	return slices.ContainsFunc(rrsetsOf(n.entries, at, nil), func(s rrset) bool { return !steeredType(s.rtype) })
}

// sameOwner tells whether two entries are of one owner: all Records are, and what one
// object has (rule 5.3).
func (e *entry) sameOwner(o *entry) bool {
	return e.kind == o.kind && (e.kind == 0 || e.record.Name == o.record.Name) // in another cluster it is the same object (rule 5.6)
}
