package records

import (
	"cmp"
	"maps"
	"slices"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/geo"
)

// offered is an offer of one of the claims that are built together.
type offered struct {
	*offer
	claim *claim
}

// path is one way from a name to addresses, or to a hostname elsewhere, through what
// objects with endpoints say (rule 6.10).
type path struct {
	claim  *claim
	cnames []dns.RR // from the name on
	// end is the name that has the addresses, or the hostname; leaf is nil for that.
	end  string
	leaf *leaf
	ttl  uint32 // of the addresses
	// setID is the last set identifier on the way, "" for none.
	setID  string
	weight uint64
	code   string // upper case, "" for none, "*" for the default
}

// How far offers are followed: a chain of rule 2.3 has three CNAMEs.
const (
	maxExpand = 8
	maxPaths  = 1000
)

// offers makes the names of claims with endpoints on h and *.h.
func (b *builder) offers(h string, claims []*claim) {
	all := make(map[string][]offered)
	seen := make(map[*offer]bool)
	for _, c := range claims {
		for _, f := range c.offers {
			if !seen[f] { // one below klb.h is the claim's on h and on *.h
				seen[f] = true
				all[f.name] = append(all[f.name], offered{f, c})
			}
		}
	}
	names := slices.Sorted(maps.Keys(all))
	for _, name := range names {
		all[name] = b.once(name, all[name])
	}
	x := expansion{b: b, all: all, zone: b.zone(h), host: h}
	for _, name := range names {
		x.build(name, claims)
	}
}

// once returns the offers at a name of which no other has the same set identifier and
// type: the older object's. Those without one form RRsets together.
func (b *builder) once(name string, list []offered) []offered {
	type row struct {
		setID string
		rtype uint16
	}
	first := make(map[row]*claim)
	return slices.DeleteFunc(list, func(f offered) bool {
		if f.setID == "" {
			return false
		}
		of := row{f.setID, f.rtype}
		owner, taken := first[of]
		if !taken {
			first[of] = f.claim
			return false
		}
		b.note(f.claim, reasonConflicted, "%s: the set identifier %q belongs to %s %s", trimDot(name), f.setID, owner.kind, inCluster(owner.by, f.claim.by))
		return true
	})
}

// expansion follows offers from name to name.
type expansion struct {
	b    *builder
	all  map[string][]offered
	zone *ZoneOptions
	host string // H'
	left int    // how many more paths there may be
}

// paths returns the ways from a name; above are the names that led to it.
func (x *expansion) paths(name string, above []string) (all []path) {
	if len(above) == maxExpand || slices.Contains(above, name) {
		return nil
	}
	above = append(above, name)
	bySet := make(map[string]*path)
	for _, f := range x.all[name] {
		if x.left <= 0 {
			break
		}
		if f.rtype != dns.TypeCNAME {
			p := bySet[f.setID]
			if p == nil {
				p = &path{claim: f.claim, end: name, leaf: &leaf{}, ttl: cmp.Or(f.ttl, x.zone.TTL), setID: f.setID, weight: x.weight(f), code: f.code}
				bySet[f.setID] = p
				x.left--
			}
			p.ttl = min(p.ttl, cmp.Or(f.ttl, x.zone.TTL))
			p.leaf.take(f.offer, nil)
		}
	}
	for _, setID := range slices.Sorted(maps.Keys(bySet)) {
		all = append(all, *bySet[setID])
	}
	for _, f := range x.all[name] {
		if f.rtype != dns.TypeCNAME {
			continue
		}
		if bySet[f.setID] != nil {
			x.b.note(f.claim, reasonDropped, "%s: addresses and hostnames cannot stand at one name: the addresses are served, and %s dropped", trimDot(name), trimDot(f.target))
			continue
		}
		all = append(all, x.along(f, above)...)
	}
	return all
}

// along returns the ways that a CNAME leads to.
func (x *expansion) along(f offered, above []string) (all []path) {
	cname := cnameRR(f.name, cmp.Or(f.ttl, x.zone.TTL), f.target)
	if _, own := x.all[f.target]; !own {
		x.left--
		return []path{{claim: f.claim, cnames: []dns.RR{cname}, end: f.target, setID: f.setID, weight: x.weight(f), code: f.code}}
	}
	for _, p := range x.paths(f.target, above) {
		p.cnames = append([]dns.RR{cname}, p.cnames...)
		p.setID = cmp.Or(p.setID, f.setID)
		p.weight = min(p.weight*x.weight(f), 1<<31)
		if p.code == "" || p.code == anyGeo {
			p.code = cmp.Or(f.code, p.code)
		}
		all = append(all, p)
	}
	return all
}

