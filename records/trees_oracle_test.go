package records_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/records/recordstest"
)

// treeRow is an endpoint of a tree: an address or a CNAME.
type treeRow struct {
	name, addr, target string
	set, geo           string
	weight             int // -1 for none
}

func (r *treeRow) String() string {
	text := r.name + " A " + r.addr
	if r.target != "" {
		text = r.name + " CNAME " + r.target
	}
	if r.set != "" {
		text += " set=" + r.set
	}
	if r.geo != "" {
		text += " geo=" + r.geo
	}
	if r.weight >= 0 {
		text += fmt.Sprint(" weight=", r.weight)
	}
	return text
}

// bare reports whether nothing is said of the row's part in a choice.
func (r *treeRow) bare() bool { return r.set == "" && r.geo == "" && r.weight < 0 }

func (r *treeRow) share() int {
	if r.weight < 0 {
		return 1
	}
	return r.weight
}

const (
	treeHost = "h.example.com"
	treeTop  = "klb.h.example.com"
)

// oddTree is what one or two objects publish at the host h, and what checks find.
type oddTree struct {
	rows   []treeRow // the older object's first
	states map[string]string
	text   string
	addrs  int
}

func (o *oddTree) address() string {
	o.addrs++
	return fmt.Sprintf("192.0.2.%d", o.addrs)
}

// randomTree returns a chain of rule 2.3, with up to three changes.
func randomTree(r *rand.Rand) *oddTree {
	o := &oddTree{states: make(map[string]string)}
	o.rows = append(o.rows, treeRow{name: treeHost, target: treeTop, weight: -1})
	codes := []string{"IE", "GEO-EU", "US", "UK", ""}
	r.Shuffle(len(codes), func(i, j int) { codes[i], codes[j] = codes[j], codes[i] })
	names, hostnames := []string{treeHost, treeTop}, []string{"lb1.example.net", "lb2.example.net"}
	for i, code := range codes[:1+r.IntN(3)] {
		group := fmt.Sprintf("g%d.%s", i, treeTop)
		names = append(names, group)
		if code != "" {
			o.rows = append(o.rows, treeRow{name: treeTop, target: group, set: code, geo: code, weight: -1})
		}
		if code == "" || i == 0 && !slices.Contains(codes[:3], "") && r.IntN(2) == 0 {
			o.rows = append(o.rows, treeRow{name: treeTop, target: group, set: "default", geo: "*", weight: -1})
		}
		for j := range 1 + r.IntN(3) {
			member := fmt.Sprintf("m%d%d.%s", i, j, treeTop)
			if r.IntN(5) == 0 {
				member = hostnames[r.IntN(2)]
			} else {
				names = append(names, member)
				for range 1 + r.IntN(2) {
					o.rows = append(o.rows, treeRow{name: member, addr: o.address(), weight: -1})
				}
			}
			o.rows = append(o.rows, treeRow{name: group, target: member, set: fmt.Sprintf("s%d%d", i, j), weight: []int{0, 1, 2, 4}[r.IntN(4)]})
		}
	}
	names = append(names, hostnames...)
	for i := range max(0, r.IntN(5)-1) {
		o.change(r, i, names)
	}
	for i := range o.addrs {
		o.states[fmt.Sprintf("192.0.2.%d", i+1)] = []string{"up", "up", "unknown", "down"}[r.IntN(4)]
	}
	for _, name := range hostnames {
		o.states[name] = []string{"up", "down"}[r.IntN(2)]
	}
	o.publish(r)
	return o
}

// change makes the tree a little odd.
func (o *oddTree) change(r *rand.Rand, i int, names []string) {
	at := r.IntN(len(o.rows))
	row := &o.rows[at]
	set := fmt.Sprint("x", i)
	some := func() string { return names[r.IntN(len(names))] }
	switch r.IntN(8) {
	case 0:
		if at > 0 {
			o.rows = slices.Delete(o.rows, at, at+1)
		}
	case 1:
		row.set, row.weight = set, r.IntN(4)
	case 2:
		row.set, row.geo = set, []string{"IE", "US", "*"}[r.IntN(3)]
	case 3:
		if to := some(); row.target != "" && to != row.name {
			row.target = to
		}
	case 4:
		if row.target != "" {
			row.set = ""
		}
	case 5, 6:
		name, to := names[r.IntN(len(names)-2)], some()
		if r.IntN(2) == 0 {
			o.rows = append(o.rows, treeRow{name: name, addr: o.address(), set: set, weight: r.IntN(4) - 1})
		} else if to != name {
			o.rows = append(o.rows, treeRow{name: name, target: to, set: set, weight: r.IntN(4) - 1})
		}
	case 7:
		o.rows = append(o.rows, treeRow{name: "extra." + treeTop, addr: o.address(), weight: -1})
	}
}

