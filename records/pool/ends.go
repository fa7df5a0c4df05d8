package pool

import (
	"math"
	"net/netip"
	"slices"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// maxMembers bounds the members of one name: a query looks at each.
const maxMembers = 1000

// crowd drops an endpoint for which a name has too many members.
func (b *Builder) crowd(f *owned, name string) {
	b.drop(f, endpoint.ReasonDropped, "%s leads to too many targets: serving at most %d per name, those of older objects first",
		endpoint.TrimDot(name), maxMembers)
}

// optionsOf returns what a name has: the addresses of each set identifier, and CNAMEs. Nothing is known here of what stands at other names of
// the tree.
func (b *Builder) optionsOf(t *hostTree, br *branch) []option {
	leaves, hostnames := b.leavesOf(br), b.hostnamesOf(t, br)
	all := make([]option, 0, min(len(br.rows), maxMembers))
	for i := range br.rows {
		f := &br.rows[i]
		at := b.sets.at(f.SetID)
		switch {
		case f.Type == dns.TypeCNAME && at >= 0:
			b.drop(f, endpoint.ReasonDropped, "%s: "+endpoint.AddressesWin+"; dropping %s", endpoint.TrimDot(br.name), endpoint.TrimDot(f.Target))
		case f.Type != dns.TypeCNAME && leaves[at].taken:
		case len(all) == maxMembers:
			b.crowd(f, br.name)
		case f.Type == dns.TypeCNAME:
			all = append(all, option{end: hostnames[b.hostnames.at(f.Target)], row: f, alias: true, limit: math.MaxUint32})
		default:
			leaves[at].taken = true
			all = append(all, option{end: leaves[at].end, row: f, limit: math.MaxUint32})
		}
	}
	return all
}

// hostnamesOf returns the ends of the CNAMEs at a name, numbered by b.hostnames. Several may lead to one: it has the checks of all of them
// (rule 4.5). A name of the same tree or object has none, since what stands there is checked.
func (b *Builder) hostnamesOf(t *hostTree, br *branch) (ends []end) {
	b.hostnames.again()
	var cells []Cells
	for i := range br.rows {
		f := &br.rows[i]
		if f.Type != dns.TypeCNAME {
			continue
		}
		at, known := b.hostnames.of(f.Target)
		if !known {
			ends, cells = append(ends, end{contender: f.contender, name: f.Target, gateway: b.OverrideOf(f.contender)}), append(cells, Cells{})
		}
		for c := range f.contenders() {
			gateway := b.OverrideOf(c)
			ends[at].gateway = better(ends[at].gateway, gateway)
			if t.at(f.Target) == nil && !f.Leads {
				cells[at] = cells[at].With(b.Cells(c, f.Target, gateway))
			}
		}
	}
	for i := range ends {
		if cells[i].Gateway = ends[i].gateway; cells[i] != (Cells{Gateway: ends[i].gateway}) {
			ends[i].cells = cells[i : i+1 : i+1]
		}
	}
	return ends
}

// leafList collects the addresses at one name with one set identifier.
type leafList struct {
	end
	v4, v6 addressList
	taken  bool // it is among the options
}

// leavesOf returns the addresses at a name, numbered by b.sets: by set identifier.
func (b *Builder) leavesOf(br *branch) (leaves []leafList) {
	b.sets.again()
	for i := range br.rows {
		f := &br.rows[i]
		if f.Type == dns.TypeCNAME {
			continue
		}
		at, known := b.sets.of(f.SetID)
		if !known {
			leaves = append(leaves, leafList{end: end{contender: f.contender, name: br.name, gateway: b.OverrideOf(f.contender)}})
		}
		leaves[at].add(b, f)
	}
	for i := range leaves {
		leaves[i].done()
	}
	return leaves
}

// add adds an endpoint's addresses, with the cells of each of its contenders: one cluster's override and check count for its own addresses
// (rules 4.1 and 4.5).
func (l *leafList) add(b *Builder, f *owned) {
	list := &l.v4
	if f.Type == dns.TypeAAAA {
		list = &l.v6
	}
	addrs := b.fitting(list, f.contender, f.Endpoint)
	if len(list.list) == 0 {
		list.ttl = f.TTL
	}
	for c := range f.contenders() {
		gateway := b.OverrideOf(c)
		l.gateway = better(l.gateway, gateway)
		list.add(b, c, gateway, addrs)
	}
}

// done makes the end of the collected addresses.
func (l *leafList) done() {
	l.leaf = &leaf{append(rdata.Addresses(l.name, l.v4.ttl, l.v4.list), rdata.Addresses(l.name, l.v6.ttl, l.v6.list)...), len(l.v4.list)}
	only := func(c Cells) bool { return c != Cells{Gateway: l.gateway} }
	if !l.v4.set && !l.v6.set {
		return // almost always
	}
	if v4, v6 := l.v4.all(), l.v6.all(); slices.ContainsFunc(v4, only) || slices.ContainsFunc(v6, only) {
		l.cells = slices.Concat(v4, v6)
	}
}

// fitting returns the addresses of more for which l has room.
func (l *addressList) fitting(more []netip.Addr) []netip.Addr {
	room := endpoint.MaxAtName - len(l.list)
	if len(more) <= room {
		return more
	}
	return slices.DeleteFunc(slices.Clone(more), func(a netip.Addr) bool {
		if l.at(a) >= 0 {
			return false
		}
		room--
		return room < 0
	})
}

// fitting returns an endpoint's addresses for which a list has room, and notes the others for its contender.
func (b *Builder) fitting(l *addressList, c *endpoint.Contender, e *endpoint.Endpoint) []netip.Addr {
	addrs := l.fitting(e.Addrs)
	if len(addrs) < len(e.Addrs) {
		b.note(c, endpoint.ReasonDropped, "%s: a name can have at most %d addresses of a type: serving the first",
			endpoint.TrimDot(e.Name), endpoint.MaxAtName)
	}
	return addrs
}

// set returns the data of a name that answers by itself, without a choice: addresses, or one CNAME.
func (o *option) set(name string, host api.Attributes) *Set {
	if !o.alias {
		return o.end.set(name, host, false, o.limit)
	}
	s := &Set{RRs: []dns.RR{rdata.CNAME(name, min(o.row.TTL, o.limit), o.name)}, Cells: o.cells, Attributes: host}
	s.checkByGateway(o.gateway)
	return s
}

// set returns addresses as the data of a name, with a TTL of at most limit. part is true in a chain.
func (e *end) set(name string, host api.Attributes, part bool, limit uint32) *Set {
	s := &Set{RRs: slices.Clip(e.leaf.addresses(name, limit)), V4: e.leaf.v4, Cells: e.cells, Attributes: host, part: part}
	s.checkByGateway(e.gateway)
	return s
}

// checkByGateway gives addresses that nothing checks the cell of their Gateway.
func (s *Set) checkByGateway(gateway *health.Cell) {
	if s.Cells == nil && gateway != nil {
		s.Cells = slices.Repeat([]Cells{{Gateway: gateway}}, len(s.RRs))
	}
}
