package records

import (
	"net/netip"
	"slices"

	"github.com/coredns-kuadrant/kuadrant/health"
)

// unite makes members with the same name below klb, or with the same hostname in
// the same group, say the same of it: a name has one RRset. Their addresses are those
// of all of them, each once, with all that is said of it. Several come to one name
// where two clusters list one member of a multi-cluster Gateway, where a Gateway
// lists its own cluster in two ways, or where the hashes of two Gateways' names are
// the same.
func unite(specs []spec) {
	if len(specs) < 2 {
		return
	}
	type name struct{ target, code string }
	same := make(map[name][]int, len(specs))
	twice := false
	for i, s := range specs {
		at := name{target: s.target}
		if s.leaf == nil {
			at.code = "/" + s.code // nothing that a leaf has
		}
		same[at] = append(same[at], i)
		twice = twice || len(same[at]) > 1
	}
	if !twice {
		return // by far the most
	}
	for _, list := range same {
		if len(list) == 1 {
			continue
		}
		u := specs[list[0]]
		for _, i := range list[1:] {
			u = u.with(specs[i])
		}
		for _, i := range list {
			specs[i].leaf, specs[i].vitals, specs[i].word = u.leaf, u.vitals, u.word
		}
	}
}

// with returns s with what o adds to the same name.
func (s spec) with(o spec) spec {
	both := s
	both.word = vital{gateway: s.word}.with(vital{gateway: o.word}).gateway
	if s.leaf == nil {
		if s.vitals != nil || o.vitals != nil {
			both.vitals = []vital{s.vitalsOf(famCNAME)[0].with(o.vitalsOf(famCNAME)[0])}
		}
		return both
	}
	v4 := addressList{addrs: slices.Clone(s.leaf.v4), vitals: s.vitalsOf(famA)}
	v6 := addressList{addrs: slices.Clone(s.leaf.v6), vitals: s.vitalsOf(famAAAA)}
	v4.unite(o.leaf.v4, o.vitalsOf(famA))
	v6.unite(o.leaf.v6, o.vitalsOf(famAAAA))
	both.leaf = &leaf{cluster: s.leaf.cluster, v4: v4.addrs, v6: v6.addrs, hostnames: s.leaf.hostnames}
	if s.vitals != nil || o.vitals != nil || s.word != o.word {
		both.vitals = slices.Concat(v4.vitals, v6.vitals)
	}
	return both
}

// vitalsOf returns what is said of the member's addresses of a family, or of its
// hostname, one for each.
func (s spec) vitalsOf(fam family) []vital {
	n, from := 1, 0
	if s.leaf != nil {
		if n = len(s.leaf.v4); fam == famAAAA {
			n, from = len(s.leaf.v6), n
		}
	}
	if s.vitals != nil {
		return slices.Clone(s.vitals[from : from+n])
	}
	return slices.Repeat([]vital{{gateway: s.word}}, n)
}

// addressList gathers the addresses of a name, each once.
type addressList struct {
	addrs  []netip.Addr
	vitals []vital
	said   bool // one of vitals says something
	// index is where the addresses are; nil while there are few.
	index map[netip.Addr]int
}

// add adds those of more that l lacks, and what is said of the others.
func (l *addressList) add(b *builder, c *claim, word *health.Cell, more []netip.Addr) {
	vitals, probed := make([]vital, len(more)), b.probed(c)
	for i, a := range more {
		vitals[i] = vital{gateway: word}
		if probed {
			vitals[i] = b.vital(c, a.String(), word)
		}
		l.said = l.said || vitals[i] != vital{}
	}
	l.unite(more, vitals)
}

// unite adds those of more that l lacks, and what is said of the others.
func (l *addressList) unite(more []netip.Addr, vitals []vital) {
	for i, a := range more {
		if at := l.at(a); at >= 0 {
			l.vitals[at] = l.vitals[at].with(vitals[i])
			continue
		}
		if l.index != nil {
			l.index[a] = len(l.addrs)
		}
		l.addrs, l.vitals = append(l.addrs, a), append(l.vitals, vitals[i])
	}
}

// at returns the place of an address in l, -1 for none.
func (l *addressList) at(a netip.Addr) int {
	if l.index == nil {
		if len(l.addrs) <= 4*fewMembers {
			return slices.Index(l.addrs, a)
		}
		l.index = make(map[netip.Addr]int, 2*len(l.addrs))
		for i, known := range l.addrs {
			l.index[known] = i
		}
	}
	if at, ok := l.index[a]; ok {
		return at
	}
	return -1
}