// publish puts the rows into one object or two, of which each has the host's.
func (o *oddTree) publish(r *rand.Rand) {
	head, n := []string{"dnsendpoint n/%s at=%dh", "dnsrecord n/%s at=%dh root=h.example.com served=example.com check=TCP:443"}[r.IntN(2)], 1
	if !strings.Contains(head, "check") {
		clear(o.states)
	}
	r.Shuffle(len(o.rows), func(i, j int) { o.rows[i], o.rows[j] = o.rows[j], o.rows[i] })
	if r.IntN(3) == 0 {
		n = 2
	}
	objects := make([][]treeRow, n)
	for _, row := range o.rows {
		if i := r.IntN(n + 1); row.name == treeHost || i == n {
			for i := range objects {
				objects[i] = append(objects[i], row)
			}
		} else {
			objects[i] = append(objects[i], row)
		}
	}
	if n == 2 && (len(objects[0]) == 1 || len(objects[1]) == 1) { // one that has nothing below klb shares nothing (rule 5.6)
		objects = [][]treeRow{o.rows}
	}
	o.rows = slices.Concat(objects...)
	defer o.prune()
	for i, rows := range objects {
		o.text += fmt.Sprintf(head, fmt.Sprint("o", i), i)
		for _, row := range rows {
			o.text += "\n    " + row.String()
		}
		o.text += "\n"
	}
	below := slices.ContainsFunc(o.rows, func(row treeRow) bool { return row.name != treeHost })
	if n == 1 && below && r.IntN(4) == 0 { // otherwise it is as good for klb as for any name
		o.text += "dnsendpoint n2/w at=3h\n    *.h.example.com A 198.51.100.1\n"
	}
}

// prune takes away CNAMEs to names of the chain that have nothing, where a name has anything else.
func (o *oddTree) prune() {
	all := o.rows
	dead := func(row treeRow) bool {
		return row.target != "" && !strings.HasSuffix(row.target, ".example.net") && !slices.ContainsFunc(all, func(of treeRow) bool { return of.name == row.target })
	}
	o.rows = slices.DeleteFunc(slices.Clone(all), func(row treeRow) bool {
		return dead(row) && slices.ContainsFunc(all, func(of treeRow) bool { return of.name == row.name && !dead(of) })
	})
}

// at returns the rows at a name, each once.
func (o *oddTree) at(name string) (rows []treeRow) {
	for _, row := range o.rows {
		if row.name == name && !slices.Contains(rows, row) {
			rows = append(rows, row)
		}
	}
	return rows
}

func (o *oddTree) state(of string) int {
	return map[string]int{"unknown": 1, "down": 2}[o.states[of]]
}

// candidate is one of the things that are drawn from. It leads to addresses, or to a name.
type candidate struct {
	geo       string // "*" for the default
	share     int
	state     int // 0 up, 1 unknown, 2 down
	addresses []string
	target    string
}

// odds are the chances of each outcome.
type odds map[string]float64

func (p odds) add(more odds, share float64) {
	for what, chance := range more {
		p[what] += chance * share
	}
}

// draw returns the candidates that one is drawn from for a client (rule 4.6).
func draw(all []candidate, client []string) []candidate {
	rank := func(c candidate) []int {
		use, near, unknown := 0, 5, 0
		switch i := slices.Index(client, c.geo); {
		case i >= 0 && c.geo != "":
			near = i
		case c.geo == "*":
			near = 4
		}
		if c.share == 0 {
			use = 1
		}
		if c.state == 2 {
			use += 2
		}
		if c.state == 1 {
			unknown = 1
		}
		return []int{use, near, unknown}
	}
	best := rank(slices.MinFunc(all, func(a, b candidate) int { return slices.Compare(rank(a), rank(b)) }))
	return slices.DeleteFunc(slices.Clone(all), func(c candidate) bool { return !slices.Equal(rank(c), best) })
}

