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
	code   string // upper case, "" for none
	// deflt is true where clients that match no other go this way.
	deflt bool
}

// maxExpand is how many CNAMEs are followed from one name; a chain of rule 2.3 has three.
// It bounds the ways from all names that are made together, too: to so many for each offer.
const maxExpand = 8

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
	x := expansion{b: b, all: all, zone: b.zone(h), host: h, budget: maxExpand * len(seen), known: make(map[string][]path), narrowed: make(map[string]bool)}
	for _, name := range names {
		if !x.narrowed[name] {
			x.build(name, claims)
		}
	}
}

// once returns the offers at a name of which no other has the same set identifier and
// type: the older object's. Those without one form RRsets together.
func (b *builder) once(name string, list []offered) []offered {
	type row struct {
		setID string
		rtype uint16
	}
	first := make(map[row]offered)
	return slices.DeleteFunc(list, func(f offered) bool {
		if f.setID == "" {
			return false
		}
		of := row{f.setID, f.rtype}
		known, taken := first[of]
		owner := known.claim
		if !taken {
			first[of] = f
			return false
		}
		if f.same(known.offer) {
			return true // another cluster says the same
		}
		if b.dropped == nil {
			b.dropped = make(map[*claim]int)
		}
		b.dropped[f.claim]++
		b.note(f.claim, reasonConflicted, "%s: the set identifier %q belongs to %s %s", trimDot(name), f.setID, owner.kind, inCluster(owner.by, f.claim.by))
		return true
	})
}

// same tells whether two offers say the same of one name.
func (f *offer) same(o *offer) bool {
	return f.target == o.target && f.weight == o.weight && f.code == o.code && f.ttl == o.ttl && slices.Equal(f.addrs, o.addrs)
}

// expansion follows offers from name to name.
type expansion struct {
	b    *builder
	all  map[string][]offered
	zone *ZoneOptions
	host string // H'
	// budget is how many more ways there may be in all; short is true once there are no more.
	budget int
	short  bool
	// known are the ways from names; nil while they are being looked for.
	known    map[string][]path
	narrowed map[string]bool // the names that are views on the choice of another
}

// paths returns the ways from a name. A name that leads back to itself leads nowhere there.
func (x *expansion) paths(name string) []path {
	if known, ok := x.known[name]; ok {
		return known
	}
	x.known[name] = nil
	var all []path
	leaves := x.leaves(name)
	for _, setID := range slices.Sorted(maps.Keys(leaves)) {
		all = x.add(all, *leaves[setID])
	}
	for _, f := range x.all[name] {
		switch {
		case f.rtype != dns.TypeCNAME:
		case leaves[f.setID] != nil:
			x.b.note(f.claim, reasonDropped, "%s: addresses and hostnames cannot stand at one name: the addresses are served, and %s dropped", trimDot(name), trimDot(f.target))
		case f.code == anyGeo && x.twin(name, f):
			// It says which of the others is the default.
		default:
			all = x.along(f, all)
		}
	}
	x.known[name] = all
	return all
}

// add adds a way to those from a name, as far as there may be more.
func (x *expansion) add(all []path, p path) []path {
	if x.budget--; x.budget < 0 {
		x.short = true
		return all
	}
	return append(all, p)
}

// leaves returns the addresses at a name, by set identifier.
func (x *expansion) leaves(name string) map[string]*path {
	var bySet map[string]*path
	for _, f := range x.all[name] {
		if f.rtype == dns.TypeCNAME {
			continue
		}
		p := bySet[f.setID]
		if p == nil {
			p = &path{claim: f.claim, end: name, leaf: &leaf{}, ttl: f.ttl, setID: f.setID, weight: x.weight(f), code: f.code, deflt: f.code == anyGeo}
			if p.deflt {
				p.code = ""
			}
			if bySet == nil {
				bySet = make(map[string]*path)
			}
			bySet[f.setID] = p
		}
		p.ttl = min(p.ttl, f.ttl)
		p.leaf.take(f.offer, nil)
	}
	return bySet
}

// twin tells whether another CNAME at a name leads where f, which is for clients that match
// no other, does: for clients with a code.
func (x *expansion) twin(name string, f offered) bool {
	return slices.ContainsFunc(x.all[name], func(o offered) bool {
		return o.rtype == dns.TypeCNAME && o.target == f.target && o.code != "" && o.code != anyGeo
	})
}

// isDefault tells whether clients that match no other go the way of f, which is at name.
func (x *expansion) isDefault(name string, f offered) bool {
	return f.code == anyGeo || f.code != "" && slices.ContainsFunc(x.all[name], func(o offered) bool {
		return o.rtype == dns.TypeCNAME && o.target == f.target && o.code == anyGeo
	})
}

