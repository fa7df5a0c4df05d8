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
