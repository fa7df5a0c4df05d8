package pool

import (
	"slices"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/geo"
)

// Group is the members of one geo code.
type Group struct {
	Code  string // upper case; "" for members without a code
	Class string // geo.Class of it
	// Name is <g>.klb.H'; "" if its members share no name of their own.
	Name string
	// level is the index of the code in a matching client's codes; -1 if it matches nobody.
	level int
}

// AnyGeo stands for the code of members without one.
const AnyGeo = "*"

// Geo returns the code of a group as it is shown.
func (g *Group) Geo() string {
	if g.Code == "" {
		return AnyGeo
	}
	return g.Code
}

// byGeo prefers members near the client: those of the most specific code that matches, then the default's, then all others.
type byGeo struct{}

func (byGeo) Place(p *Pool, m *Member, _ Class, at *geo.Codes) uint8 { return p.near(m.Group, at) }

func (byGeo) Verdict() Verdict { return VerdictFarther }

// How near a group can be: an index into the client's codes, else one of these.
const (
	nearDefault = uint8(len(geo.Codes{}))
	nearOther   = nearDefault + 1
)

// near returns how near a group is to a client.
func (p *Pool) near(g int32, at *geo.Codes) uint8 {
	if of := &p.Groups[g]; at != nil && of.level >= 0 && at[of.level] == of.Code {
		return uint8(of.level)
	}
	if g == p.Default {
		return nearDefault
	}
	return nearOther
}

// Match says how a member's geo code fits the client, most specific first (rules 3.2 and 3.3).
type Match string

// The matches, in the order of preference.
const (
	MatchAS          Match = "as"
	MatchSubdivision Match = "subdivision"
	MatchCountry     Match = "country"
	MatchContinent   Match = "continent"
	MatchDefault     Match = "default" // the code of clients that match no other
	MatchOther       Match = "other"   // all others
)

// Nearer reports whether m is preferred to o.
func (m Match) Nearer(o Match) bool { return slices.Index(matches[:], m) < slices.Index(matches[:], o) }

// matches are indexed by how near a group is.
var matches = [...]Match{
	geo.CodeAS: MatchAS, geo.CodeSubdivision: MatchSubdivision, geo.CodeCountry: MatchCountry, geo.CodeContinent: MatchContinent,
	nearDefault: MatchDefault, nearOther: MatchOther,
}

// limit returns how far the farthest group is that the fallback permits: the client's own geography, or its substitute if that has no
// candidate, whatever their health. A member that is forced down never answers while another can: unless the host fails closed
// (rule 9.3), it counts only if all candidates are like that.
func (p *Pool) limit(a *Ask, only int32) uint8 {
	const aside = 1 << 7 // behind all that are not aside
	nearest, bound := nearOther|aside, p.Attributes.Of(api.Fallback)
	if bound == api.FallbackAny {
		return nearOther
	}
	for i := range p.Members {
		if m := &p.Members[i]; p.candidate(m, i, a, only) {
			near := p.near(m.Group, a.At)
			if m.Class() == ForcedDown && p.Attributes.Of(api.Fail) == api.FailOpen {
				near |= aside
			}
			nearest = min(nearest, near)
		}
	}
	switch nearest &^= aside; {
	case nearest == nearOther:
		return nearOther
	case nearest == nearDefault || bound == api.FallbackDefault:
		return nearDefault
	}
	return nearDefault - 1 // all groups that match
}

// Need returns what must be known of the client for a family; 0 if the answer does not depend on it (rule 3.6).
func (p *Pool) Need(fam Family) geo.Need { return p.needs[min(fam, CNAME)] }

// needOf computes Need. The answer depends on the client if a client that matches some group gets its answer from another group than one
// that matches none. The default's own code counts only if it may beat another's.
func (p *Pool) needOf(fam Family) (needs geo.Need) {
	has := make([]bool, len(p.Groups))
	for i := range p.Members {
		if m := &p.Members[i]; p.has(m, fam) {
			has[m.Group] = true
		}
	}
	present := 0
	for g := range p.Groups {
		if has[g] {
			present++
			if int32(g) != p.Default {
				needs |= p.Groups[g].need()
			}
		}
	}
	switch {
	case present < 2:
		return 0
	case needs != 0 && p.Default >= 0 && p.Groups[p.Default].Class == geo.ClassAS:
		return needs | geo.NeedAS // it outranks the place (rule 3.2)
	}
	return needs
}

// need returns what must be known of a client to tell whether it matches the group.
func (g *Group) need() geo.Need {
	switch g.Class {
	case geo.ClassNone, geo.ClassUnknown:
		return 0
	case geo.ClassAS:
		return geo.NeedAS
	}
	return geo.NeedPlace
}
