package records

import (
	"math/bits"
	"slices"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/health"
)

// Class says how good the members are that an answer was chosen from. Lower is
// better; the classes from WeightedDown on are the fail-open (rule 4.6).
type Class uint8

// The classes in the order of rule 4.6. A member that is forced down comes
// after all others.
const (
	WeightedUp Class = iota
	WeightedUnknown
	DrainedUp
	DrainedUnknown
	WeightedDown
	DrainedDown
	ForcedDown
)

// classNames are the names of all, in their order.
var classNames = [...]string{"up", "unknown", "drained", "drained-unknown", "down", "drained-down", "forced-down"}

// String returns the class as it is shown in metrics and metadata.
func (c Class) String() string { return classNames[c] }

// CompareClasses compares two classes by their names: what is better is less, and what is no class is
// worse than all.
func CompareClasses(a, b string) int {
	rank := func(name string) int {
		if i := slices.Index(classNames[:], name); i >= 0 {
			return i
		}
		return len(classNames)
	}
	return rank(a) - rank(b)
}

// family is what a query asks of a member.
type family uint8

const (
	famA family = iota
	famAAAA
	famCNAME
	numFamilies
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
	label string // g of rule 2.3
	name  string // <g>.klb.H'; "" where its members have no name in common that is theirs alone
}

// Pool is the weighted and geographic choice among the members of one name.
// It is immutable but for the health cells that it reads.
type Pool struct {
	owner   *claim
	members []member
	groups  []group
	// deflt is the group that serves clients that match no other; -1 for none.
	deflt int32
	// fallback bounds how far from the client's geography a member may be.
	fallback fallback
	// needs says, for each family, what has to be known of the client; 0 where
	// the answer does not depend on it (rule 3.6).
	needs [numFamilies]geo.Need
	// chained is true where all answers begin with the same CNAME, from a host to klb.
	chained bool
}

// anyGroup makes pick consider all groups.
const anyGroup int32 = -1

// pick chooses a member by rule 4.6, reading each health cell once; a bound on how far
// a spill may go takes a look before. codes may be nil where needs says that the client does not matter. only restricts the
// choice to one group; anyGroup does not. random is the source of chance: equal
// inputs give equal picks. The members in tried are passed over. nil means that
// no other has the family. What is found of each member goes to t.
func (p *Pool) pick(fam family, codes *geo.Codes, only int32, random uint64, tried indices, t *trail) (*member, Class) {
	var chosen *member
	var total uint64
	best, farthest := worstRank, rankOther
	if p.fallback != fallbackAny {
		farthest = p.farthest(fam, codes, only, tried)
	}
	d := t.draw(p, fam, only, farthest, tried)
	for i := range p.members {
		m := &p.members[i]
		if len(m.answers[fam]) == 0 || only != anyGroup && m.group != only || tried.has(i) {
			continue
		}
		near := p.groupRank(m.group, codes)
		if near > farthest {
			continue
		}
		class := m.class(fam)
		if d != nil {
			d.classes[i] = class
		}
		rank := uint(class)*groupRanks + near
		if rank > best {
			continue
		}
		if rank < best {
			best, total = rank, 0
		}
		// One pass, one member kept: the i-th of its rank replaces the one kept
		// with probability weight/total, which leaves each with its share.
		share := m.share()
		total += share
		random = nextRandom(random)
		if hi, _ := bits.Mul64(random, total); hi < share {
			chosen = m
		}
	}
	if d != nil {
		d.chosen, d.rank, d.total, d.codes = chosen, best, total, codes
	}
	return chosen, Class(best / groupRanks)
}

// fallback says how far an answer may be from the client's geography (rule 4.6).
type fallback uint8

// The values of the annotation kuadrant.io/geo-fallback.
const (
	fallbackAny     fallback = iota // any group
	fallbackDefault                 // the default group
	fallbackNone                    // no other group
)

// annotationFallback is the annotation of a policy that bounds how far a spill
// may go.
const annotationFallback = "kuadrant.io/geo-fallback"

