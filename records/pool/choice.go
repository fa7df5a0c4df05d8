package pool

import (
	"slices"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// chooseHere makes v the choice among what a name has itself.
func (b *Builder) chooseHere(at *host, v *View, name string, all []option, other bool) {
	p := v.Pool
	*p = Pool{Default: None}
	lowered := at.lowers(all)
	b.places.again()
	for i := range all {
		o := &all[i]
		g, known := b.places.of(place{o.row.code(), o.row.other})
		if !known {
			p.Groups = append(p.Groups, b.group(o.row.code()))
			b.noteGeo(o.contender, o.row.code())
		}
		if o.row.Geo == endpoint.AnyGeo && !o.row.other && p.Default == None {
			p.Default = g
		}
		o.group = g
		if o.alias {
			o.cnames = []dns.RR{cname(name, o.row.TTL, o.name, lowered)}
		}
	}
	b.fill(at, v, name, all, other)
}

// chooseAlong makes v the choice among all members of a chain, as seen from a host or from the top.
func (b *Builder) chooseAlong(at *host, v *View, c *chain, members [][]option, head *branch, other bool) {
	p := v.Pool
	*p = Pool{Default: c.deflt, chained: head != c.top && !v.Flat}
	all := b.options[:0]
	lowered := slices.ContainsFunc(members, at.lowers)
	var way []dns.RR
	if b.hops = b.hops[:0]; head != c.top {
		way = []dns.RR{cname(head.name, head.rows[0].TTL, c.top.name, lowered)}
	}
	for i, g := range c.groups {
		of := b.group(g.code)
		of.Name = g.name
		p.Groups = append(p.Groups, of)
		b.noteGeo(g.head.contender, g.code)
		toGroup := cname(c.top.name, g.head.TTL, g.name, lowered)
		for _, o := range members[i] {
			o.group = int32(i)
			from := len(b.hops)
			b.hops = append(append(b.hops, way...), toGroup, cname(g.name, o.row.TTL, o.name, lowered))
			o.cnames = b.hops[from:len(b.hops):len(b.hops)]
			all = append(all, o)
		}
	}
	b.fill(at, v, head.name, all, other)
	b.options = all
}

// lowers reports whether the CNAMEs of a choice are served with a low TTL, because checks decide about it (rule 2.3).
func (at *host) lowers(all []option) bool {
	return at.checked || slices.ContainsFunc(all, func(o option) bool {
		return slices.ContainsFunc(o.cells, func(c Cells) bool { return c.joined != nil })
	})
}

// cname returns a CNAME, with a TTL of at most endpoint.CheckedTTL if it is lowered.
func cname(name string, ttl uint32, target string, lowered bool) dns.RR {
	if lowered {
		ttl = min(ttl, endpoint.CheckedTTL)
	}
	return rdata.CNAME(name, ttl, target)
}

// group returns the group of a code, without a name.
func (b *Builder) group(code string) Group {
	g, known := b.groups[code]
	if !known {
		g = Group{Code: code, Class: geo.Class(code), level: -1}
		if at := geo.Client(code); at != nil {
			g.level = slices.Index(at[:], code)
		}
		if b.groups == nil {
			b.groups = make(map[string]Group)
		}
		b.groups[code] = g
	}
	return g
}

// fill makes options the members of v's pool, which has its groups. other is true if other data stand at the name.
func (b *Builder) fill(at *host, v *View, name string, all []option, other bool) {
	p := v.Pool
	p.Attributes, p.Members = at.attributes, make([]Member, 0, len(all))
	b.members.again()
	for i := range all {
		o := &all[i]
		m := b.member(at, name, o, v.Flat, other)
		if _, twice := b.members.of(member{m.ID, m.Group}); twice {
			m.seed = seedOf(o.row.SetID + ".")
		}
		p.Members = append(p.Members, m)
		if b.Unlocated && len(p.Groups) > 1 {
			b.note(o.contender, endpoint.ReasonUnlocated,
				"nothing locates clients, so geo codes have no effect: write `geoip FILE` or `nets FILE` in the Corefile")
		}
	}
	if at.whole {
		b.noteLoneStandbys(at, p, all)
	}
	p.seal(other)
}

// member makes a member with its answers.
func (b *Builder) member(at *host, name string, o *option, flat, other bool) Member {
	m := Member{
		ID: o.name, Weight: o.row.Share(), Priority: o.row.Priority(), Of: sourceOf(o.contender), Group: o.group,
		leaf: o.leaf, Gateway: o.gateway, Cells: o.cells,
	}
	if !o.alias && o.row.SetID != "" {
		m.ID = o.row.SetID + "." // sets at one name
	}
	limit := o.limit
	if flat { // rule 2.4: the lowest TTL of the chain
		for _, rr := range o.cnames {
			limit = min(limit, rr.Header().Ttl)
		}
	}
	switch {
	case !flat:
		m.lay(o.cnames, true, o.name, limit)
	case o.leaf != nil:
		m.lay(nil, false, name, limit)
	case !other || b.resolvable(o.contender, name, o.name, at.zone):
		m.lay([]dns.RR{rdata.CNAME(name, limit, o.name)}, false, name, limit)
	}
	return m
}

// noteLoneStandbys tells the objects of members whose priority has no effect, because all of their geo group have it (rule 9.1).
func (b *Builder) noteLoneStandbys(at *host, p *Pool, all []option) {
	for i := range p.Members {
		m := &p.Members[i]
		if m.Priority == 0 || slices.ContainsFunc(p.Members, func(o Member) bool {
			return o.Priority != m.Priority && (o.Group == m.Group || p.Attributes.Of(api.Order) == api.OrderPriority)
		}) {
			continue
		}
		lone := "all members have it"
		if len(p.Groups) > 1 && p.Attributes.Of(api.Order) != api.OrderPriority {
			lone = "all members of geo " + p.Groups[m.Group].Geo() + " have it; annotate the host's owner with kuadrant.io/order: priority, " +
				"and priority goes before geography"
		}
		b.note(all[i].contender, endpoint.ReasonAnnotation, "%s: priority %d has no effect: %s", endpoint.TrimDot(at.name), m.Priority, lone)
	}
}

// noteGeo adds a note to a contender whose geo code matches no client; "" is none (rule 3.2).
func (b *Builder) noteGeo(c *endpoint.Contender, code string) {
	if code == "" {
		return
	}
	if err := geo.Check(code); err != nil {
		b.note(c, endpoint.ReasonUnknownGeo, "%v", err)
	}
}
