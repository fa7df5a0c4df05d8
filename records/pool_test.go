package records_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/records/pool"
	"github.com/coredns-kuadrant/kuadrant/records/recordstest"
)

// pooled is one member of the host h: its address says which one.
type pooled struct {
	code   string
	weight int
	state  string // up, unknown, down, drain, or forced
	v6     bool   // it has no IPv4 address
}

// poolOf returns the world of one host.
func poolOf(t *testing.T, bound, deflt string, members ...pooled) *recordstest.World {
	var text, found strings.Builder
	for i, m := range members {
		addr := fmt.Sprintf("192.0.2.%d", i+1)
		if m.v6 {
			addr = fmt.Sprintf("2001:db8::%d", i+1)
		}
		fmt.Fprintf(&text, "gateway n/m%d host=h.example.com addr=%s\npolicy n/m%d check=TCP:443 fallback=%s weight=%d", i, addr, i, bound, m.weight)
		if m.code != "" {
			text.WriteString(" geo=" + m.code)
		}
		if m.code != "" && m.code == deflt {
			text.WriteString(" default")
		}
		if word := map[string]string{"drain": "drain", "forced": "down"}[m.state]; word != "" {
			text.WriteString(" override=" + word)
		} else {
			fmt.Fprintf(&found, "find %s %s\n", addr, m.state)
		}
		text.WriteString("\n")
	}
	opt := recordstest.Zones("example.com.:flatten")
	w := recordstest.New(t, opt, text.String())
	w.Snapshot = records.Compile(nil, w.Objects(), opt, w.Now)
	w.Whole = w.Snapshot
	w.Apply(t, found.String())
	return w
}

// chosen returns the members that an A query of a client is answered with, of n draws, and their class.
func chosen(w *recordstest.World, client string, n int) (members map[int]int, class pool.Class) {
	q, _ := recordstest.ParseQuestion("h.example.com A")
	members = make(map[int]int)
	for i := range n {
		r := recordstest.Reply(w.Snapshot, nil, q.Msg, client, recordstest.Network, uint64(i)*0x9e3779b97f4a7c15)
		for _, rr := range r.Answer {
			if a, ok := rr.(*dns.A); ok {
				members[int(a.A.To4()[3])-1]++
			}
		}
	}
	var a records.Answer
	query := records.Query{Name: "h.example.com.", Owner: "h.example.com.", Type: dns.TypeA, Locator: recordstest.Network}
	_ = query.Client.UnmarshalText([]byte(client))
	w.Snapshot.Lookup(w.Snapshot.Zone(query.Name), &query, &a)
	return members, a.Class
}

// TestPick checks the order of rule 4.6.
func TestPick(t *testing.T) {
	const ireland, asia, nobody = "10.1.0.1", "10.3.0.1", "192.0.2.1"
	up := func(code string) pooled { return pooled{code, 1, "up", false} }
	is := func(code, state string) pooled { return pooled{code, 1, state, false} }
	for _, c := range []struct {
		what, deflt, client string
		members             []pooled
		want                []int
		class               pool.Class
	}{
		{"country before continent and default", "US", ireland, []pooled{up("IE"), up("GEO-EU"), up("US")}, []int{0}, pool.WeightedUp},
		{"AS before default", "US", "10.4.0.1", []pooled{up("US"), up("AS64500")}, []int{1}, pool.WeightedUp},
		{"continent before default", "US", ireland, []pooled{up("GEO-EU"), up("US")}, []int{0}, pool.WeightedUp},
		{"default", "US", asia, []pooled{up("GEO-EU"), up("US")}, []int{1}, pool.WeightedUp},
		{"no match, no default: all (rule 3.3)", "", asia, []pooled{up("GEO-EU"), up("US")}, []int{0, 1}, pool.WeightedUp},
		{"nothing known of the client", "US", nobody, []pooled{up("GEO-EU"), up("US")}, []int{1}, pool.WeightedUp},
		{"a dead country falls to its continent", "US", ireland, []pooled{is("IE", "down"), up("GEO-EU"), up("US")}, []int{1}, pool.WeightedUp},
		{"then to the default", "US", ireland, []pooled{is("IE", "down"), up("US"), up("JP")}, []int{1}, pool.WeightedUp},
		{"then to the rest", "US", ireland, []pooled{is("IE", "down"), is("US", "down"), up("JP")}, []int{2}, pool.WeightedUp},
		{"unknown here before up elsewhere", "US", ireland, []pooled{is("IE", "unknown"), up("US")}, []int{0}, pool.WeightedUnknown},
		{"up before unknown here", "US", ireland, []pooled{{"IE", 9, "unknown", false}, up("IE")}, []int{1}, pool.WeightedUp},
		{"unknown before drained", "US", ireland, []pooled{{"IE", 0, "up", false}, is("US", "unknown")}, []int{1}, pool.WeightedUnknown},
		{"drained before down", "US", ireland, []pooled{is("IE", "down"), {"US", 0, "up", false}}, []int{1}, pool.DrainedUp},
		{"drained by the operator", "US", ireland, []pooled{is("IE", "drain"), up("US")}, []int{1}, pool.WeightedUp},
		{"all down: the client's own, fail-open", "US", ireland, []pooled{is("IE", "down"), is("US", "down")}, []int{0}, pool.WeightedDown},
		{"forced down is last", "US", ireland, []pooled{is("IE", "forced"), is("US", "down")}, []int{1}, pool.WeightedDown},
		{"forced down when as there are no others", "US", ireland, []pooled{is("IE", "forced")}, []int{0}, pool.ForcedDown},
		{"weight 0 never while another is up", "", nobody, []pooled{{"", 0, "up", false}, {"", 100, "up", false}}, []int{1}, pool.WeightedUp},
		{"all weights 0: equal shares", "", nobody, []pooled{{"", 0, "up", false}, {"", 0, "up", false}}, []int{0, 1}, pool.DrainedUp},
		{"without the family: passed over", "US", ireland, []pooled{{"IE", 1, "up", true}, up("US")}, []int{1}, pool.WeightedUp},
		{"a code nobody has", "IE", asia, []pooled{up("UK"), up("IE")}, []int{1}, pool.WeightedUp},
	} {
		got, class := chosen(poolOf(t, "any", c.deflt, c.members...), c.client, 100)
		if !slices.Equal(slices.Sorted(maps.Keys(got)), c.want) || class != c.class {
			t.Errorf("%s: members %v of class %v, want %v of %v", c.what, got, class, c.want, c.class)
		}
	}
}

