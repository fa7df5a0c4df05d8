package records

import (
	"slices"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/health"
)

// someMember is a member for pool tests: its answer to A is its name.
type someMember struct {
	name   string
	code   string
	weight uint64
	state  string // up, unknown, down, drain, forced; "" for one that is not checked
	noA    bool
}

// newTestPool returns a pool of the given members with the given default code.
func newTestPool(deflt string, members ...someMember) *Pool {
	p := &Pool{owner: &claim{}, deflt: anyGroup}
	for _, s := range members {
		m := member{target: s.name, weight: s.weight, group: int32(slices.IndexFunc(p.groups, func(g group) bool { return g.code == s.code }))}
		if m.group < 0 {
			m.group = int32(len(p.groups))
			p.groups = append(p.groups, group{code: s.code, class: geo.Class(s.code)})
		}
		if !s.noA {
			m.answers[famA] = []dns.RR{cnameRR("x.", 60, s.name)}
		}
		cell := new(health.Cell)
		switch s.state {
		case "":
			cell = nil
		case "unknown":
			cell.Set(health.Unknown)
		case "down":
			cell.Set(health.Down)
		case "drain":
			cell.Override(health.Drain)
		case "forced":
			cell.Override(health.ForceDown)
		}
		m.word = cell
		p.members = append(p.members, m)
	}
	for i := range p.groups {
		if p.groups[i].code == deflt {
			p.deflt = int32(i)
		}
	}
	p.setNeeds(false)
	return p
}

// chosen returns how often each member is picked out of n times.
func (p *Pool) chosen(codes *geo.Codes, only int32, n int) (map[string]int, Class) {
	counts := make(map[string]int)
	var class Class
	random := uint64(42)
	for range n {
		random = nextRandom(random)
		var m *member
		if m, class = p.pick(famA, codes, only, random, nil, nil); m != nil {
			counts[m.target]++
		}
	}
	return counts, class
}

// TestPick checks the order of rule 4.6.
func TestPick(t *testing.T) {
	ireland := &geo.Codes{"AS64500", "", "IE", "GEO-EU"}
	japan := &geo.Codes{"", "", "JP", "GEO-AS"}
	for _, c := range []struct {
		name    string
		deflt   string
		members []someMember
		client  *geo.Codes
		want    []string
		class   Class
	}{
		{"country before continent and default", "US", []someMember{{"ie", "IE", 1, "", false}, {"eu", "GEO-EU", 1, "", false}, {"us", "US", 1, "", false}}, ireland, []string{"ie"}, WeightedUp},
		{"AS before country", "US", []someMember{{"ie", "IE", 1, "", false}, {"as", "AS64500", 1, "", false}}, ireland, []string{"as"}, WeightedUp},
		{"continent before default", "US", []someMember{{"eu", "GEO-EU", 1, "", false}, {"us", "US", 1, "", false}}, ireland, []string{"eu"}, WeightedUp},
		{"default", "US", []someMember{{"eu", "GEO-EU", 1, "", false}, {"us", "US", 1, "", false}}, japan, []string{"us"}, WeightedUp},
		{"no match, no default: all (rule 3.3)", "-", []someMember{{"eu", "GEO-EU", 1, "", false}, {"us", "US", 1, "", false}}, japan, []string{"eu", "us"}, WeightedUp},
		{"nothing known of the client", "US", []someMember{{"eu", "GEO-EU", 1, "", false}, {"us", "US", 1, "", false}}, nil, []string{"us"}, WeightedUp},
		{"a dead country falls to its continent", "US", []someMember{{"ie", "IE", 1, "down", false}, {"eu", "GEO-EU", 1, "", false}, {"us", "US", 1, "", false}}, ireland, []string{"eu"}, WeightedUp},
		{"then to the default", "US", []someMember{{"ie", "IE", 1, "down", false}, {"us", "US", 1, "", false}, {"jp", "JP", 1, "", false}}, ireland, []string{"us"}, WeightedUp},
		{"then to the rest", "US", []someMember{{"ie", "IE", 1, "down", false}, {"us", "US", 1, "down", false}, {"jp", "JP", 1, "", false}}, ireland, []string{"jp"}, WeightedUp},
		{"unknown here before up elsewhere", "US", []someMember{{"ie", "IE", 1, "unknown", false}, {"us", "US", 1, "", false}}, ireland, []string{"ie"}, WeightedUnknown},
		{"up before unknown here", "US", []someMember{{"ie", "IE", 9, "unknown", false}, {"also", "IE", 1, "", false}}, ireland, []string{"also"}, WeightedUp},
		{"unknown before drained", "US", []someMember{{"ie", "IE", 0, "", false}, {"us", "US", 1, "unknown", false}}, ireland, []string{"us"}, WeightedUnknown},
		{"drained before down", "US", []someMember{{"ie", "IE", 1, "down", false}, {"us", "US", 0, "", false}}, ireland, []string{"us"}, DrainedUp},
		{"drained by the operator", "US", []someMember{{"ie", "IE", 1, "drain", false}, {"us", "US", 1, "", false}}, ireland, []string{"us"}, WeightedUp},
		{"all down: the client's own, fail-open", "US", []someMember{{"ie", "IE", 1, "down", false}, {"us", "US", 1, "down", false}}, ireland, []string{"ie"}, WeightedDown},
		{"forced down is last", "US", []someMember{{"ie", "IE", 1, "forced", false}, {"us", "US", 1, "down", false}}, ireland, []string{"us"}, WeightedDown},
		{"forced down when nothing else is there", "US", []someMember{{"ie", "IE", 1, "forced", false}}, ireland, []string{"ie"}, ForcedDown},
		{"weight 0 never while another is up (N8)", "-", []someMember{{"a", "", 0, "", false}, {"b", "", 100, "", false}}, nil, []string{"b"}, WeightedUp},
		{"all weights 0: equal shares", "-", []someMember{{"a", "", 0, "", false}, {"b", "", 0, "", false}}, nil, []string{"a", "b"}, DrainedUp},
		{"without the family: passed over", "US", []someMember{{"ie", "IE", 1, "", true}, {"us", "US", 1, "", false}}, ireland, []string{"us"}, WeightedUp},
		{"all without the family", "US", []someMember{{"ie", "IE", 1, "", true}, {"us", "US", 1, "", true}}, ireland, nil, 0},
		{"a code nobody has", "IE", []someMember{{"uk", "UK", 1, "", false}, {"ie", "IE", 1, "", false}}, japan, []string{"ie"}, WeightedUp},
	} {
		t.Run(c.name, func(t *testing.T) {
			counts, class := newTestPool(c.deflt, c.members...).chosen(c.client, anyGroup, 200)
			if len(counts) != len(c.want) {
				t.Fatalf("chosen %v, want %v", counts, c.want)
			}
			for _, name := range c.want {
				if counts[name] == 0 {
					t.Errorf("chosen %v, want %v", counts, c.want)
				}
			}
			if len(c.want) > 0 && class != c.class {
				t.Errorf("class %v, want %v", class, c.class)
			}
		})
	}
}

