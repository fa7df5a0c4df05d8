package records

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/health"
)

// path is one way from a name to addresses, or to a hostname elsewhere, through what
// objects with endpoints say (rule 6.10).
type path struct {
	claim  *claim   // whose the addresses or the hostname are
	cnames []dns.RR // from the name on
	// end is the name that has the addresses, or the hostname; leaf is nil for that.
	end  string
	leaf *leaf
	ttl  uint32 // of the addresses
	// word and vitals are what member has.
	word   *health.Cell
	vitals []vital
	// setID is the last set identifier on the way, "" for none.
	setID  string
	weight uint64
	// share is that of the first CNAME among those at its name, and inner the weight among
	// the ways from where it leads to; row tells the CNAMEs apart. They are 0 for addresses.
	share, inner uint64
	row          int
	code         string // upper case, "" for none
	// deflt is true where clients that match no other go this way.
	deflt bool
}

// through returns the name of the same objects that the way leads through first; "" for
// none.
func (p *path) through() string {
	if len(p.cnames) > 1 || p.leaf != nil && len(p.cnames) == 1 {
		return p.cnames[0].(*dns.CNAME).Target
	}
	return ""
}

// target returns the set identifier of the member that the way leads to.
func (p *path) target() string {
	if p.leaf != nil && len(p.cnames) == 0 && p.setID != "" {
		return p.setID + "." // sets at one name
	}
	return p.end
}

// unite makes p say of its hostname what another way to it says of it too. Two ways to
// the same addresses say the same.
func (p *path) unite(o *path) {
	if p.leaf == nil {
		both := spec{word: p.word, vitals: p.vitals}.with(spec{word: o.word, vitals: o.vitals})
		p.word, p.vitals = both.word, both.vitals
	}
}

// maxExpand is how many CNAMEs are followed from one name; a chain of rule 2.3 has three.
// It bounds the ways from all names that are made together, too: to so many for each offer.
const maxExpand = 8

// maxMembers is how many members one name has at the most: a query looks at each.
const maxMembers = 1000

// explore finds the ways from a name and from all that it leads to. Those come first; a
// name that leads back to itself leads nowhere there. It does not call itself: tenants
// decide how long a chain is.
func (x *expansion) explore(root string) {
	type visit struct {
		name   string
		leaves map[string]*path
		next   int // of its offers
	}
	var open []visit
	enter := func(name string) {
		if !x.entered[name] {
			x.entered[name] = true
			open = append(open, visit{name: name, leaves: x.leaves(name)})
		}
	}
	for enter(root); len(open) > 0; {
		v := &open[len(open)-1]
		list := x.all[v.name]
		if v.next == len(list) {
			x.known[v.name] = x.ways(v.name, v.leaves)
			x.order = append(x.order, v.name)
			open = open[:len(open)-1]
			continue
		}
		f := list[v.next]
		v.next++
		if _, own := x.all[f.target]; own && v.leaves[f.setID] == nil {
			enter(f.target)
		}
	}
}

// ways returns the ways from a name, where those from the names that it leads to are
// known. leaves are the addresses at the name.
func (x *expansion) ways(name string, leaves map[string]*path) (all []path) {
	list := x.all[name]
	coded, deflt := twins(list)
	added := make(map[*path]bool, len(leaves))
	for _, f := range list {
		p := leaves[f.setID]
		switch {
		case f.rtype != dns.TypeCNAME && added[p]:
		case f.rtype != dns.TypeCNAME && x.full(all):
			x.b.drop(&f, reasonDropped, crowded, trimDot(name), maxMembers)
		case f.rtype != dns.TypeCNAME:
			added[p] = true
			x.budget--
			all = append(all, *p)
		case p != nil:
			x.b.drop(&f, reasonDropped, "%s: addresses and hostnames cannot stand at one name: the addresses are served, and %s dropped", trimDot(name), trimDot(f.target))
		case f.code == anyGeo && coded[f.target]:
			// It says which of the others is the default.
		default:
			from := len(all)
			all = x.along(f, f.code == anyGeo || f.code != "" && deflt[f.target], all)
			for i := range all[from:] {
				all[from+i].row = from + 1
			}
		}
	}
	weighOut(all)
	return all
}

