package records

import (
	"slices"

	"github.com/coredns-kuadrant/kuadrant/geo"
)

// fill makes p a Pool of the given members, which are united, without answers.
// claims are those of the members, the owner first.
func (p *Pool) fill(claims []*claim, specs []spec, below string) {
	*p = Pool{owner: claims[0], deflt: anyGroup, fallback: claims[0].fallback(), members: make([]member, 0, len(specs))}
	var index poolIndex
	if len(specs) > fewMembers {
		index.groups, index.members = make(map[string]int32), make(map[place]struct{}, len(specs))
	}
	for _, s := range specs {
		g := index.group(p, s.code, below)
		if index.has(p, place{s.target, g}) {
			continue
		}
		p.members = append(p.members, member{target: s.target, weight: s.weight, claim: s.claim, group: g, leaf: s.leaf, word: s.word, vitals: s.vitals})
	}
	p.setDefault(claims, specs)
}

// poolIndex finds what a Pool that is being filled has. Its maps are nil where the pool
// has so few members that looking at each costs less.
type poolIndex struct {
	groups  map[string]int32 // by code
	members map[place]struct{}
}

// place is a target in a group.
type place struct {
	target string
	group  int32
}

// fewMembers is how many are looked at one after the other.
const fewMembers = 8

// group returns the index of the group of code, adding it to p where it is missing.
func (x *poolIndex) group(p *Pool, code, below string) int32 {
	g := int32(-1)
	if x.groups == nil {
		g = int32(slices.IndexFunc(p.groups, func(g group) bool { return g.code == code }))
	} else if at, ok := x.groups[code]; ok {
		g = at
	}
	if g < 0 {
		g = p.addGroup(code, below)
		if x.groups != nil {
			x.groups[code] = g
		}
	}
	return g
}

// has tells whether p has a member, which is to be added where not.
func (x *poolIndex) has(p *Pool, at place) bool {
	if x.members == nil {
		return slices.ContainsFunc(p.members, func(m member) bool { return m.group == at.group && m.target == at.target })
	}
	_, ok := x.members[at]
	x.members[at] = struct{}{}
	return ok
}

// addGroup adds the group of code, and returns its index.
func (p *Pool) addGroup(code, below string) int32 {
	label := geoLabel(code)
	p.groups = append(p.groups, group{code: code, class: geo.Class(code), label: label, name: label + "." + below})
	return int32(len(p.groups) - 1)
}