// TestFallback bounds how far from the client's geography a choice may go (rule
// 4.6).
func TestFallback(t *testing.T) {
	ireland, japan := &geo.Codes{"", "", "IE", "GEO-EU"}, &geo.Codes{"", "", "JP", "GEO-AS"}
	all := func(ie, eu, us, br string) []someMember {
		return []someMember{{"ie", "IE", 1, ie, false}, {"eu", "GEO-EU", 1, eu, false}, {"us", "US", 1, us, false}, {"br", "BR", 1, br, false}}
	}
	for _, c := range []struct {
		name                     string
		members                  []someMember
		deflt                    string
		client                   *geo.Codes
		toAny, toDefault, toNone string
	}{
		{"its own", all("", "", "", ""), "US", ireland, "ie", "ie", "ie"},
		{"a continent is its own too", all("down", "", "", ""), "US", ireland, "eu", "eu", "eu"},
		{"to the default", all("down", "down", "", ""), "US", ireland, "us", "us", "ie"},
		{"to the rest", all("down", "down", "down", ""), "US", ireland, "br", "ie", "ie"},
		{"unknown is better than down", all("down", "unknown", "down", ""), "US", ireland, "eu", "eu", "eu"},
		{"all down", all("down", "down", "down", "down"), "US", ireland, "ie", "ie", "ie"},
		{"the default's own clients", all("", "", "down", ""), "US", japan, "", "us", "us"},
		{"no default", all("down", "down", "", "down"), "-", ireland, "us", "ie", "ie"},
		{"no match and no default", all("down", "down", "", "down"), "-", japan, "us", "us", "us"},
		{"forced down is never the bound", all("forced", "forced", "", ""), "US", ireland, "us", "us", "us"},
		{"forced down, and the default too", all("forced", "forced", "forced", ""), "US", ireland, "br", "br", "br"},
	} {
		for bound, want := range map[fallback]string{fallbackAny: c.toAny, fallbackDefault: c.toDefault, fallbackNone: c.toNone} {
			p := newTestPool(c.deflt, c.members...)
			p.fallback = bound
			counts, _ := p.chosen(c.client, anyGroup, 50)
			if want != "" && counts[want] != 50 {
				t.Errorf("%s, bound %d: %v, want %s", c.name, bound, counts, want)
			}
		}
	}
	for value, want := range map[string]fallback{"": fallbackAny, "any": fallbackAny, "default": fallbackDefault, "none": fallbackNone} {
		if got, ok := parseFallback(value); !ok || got != want {
			t.Errorf("%q is read as %d, %v", value, got, ok)
		}
	}
	if _, ok := parseFallback("nearest"); ok {
		t.Error("nearest is read")
	}
}

