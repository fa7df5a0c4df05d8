package records

import (
	"maps"
	"slices"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// offers makes the names of claims with endpoints on a host, or on H' and *.H', by host and H' first. Both have the names
// at and below klb.H' where the same objects are on both; else H' has them where it has a chain, and *.H' is answered
// flat, as both are where another chain has taken these names (rule 2.8).
func (b *builder) offers(hosts [][]*claim, taken bool) {
	h := rdata.Base(hosts[0][0].host)
	if len(hosts) == 2 && slices.EqualFunc(hosts[0], hosts[1], func(c, o *claim) bool { return c.by == o.by }) {
		both := slices.Concat(hosts[0], hosts[1])
		slices.SortStableFunc(both, (*claim).older)
		b.expand(h, both, taken)
		return
	}
	for i, on := range hosts {
		b.expand(h, on, taken || i > 0 && slices.ContainsFunc(hosts[0], (*claim).steers))
	}
}

// expansion follows the offers of claims that share h and *.h from name to name.
type expansion struct {
	b    *builder
	all  map[string][]offered
	zone *ZoneOptions
	host string // H'
	// budget is how many more ways there may be in all; telling is how many more of those
	// that are left out are told.
	budget, telling int
	// known are the ways from names, which are in the order in which they were found.
	known   map[string][]path
	order   []string
	entered map[string]bool
	// from has the only name that leads to a name; "" where there are several.
	from     map[string]string
	narrowed map[string]bool // the names that are views on the choice of another
	apart    bool            // see view.apart
}

// expand makes the names of claims that share h or *.h, or both. With apart, it makes no name at or below klb.h.
func (b *builder) expand(h string, claims []*claim, apart bool) {
	all, n := offeredBy(claims)
	names := slices.Sorted(maps.Keys(all))
	for _, name := range names {
		all[name] = b.fold(name, all[name])
	}
	x := newExpansion(b, all)
	x.zone, x.host, x.telling, x.apart = b.zone(h), h, n, apart
	// No host leaves the other, or the names below klb, without ways.
	const reserves = 2
	x.budget = (maxExpand - reserves) * n
	for _, host := range [reserves]string{h, rdata.Wildcard + h} {
		if len(all[host]) > 0 {
			x.explore(host)
		}
		x.budget += n
	}
	for _, name := range names {
		x.explore(name)
	}
	for _, name := range slices.Backward(x.order) { // a name before those that it leads to
		if !x.narrowed[name] && !(apart && rdata.Base(name) != h) {
			x.build(name)
		}
	}
	for _, c := range claims {
		if apart && c.steers() {
			b.note(c, reasonChainTaken, "%s: the names at and below klb.%[2]s are those of %[2]s, which has other members: the host is answered without its chain",
				trimDot(c.host), trimDot(h))
		}
	}
}

func newExpansion(b *builder, all map[string][]offered) *expansion {
	x := &expansion{
		b: b, all: all,
		known: make(map[string][]path, len(all)), entered: make(map[string]bool, len(all)),
		from: make(map[string]string), narrowed: make(map[string]bool),
	}
	for name, list := range all {
		for _, f := range list {
			if f.rtype != dns.TypeCNAME {
				continue
			}
			if known, ok := x.from[f.target]; ok && known != name {
				x.from[f.target] = ""
			} else {
				x.from[f.target] = name
			}
		}
	}
	return x
}

// owner returns the claim that a name belongs to: the oldest of those that offer
// something there.
func (x *expansion) owner(name string) *claim { return x.all[name][0].claim }

// other tells whether a name has data beside what is offered.
func (x *expansion) other(name string) bool {
	return name == x.zone.Origin || x.b.static(name)
}

// flat tells whether the answers at a name have no chain (rule 2.4): the names below klb
// are the chain's own.
func (x *expansion) flat(name string, other bool) bool {
	return other || (x.zone.Flatten || x.apart) && rdata.Base(name) == x.host
}

// build makes a name that something is offered at.
func (x *expansion) build(name string) {
	b, owner, paths := x.b, x.owner(name), x.known[name]
	if len(paths) == 0 {
		b.names[name] = steered{owner: owner}
		return
	}
	other, inner := x.other(name), rdata.Base(name) != x.host
	if way := paths[0]; len(paths) == 1 && way.leaf == nil && len(way.cnames) == 1 && way.setID == "" && way.code == "" && !other {
		set := &addressSet{rrs: slices.Clip(way.cnames), leaf: inner} // one CNAME, for every type
		if way.vitals != nil || way.word != nil {
			set.vitals = way.vitals
			if set.vitals == nil {
				set.vitals = []vital{{gateway: way.word}}
			}
		}
		b.names[name] = steered{owner: owner, set: set}
		return
	}
	v := &view{pool: x.pool(name, paths, other), group: anyGroup, flat: x.flat(name, other), inner: inner, apart: x.apart}
	b.names[name] = steered{owner: owner, view: v}
	if !v.flat {
		x.narrow(name, v.pool, paths)
	}
}

// narrow makes the names that one group alone of a choice leads through, and nothing
// else does, answer as rule 2.4 has it: from that group, and where nothing in it is up, as
// the name of the choice would.
func (x *expansion) narrow(name string, p *Pool, paths []path) {
	if len(p.groups) < 2 {
		return
	}
	const several = "*"                               // no code of a path
	through := make(map[string]string, len(p.groups)) // names by code
	codes := make(map[string]string, len(p.groups))   // the reverse
	for _, way := range paths {
		next := way.through()
		if known, ok := codes[next]; ok && known != way.code {
			codes[next] = several
		} else {
			codes[next] = way.code
		}
		if known, ok := through[way.code]; ok && known != next {
			next = ""
		}
		through[way.code] = next
	}
	for i := range p.groups {
		g := &p.groups[i]
		next := through[g.code]
		if next == "" || codes[next] != g.code || x.from[next] != name || x.other(next) {
			continue
		}
		g.name = next
		x.b.names[next] = steered{owner: x.owner(next), view: &view{pool: p, skip: 1, group: int32(i), inner: rdata.Base(next) != x.host}}
		x.narrowed[next] = true
	}
}

// pool makes the choice among paths. Where other data stand at the name, or where the
// zone wants it so, answers have no chain.
func (x *expansion) pool(name string, paths []path, other bool) *Pool {
	paths = slices.Clone(paths)
	p := &Pool{owner: x.owner(name), deflt: anyGroup}
	index, told := poolIndex{groups: make(map[string]int32)}, make(map[string]bool)
	at, n := make(map[place]int, len(paths)), 0
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
		is := place{way.target(), g}
		if i, known := at[is]; known {
			paths[i].unite(&way)
			continue
		}
		at[is], paths[n] = n, way
		n++
	}
	p.members = make([]member, n)
	for i, way := range paths[:n] {
		p.members[i] = x.member(name, way, index.groups[way.code], other)
	}
	if i := slices.IndexFunc(p.groups, func(g group) bool { return g.code == "" }); p.deflt == anyGroup && i >= 0 {
		p.deflt = int32(i)
	}
	for i := range p.groups {
		p.groups[i].name = "" // until narrow finds one
	}
	p.setNeeds(other)
	return p
}