// weight returns the part of an offer in a draw; one without a weight is neutral.
func (x *expansion) weight(f offered) uint64 {
	if f.weight < 0 {
		return 1
	}
	return uint64(f.weight)
}

// build makes the name that offers are at.
func (x *expansion) build(name string, claims []*claim) {
	b := x.b
	x.left = maxPaths
	paths := x.paths(name, nil)
	if x.left <= 0 {
		b.note(claims[0], reasonDropped, "%s leads to more than %d targets: the first are served", trimDot(name), maxPaths)
	}
	paths = slices.DeleteFunc(paths, func(p path) bool { return p.leaf != nil && len(p.leaf.v4)+len(p.leaf.v6) == 0 })
	if len(paths) == 0 {
		b.names[name] = steered{owner: claims[0]}
		return
	}
	other := name == x.zone.Origin || b.static(name)
	v := &view{pool: x.pool(name, claims, paths, other), group: anyGroup}
	v.flat, v.inner = other || x.zone.Flatten, base(name) != x.host
	b.names[name] = steered{owner: paths[0].claim, view: v}
}

// pool makes the choice among paths. Where other data stand at the name, or where the
// zone wants it so, answers have no chain.
func (x *expansion) pool(name string, claims []*claim, paths []path, other bool) *Pool {
	p := &Pool{owner: claims[0], deflt: anyGroup}
	index := poolIndex{groups: make(map[string]int32), members: make(map[place]struct{})}
	coded := make(map[string]string, len(paths)) // by the end of paths
	for _, way := range paths {
		if way.code != "" && way.code != anyGeo {
			coded[way.end] = way.code
			if err := geo.Check(way.code); err != nil {
				x.b.note(way.claim, reasonUnknownGeo, "%v", err)
			}
		}
	}
	for _, way := range paths {
		code := way.code
		if code == anyGeo {
			code = coded[way.end] // the default is one that has a code of its own too, or none
		}
		g := index.group(p, code, name)
		if way.code == anyGeo && p.deflt == anyGroup && (code == "" || geo.Check(code) == nil) {
			p.deflt = g
		}
		target := way.end
		if way.leaf != nil && len(way.cnames) == 0 && way.setID != "" {
			target = way.setID + "." // sets at one name
		}
		if index.has(p, place{target, g}) {
			continue
		}
		x.addMember(p, name, way, target, g, other)
	}
	if i := slices.IndexFunc(p.groups, func(g group) bool { return g.code == "" }); p.deflt == anyGroup && i >= 0 {
		p.deflt = int32(i)
	}
	p.setNeeds()
	return p
}

// addMember adds what a path leads to to p, with its answers.
func (x *expansion) addMember(p *Pool, name string, way path, target string, group int32, other bool) {
	b := x.b
	m := member{target: target, weight: way.weight, group: group, leaf: way.leaf, word: b.word(way.claim)}
	if way.leaf != nil {
		m.vitals = b.vitals(way.claim, way.leaf, m.word)
	} else if v := b.vital(way.claim, way.end, m.word); v != (vital{gateway: m.word}) {
		m.vitals = []vital{v}
	}
	cnames, ttl := way.cnames, way.ttl
	if way.leaf == nil {
		ttl = way.cnames[len(way.cnames)-1].Header().Ttl
	}
	for i, rr := range cnames {
		if m.vitals != nil && rr.Header().Ttl > checkedTTL { // rule 2.3
			cnames = slices.Clone(cnames)
			cnames[i] = copyHeader(rr)
			cnames[i].Header().Ttl = checkedTTL
		}
	}
	flat := other || x.zone.Flatten
	if flat {
		for _, rr := range cnames {
			ttl = min(ttl, rr.Header().Ttl)
		}
	}
	switch {
	case !flat:
		m.cnames = len(cnames)
		m.lay(slices.Clip(cnames), way.end, ttl)
	case way.leaf != nil:
		m.lay(nil, name, ttl)
	case !other || b.resolvable(way.claim, way.end, x.zone):
		m.lay([]dns.RR{cnameRR(name, ttl, way.end)}, name, ttl)
	}
	p.members = append(p.members, m)
}
