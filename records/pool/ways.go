package pool

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// path is one way from a name to addresses, or to a hostname elsewhere, through the endpoints of objects (rule 6.10).
type path struct {
	contender *endpoint.Contender // owner of the addresses or the hostname
	cnames    []dns.RR            // from the name onwards
	// end is the name of the addresses, or the hostname; leaf is nil for a hostname.
	end  string
	leaf *leaf
	// word and cells are Gateway and Cells of the member.
	word  *health.Cell
	cells []Cells
	// setID is the last set identifier on the way, "" for none.
	setID  string
	weight uint64
	// priority is the highest on the way.
	priority uint8
	// share is the weight of the first CNAME among those at its name, inner the weight among the ways from its target; row tells the CNAMEs
	// apart. They are 0 for addresses.
	share, inner uint64
	row          int
	code         string // upper case, "" for none
	// deflt is true if clients that match no other code go this way.
	deflt bool
}

// target returns the set identifier of the member at the end of the way.
func (p *path) target() string {
	if p.leaf != nil && len(p.cnames) == 0 && p.setID != "" {
		return p.setID + "." // sets at one name
	}
	return p.end
}

// unite merges into p the cells of another way to the same hostname. Two ways to the same addresses have the same cells.
func (p *path) unite(o *path) {
	if p.leaf != nil {
		return
	}
	if p.cells != nil || o.cells != nil {
		p.cells = []Cells{p.said().With(o.said())}
	}
	p.word = better(p.word, o.word)
}

// said returns the cells of the hostname that the way leads to.
func (p *path) said() Cells {
	if p.cells != nil {
		return p.cells[0]
	}
	return Cells{Gateway: p.word}
}

// probed reports whether probes have joined the checks at the end of the way.
func (p path) probed() bool {
	return slices.ContainsFunc(p.cells, func(c Cells) bool { return c.joined != nil })
}

// maxExpand bounds the CNAMEs followed from one name; a chain of rule 2.3 has three. It also bounds the ways from all names made together:
// to this many for each endpoint.
const maxExpand = 8

// maxMembers bounds the members of one name: a query looks at each.
const maxMembers = 1000

// explore finds the ways from a name and from all names that it leads to, those first; a name that leads back to itself leads nowhere
// there. It is not recursive: tenants decide how long a chain is.
func (x *expansion) explore(root *chainName) {
	open := x.open[:0]
	enter := func(c *chainName) {
		if !c.entered {
			c.entered = true
			x.gatherLeaves(c)
			open = append(open, c)
		}
	}
	for enter(root); len(open) > 0; {
		c := open[len(open)-1]
		if c.next == len(c.rows) {
			x.waysFrom(c)
			x.order = append(x.order, c)
			open = open[:len(open)-1]
			continue
		}
		f := &c.rows[c.next]
		c.next++
		if to := x.at[f.Target]; to != nil && c.leaf(f.SetID) == nil {
			enter(to)
		}
	}
	x.open = open
}

// leaf returns the addresses at the name that have a set identifier; nil for none.
func (c *chainName) leaf(setID string) *leafList {
	if i := c.sets.at(setID); i >= 0 {
		return &c.leaves[i]
	}
	return nil
}

// waysFrom finds the ways from a name; those from the names that it leads to are known.
func (x *expansion) waysFrom(c *chainName) {
	pairs := x.pairs.of(c.rows)
	for i := range c.rows {
		f := &c.rows[i]
		l := c.leaf(f.SetID)
		switch {
		case f.Type != dns.TypeCNAME && l.taken:
		case f.Type != dns.TypeCNAME && x.full(c.ways):
			x.b.drop(f, endpoint.ReasonDropped, crowded, endpoint.TrimDot(c.name), maxMembers)
		case f.Type != dns.TypeCNAME:
			x.budget--
			l.taken, c.ways = true, append(c.ways, l.path)
		case l != nil:
			x.b.drop(f, endpoint.ReasonDropped, "%s: "+endpoint.AddressesWin+"; dropping %s", endpoint.TrimDot(c.name), endpoint.TrimDot(f.Target))
		case f.Geo == endpoint.AnyGeo && pairs.coded(f.Target):
			// It only marks which of the others is the default.
		default:
			from := len(c.ways)
			c.ways = x.along(f, f.Geo == endpoint.AnyGeo || f.Geo != "" && pairs.deflt(f.Target), c.ways)
			for i := range c.ways[from:] {
				c.ways[from+i].row = from + 1
			}
		}
	}
	weighOut(c.ways)
}