// along adds the ways that a CNAME leads to.
func (x *expansion) along(f offered, all []path) []path {
	cname, deflt, code := cnameRR(f.name, f.ttl, f.target), x.isDefault(f.name, f), f.code
	if code == anyGeo {
		code = ""
	}
	if _, own := x.all[f.target]; !own {
		return x.add(all, path{claim: f.claim, cnames: []dns.RR{cname}, end: f.target, setID: f.setID, weight: x.weight(f), code: code, deflt: deflt})
	}
	for _, p := range x.paths(f.target) {
		if len(p.cnames) == maxExpand {
			continue
		}
		p.cnames = append([]dns.RR{cname}, p.cnames...)
		p.setID = cmp.Or(p.setID, f.setID)
		p.weight = min(p.weight*x.weight(f), 1<<31)
		if p.code == "" {
			p.code, p.deflt = code, p.deflt || deflt
		}
		all = x.add(all, p)
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
	x.short = false
	paths := slices.Clone(x.paths(name))
	if x.short {
		b.note(claims[0], reasonDropped, "%s leads to too many targets: the first %d are served", trimDot(name), len(paths))
	}
	paths = slices.DeleteFunc(paths, func(p path) bool { return p.leaf != nil && len(p.leaf.v4)+len(p.leaf.v6) == 0 })
	if len(paths) == 0 {
		b.names[name] = steered{owner: claims[0]}
		return
	}
	other := name == x.zone.Origin || b.static(name)
	if way := paths[0]; len(paths) == 1 && way.leaf == nil && len(way.cnames) == 1 && way.setID == "" && way.code == "" && !other {
		set := &addressSet{rrs: slices.Clip(way.cnames)} // one CNAME, for every type
		if v := b.vital(way.claim, way.end, b.word(way.claim)); v != (vital{}) {
			set.vitals = []vital{v}
		}
		b.names[name] = steered{owner: way.claim, set: set}
		return
	}
	v := &view{pool: x.pool(name, claims, paths, other), group: anyGroup}
	v.flat, v.inner = other || x.zone.Flatten, base(name) != x.host
	b.names[name] = steered{owner: paths[0].claim, view: v}
	if !v.flat {
		x.narrow(name, v.pool, paths)
	}
}

// narrow makes the names that one group alone of a choice leads through answer as rule 2.4
// has it: from that group, and where nothing in it is up, as the name of the choice would.
func (x *expansion) narrow(name string, p *Pool, paths []path) {
	through := make(map[string]string, len(p.groups)) // group names by code
	for _, way := range paths {
		next := ""
		if len(way.cnames) > 1 || way.leaf != nil && len(way.cnames) == 1 {
			next = way.cnames[0].(*dns.CNAME).Target
		}
		if known, ok := through[way.code]; ok && known != next {
			next = ""
		}
		through[way.code] = next
	}
	for i := range p.groups {
		g := &p.groups[i]
		next := through[g.code]
		if next == "" || len(p.groups) < 2 || !x.leadsOnlyTo(name, next, g.code) {
			continue
		}
		g.name = next
		x.b.names[next] = steered{owner: x.b.names[name].owner, view: &view{pool: p, skip: 1, group: int32(i), inner: base(next) != x.host}}
		x.narrowed[next] = true
	}
}

// leadsOnlyTo tells whether all that leads to a name is CNAMEs at another one, for clients
// of one code.
func (x *expansion) leadsOnlyTo(from, to, code string) bool {
	for name, list := range x.all {
		for _, f := range list {
			if f.rtype == dns.TypeCNAME && f.target == to && (name != from || f.code != code && f.code != anyGeo) {
				return false
			}
		}
	}
	return true
}

// pool makes the choice among paths. Where other data stand at the name, or where the
// zone wants it so, answers have no chain.
func (x *expansion) pool(name string, claims []*claim, paths []path, other bool) *Pool {
	p := &Pool{owner: claims[0], deflt: anyGroup}
	index := poolIndex{groups: make(map[string]int32), members: make(map[place]struct{})}
	told := make(map[string]bool)
	for _, way := range paths {
		var err error
		if way.code != "" {
			err = geo.Check(way.code)
		}
		if err != nil && !told[way.code] {
			told[way.code] = true
			x.b.note(way.claim, reasonUnknownGeo, "%v", err)
		}
		g := index.group(p, way.code, name)
		if way.deflt && p.deflt == anyGroup && err == nil {
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