// parseFallback returns what a value of the annotation means; "" is any.
func parseFallback(value string) (f fallback, ok bool) {
	switch value {
	case "", "any":
		return fallbackAny, true
	case "default":
		return fallbackDefault, true
	case "none":
		return fallbackNone, true
	}
	return fallbackAny, false
}

// farthest returns the rank of the last group that the fallback allows: the
// client's own geography, or what stands in for it where it has no member of the
// family, whatever their health. A member that is forced down is none: it never
// answers while another one can.
func (p *Pool) farthest(fam family, codes *geo.Codes, only int32, tried indices) uint {
	nearest := rankOther
	for i := range p.members {
		m := &p.members[i]
		if len(m.answers[fam]) > 0 && (only == anyGroup || m.group == only) && !tried.has(i) && m.class(fam) != ForcedDown {
			nearest = min(nearest, p.groupRank(m.group, codes))
		}
	}
	switch {
	case nearest == rankOther:
		return rankOther
	case nearest == rankDefault || p.fallback == fallbackDefault:
		return rankDefault
	}
	return rankDefault - 1 // all groups that match
}

// index returns the place of a member of p.
func (p *Pool) index(m *member) int {
	return slices.IndexFunc(p.members, func(o member) bool { return o.target == m.target && o.group == m.group })
}

// indices is a set of places in a list; nil is empty.
type indices []uint64

func (s indices) has(i int) bool { return i>>6 < len(s) && s[i>>6]>>(i&63)&1 == 1 }

func (s indices) with(i int) indices {
	for i>>6 >= len(s) {
		s = append(s, 0)
	}
	s[i>>6] |= 1 << (i & 63)
	return s
}

// groupRanks is how many ranks a group can have within a class: the client's
// codes from the most specific on, the default group, all others (rule 4.6).
const (
	rankDefault = uint(len(geo.Codes{}))
	rankOther   = rankDefault + 1
	groupRanks  = rankOther + 1
	worstRank   = (uint(ForcedDown) + 1) * groupRanks
)

// groupRank returns the place of a group in the order of rule 4.6.
func (p *Pool) groupRank(g int32, codes *geo.Codes) uint {
	if codes != nil {
		code := p.groups[g].code
		for i := range codes {
			if codes[i] == code && code != "" {
				return uint(i)
			}
		}
	}
	if g == p.deflt {
		return rankDefault
	}
	return rankOther
}

// class returns the member's class for a family at this moment.
func (m *member) class(fam family) Class {
	if m.word == nil && m.vitals == nil {
		if m.weight > 0 {
			return WeightedUp
		}
		return DrainedUp
	}
	return m.checkedClass(fam)
}

func (m *member) checkedClass(fam family) Class {
	word := m.word.Load()
	state, forcedDown := word.State(), word.ForcedDown()
	if vitals := m.vitalsOf(fam); len(vitals) > 0 { // they have the word in them
		state, forcedDown = aggregate(vitals)
	}
	switch {
	case forcedDown:
		return ForcedDown
	case m.weight > 0 && !word.Drained():
		return weightedClass[state]
	}
	return drainedClass[state]
}

// vitalsOf returns what tells whether the member's addresses of a family work. A
// member whose IPv6 is dead may well answer for IPv4 (rule 4.6: for one type).
func (m *member) vitalsOf(fam family) []vital {
	switch {
	case m.vitals == nil || m.leaf == nil:
		return m.vitals
	case fam == famA:
		return m.vitals[:len(m.leaf.v4)]
	case fam == famAAAA:
		return m.vitals[len(m.leaf.v4):]
	}
	return m.vitals
}

// share returns the member's part in a draw: its weight, or, where that does not
// count (rule 2.6), the same for all.
func (m *member) share() uint64 { return max(m.weight, 1) }

// nextRandom returns the number after x in a well-mixed sequence (the finaliser
// of splitmix64 over a Weyl sequence).
func nextRandom(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	z := x
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
