package records

import (
	"iter"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// NameState is one name that has data, at one moment. Names have no final dot.
type NameState struct {
	// Name is the name, and Zone that of its zone.
	Name string `json:"name"`
	Zone string `json:"zone"`
	// Owner has the addresses, or the CNAME; nil for nobody, or for Records of several Zones. Of name servers that the
	// Corefile gives addresses it is of the kind Corefile, without a name.
	Owner *Object `json:"owner,omitempty"`
	// Sources are the objects that the data come from which nobody's health decides on, the first ones of them; one of the
	// kind Corefile is none. MoreSources is how many there are besides.
	Sources     []Object `json:"sources,omitempty"`
	MoreSources int      `json:"moreSources,omitempty"`
	// Answer is how the owner's answers are laid out: simple, chain or flatten; "" for Records
	// and what the Corefile says.
	Answer string `json:"answer,omitempty"`
	// Types are those of what is steered and of all that stands beside it.
	Types []string `json:"types"`
	// Members is how many members there are to choose from; 0 where there is no choice.
	Members int `json:"members,omitempty"`
	// Addresses counts the owner's addresses and hostnames by how they are.
	Addresses Counts `json:"addresses"`
	// FailsOpen says for whom nothing is up: "all clients", or some of them; "" for nobody.
	FailsOpen string `json:"failsOpen,omitempty"`
	// Hidden names the delegation or DNAME above that answers in place of the name; "" for none.
	Hidden string `json:"hidden,omitempty"`
	// Losers is how many objects want the name and do not have it.
	Losers int `json:"losers,omitempty"`
}

// Counts is how many addresses are up, not decided, drained, and down. One that is drained
// is none of the others.
type Counts struct {
	// Up is how many are up. Unknown is how many are not decided. Drained is how many are drained, none of which is among the others.
	// Down is how many are down.
	Up      int `json:"up"`
	Unknown int `json:"unknown,omitempty"`
	Drained int `json:"drained,omitempty"`
	Down    int `json:"down,omitempty"`
}

func (c *Counts) add(class Class) {
	switch class {
	case WeightedUp:
		c.Up++
	case WeightedUnknown:
		c.Unknown++
	case DrainedUp, DrainedUnknown:
		c.Drained++
	case WeightedDown, DrainedDown, ForcedDown:
		c.Down++
	}
}

// Of returns how many there are in all.
func (c Counts) Of() int { return c.Up + c.Unknown + c.Drained + c.Down }

// Names yields the names of z that have data, in the order of their spelling from the name
// from on; "" begins with the first. Names below klb.H' are not among them, which are parts of
// their hosts, nor are zones below z that are served here, nor those without contains in them, which is in lower case.
// Each is described when it is its turn.
func (s *Snapshot) Names(z *Zone, from, contains string) iter.Seq[NameState] {
	return func(yield func(NameState) bool) {
		for _, n := range z.names.From(from) {
			if strings.Contains(trimDot(n.name), contains) && n.listed(z) && !yield(s.nameState(z, n)) {
				return
			}
		}
	}
}

// ListedNames yields the names that Names does, without describing them.
func (z *Zone) ListedNames() iter.Seq[string] {
	return func(yield func(string) bool) {
		for name, n := range z.names.All() {
			if n.listed(z) && !yield(name) {
				return
			}
		}
	}
}

// SameAt tells whether s and o have the very same data at a name, because one was compiled from the other; where
// it is false, they may still say the same.
func (s *Snapshot) SameAt(o *Snapshot, name string) bool {
	z, y := s.Zone(name), o.Zone(name)
	if z == nil || y == nil || z.origin != y.origin {
		return false
	}
	n, _ := z.names.Get(name)
	m, _ := y.names.Get(name)
	return n != nil && n == m
}

// listed tells whether a node is one that people know: it has data of its own.
func (n *node) listed(z *Zone) bool {
	switch {
	case n.void, n.cut, n.steered.owner == nil && n.static == nil && n.name != z.origin:
		return false
	case n.static != nil:
		return true
	}
	s := &n.steered
	return !(s.view != nil && s.view.inner) && !(s.set != nil && s.set.leaf)
}

// nameState describes one name.
func (s *Snapshot) nameState(z *Zone, n *node) NameState {
	st := NameState{Name: trimDot(n.name), Zone: trimDot(z.origin), Answer: n.steered.layout(), Types: []string{}, Losers: len(s.losers(n.name))}
	if by := n.steered.owner; by != nil {
		owner := ownerOf(by)
		st.Owner = &owner
		st.FailsOpen = s.failsOpen(n.name)
	} else if o, ok := s.Owner(n.name); ok {
		st.Owner = &Object{o.Cluster, o.Kind.String(), o.Name}
	} else if z.addressedByCorefile(n) {
		st.Owner = &Object{Kind: kindCorefile}
	}
	st.Sources, st.MoreSources = z.sourcesAt(n)
	if turn := z.turnOf(n.name, dns.TypeA); z.turns > 0 && turn != nil && turn.name != n.name {
		st.Hidden = trimDot(turn.name)
	}
	for _, t := range z.typesOf(n) {
		st.Types = append(st.Types, dns.Type(t).String())
	}
	switch set, v := n.steered.set, n.steered.view; {
	case set != nil:
		for i := range set.rrs {
			st.Addresses.add(vitalAt(set.vitals, i).class())
		}
	case v != nil:
		st.Members = len(v.pool.members)
		for i := range v.pool.members {
			v.pool.members[i].count(&st.Addresses)
		}
	}
	return st
}

// maxSources is how many objects a name is said to have its data from.
const maxSources = 20

// sourcesAt returns the objects that the static data at a node come from, and how many there are beyond the bound.
func (z *Zone) sourcesAt(n *node) (all []Object, more int) {
	seen := make(map[Object]bool, len(n.static))
	add := func(o Object) {
		if seen[o] {
			return
		}
		if seen[o] = true; len(all) < maxSources {
			all = append(all, o)
		} else {
			more++
		}
	}
	if n.name == z.origin { // the SOA
		if z.object != nil {
			add(Object{z.object.Cluster, api.KindZone.String(), z.object.Name})
		} else {
			add(Object{Kind: kindCorefile})
		}
	}
	for _, set := range n.static {
		for _, o := range z.sources(n, set.rtype) {
			add(o)
		}
	}
	return all, more
}

// addressedByCorefile tells whether a name has addresses that no object gives it.
func (z *Zone) addressedByCorefile(n *node) bool {
	return slices.ContainsFunc([]uint16{dns.TypeA, dns.TypeAAAA}, func(rtype uint16) bool {
		return slices.Contains(z.sources(n, rtype), Object{Kind: kindCorefile})
	})
}

// typesOf returns the types that are answered with at a node, in order.
func (z *Zone) typesOf(n *node) (types []uint16) {
	for _, set := range n.static {
		types = append(types, set.rtype)
	}
	if n.name == z.origin {
		types = append(types, dns.TypeSOA)
	}
	alias, flat := n.steered.set != nil && n.steered.set.alias(), n.static != nil
	for fam, rtype := range [...]uint16{famA: dns.TypeA, famAAAA: dns.TypeAAAA, famCNAME: dns.TypeCNAME} {
		if isCNAME := rtype == dns.TypeCNAME; n.steered.has(family(fam)) && !(isCNAME && flat) && (isCNAME || !alias || flat) {
			types = append(types, rtype) // where no CNAME may stand, whatever it leads to
		}
	}
	slices.Sort(types)
	return types
}

// layout says how the answers of steered data are laid out, as in NameState.Answer.
func (s *steered) layout() string {
	switch {
	case s.set != nil && !s.set.leaf:
		return "simple"
	case s.view != nil && s.view.flat:
		return "flatten"
	case s.view != nil:
		return "chain"
	}
	return ""
}

// vitalAt returns the i-th of vitals, one that says nothing where they are nil.
func vitalAt(vitals []vital, i int) vital {
	if vitals == nil {
		return vital{}
	}
	return vitals[i]
}

// count counts the member's addresses by how they are.
func (m *member) count(c *Counts) {
	for i := range m.size() {
		c.add(m.classOf(i))
	}
}

// size returns how many addresses, or hostnames, the member has.
func (m *member) size() int {
	if m.leaf == nil {
		return 1
	}
	return len(m.leaf.v4) + len(m.leaf.v6)
}

// classOf returns the class of the member's i-th address, as it is in the member: a weight of
// 0 drains it.
func (m *member) classOf(i int) Class {
	v := vital{gateway: m.word}
	if m.vitals != nil {
		v = m.vitals[i]
	}
	return v.classIf(m.weight == 0)
}

// Tree is what a host is made of: its groups, their members, and the addresses of these.
type Tree struct {
	NameState
	// Fallback is how far answers may be from the client: any, default or none (rule 4.6); "" where
	// there is nothing to choose.
	Fallback string `json:"fallback,omitempty"`
	// TTL is that of what the owner has at the name itself, in seconds: an address, or the first CNAME of a chain.
	TTL uint32 `json:"ttl,omitempty"`
	// Check says what is wanted to be checked of Addrs, and how, whether or not that is done; "" for nothing.
	Check string `json:"check,omitempty"`
	// Addrs are the addresses of a host without members.
	Addrs []AddressState `json:"addrs,omitempty"`
	// Groups are those of the geo codes, in the order in which they were found.
	Groups []TreeGroup `json:"groups,omitempty"`
	// Losers are the objects that want the name and do not have it.
	Losers []Loser `json:"losersList,omitempty"`
	// Records are all other data at the name, in the form of zone files, less the SOA.
	Records []string `json:"records,omitempty"`
}

// TreeGroup is the members of one geo code.
type TreeGroup struct {
	// Geo is the code, "*" for members without one. Default is true where clients that match
	// no other come here.
	Geo     string `json:"geo"`
	Default bool   `json:"default,omitempty"`
	// Name is that of the group in the chain (rule 2.3); "" where there is no such name.
	Name string `json:"name,omitempty"`
	// Members are those with the code.
	Members []TreeMember `json:"members"`
}

// TreeMember is one member of a group.
type TreeMember struct {
	// Member is its set identifier: the name of its addresses, or its hostname. Owner is the object that has it. Gateway is the
	// namespace/name of where its addresses come from; "" for objects that are not about Gateways. Weight is as its object
	// says, 0 for one that is drained.
	Member  string `json:"member"`
	Owner   Object `json:"owner"`
	Gateway string `json:"gateway,omitempty"`
	Weight  uint64 `json:"weight"`
	// TTL is that of its addresses, or of the CNAME to its hostname.
	TTL uint32 `json:"ttl"`
	// Check says what is wanted to be checked of it, as that of a Tree does.
	Check string `json:"check,omitempty"`
	// Class is how good the member is for A queries, or where it has no IPv4 address for AAAA.
	Class string `json:"class"`
	// Addresses are its addresses, or its hostname.
	Addresses []AddressState `json:"addresses"`
}

// Tree returns what a host is made of; ok is false where it has no data. host is in lower case
// with a final dot.
func (s *Snapshot) Tree(host string) (t *Tree, ok bool) {
	z := s.Zone(host)
	if z == nil {
		return nil, false
	}
	n, ok := z.names.Get(host)
	if !ok || n.void {
		return nil, false
	}
	t = &Tree{NameState: s.nameState(z, n), Losers: s.losers(host)}
	for _, set := range n.static {
		t.Records = append(t.Records, texts(set.rrs)...)
	}
	if n.steered.owner == nil {
		return t, true
	}
	x := explainer{snapshot: s, targets: s.targetsOf(n.steered.owner)}
	switch set, v := n.steered.set, n.steered.view; {
	case set != nil:
		t.Check = n.steered.owner.checkText()
		for i, rr := range set.rrs {
			t.TTL = rr.Header().Ttl
			v := vitalAt(set.vitals, i)
			t.Addrs = append(t.Addrs, x.address(dataOf(rr), v, v.class(), false))
		}
	case v != nil:
		t.Fallback, t.Groups, t.TTL = v.pool.fallback.String(), x.groups(v), v.ttl()
	}
	return t, true
}

// ttl returns the TTL of what stands at the view's name; 0 where nothing does.
func (v *view) ttl() uint32 {
	for i := range v.pool.members {
		if rrs := v.pool.members[i].any(); len(rrs) > v.skip {
			return rrs[v.skip].Header().Ttl
		}
	}
	return 0
}

// any returns the answers of one family that the member has.
func (m *member) any() []dns.RR {
	for _, rrs := range m.answers {
		if len(rrs) > 0 && (m.leaf == nil || len(rrs) > m.cnames) {
			return rrs
		}
	}
	return nil
}

// ttl returns the TTL of the member's addresses, or of the CNAME to its hostname; 0 where it is answered with neither.
func (m *member) ttl() uint32 {
	rrs := m.any()
	if len(rrs) == 0 {
		return 0
	}
	return rrs[len(rrs)-1].Header().Ttl
}

// groups describes the groups of a pool as they are seen from a host.
func (x *explainer) groups(v *view) []TreeGroup {
	p := v.pool
	groups := make([]TreeGroup, len(p.groups))
	for i, g := range p.groups {
		groups[i] = TreeGroup{Geo: p.codeOf(int32(i)), Default: int32(i) == p.deflt, Members: []TreeMember{}}
		if !v.flat && g.name != "" {
			groups[i].Name = trimDot(g.name)
		}
	}
	for i := range p.members {
		m := &p.members[i]
		fam := famA
		if len(m.answers[famA]) == 0 {
			fam = famAAAA
		}
		one := TreeMember{Member: trimDot(m.target), Owner: ownerOf(m.claim), Gateway: gatewayName(m.claim), Weight: m.weight, TTL: m.ttl(), Check: m.claim.checkText(), Class: m.class(fam).String()}
		for j := range m.size() {
			v := vital{gateway: m.word}
			if m.vitals != nil {
				v = m.vitals[j]
			}
			one.Addresses = append(one.Addresses, x.address(m.addressAt(j), v, m.classOf(j), false))
		}
		groups[m.group].Members = append(groups[m.group].Members, one)
	}
	return groups
}

// addressAt returns the member's i-th address, IPv4 first, or its hostname.
func (m *member) addressAt(i int) string {
	switch {
	case m.leaf == nil:
		return trimDot(m.target)
	case i < len(m.leaf.v4):
		return m.leaf.v4[i].String()
	}
	return m.leaf.v6[i-len(m.leaf.v4)].String()
}