// member makes what a path leads to, with its answers.
func (x *expansion) member(name string, way path, group int32, other bool) member {
	m := member{target: way.target(), weight: way.weight, claim: way.claim, group: group, leaf: way.leaf, word: way.word, vitals: way.vitals}
	cnames, ttl := way.cnames, way.ttl
	if way.leaf == nil {
		ttl = way.cnames[len(way.cnames)-1].Header().Ttl
	}
	for i, rr := range way.cnames {
		if m.vitals != nil && rr.Header().Ttl > checkedTTL { // rule 2.3
			cnames = slices.Clone(cnames)
			cnames[i] = copyHeader(rr)
			cnames[i].Header().Ttl = checkedTTL
		}
	}
	flat := x.flat(name, other)
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
	case !other || x.resolvable(name, &way):
		m.lay([]dns.RR{cnameRR(name, ttl, way.end)}, name, ttl)
	}
	return m
}

// resolvable is builder.resolvable for the hostname that a way from name leads to.
func (x *expansion) resolvable(name string, way *path) bool {
	if x.b.zone(way.end) != nil {
		return true
	}
	x.b.note(way.claim, reasonApexHostname, "%s has other data, so it cannot be a CNAME to %s, and that is in no zone served here: give the name an IP address, or use a host below %s",
		trimDot(name), trimDot(way.end), trimDot(x.zone.Origin))
	return false
}
