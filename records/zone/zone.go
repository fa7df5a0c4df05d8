package zone

import (
	"iter"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/internal/tree"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/pool"
)

// Zone is one served zone. It is immutable.
type Zone struct {
	endpoint.Zone
	// Fixed is what the Corefile puts into the zone, by owner name.
	Fixed map[string][]RRset
	// Nodes are the names of the zone, by owner name in lower case.
	Nodes tree.Map[*Node]
	trees
	sums
	// hash is the digest of the whole zone, including the SOA without its serial (rule 6.7).
	hash   digest
	serial uint32
	// made is the generation of the snapshot that gave the zone its content.
	made uint32
	// SOASet is the SOA RRset; Negative is the same with the TTL of negative answers (RFC 2308 §3);
	// Glue has the addresses of the zone's own name servers. All are shared and clipped. Versions
	// have the same SOA record if and only if they have the same content.
	SOASet, Negative, Glue []dns.RR
	// journal is how the zone became what it is.
	journal journal
	// publisher has the published version if a writer keeps serials; nil if none does: then the zone
	// itself is published.
	publisher *publisher
}

// trees are a zone's data beside its nodes.
type trees struct {
	// delegations are the zone's data about zones below it that are served here, by origin; copied
	// is the same by owner name.
	delegations edited[*delegation]
	copied      edited[[]RRset]
	// ownerTXTs name the owners of hosts, by owner name (rule 5.8).
	ownerTXTs edited[[]RRset]
	// owned has the owners of names whose Records belong to other objects.
	owned edited[Ownership]
	// dnames are the owner names of DNAMEs.
	dnames edited[struct{}]
	// deep are the names with Records or an owner that lie below another name of the zone than its origin, each
	// with its last label first.
	deep edited[struct{}]
	// bound are the names with something that the claims of others may keep out, each with its last label first: see Edit.NoteGroup.
	// refused has the Records that they do keep out, by owner name.
	bound   edited[uint8]
	refused edited[[]Refusal]
	// foreign are the wildcards that do not answer for names with labels that begin with _ directly below their parents, as _acme-challenge
	// there is not for their own namespaces (rule 5.9). Each has the name beside it for which that is so, "" for another reason.
	foreign edited[string]
}

// edited is a tree; in an Edit, from the first change on, its next version.
type edited[V any] struct {
	tree.Map[V]
	next *tree.Edit[V]
}

// Get returns the value at key as edited so far.
func (t edited[V]) Get(key string) (V, bool) {
	if t.next != nil {
		return t.next.Get(key)
	}
	return t.Map.Get(key)
}

// from yields the entries as edited so far whose keys are at or after key, in order. The body must not edit.
func (t edited[V]) from(key string) iter.Seq2[string, V] {
	if t.next != nil {
		return t.next.From(key)
	}
	return t.Map.From(key)
}

// edit returns the next version.
func (t *edited[V]) edit() *tree.Edit[V] {
	if t.next == nil {
		t.next = t.Map.Edit()
	}
	return t.next
}

// end makes the next version the tree.
func (t *edited[V]) end() {
	if t.next != nil {
		t.Map, t.next = t.next.Map(), nil
	}
}

// sums are the counts over a zone's names.
type sums struct {
	// content is the digest of all names.
	content digest
	// Conflicts counts the contenders on hosts of the zone that are not served because of another object's.
	Conflicts int
	// Turns counts the names at which a search leaves the zone or goes elsewhere: cuts
	// to zones that are not served here, and DNAMEs.
	Turns int
	// unserved counts the nodes of names that do not exist, Listed those that Snapshot.Names yields.
	unserved, Listed int
	// UnreadNames counts the names whose owners cannot be read now, those of zones below among them.
	UnreadNames int
	// delegating counts the NS Records below the apex, served or not. wildcards counts the names with a wildcard below them.
	delegating, wildcards int
}

// Origin returns the zone's name, in lower case with a final dot.
func (z *Zone) Origin() string { return z.Zone.Origin }

// Serial returns the serial of the SOA record in answers.
func (z *Zone) Serial() uint32 { return z.serial }

// Names returns the number of names in the zone, empty non-terminals included.
func (z *Zone) Names() int { return z.Nodes.Len() - z.unserved }

// Node is one name of a zone with its data. It is immutable once Finish has
// returned its zone.
type Node struct {
	Name string // the owner name, in lower case with a final dot
	// Static is its RRsets without the steered data, by type: those of its Records, of
	// the Corefile, and copies from zones below. It is not nil if the name exists because
	// of one of these.
	Static []RRset
	// Records are the records of objects that lie here, served or not. Steered is chosen
	// for each query.
	Records []*endpoint.Record
	Steered pool.Steered
	// digest covers all of the node's data.
	digest digest
	// wild is the node of *.name, nil for none (RFC 4592 §2.2).
	wild *Node
	// Children counts the existing names one label below, so that a name which
	// has only those is an empty non-terminal.
	Children int32
	// edit is the edit that made the node and may still change it.
	edit uint32
	// Lost counts the Records that are not served because of other data at the name.
	Lost int32
	// Cut is true if another zone served here begins: the name exists, and
	// this zone answers for DS alone at it (RFC 4035 §3.1.4.1).
	Cut bool
	// Turn is true if a search ends its way through the zone: NS records at a cut to
	// a zone that is not served here, or a DNAME.
	Turn bool
	// Unserved is true if the name does not exist: all that it has are Records that are
	// not served.
	Unserved bool
	// stale is true while Static is to be made anew.
	stale bool
}

// empty reports whether nothing stands at the node, nor below it, that is served.
func (n *Node) empty() bool {
	return n.Children == 0 && n.Static == nil && n.Steered.Owner == nil && !n.Cut
}

// delegation is a zone's data about a zone below that is served here: its NS records, and the
// addresses of its servers that lie in it (rule 6.6).
type delegation struct {
	names []string // owner names
	sets  [][]RRset
}

// Ownership is who owns a name that has Records; its fields are those of Others.
type Ownership struct {
	Owner, By *endpoint.Contender
	Alias     bool
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