// TestPickShares: members are picked by their weights (rule 4.6).
func TestPickShares(t *testing.T) {
	for _, weights := range [][]int{{70, 30}, {1, 1, 1}, {5, 1, 4}, {1 << 30, 1 << 30}, {1, 0, 3}} {
		var members []pooled
		total := 0
		for _, weight := range weights {
			members, total = append(members, pooled{"", weight, "up", false}), total+weight
		}
		const n = 20000
		got, _ := chosen(poolOf(t, "any", "", members...), "192.0.2.1", n)
		for i, weight := range weights {
			if share, want := float64(got[i])/n, float64(weight)/float64(total); share-want > 0.01 || want-share > 0.01 {
				t.Errorf("weights %v: member %d has %.3f, want %.3f", weights, i, share, want)
			}
		}
	}
}

// TestMemberOfManyAddresses: a member is up while at least half of its addresses are, and unknown at best where all of one family are down
// (rules 4.5 and 4.6).
func TestMemberOfManyAddresses(t *testing.T) {
	for _, c := range []struct{ v4, v6, want string }{ // u for up, ? for unknown, d for down
		{"u", "", "up"},
		{"ud", "", "up"},
		{"uud", "", "up"},
		{"udd", "", "down"},
		{"u?d", "", "unknown"},
		{"?d", "", "unknown"},
		{"d", "", "down"},
		{"?dd", "", "down"},
		{"u", "d", "unknown"},
		{"d", "uuu", "unknown"},
		{"u", "?", "up"},
		{"ud", "ud", "up"},
		{"d", "d", "down"},
		{"dd", "u", "down"},
		{"", "u", "up"},
	} {
		var addresses, found []string
		for i, states := range [...]string{c.v4, c.v6} {
			for j, state := range states {
				addr := fmt.Sprintf([...]string{"192.0.2.%d", "2001:db8::%d"}[i], j+1)
				addresses = append(addresses, addr)
				found = append(found, "find "+addr+" "+map[rune]string{'u': "up", '?': "unknown", 'd': "down"}[state])
			}
		}
		w := recordstest.New(t, recordstest.Zones("example.com."), "gateway n/g host=h.example.com addr="+strings.Join(addresses, ",")+"\npolicy n/g weight=1 check=TCP:443")
		s := w.Step(t)
		w.Apply(t, strings.Join(found, "\n"))
		if tree, _ := s.Tree("h.example.com."); tree.Groups[0].Members[0].Class != c.want {
			t.Errorf("IPv4 %q and IPv6 %q: %s, want %s", c.v4, c.v6, tree.Groups[0].Members[0].Class, c.want)
		}
	}
}
