package records

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/health"
)

// placed is where rule 4.6 puts a member for one client: whether it is usable, drained or
// down, then its geo group, 0 to 3 for one that matches, 4 for the default, 5 for all others,
// and then up before unknown, which the class tells apart.
type placed struct {
	usable, near int
	class        Class
}

// TestPickByRule compares pick with rule 4.6 as it is written, for random pools and
// clients: which members can be answered with, and of which class they are.
func TestPickByRule(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	codes := []string{"", "IE", "GEO-EU", "US", "AS64500", "UK"}
	clients := []*geo.Codes{
		nil, {"AS64500", "", "IE", "GEO-EU"}, {"", "", "DE", "GEO-EU"}, {"", "US-CA", "US", "GEO-NA"}, {"", "", "JP", "GEO-AS"},
	}
	for range 20000 {
		var members []someMember
		for i := range 1 + r.IntN(6) {
			members = append(members, someMember{
				name: string(rune('a'+i)) + ".", code: pick(r, codes), weight: pick(r, []uint64{0, 1, 7}),
				state: pick(r, []string{"", "unknown", "down", "drain", "forced"}), noA: r.IntN(5) == 0,
			})
		}
		deflt, client := pick(r, append(codes, "none")), pick(r, clients)
		p := newTestPool(deflt, members...)
		p.fallback = pick(r, []fallback{fallbackAny, fallbackDefault, fallbackNone})
		if r.IntN(2) == 0 {
			word := new(health.Cell)
			word.Set(health.Down)
			word.Override(health.Drain)
			p.members[0].word, members[0].state = word, "drained and down"
		}
		want, class := byRule(members, deflt, p.fallback, client)
		got, gotClass := p.chosen(client, anyGroup, 100)
		if !slices.Equal(slices.Sorted(maps.Keys(got)), want) || len(want) > 0 && gotClass != class {
			t.Fatalf("%+v, default %q, bound %v, client %v: %v of class %v, want %v of class %v",
				members, deflt, p.fallback, client, got, gotClass, want, class)
		}
	}
}

// byRule returns the members that rule 4.6 allows for A, and their class.
func byRule(members []someMember, deflt string, bound fallback, client *geo.Codes) (names []string, class Class) {
	at := make(map[string]placed)
	nearest := 5
	for _, m := range members {
		if m.noA {
			continue
		}
		near := 5
		switch i := indexOf(client, m.code); {
		case i >= 0:
			near = i
		case m.code == deflt:
			near = 4
		}
		class := m.classByRule()
		at[m.name] = placed{map[Class]int{WeightedUp: 0, WeightedUnknown: 0, DrainedUp: 1, DrainedUnknown: 1, WeightedDown: 2, DrainedDown: 3, ForcedDown: 4}[class], near, class}
		if at[m.name].class != ForcedDown {
			nearest = min(nearest, near)
		}
	}
	farthest := 5
	switch {
	case nearest == 5 || bound == fallbackAny:
	case nearest == 4 || bound == fallbackDefault:
		farthest = 4
	default:
		farthest = 3
	}
	maps.DeleteFunc(at, func(_ string, p placed) bool { return p.near > farthest })
	if len(at) == 0 {
		return nil, 0
	}
	best := slices.MinFunc(slices.Collect(maps.Values(at)), func(a, b placed) int {
		return cmp.Or(cmp.Compare(a.usable, b.usable), cmp.Compare(a.near, b.near), cmp.Compare(a.class, b.class))
	})
	maps.DeleteFunc(at, func(_ string, p placed) bool { return p != best })
	return slices.Sorted(maps.Keys(at)), best.class
}

// indexOf returns which of the client's codes a member has, -1 for none.
func indexOf(client *geo.Codes, code string) int {
	if client == nil || code == "" {
		return -1
	}
	return slices.Index(client[:], code)
}

// classByRule is the class of a member.
func (m *someMember) classByRule() Class {
	drained := m.weight == 0
	switch m.state {
	case "forced":
		return ForcedDown
	case "drained and down":
		return DrainedDown
	case "drain":
		return DrainedUp
	}
	classes, ok := map[string][2]Class{
		"": {WeightedUp, DrainedUp}, "unknown": {WeightedUnknown, DrainedUnknown}, "down": {WeightedDown, DrainedDown},
	}[m.state]
	if !ok {
		panic(fmt.Sprintf("a member that is %s", m.state))
	}
	if drained {
		return classes[1]
	}
	return classes[0]
}
