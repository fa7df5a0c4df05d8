package pool

import (
	"math"
	"slices"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
)

// expand makes the names of contenders that share h or *.h, or both; the first is the owner. With apart, it makes no name at or below
// klb.h, and answers flat.
func (b *Builder) expand(h string, contenders []*endpoint.Contender, apart bool) {
	for _, c := range contenders {
		b.noteGeo(c, c.DefaultGeo())
	}
	b.noteAttributes(contenders)
	standing, away := b.standing(contenders)
	at := &host{
		name: h, zone: b.Zone(h), attributes: contenders[0].Attributes.Host(), apart: apart, whole: len(away) == 0 && b.Complete,
		checked: slices.ContainsFunc(contenders, (*endpoint.Contender).Checked),
	}
	left := b.withdraw(at, away)
	b.leave(left, b.name(at, standing))
}

// name makes the names of contenders: those of their chain and, where they have none, each by itself (rule 6.10). It returns the chain.
func (b *Builder) name(at *host, contenders []*endpoint.Contender) *chain {
	t := &b.tree
	b.gather(t, at.name, contenders)
	c := t.chain()
	if c != nil {
		b.pooled(at, t, c)
	}
	for i := range t.branches {
		br := &t.branches[i]
		if alone := c == nil || br.role == roleHost && !slices.Contains(c.hosts, br); alone && !(at.apart && !t.isHost(br)) {
			b.alone(at, t, br)
		}
	}
	return c
}

// pooled makes the names of a chain: its hosts, each with a pool of all members, views of a pool below, and the members (rules 2.3 and
// 2.4).
func (b *Builder) pooled(at *host, t *hostTree, c *chain) {
	for i := range t.branches {
		if br := &t.branches[i]; br.role == roleMember {
			br.end = b.optionsOf(t, br)[0].end // all its addresses: they have no set identifiers
			b.below(at, br, br.end.set(br.name, at.attributes, true, math.MaxUint32))
		}
	}
	members := make([][]option, len(c.groups))
	for i, g := range c.groups {
		members[i] = b.optionsOf(t, g.branch)
		for j := range members[i] {
			if to := t.at(members[i][j].name); to != nil {
				members[i][j].end = to.end
			}
		}
	}
	b.thin(c, members)
	var top *View
	for _, br := range c.hosts {
		other := b.other(at, br)
		v := newView()
		v.Flat, v.Apart = other || at.zone.Flatten || at.apart, at.apart
		b.chooseAlong(at, v, c, members, br, other)
		b.Names[br.name] = Steered{br.rows[0].contender, v}
		if len(c.hosts) == 1 && !v.Flat {
			top = &View{Pool: v.Pool, Skip: 1, Group: None, part: true}
		}
	}
	if top == nil && !at.apart {
		top = newView()
		top.part = true
		b.chooseAlong(at, top, c, members, c.top, false)
	}
	b.below(at, c.top, top)
	for i, g := range c.groups {
		if !at.apart {
			b.below(at, g.branch, &View{Pool: top.Pool, Skip: top.Skip + 1, Group: int32(i), part: true})
		}
	}
}

// thin drops members beyond maxMembers: those of the youngest objects, whatever their group.
func (b *Builder) thin(c *chain, members [][]option) {
	n := 0
	for _, of := range members {
		n += len(of)
	}
	if n <= maxMembers {
		return // almost always
	}
	all := make([]*option, 0, n)
	for _, of := range members {
		for i := range of {
			all = append(all, &of[i])
		}
	}
	slices.SortStableFunc(all, func(x, y *option) int { return x.row.contender.Older(y.row.contender) })
	for _, o := range all[maxMembers:] {
		b.crowd(o.row, c.hosts[0].name)
		o.row = nil
	}
	for i := range members {
		members[i] = slices.DeleteFunc(members[i], func(o option) bool { return o.row == nil })
	}
}

// below makes a name of a chain, unless it is another host's.
func (b *Builder) below(at *host, br *branch, data Data) {
	if !at.apart {
		b.Names[br.name] = Steered{br.rows[0].contender, data}
	}
}

// other reports whether a host has data beside its endpoints.
func (b *Builder) other(at *host, br *branch) bool {
	return br.name == at.zone.Origin || b.Static(br.name)
}

// alone makes a name that answers by itself: it chooses where there are set identifiers or codes, and its CNAMEs are followed like any. A
// host that is answered flat has what its only CNAME leads to.
func (b *Builder) alone(at *host, t *hostTree, br *branch) {
	for i := range br.rows {
		f := &br.rows[i]
		to := t.at(f.Target)
		if f.Leads || f.Type == dns.TypeCNAME && to != nil && (br.chooses() || to.chooses()) {
			b.noteFailover(f)
		}
	}
	host, has, limit := t.isHost(br), br, uint32(math.MaxUint32)
	other := host && b.other(at, br)
	if host && (other || at.zone.Flatten || at.apart) {
		has, limit = t.end(br)
	}
	all := b.optionsOf(t, has)
	for i := range all {
		all[i].limit = limit
	}
	if at.apart {
		all = b.inPlace(t, all)
	}
	owner := br.rows[0].contender
	switch {
	case len(all) == 0:
		b.Names[br.name] = Steered{Owner: owner}
	case len(all) == 1 && !all[0].row.Chosen() && all[0].row.SetID == "" && !(other && all[0].alias):
		b.Names[br.name] = Steered{owner, all[0].set(br.name, at.attributes)}
	default:
		v := newView()
		v.Flat = has != br || other || at.apart
		b.chooseHere(at, v, br.name, all, other)
		b.Names[br.name] = Steered{owner, v}
	}
}

// inPlace puts addresses in place of CNAMEs that lead to them at names of the tree, and leaves out the other ones: the names are another
// host's.
func (b *Builder) inPlace(t *hostTree, all []option) (kept []option) {
	for _, o := range all {
		if to := t.at(o.name); o.alias && to != nil {
			last, limit := t.end(to)
			ends := b.optionsOf(t, last)
			if len(ends) != 1 || ends[0].alias {
				continue
			}
			o.end, o.alias, o.limit = ends[0].end, false, min(o.limit, o.row.TTL, limit)
		}
		kept = append(kept, o)
	}
	return kept
}

// noteFailover tells the owners of a CNAME that it leads from a choice, or to one, to another name of theirs that no pool has (rule 6.10).
func (b *Builder) noteFailover(f *owned) {
	for c := range f.contenders() {
		b.note(c, endpoint.ReasonNoFailover, "%s: its CNAMEs do not fail over: each name chooses by itself, whatever is up behind it. "+
			"Endpoints are one pool only in the form host, klb.<host>, a name for each geo code, members", endpoint.TrimDot(c.Host))
	}
}
