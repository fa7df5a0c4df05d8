package pool

import (
	"slices"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/geo"
)

// Pool is the choice among the members of one name. After seal it is immutable, except for the health cells that it reads.
type Pool struct {
	Members []Member
	Groups  []Group
	// Default is the group that serves clients that match no other; None if there is none.
	Default int32
	// Attributes are those of the host as a whole.
	Attributes api.Attributes
	// needs is what must be known of the client, for each family.
	needs [numFamilies]geo.Need
	// chained is true if all answers begin with the same CNAME, from a host to klb.
	chained bool
	// Aliases is true if an answer may be a CNAME. Then there is one choice for all types (rule 4.6): a client
	// may follow that CNAME for later queries of any type (RFC 2181 §10.1).
	Aliases bool
}

// None is the index of no group; as a restriction, it allows all members.
const None int32 = -1

// Ask is the input of a choice, besides the pool and its members' health.
type Ask struct {
	Family Family
	// At is what is known of the client; it may be nil if Need says that it does not matter.
	At *geo.Codes
	// Bits is the length of the client's network, all of which has At; 0 if unknown.
	Bits int
	// Random is the source of chance: equal inputs give equal choices.
	Random uint64
	// Network stands for the client's network, by which it keeps its member (rule 9.2); Window says which of more addresses
	// are answered (rule 9.4).
	Network, Window uint64
	// Tried are members to pass over.
	Tried Tried
}

// choose makes the choice of rule 4.6 among the members of a group, or of all. It reads each health cell once, plus once before if a bound
// on the fallback needs it. nil means no candidate. t records the findings.
func (p *Pool) choose(a *Ask, only int32, t *Trail) (chosen *Member, class Class) {
	draw := lot{random: a.Random, network: a.Network, sticky: p.Attributes.Of(api.Sticky) == api.StickyClient}
	first, limit := last, p.limit(a, only)
	var d *Draw
	if t != nil {
		d = t.draw(p, a, only)
	}
	for i := range p.Members {
		m := &p.Members[i]
		if !p.candidate(m, i, a, only) || limit < nearOther && p.near(m.Group, a.At) > limit {
			continue
		}
		is := m.Class()
		if d != nil {
			d.classes[i] = is
		}
		at := p.rank(m, is, a.At)
		if at > first {
			continue
		}
		if at < first {
			first = at
			draw.begin()
		}
		if draw.fallsOn(m) {
			chosen, class = m, is
		}
	}
	if chosen == nil {
		return nil, ForcedDown
	}
	if d != nil {
		d.chosen, d.rank, d.total = chosen, first, draw.total
	}
	return chosen, class
}

// candidate reports whether the i-th member can be chosen: any member of a pool that gives CNAMEs, else one that has the family (rule 4.6).
func (p *Pool) candidate(m *Member, i int, a *Ask, only int32) bool {
	return p.has(m, a.Family) && (only == None || m.Group == only) && !a.Tried.has(i)
}

func (p *Pool) has(m *Member, fam Family) bool { return p.Aliases || len(m.answers[fam]) > 0 }

// seal computes what follows from the members and their groups. other is true if other data stand beside the pool, so that it gives no
// CNAME.
func (p *Pool) seal(other bool) {
	if p.Default == None {
		p.Default = int32(slices.IndexFunc(p.Groups, func(g Group) bool { return g.Code == "" }))
	}
	p.Aliases = !other && slices.ContainsFunc(p.Members, func(m Member) bool { return len(m.answers[CNAME]) > 0 })
	for i := range p.Members {
		if m := &p.Members[i]; m.seed == 0 {
			m.seed = seedOf(m.ID)
		}
	}
	for fam := range numFamilies {
		p.needs[fam] = p.needOf(fam)
	}
}

// Tried is a set of members of a pool; nil is empty.
type Tried []uint64

func (t Tried) has(i int) bool { return i>>6 < len(t) && t[i>>6]>>(i&63)&1 == 1 }

// With returns the set with a member of p.
func (t Tried) With(p *Pool, m *Member) Tried {
	i := 0
	for &p.Members[i] != m {
		i++
	}
	for i>>6 >= len(t) {
		t = append(t, 0)
	}
	t[i>>6] |= 1 << (i & 63)
	return t
}

// View is a Pool as seen from one of its names.
type View struct {
	Pool *Pool
	// Skip is how many of an answer's leading CNAMEs lie above the name.
	Skip int
	// Group restricts the choice to one group; None does not.
	Group int32
	// Flat is true if the answer has no chain (rule 2.4).
	Flat bool
	// part is true for names at and below klb.H' (rule 7.5).
	part bool
	// Apart is true for *.H' if the names at and below klb.H' belong to another chain (rule 2.8).
	Apart bool
}
