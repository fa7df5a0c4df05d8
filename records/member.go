package records

import (
	"slices"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/health"
)

// member is one member of a Pool: a leaf with its addresses, or a hostname.
type member struct {
	// target is the leaf's name or the hostname: the set identifier (rule 2.3).
	target string
	weight uint64 // 0 where it is drained
	claim  *claim // whose it is: the oldest, where several have it
	group  int32  // index into Pool.groups
	leaf   *leaf  // the addresses; nil for a hostname
	// word is the Gateway's own cell: the operator's word, and Programmed. nil
	// where nothing is said.
	word *health.Cell
	// vitals tell which of the addresses work, IPv4 first, or whether the hostname
	// does; nil where nothing is checked.
	vitals []vital
	// answers holds what is answered for each family; empty where the member
	// lacks the family. Each begins with the CNAMEs from the pool's head to the
	// member, if the pool has a chain.
	answers [numFamilies][]dns.RR
	// cnames is how many CNAMEs come before the addresses in them.
	cnames int
}

// group is the members of one geo code.
type group struct {
	code  string // upper case; "" for members without a code
	class string // geo.Class of it
	name  string // <g>.klb.H'; "" where its members have no name in common that is theirs alone
}

// lay sets the member's answers: the CNAMEs, then its addresses at owner. A
// hostname has the same answer for every family: the chain leaves our hands.
func (m *member) lay(cnames []dns.RR, owner string, ttl uint32) {
	m.answers[famCNAME] = cnames
	if m.leaf == nil {
		m.answers[famA], m.answers[famAAAA] = cnames, cnames
		return
	}
	if len(m.leaf.v4) > 0 {
		m.answers[famA] = slices.Concat(cnames, addressRRs(owner, ttl, m.leaf.v4))
	}
	if len(m.leaf.v6) > 0 {
		m.answers[famAAAA] = slices.Concat(cnames, addressRRs(owner, ttl, m.leaf.v6))
	}
}

// setNeeds works out for each family whether the answer depends on the client:
// it does where one that matches some group is answered from another group than
// one that matches none (rule 3.6). What the default's own code takes to be seen
// counts only where it may outdo another's. other is true where other data stand beside
// the pool: no CNAME is given there.
func (p *Pool) setNeeds(other bool) {
	p.aliases = !other && slices.ContainsFunc(p.members, func(m member) bool { return len(m.answers[famCNAME]) > 0 })
	for fam := range numFamilies {
		present, needs := 0, geo.Need(0)
		has := make([]bool, len(p.groups))
		for i := range p.members {
			if m := &p.members[i]; p.candidate(m, fam) {
				has[m.group] = true
			}
		}
		for g := range p.groups {
			if !has[g] {
				continue
			}
			present++
			if int32(g) != p.deflt {
				needs |= needOf(p.groups[g].class)
			}
		}
		if present < 2 {
			continue
		}
		if needs != 0 && p.deflt >= 0 && p.groups[p.deflt].class == geo.ClassAS {
			needs |= geo.NeedAS // it counts more than the place (rule 3.2)
		}
		p.needs[fam] = needs
	}
}