// pairs are the hostnames that CNAMEs at one name lead to, if one of the CNAMEs is for clients that match no other.
type pairs struct {
	targets places[string]
	kinds   []struct{ coded, deflt bool } // whether a CNAME for a code leads there, and one for all others
}

// of returns the hostnames that rows lead to, valid until the next call; none if no row is for clients that match no other.
func (t *pairs) of(rows []owned) *pairs {
	t.targets.again()
	t.kinds = t.kinds[:0]
	if !slices.ContainsFunc(rows, func(f owned) bool { return f.Geo == endpoint.AnyGeo }) {
		return t
	}
	for i := range rows {
		f := &rows[i]
		if f.Type != dns.TypeCNAME || f.Geo == "" {
			continue
		}
		at, known := t.targets.of(f.Target)
		if !known {
			t.kinds = append(t.kinds, struct{ coded, deflt bool }{})
		}
		k := &t.kinds[at]
		k.coded, k.deflt = k.coded || f.Geo != endpoint.AnyGeo, k.deflt || f.Geo == endpoint.AnyGeo
	}
	return t
}

func (t *pairs) coded(target string) bool {
	i := t.targets.at(target)
	return i >= 0 && t.kinds[i].coded
}

func (t *pairs) deflt(target string) bool {
	i := t.targets.at(target)
	return i >= 0 && t.kinds[i].deflt
}

// weighOut sets the weights of the ways from a name if several CNAMEs at the name have one code: each CNAME is drawn by its own weight, and
// the ways behind it by theirs. All weights are at most 2^31, before and after.
func weighOut(all []path) {
	if !forks(all) {
		return // almost always
	}
	type branch struct {
		code string
		row  int
	}
	sums, most := make(map[branch]uint64), uint64(1)
	rows := make(map[string]int) // by code; -1 for several
	deep := make(map[string]bool)
	for i := range all {
		p := &all[i]
		b := branch{p.code, p.row}
		if known, ok := rows[p.code]; ok && known != p.row {
			rows[p.code] = -1
		} else {
			rows[p.code] = p.row
		}
		if _, more := sums[b]; more || p.inner > 1 {
			deep[p.code] = true
		}
		sums[b] += p.inner
		most = max(most, p.share)
		if p.row == 0 {
			most = max(most, p.weight) // addresses at the name itself
		}
	}
	const most31, fine = 1 << 31, 1 << 16
	scale := min(fine, max(1, most31/most))
	for i := range all {
		p := &all[i]
		if rows[p.code] != -1 || !deep[p.code] {
			continue
		}
		switch sum := sums[branch{p.code, p.row}]; {
		case p.row == 0:
			p.weight *= scale
		case sum == 0 || p.share == 0 || p.inner == 0:
			p.weight = 0
		default:
			p.weight = max(1, p.share*scale*p.inner/sum)
		}
	}
}

// forks reports whether several CNAMEs at one name have one code, and one of them leads to several ways, or to one with a weight of its
// own.
func forks(all []path) bool {
	deep, several := false, len(all) > fewPlaces
	for i := range all {
		p := &all[i]
		deep = deep || p.inner > 1 || i > 0 && p.row == all[i-1].row
		several = several || slices.ContainsFunc(all[:i], func(o path) bool { return o.code == p.code && o.row != p.row })
	}
	return deep && several
}

