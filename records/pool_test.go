package records_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
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
	state  string // up, unknown, down, drain, forced, or "drain and down"
	v6     bool   // it has no IPv4 address
}

// pooledAt are the codes of clients in recordstest.Network, the most specific first.
var pooledAt = map[string][]string{"10.1.0.1": {"", "", "IE", "GEO-EU"}, "10.2.0.1": {"", "US-CA", "US", "GEO-NA"}, "10.3.0.1": {"", "", "", "GEO-AS"}, "10.4.0.1": {"AS64500"}, "192.0.2.1": nil}

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
		if word, _, _ := strings.Cut(m.state, " "); word == "drain" || word == "forced" {
			text.WriteString(" override=" + map[string]string{"drain": "drain", "forced": "down"}[word])
		}
		text.WriteString("\n")
		if state := strings.TrimPrefix(m.state, "drain and "); state == "down" || state == "unknown" || state == "up" {
			fmt.Fprintf(&found, "find %s %s\n", addr, state)
		}
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

// TestPickByRule compares what is answered with rule 4.6 as it is written, for random pools and clients: which members are, and of which class.
func TestPickByRule(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	one := func(from ...string) string { return from[r.IntN(len(from))] }
	for range 1500 {
		codes := []string{"IE", "GEO-EU", "US", "AS64500", "BR", "US-CA"}
		if r.IntN(6) == 0 {
			codes = []string{""}
		}
		var members []pooled
		for range 1 + r.IntN(6) {
			members = append(members, pooled{one(codes...), []int{0, 1, 7}[r.IntN(3)], one("up", "up", "unknown", "down", "drain", "forced", "drain and down"), r.IntN(5) == 0})
		}
		bound, deflt := one("any", "default", "none"), one(append(codes, "")...)
		w := poolOf(t, bound, deflt, members...)
		for client, at := range pooledAt {
			want, class := byRule(members, bound, deflt, at)
			got, gotClass := candidates(w, client) // TestExplainShares says that they are drawn from
			drawn, drawnClass := chosen(w, client, 4)
			for i := range drawn {
				if !slices.Contains(want, i) || drawnClass != class {
					t.Fatalf("%+v, default %q, bound %s, client %s: %d of class %v is answered, want %v of class %v", members, deflt, bound, client, i, drawnClass, want, class)
				}
			}
			if !slices.Equal(got, want) || len(want) > 0 && gotClass != class.String() {
				t.Fatalf("%+v, default %q, bound %s, client %s: %v of class %v, want %v of class %v", members, deflt, bound, client, got, gotClass, want, class)
			}
		}
	}
}

// candidates returns the members that an answer to A may be of, and their class.
func candidates(w *recordstest.World, client string) (members []int, class string) {
	q := records.Query{Name: "h.example.com.", Owner: "h.example.com.", Type: dns.TypeA, Locator: recordstest.Network}
	_ = q.Client.UnmarshalText([]byte(client))
	var a records.Answer
	for _, step := range w.Snapshot.Explain(w.Snapshot.Zone(q.Name), &q, &a).Steps {
		for _, c := range step.Choices {
			members, class = nil, c.Class
			for _, m := range c.Members {
				if m.Share > 0 {
					var i int
					_, _ = fmt.Sscanf(m.Gateway, "n/m%d", &i)
					members = append(members, i)
				}
			}
		}
	}
	slices.Sort(members)
	return members, class
}

// byRule returns the members that rule 4.6 allows for A, and their class: the best of all in this order: usable, drained or down; then how near,
// 0 to 3 for one that matches, 4 for the default, 5 for all others; then up before unknown.
func byRule(members []pooled, bound, deflt string, client []string) (best []int, class pool.Class) {
	type place struct {
		usable, near int
		class        pool.Class
	}
	at, nearest := make(map[int]place), 5
	for i, m := range members {
		if m.v6 {
			continue
		}
		p := place{near: 5, class: m.class()}
		switch n := slices.Index(client, m.code); {
		case n >= 0 && m.code != "":
			p.near = n
		case m.code == deflt || m.code == "": // a member without a geography is the default
			p.near = 4
		}
		p.usable = map[pool.Class]int{pool.DrainedUp: 1, pool.DrainedUnknown: 1, pool.WeightedDown: 2, pool.DrainedDown: 3, pool.ForcedDown: 4}[p.class]
		if at[i] = p; p.class != pool.ForcedDown {
			nearest = min(nearest, p.near)
		}
	}
	farthest := 3
	switch {
	case nearest == 5 || bound == "any":
		farthest = 5
	case nearest == 4 || bound == "default":
		farthest = 4
	}
	maps.DeleteFunc(at, func(_ int, p place) bool { return p.near > farthest })
	if len(at) == 0 {
		return nil, 0
	}
	first := slices.MinFunc(slices.Collect(maps.Values(at)), func(a, b place) int {
		return cmp.Or(cmp.Compare(a.usable, b.usable), cmp.Compare(a.near, b.near), cmp.Compare(a.class, b.class))
	})
	maps.DeleteFunc(at, func(_ int, p place) bool { return p != first })
	return slices.Sorted(maps.Keys(at)), first.class
}

// class is how good a member is.
func (m *pooled) class() pool.Class {
	switch drained := m.weight == 0; {
	case m.state == "forced":
		return pool.ForcedDown
	case m.state == "drain and down" || m.state == "down" && drained:
		return pool.DrainedDown
	case m.state == "down":
		return pool.WeightedDown
	case m.state == "unknown" && drained:
		return pool.DrainedUnknown
	case m.state == "drain" || drained:
		return pool.DrainedUp
	case m.state == "unknown":
		return pool.WeightedUnknown
	}
	return pool.WeightedUp
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
