package records

import (
	"math/bits"
	"slices"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/geo"
)

// Class says how good the members are that an answer was chosen from. Lower is
// better; the classes from WeightedDown on are the fail-open (rule 4.6).
type Class uint8

// The classes. Up and unknown are one class of rule 4.6: of two such members the
// nearer one is taken, and an unknown one after those as near that are up.
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
	famOther = numFamilies // any other type: a member has the CNAMEs of its answers alone
)

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
	// aliases is true where an answer may be a CNAME. Then there is one choice for all types
	// (rule 4.6): whoever asks later, for whatever type, may go by that CNAME (RFC 2181 §10.1).
	aliases bool
}

// anyGroup makes pick consider all groups.
const anyGroup int32 = -1

// pick chooses a member by rule 4.6, reading each health cell once; a bound on how far
// a spill may go takes a look before. codes may be nil where needs says that the client does not matter. only restricts the
// choice to one group; anyGroup does not. random is the source of chance: equal
// inputs give equal picks. The members in tried are passed over. nil means that
// there is no other candidate. What is found of each member goes to t.
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
		if !p.candidate(m, fam) || only != anyGroup && m.group != only || tried.has(i) {
			continue
		}
		near := p.groupRank(m.group, codes)
		if near > farthest {
			continue
		}
		class := m.class()
		if d != nil {
			d.classes[i] = class
		}
		rank := rankOf(class, near)
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
	if chosen == nil {
		return nil, ForcedDown
	}
	return chosen, best.class()
}

// candidate reports whether a member can be chosen for a family: any of a pool that
// gives CNAMEs, and of others those that have the family (rule 4.6).
func (p *Pool) candidate(m *member, fam family) bool { return p.aliases || len(m.answers[fam]) > 0 }

// need returns what has to be known of the client for a family.
func (p *Pool) need(fam family) geo.Need { return p.needs[min(fam, famCNAME)] }

// answer returns what a member is answered with for a family; where it lacks that, the
// CNAMEs that lead to it.
func (m *member) answer(fam family) []dns.RR {
	if fam < numFamilies && len(m.answers[fam]) > 0 {
		return m.answers[fam]
	}
	return m.answers[famCNAME]
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
// client's own geography, or what stands in for it where it has no candidate,
// whatever their health. A member that is forced down is none: it never
// answers while another one can.
func (p *Pool) farthest(fam family, codes *geo.Codes, only int32, tried indices) uint {
	nearest := rankOther
	for i := range p.members {
		m := &p.members[i]
		if p.candidate(m, fam) && (only == anyGroup || m.group == only) && !tried.has(i) && m.class() != ForcedDown {
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
)

// rank is the place of a member in the order of rule 4.6: its class, how near its group
// is, and whether it is up or unknown.
type rank uint

const worstRank = ^rank(0)

// ranks has, by class, its place in the order: usable members that are up or unknown, drained
// ones that are, then those that are down.
var ranks = [...]struct{ class, unknown rank }{
	WeightedUp: {0, 0}, WeightedUnknown: {0, 1}, DrainedUp: {1, 0}, DrainedUnknown: {1, 1}, WeightedDown: {2, 0}, DrainedDown: {3, 0}, ForcedDown: {4, 0},
}

func rankOf(c Class, near uint) rank {
	of := &ranks[c]
	return (of.class*rank(groupRanks)+rank(near))*2 + of.unknown
}

// classAt is the reverse of ranks.
var classAt = [...][2]Class{{WeightedUp, WeightedUnknown}, {DrainedUp, DrainedUnknown}, {WeightedDown}, {DrainedDown}, {ForcedDown}}

// class and near return what rankOf was given.
func (r rank) class() Class { return classAt[r/(2*rank(groupRanks))][r%2] }

func (r rank) near() uint { return uint(r/2) % groupRanks }

// usable reports whether members of the class are taken before drained ones.
func (c Class) usable() bool { return c <= WeightedUnknown }

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

// class returns the member's class at this moment.
func (m *member) class() Class {
	if m.word == nil && m.vitals == nil {
		if m.weight > 0 {
			return WeightedUp
		}
		return DrainedUp
	}
	return m.checkedClass()
}

func (m *member) checkedClass() Class {
	word := m.word.Load()
	state, forcedDown := word.State(), word.ForcedDown()
	if len(m.vitals) > 0 { // they have the word in them
		v4 := len(m.vitals)
		if m.leaf != nil {
			v4 = len(m.leaf.v4)
		}
		state, forcedDown = aggregate(m.vitals, v4)
	}
	switch {
	case forcedDown:
		return ForcedDown
	case m.weight > 0 && !word.Drained():
		return weightedClass[state]
	}
	return drainedClass[state]
}

// vitalsOf returns what tells whether the member's addresses of a family work.
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