// TestPickShares: members are picked by their weights (case F7).
func TestPickShares(t *testing.T) {
	for _, weights := range [][]uint64{{70, 30}, {1, 1, 1}, {5, 1, 4}, {1 << 32, 1 << 32}, {1, 0, 3}} {
		var members []someMember
		total := uint64(0)
		for i, w := range weights {
			members = append(members, someMember{name: string(rune('a' + i)), weight: w})
			total += w
		}
		const n = 100000
		counts, _ := newTestPool("-", members...).chosen(nil, anyGroup, n)
		for i, w := range weights {
			got, want := float64(counts[string(rune('a'+i))])/n, float64(w)/float64(total)
			if got-want > 0.01 || want-got > 0.01 {
				t.Errorf("weights %v: member %d has %.3f, want %.3f", weights, i, got, want)
			}
		}
	}
}

// TestNeeds: the answer depends on the client where a group other than the
// default can match one (rule 3.6).
func TestNeeds(t *testing.T) {
	for _, c := range []struct {
		name    string
		deflt   string
		members []someMember
		want    geo.Need
	}{
		{"no code", "", []someMember{{name: "a"}, {name: "b"}}, 0},
		{"one group", "IE", []someMember{{name: "a", code: "IE"}, {name: "b", code: "IE"}}, 0},
		{"one group, not the default", "-", []someMember{{name: "a", code: "IE"}}, 0},
		{"two groups", "IE", []someMember{{name: "a", code: "IE"}, {name: "b", code: "US"}}, geo.NeedPlace},
		{"two groups, no default", "-", []someMember{{name: "a", code: "IE"}, {name: "b", code: "US"}}, geo.NeedPlace},
		{"the other matches nobody", "IE", []someMember{{name: "a", code: "IE"}, {name: "b", code: "UK"}}, 0},
		{"the default matches nobody", "UK", []someMember{{name: "a", code: "IE"}, {name: "b", code: "UK"}}, geo.NeedPlace},
		{"AS", "IE", []someMember{{name: "a", code: "IE"}, {name: "b", code: "AS1"}}, geo.NeedAS},
		{"the default is an AS", "AS1", []someMember{{name: "a", code: "AS1"}, {name: "b", code: "US"}}, geo.NeedAS | geo.NeedPlace},
		{"the default is an AS, the other matches nobody", "AS1", []someMember{{name: "a", code: "AS1"}, {name: "b", code: "UK"}}, 0},
		{"both", "", []someMember{{name: "a"}, {name: "b", code: "AS1"}, {name: "c", code: "US-CA"}}, geo.NeedAS | geo.NeedPlace},
		{"the other lacks the family", "IE", []someMember{{name: "a", code: "IE"}, {name: "b", code: "US", noA: true}}, 0},
	} {
		if got := newTestPool(c.deflt, c.members...).needs[famA]; got != c.want {
			t.Errorf("%s: needs %v, want %v", c.name, got, c.want)
		}
	}
}

// TestAggregateFamilies: a member of whose families all addresses are down is unknown at best.
func TestAggregateFamilies(t *testing.T) {
	cells := func(states ...health.State) (all []vital) {
		for _, s := range states {
			cell := new(health.Cell)
			cell.Set(s)
			all = append(all, vital{check: cell})
		}
		return all
	}
	const up, unknown, down = health.Up, health.Unknown, health.Down
	for _, c := range []struct {
		v4, v6 []vital
		want   health.State
	}{
		{cells(up), cells(down), unknown},
		{cells(down), cells(up, up, up), unknown},
		{cells(up), cells(unknown), up},
		{cells(up, down), cells(up, down), up},
		{cells(down), cells(down), down},
		{cells(down, down), cells(up), down},
		{cells(up), nil, up},
		{nil, cells(up), up},
	} {
		if got, _ := aggregate(slices.Concat(c.v4, c.v6), len(c.v4)); got != c.want {
			t.Errorf("%d IPv4 and %d IPv6 addresses: %v, want %v", len(c.v4), len(c.v6), got, c.want)
		}
	}
}

// TestAggregate: a member is up while at least half of its addresses are.
func TestAggregate(t *testing.T) {
	for _, c := range []struct {
		up, unknown, down int
		want              health.State
	}{
		{0, 0, 0, health.Up},
		{1, 0, 0, health.Up},
		{1, 0, 1, health.Up},
		{2, 0, 1, health.Up},
		{1, 0, 2, health.Down},
		{1, 1, 1, health.Unknown},
		{0, 1, 1, health.Unknown},
		{0, 0, 1, health.Down},
		{0, 1, 2, health.Down},
	} {
		var cells []vital
		for state, n := range map[health.State]int{health.Up: c.up, health.Unknown: c.unknown, health.Down: c.down} {
			for range n {
				cell := new(health.Cell)
				cell.Set(state)
				cells = append(cells, vital{check: cell})
			}
		}
		if got, forced := aggregate(cells, len(cells)); got != c.want || forced {
			t.Errorf("%d up, %d unknown, %d down: %v, want %v", c.up, c.unknown, c.down, got, c.want)
		}
	}
}
