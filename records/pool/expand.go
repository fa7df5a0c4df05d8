package pool

import (
	"math"
	"slices"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// expansion follows the endpoints of contenders that share H' or *.H' from name to name (rules 2.4 and 6.10). A builder has one, and reuses
// its memory for each host.
type expansion struct {
	b        *Builder
	owner    *endpoint.Contender // of the host
	zone     *endpoint.ZoneOptions
	host     string // H'
	apart    bool   // see View
	checked  bool   // one of the contenders has a check
	away     bool   // some contenders are of groups that are not active
	at       map[string]*chainName
	names    []*chainName        // in the order of the endpoints; unused ones for reuse follow
	order    []*chainName        // in the order explored: a name after those that it leads to
	open     []*chainName        // being explored
	distinct []path              // memory of pool
	groups   []Group             // memory of pool
	codes    places[string]      // memory of pool
	places   places[place]       // memory of pool
	room     endpoint.Room       // memory of gather
	hops     []dns.RR            // memory of along
	first    places[distinction] // memory of fold
	pairs    pairs
	// budget is how many more ways there may be in all; telling, how many omitted ones are still to be reported.
	budget, telling int
}

// chainName is a name that has endpoints.
type chainName struct {
	name string
	rows []owned
	// from is the only other name that leads here; nil for none, or several.
	from    *chainName
	several bool
	entered bool
	next    int // the next of its rows to explore
	sets    places[string]
	leaves  []leafList // its addresses, by set
	ways    []path     // from here to addresses or hostnames
	// seen is true if the name is a view of another's choice.
	seen bool
}

// expand makes the names of contenders that share h or *.h, or both; the first is the owner. With apart, it makes no name at or below
// klb.h, and answers flat.
func (b *Builder) expand(h string, contenders []*endpoint.Contender, apart bool) {
	x := &b.expansion
	x.b, x.owner, x.zone, x.host, x.apart = b, contenders[0], b.Zone(h), h, apart
	x.checked = slices.ContainsFunc(contenders, (*endpoint.Contender).Checked)
	for _, c := range contenders {
		x.noteGeo(c, c.Policy.DefaultGeo)
	}
	b.noteAttributes(contenders)
	standing, away := b.standing(contenders)
	x.away = len(away) > 0
	left := x.withdraw(h, away)
	x.make(h, standing)
	x.leave(left)
}

// make makes the names of contenders for expand.
func (x *expansion) make(h string, contenders []*endpoint.Contender) {
	n := x.gather(contenders)
	// Neither host may leave the other, or the names below klb, without ways.
	const reserves = 2
	x.telling, x.budget = n, (maxExpand-reserves)*n
	for _, host := range [reserves]string{h, rdata.WildcardOf(h)} {
		if c := x.at[host]; c != nil {
			x.explore(c)
		}
		x.budget += n
	}
	for _, c := range x.names {
		x.explore(c)
	}
	for _, c := range slices.Backward(x.order) {
		if !c.seen && !(x.apart && c.inner(h)) {
			x.build(c)
		}
	}
}

// inner reports whether the name is one of a chain, not h or *.h.
func (c *chainName) inner(h string) bool { return rdata.Base(c.name) != h }

// gather collects the names with their rows, and returns how many endpoints there are.
func (x *expansion) gather(contenders []*endpoint.Contender) (n int) {
	if x.at == nil {
		x.at, x.b.groups = make(map[string]*chainName), make(map[string]Group)
	}
	clear(x.at)
	x.names, x.order, x.room, x.hops = x.names[:0], x.order[:0], x.room[:0], x.hops[:0]
	var seen map[*endpoint.Endpoint]struct{}
	if len(contenders) > 1 && contenders[0].Kind != api.KindDNSPolicy { // an endpoint below klb.h belongs to the contender's h and *.h
		seen = make(map[*endpoint.Endpoint]struct{})
	}
	for _, c := range contenders {
		for _, e := range c.Endpoints(&x.room) {
			if seen != nil {
				if _, known := seen[e]; known {
					continue
				}
				seen[e] = struct{}{}
			}
			n++
			at := x.at[e.Name]
			if at == nil {
				at = x.add(e.Name)
			}
			at.rows = append(at.rows, owned{Endpoint: e, contender: c})
		}
	}
	for _, c := range x.names {
		c.rows = x.b.fold(c.name, c.rows)
	}
	for _, c := range x.names {
		for i := range c.rows {
			if to := x.at[c.rows[i].Target]; to != nil && to.from != c {
				to.several = to.several || to.from != nil
				to.from = c
			}
		}
	}
	return n
}

// add adds a name without rows.
func (x *expansion) add(name string) *chainName {
	i := len(x.names)
	if i < cap(x.names) {
		x.names = x.names[:i+1]
	} else {
		x.names = append(x.names, nil)
	}
	c := x.names[i]
	if c == nil {
		c = new(chainName)
		x.names[i] = c
	}
	c.sets.again()
	*c = chainName{name: name, rows: c.rows[:0], ways: c.ways[:0], leaves: c.leaves[:0], sets: c.sets}
	x.at[name] = c
	return c
}

// other reports whether a name has data beside its endpoints. The names of a chain have none (rule 2.8).
func (x *expansion) other(c *chainName) bool {
	return !c.inner(x.host) && (c.name == x.zone.Origin || x.b.Static(c.name))
}

// build makes a name that has endpoints, and the names that are views of its choice.
func (x *expansion) build(c *chainName) {
	owner, inner := c.rows[0].contender, c.inner(x.host)
	other := x.other(c)
	flat := other || (x.zone.Flatten || x.apart) && !inner // rule 2.4: the names below klb are the chain's own
	switch {
	case len(c.ways) == 0:
		x.b.Names[c.name] = Steered{Owner: owner}
	case len(c.ways) == 1 && c.ways[0].plain() && !(other && c.ways[0].leaf == nil):
		x.b.Names[c.name] = Steered{Owner: owner, Data: c.ways[0].set(c.name, inner, x.owner.Attributes.Host())}
	default:
		v := newView()
		v.Flat, v.part, v.Apart = flat, inner, x.apart
		x.pool(v.Pool, c, flat, other)
		x.b.Names[c.name] = Steered{Owner: owner, Data: v}
		if !flat {
			x.views(c, v.Pool)
		}
	}
}

// plain reports whether the way leads, without a choice, to data at the name itself: addresses, or one hostname.
func (p *path) plain() bool {
	if p.setID != "" || p.code != "" || p.deflt {
		return false
	}
	return p.leaf != nil && len(p.cnames) == 0 && p.weight == 1 || p.leaf == nil && len(p.cnames) == 1
}

// set returns the data at the end of a plain way.
func (p *path) set(name string, inner bool, host api.Attributes) *Set {
	set := &Set{RRs: slices.Clone(p.cnames), Cells: p.cells, Attributes: host, part: inner}
	if p.leaf != nil {
		set.RRs, set.V4 = p.leaf.addresses(name, math.MaxUint32), p.leaf.v4
	}
	if set.Cells == nil && p.word != nil {
		set.Cells = slices.Repeat([]Cells{{Gateway: p.word}}, len(set.RRs))
	}
	set.RRs = slices.Clip(set.RRs)
	return set
}

// views makes the names below a choice as views of it (rule 2.4), if nothing else leads to them: klb.H', if only one host leads there, and
// the names of its groups. A group without a usable member answers as the choice's own name does.
func (x *expansion) views(c *chainName, p *Pool) {
	hop, alone := 0, true // whether only the choice leads to the names that all its answers share
	for at := c; len(at.rows) == 1 && !at.rows[0].Chosen() && at.rows[0].SetID == ""; hop++ {
		next := x.at[at.rows[0].Target]
		if next == nil || len(next.ways) != len(c.ways) || hop+1 == maxExpand {
			break
		}
		p.chained = true
		if alone = alone && !next.several && !x.other(next); alone {
			next.seen = true
			x.b.Names[next.name] = Steered{Owner: next.rows[0].contender, Data: &View{Pool: p, Skip: hop + 1, Group: None, part: next.inner(x.host)}}
		}
		at = next
	}
	if len(p.Groups) == 1 && hop == 0 {
		return
	}
	for g := range p.Groups {
		next := x.at[p.Through(int32(g), hop)]
		if next == nil {
			continue
		}
		p.Groups[g].Name = next.name
		if alone && !next.several && !x.other(next) {
			next.seen = true
			view := &View{Pool: p, Skip: hop + 1, Group: int32(g), part: next.inner(x.host)}
			x.b.Names[next.name] = Steered{Owner: next.rows[0].contender, Data: view}
		}
	}
}

// group returns the group of a code, without a name.
func (b *Builder) group(code string) Group {
	g, known := b.groups[code]
	if !known {
		g = Group{Code: code, Class: geo.Class(code), level: -1}
		if at := geo.Client(code); at != nil {
			g.level = slices.Index(at[:], code)
		}
		b.groups[code] = g
	}
	return g
}

// place identifies a member of a pool.
type place struct {
	target string
	group  int32
}

// pool makes p the choice among the ways from a name. With flat, answers have no chain; other is true if other data stand at the name.
func (x *expansion) pool(p *Pool, c *chainName, flat, other bool) {
	*p = Pool{Default: None, Attributes: x.owner.Attributes.Host(), Groups: x.groups[:0]}
	x.codes.again()
	x.places.again()
	ways := x.distinct[:0] // ways to one target in one group are merged
	for i := range c.ways {
		way := &c.ways[i]
		g, found := x.codes.of(way.code)
		if !found {
			p.Groups = append(p.Groups, x.b.group(way.code))
			x.noteGeo(way.contender, way.code)
		}
		if way.deflt && p.Default == None && p.Groups[g].Class != geo.ClassUnknown {
			p.Default = g
		}
		if j, found := x.places.of(place{way.target(), g}); found {
			ways[j].unite(way)
			continue
		}
		ways = append(ways, *way)
	}
	if x.b.Unlocated && len(p.Groups) > 1 {
		for i := range ways {
			x.b.note(ways[i].contender, endpoint.ReasonUnlocated,
				"nothing locates clients, so geo codes have no effect: write `geoip FILE` or `nets FILE` in the Corefile")
		}
	}
	x.groups, x.distinct, p.Groups, p.Members = p.Groups, ways, slices.Clone(p.Groups), make([]Member, 0, len(ways))
	checked := x.checked || slices.ContainsFunc(ways, path.probed)
	for i := range ways {
		p.Members = append(p.Members, x.member(c.name, &ways[i], x.places.list[i].group, flat, other, checked))
	}
	if !x.away && x.b.Complete {
		x.noteLoneStandbys(p, ways)
	}
	p.seal(other)
}

// noteLoneStandbys tells the objects of members whose priority has no effect, because all of their geo group have it (rule 9.1). It waits
// for members that are away, or not read yet: they may have another one.
func (x *expansion) noteLoneStandbys(p *Pool, ways []path) {
	for i := range p.Members {
		m := &p.Members[i]
		if m.Priority == 0 || slices.ContainsFunc(p.Members, func(o Member) bool {
			return o.Priority != m.Priority && (o.Group == m.Group || p.Attributes.Of(api.Order) == api.OrderPriority)
		}) {
			continue
		}
		all := "all members have it"
		if len(p.Groups) > 1 && p.Attributes.Of(api.Order) != api.OrderPriority {
			all = "all members of geo " + p.Groups[m.Group].Geo() + " have it; annotate the host's owner with kuadrant.io/order: priority, " +
				"and priority goes before geography"
		}
		x.b.note(ways[i].contender, endpoint.ReasonAnnotation, "%s: priority %d has no effect: %s", endpoint.TrimDot(x.host), m.Priority, all)
	}
}

// noteGeo adds a note to a contender whose geo code matches no client; "" is none (rule 3.2).
func (x *expansion) noteGeo(c *endpoint.Contender, code string) {
	if code == "" {
		return
	}
	if err := geo.Check(code); err != nil {
		x.b.note(c, endpoint.ReasonUnknownGeo, "%v", err)
	}
}

// member makes the end of a way, with its answers. With checked, some member of the choice has a check: failover must not wait for the
// CNAMEs above it (rule 2.3).
func (x *expansion) member(name string, way *path, group int32, flat, other, checked bool) Member {
	m := Member{
		ID: way.target(), Weight: way.weight, Priority: way.priority, Of: sourceOf(way.contender), Group: group,
		leaf: way.leaf, Gateway: way.word, Cells: way.cells,
	}
	cnames, limit := way.cnames, uint32(math.MaxUint32)
	if checked {
		cnames = lowered(cnames)
	}
	if flat { // rule 2.4: the lowest TTL of the chain
		for _, rr := range cnames {
			limit = min(limit, rr.Header().Ttl)
		}
	}
	switch {
	case !flat:
		m.lay(cnames, true, way.end, limit)
	case way.leaf != nil:
		m.lay(nil, false, name, limit)
	case !other || x.b.resolvable(way.contender, name, way.end, x.zone):
		m.lay([]dns.RR{rdata.CNAME(name, limit, way.end)}, false, name, limit)
	}
	return m
}

// lowered returns CNAMEs with TTLs of at most endpoint.CheckedTTL.
func lowered(cnames []dns.RR) []dns.RR {
	all := slices.Clone(cnames)
	for i, rr := range all {
		if rr.Header().Ttl > endpoint.CheckedTTL {
			all[i] = rdata.CopyHeader(rr)
			all[i].Header().Ttl = endpoint.CheckedTTL
		}
	}
	return all
}