// along adds the ways behind a CNAME. deflt is path.deflt.
func (x *expansion) along(f *owned, deflt bool, all []path) []path {
	cname, code := rdata.CNAME(f.Name, f.TTL, f.Target), f.Geo
	if code == endpoint.AnyGeo {
		code = ""
	}
	to := x.at[f.Target]
	if to == nil {
		if x.full(all) {
			x.b.drop(f, endpoint.ReasonDropped, crowded, endpoint.TrimDot(f.Name), maxMembers)
			return all
		}
		p := path{
			contender: f.contender, cnames: []dns.RR{cname}, end: f.Target, setID: f.SetID,
			weight: f.Share(), share: f.Share(), inner: 1, priority: f.Priority(), code: code, deflt: deflt,
		}
		p.word, p.cells = x.b.saidOf(f)
		x.budget--
		return append(all, p)
	}
	for i, p := range to.ways {
		if len(p.cnames) == maxExpand {
			continue
		}
		if x.full(all) {
			x.leaveOut(f.Name, to.ways[i:])
			break
		}
		from := len(x.hops)
		x.hops = append(append(x.hops, cname), p.cnames...)
		p.cnames = x.hops[from:len(x.hops):len(x.hops)]
		p.setID = cmp.Or(p.setID, f.SetID)
		p.share, p.inner = f.Share(), p.weight
		p.weight = min(p.weight*f.Share(), 1<<31)
		p.priority = max(p.priority, f.Priority())
		if p.code == "" {
			p.code, p.deflt = code, p.deflt || deflt
		}
		x.budget--
		all = append(all, p)
	}
	return all
}

// full reports whether a name can have no more ways.
func (x *expansion) full(all []path) bool { return len(all) == maxMembers || x.budget <= 0 }

// crowded is the message to the owners of targets beyond the bound.
const crowded = "%s leads to too many targets: serving at most %d per name, those of older objects first"

// leaveOut notes omitted targets for their owners, as far as telling permits.
func (x *expansion) leaveOut(name string, rest []path) {
	for _, p := range rest[:min(len(rest), x.telling)] {
		x.telling--
		x.b.note(p.contender, endpoint.ReasonDropped, crowded, endpoint.TrimDot(name), maxMembers)
	}
}

// gatherLeaves collects the addresses at a name, by set identifier.
func (x *expansion) gatherLeaves(c *chainName) {
	for i := range c.rows {
		f := &c.rows[i]
		if f.Type == dns.TypeCNAME {
			continue
		}
		j, known := c.sets.of(f.SetID)
		if !known {
			l := leafList{path: path{contender: f.contender, end: c.name, setID: f.SetID, weight: f.Share(), priority: f.Priority(), code: f.Geo}}
			if l.code == endpoint.AnyGeo {
				l.code, l.deflt = "", true
			}
			c.leaves = append(c.leaves, l)
		}
		l := &c.leaves[j]
		l.add(x.b, f)
	}
	for i := range c.leaves {
		c.leaves[i].done()
	}
}

// leafList collects the addresses at one name with one set identifier.
type leafList struct {
	path
	v4, v6 addressList
	any    bool // there is an endpoint
	taken  bool // it is among the ways from the name
}

// add adds an endpoint's addresses, with the cells of each of its contenders: one cluster's word and check count for its own addresses
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
		word := b.Word(c)
		if !l.any {
			l.word, l.any = word, true
		}
		l.word = better(l.word, word)
		list.add(b, c, word, addrs)
	}
}

// done makes the way to the collected addresses.
func (l *leafList) done() {
	l.leaf = &leaf{append(rdata.Addresses(l.end, l.v4.ttl, l.v4.list), rdata.Addresses(l.end, l.v6.ttl, l.v6.list)...), len(l.v4.list)}
	only := func(c Cells) bool { return c != Cells{Gateway: l.word} }
	if !l.v4.said && !l.v6.said {
		return // almost always
	}
	if v4, v6 := l.v4.all(), l.v6.all(); slices.ContainsFunc(v4, only) || slices.ContainsFunc(v6, only) {
		l.cells = slices.Concat(v4, v6)
	}
}

// saidOf returns the cells of the hostname that an endpoint leads to, as a member has them.
func (b *Builder) saidOf(f *owned) (word *health.Cell, cells []Cells) {
	word = b.Word(f.contender)
	all := b.Cells(f.contender, f.Target, word)
	for _, c := range f.also {
		own := b.Word(c)
		word, all = better(word, own), all.With(b.Cells(c, f.Target, own))
	}
	if all != (Cells{Gateway: word}) {
		cells = []Cells{all}
	}
	return word, cells
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