// weighOut gives the ways from a name their weights, where several CNAMEs at the name stand
// for one code: each is drawn by its own weight, and those behind it by theirs. All weights are
// up to 2^31, before and after.
func weighOut(all []path) {
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
	if len(deep) == 0 {
		return // by far the most
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

// twins returns where CNAMEs at one name lead: those for clients with a code, and those
// for clients that match no other. It returns nothing where there are none of the latter.
func twins(list []offered) (coded, deflt map[string]bool) {
	if !slices.ContainsFunc(list, func(f offered) bool { return f.code == anyGeo }) {
		return nil, nil
	}
	coded, deflt = make(map[string]bool), make(map[string]bool)
	for _, f := range list {
		switch {
		case f.rtype != dns.TypeCNAME || f.code == "":
		case f.code == anyGeo:
			deflt[f.target] = true
		default:
			coded[f.target] = true
		}
	}
	return coded, deflt
}

// along adds the ways that a CNAME leads to. deflt is path.deflt.
func (x *expansion) along(f offered, deflt bool, all []path) []path {
	cname, code := cnameRR(f.name, f.ttl, f.target), f.code
	if code == anyGeo {
		code = ""
	}
	if _, own := x.all[f.target]; !own {
		if x.full(all) {
			x.b.drop(&f, reasonDropped, crowded, trimDot(f.name), maxMembers)
			return all
		}
		p := path{claim: f.claim, cnames: []dns.RR{cname}, end: f.target, setID: f.setID, weight: f.share(), share: f.share(), inner: 1, code: code, deflt: deflt}
		p.word, p.vitals = x.b.saidOf(&f)
		x.budget--
		return append(all, p)
	}
	list := x.known[f.target]
	for i, p := range list {
		if len(p.cnames) == maxExpand {
			continue
		}
		if x.full(all) {
			x.leaveOut(f.name, list[i:])
			break
		}
		p.cnames = append([]dns.RR{cname}, p.cnames...)
		p.setID = cmp.Or(p.setID, f.setID)
		p.share, p.inner = f.share(), p.weight
		p.weight = min(p.weight*f.share(), 1<<31)
		if p.code == "" {
			p.code, p.deflt = code, p.deflt || deflt
		}
		x.budget--
		all = append(all, p)
	}
	return all
}

// full tells whether no way may be added to those of a name.
func (x *expansion) full(all []path) bool { return len(all) == maxMembers || x.budget <= 0 }

// crowded is what those are told whose targets there is no room for.
const crowded = "%s leads to too many targets: at most %d of one name are served, of older objects first"

// leaveOut tells those whose targets are not among the ways from a name, as far as it may.
func (x *expansion) leaveOut(name string, rest []path) {
	for _, p := range rest[:min(len(rest), x.telling)] {
		x.telling--
		x.b.note(p.claim, reasonDropped, crowded, trimDot(name), maxMembers)
	}
}

// leaves returns the addresses at a name, by set identifier.
func (x *expansion) leaves(name string) map[string]*path {
	var bySet map[string]*leafList
	for _, f := range x.all[name] {
		if f.rtype == dns.TypeCNAME {
			continue
		}
		l := bySet[f.setID]
		if l == nil {
			l = &leafList{path: path{claim: f.claim, end: name, ttl: f.ttl, setID: f.setID, weight: f.share(), code: f.code}}
			if l.code == anyGeo {
				l.code, l.deflt = "", true
			}
			if bySet == nil {
				bySet = make(map[string]*leafList)
			}
			bySet[f.setID] = l
		}
		l.ttl = min(l.ttl, f.ttl)
		l.add(x.b, &f)
	}
	if bySet == nil {
		return nil
	}
	leaves := make(map[string]*path, len(bySet))
	for setID, l := range bySet {
		leaves[setID] = l.done()
	}
	return leaves
}

// leafList gathers the addresses at one name that have one set identifier.
type leafList struct {
	path
	v4, v6 addressList
	any    bool // there is an offer
}

// add adds the addresses of an offer, with what each of its claims has to say of them: one
// cluster's word and check count for its own (rules 4.1 and 4.5).
func (l *leafList) add(b *builder, f *offered) {
	list := &l.v4
	if f.rtype == dns.TypeAAAA {
		list = &l.v6
	}
	addrs := list.fitting(f.addrs)
	if len(addrs) < len(f.addrs) {
		b.note(f.claim, reasonDropped, "%s: one name has at most %d addresses of a type: the first are served", trimDot(f.name), maxAtName)
	}
	for c := range f.claims() {
		word := b.word(c)
		if !l.any {
			l.word, l.any = word, true
		}
		l.word = betterWord(l.word, word)
		list.add(b, c, word, addrs)
	}
}

// done returns the way to what has been gathered.
func (l *leafList) done() *path {
	p := &l.path
	p.leaf = &leaf{v4: l.v4.addrs, v6: l.v6.addrs}
	only := func(v vital) bool { return v != vital{gateway: p.word} }
	if slices.ContainsFunc(l.v4.vitals, only) || slices.ContainsFunc(l.v6.vitals, only) {
		p.vitals = slices.Concat(l.v4.vitals, l.v6.vitals)
	}
	return p
}

// betterWord returns the better of what is said of two Gateways.
func betterWord(a, b *health.Cell) *health.Cell {
	return vital{gateway: a}.with(vital{gateway: b}).gateway
}

// saidOf returns what is said of the hostname that an offer leads to, as member has it.
func (b *builder) saidOf(f *offered) (word *health.Cell, vitals []vital) {
	word = b.word(f.claim)
	v := b.vital(f.claim, f.target, word)
	for _, c := range f.also {
		own := b.word(c)
		word, v = betterWord(word, own), v.with(b.vital(c, f.target, own))
	}
	if v != (vital{gateway: word}) {
		vitals = []vital{v}
	}
	return word, vitals
}

// fitting returns those of more that there is room for in l.
func (l *addressList) fitting(more []netip.Addr) []netip.Addr {
	room := maxAtName - len(l.addrs)
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