// best returns addresses of the best state.
func (o *oddTree) best(addresses []string) string {
	lowest := 2
	for _, a := range addresses {
		lowest = min(lowest, o.state(a))
	}
	var out []string
	for _, a := range addresses {
		if o.state(a) == lowest && !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// together is the state of a member with some addresses (rule 4.5).
func (o *oddTree) together(addresses []string) int {
	counts := [3]int{}
	for _, a := range addresses {
		counts[o.state(a)]++
	}
	switch n := len(addresses); {
	case 2*counts[0] >= n:
		return 0
	case 2*(counts[0]+counts[1]) >= n:
		return 1
	}
	return 2
}

// resolve draws at a name, and follows the CNAME that it gets (rule 6.10).
func (o *oddTree) resolve(name string, client, seen []string) odds {
	all := o.candidates(name)
	switch {
	case slices.Contains(seen, name):
		return odds{"loop": 1}
	case len(all) == 0:
		return odds{led(name): 1}
	}
	all = draw(all, client)
	sum, p := 0, odds{}
	for _, c := range all {
		sum += max(c.share, 1)
	}
	for _, c := range all {
		share := float64(max(c.share, 1)) / float64(sum)
		if c.target == "" {
			p[o.best(c.addresses)] += share
		} else {
			p.add(o.resolve(c.target, client, append(slices.Clone(seen), name)), share)
		}
	}
	return p
}

// led is the outcome of a CNAME to a name that the tree does not have.
func led(name string) string {
	if strings.HasSuffix(name, ".example.com") {
		return "none"
	}
	return "-> " + name
}

// candidates returns what a name has itself: the addresses of each set identifier, which win over CNAMEs, and CNAMEs.
func (o *oddTree) candidates(name string) (all []candidate) {
	rows, sets, plain := o.at(name), make(map[string]int), false
	geo := func(row treeRow) string {
		if row.geo == "" {
			return "*"
		}
		return row.geo
	}
	for _, row := range rows {
		if row.target != "" {
			continue
		}
		i, known := sets[row.set]
		if !known {
			i = len(all)
			sets[row.set], all = i, append(all, candidate{geo: geo(row), share: row.share()})
		}
		all[i].addresses = append(all[i].addresses, row.addr)
	}
	for i := range all {
		all[i].state = o.together(all[i].addresses)
	}
	for _, row := range rows {
		if _, taken := sets[row.set]; row.target == "" || taken || row.bare() && plain {
			continue
		}
		plain = plain || row.bare()
		c := candidate{geo: geo(row), share: row.share(), target: row.target}
		if len(o.at(row.target)) == 0 { // else what is there does not reach back
			c.state = o.state(row.target)
		}
		all = append(all, c)
	}
	return all
}

// pool returns the members of the host, by the name of their geo group, if all rows have the form of rule 2.3.
func (o *oddTree) pool() (members map[string][]candidate, ok bool) {
	host, top := o.at(treeHost), []treeRow(nil)
	if len(host) != 1 || host[0].target == "" || !host[0].bare() {
		return nil, false
	}
	head := host[0].target
	if top = o.at(head); len(top) == 0 {
		return nil, false
	}
	groups, codes := make(map[string]string), make(map[string]string) // by name, and by code
	deflt := ""
	used := map[string]bool{treeHost: true, head: true}
	for _, row := range top {
		switch {
		case row.target == "" || row.set == "" || row.geo == "" || row.weight >= 0:
			return nil, false
		case row.geo == "*" && (deflt == "" || deflt == row.target):
			deflt = row.target
		case row.geo == "*" || codes[row.geo] != "" && codes[row.geo] != row.target || groups[row.target] != "" && groups[row.target] != row.geo:
			return nil, false
		default:
			codes[row.geo], groups[row.target] = row.target, row.geo
		}
		if _, known := groups[row.target]; !known {
			groups[row.target] = ""
		}
	}
	members = make(map[string][]candidate)
	leaves := make(map[string]bool)
	for name, code := range groups {
		if name == deflt && code == "" {
			code = "*"
		}
		rows := o.at(name)
		if used[name] || len(rows) == 0 {
			return nil, false
		}
		used[name] = true
		for _, row := range rows {
			c := candidate{geo: code, share: row.share(), state: o.state(row.target), target: row.target}
			if row.target == "" || row.set == "" || row.geo != "" {
				return nil, false
			}
			for _, leaf := range o.at(row.target) {
				if leaf.target != "" || !leaf.bare() {
					return nil, false
				}
				leaves[leaf.name] = true
				c.addresses, c.target = append(c.addresses, leaf.addr), ""
			}
			if c.addresses != nil {
				c.state = o.together(c.addresses)
			}
			members[name] = append(members[name], c)
		}
	}
	for name := range leaves {
		if used[name] {
			return nil, false
		}
		used[name] = true
	}
	return members, !slices.ContainsFunc(o.rows, func(row treeRow) bool { return !used[row.name] })
}

// want returns the odds at a name of the tree.
func (o *oddTree) want(name string, client []string) odds {
	members, pooled := o.pool()
	if !pooled || name != treeHost && members[name] == nil && name != o.at(treeHost)[0].target {
		return o.resolve(name, client, nil)
	}
	all := members[name]
	if !slices.ContainsFunc(all, func(c candidate) bool { return c.share > 0 && c.state < 2 }) { // rule 2.4
		all = slices.Concat(slices.Collect(maps.Values(members))...)
	}
	deflt := o.deflt()
	for i, c := range all {
		if c.geo == deflt && !slices.Contains(client, c.geo) {
			all[i].geo = "*"
		}
	}
	all = draw(all, client)
	sum, p := 0, odds{}
	for _, c := range all {
		sum += max(c.share, 1)
	}
	for _, c := range all {
		what := o.best(c.addresses)
		if c.target != "" {
			what = led(c.target)
		}
		p[what] += float64(max(c.share, 1)) / float64(sum)
	}
	return p
}

// deflt returns the code of the pool's default; a code that nobody has is none (rule 3.2).
func (o *oddTree) deflt() string {
	top := o.at(o.at(treeHost)[0].target)
	for _, row := range top {
		for _, of := range top {
			if row.geo == "*" && of.target == row.target && of.geo != "*" && of.geo != "UK" {
				return of.geo
			}
		}
	}
	return "none"
}

// oddsOf returns the exact odds of the answers to a question. It makes draws until they have shown all ways.
func oddsOf(s *records.Snapshot, name, network string) (odds, float64) {
	p, ways, total := odds{}, make(map[string]bool), 0.0
	for n := uint64(1); n < 30000 && total < 1-1e-9; n++ {
		q := records.Query{Name: name + ".", Owner: name + ".", Type: dns.TypeA, Locator: recordstest.Network, Random: n * 0x9e3779b97f4a7c15}
		q.Client = netip.MustParseAddr(network + ".0.1")
		var a records.Answer
		way, chance := "", 1.0
		for _, step := range s.Explain(s.Zone(q.Name), &q, &a).Steps {
			way += step.Name
			if n := len(step.Choices); n > 0 {
				for i, m := range step.Choices[n-1].Members {
					if m.Verdict == "taken" {
						way, chance = fmt.Sprint(way, i, " "), chance*m.Share
					}
				}
			}
		}
		if ways[way] {
			continue
		}
		ways[way], total = true, total+chance
		p[outcome(&a)] += chance
	}
	return p, total
}

// outcome says what an answer ends with.
func outcome(a *records.Answer) string {
	var addresses []string
	last := "none"
	for _, rr := range a.Answer {
		switch rr := rr.(type) {
		case *dns.A:
			addresses = append(addresses, rr.A.String())
		case *dns.CNAME:
			last = "-> " + strings.TrimSuffix(rr.Target, ".")
		}
	}
	switch {
	case a.Rcode == dns.RcodeServerFailure:
		return "loop"
	case len(addresses) > 0:
		slices.Sort(addresses)
		return strings.Join(addresses, " ")
	case len(a.Ns) > 0:
		return "none"
	}
	return last
}

// TestTreesByOracle compares the odds of answers with those of a resolver that draws at each name and follows the CNAME that it gets, or at
// the host alone where all endpoints have the form of a chain (rule 6.10), for random trees.
func TestTreesByOracle(t *testing.T) {
	pooled := 0
	for seed := range recordstest.Seeds(t, 10000) {
		r := rand.New(rand.NewPCG(seed, 610))
		o := randomTree(r)
		w := recordstest.New(t, recordstest.Zones("example.com."), o.text)
		w.Snapshot = records.Compile(nil, w.Objects(), w.Options, w.Now)
		w.Whole = w.Snapshot
		for _, of := range slices.Sorted(maps.Keys(o.states)) {
			w.Apply(t, "find "+of+" "+o.states[of])
		}
		_, is := o.pool()
		if is {
			pooled++
		}
		names := []string{treeHost, treeTop, "g0." + treeTop}
		for _, network := range []string{"10.1", "10.2", "172.16"} {
			name := names[r.IntN(len(names))]
			got, total := oddsOf(w.Snapshot, name, network)
			want := o.want(name, from[network])
			same := math.Abs(total-1) < 1e-9 && len(got) == len(want)
			for what, chance := range want {
				same = same && math.Abs(got[what]-chance) < 1e-9
			}
			if !same {
				t.Fatalf("seed %d: %s from %s: odds %v, want %v (pooled %v) of\n%s%v", seed, name, network, got, want, is, o.text, o.states)
			}
		}
	}
	if pooled == 0 {
		t.Error("no tree is a pool")
	}
}
