package inspect

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/records"
)

// whyOf returns why the only difference of a name differs, by whatever draw.
func whyOf(t *testing.T, v *View, name string, r *Reply) (kind DifferenceKind, why string) {
	t.Helper()
	for draw := range uint64(16) {
		v.Random = func() uint64 { return draw << 60 }
		found := NewComparison("192.0.2.53:53")
		addTo(t, found, v, Question{Name: name}, nil, r)
		found.Finish()
		if len(found.Differences) != 1 {
			t.Fatalf("%s, draw %d: %+v", name, draw, found)
		}
		text := strings.Join(found.Differences[0].Why, "\n")
		if draw > 0 && text != why {
			t.Errorf("%s, draw %d says\n%s\nand the first\n%s", name, draw, text, why)
		}
		kind, why = found.Differences[0].Kind, text
	}
	return kind, why
}

// TestCompareAtOnce: where the other server answers at once with what is drawn from here, that is said.
func TestCompareAtOnce(t *testing.T) {
	t.Parallel()
	v := View{Snapshot: compiled(
		someMember{cluster: "a", name: "n/one", host: "h.example.com", geo: "GEO-EU", weight: 1, addresses: []string{"192.0.2.1"}},
		someMember{cluster: "a", name: "n/two", host: "h.example.com", geo: "GEO-EU", weight: 1, addresses: []string{"192.0.2.2"}},
		someMember{cluster: "a", name: "n/three", host: "h.example.com", geo: "GEO-EU", weight: 2, addresses: []string{"192.0.2.3", "192.0.2.4"}},
	)}
	const all, some = "these are the same addresses: there all at once, here those of one member for each draw",
		"there the addresses of several members come at once, here those of one member for each draw"
	for _, c := range []struct {
		there string
		want  []string // how the lines of why begin
	}{
		{"1 2 3 4", []string{all}},
		{"1 3", []string{some, "192.0.2.2 here: of ", "192.0.2.4 here: of "}},
		{"3", []string{"192.0.2.1 here: of ", "192.0.2.2 here: of ", "192.0.2.4 here: of "}},
		{"1 2 3 4 5", []string{"192.0.2.5 there: no object that is read here has it"}},
	} {
		r := &Reply{Rcode: "NOERROR"}
		for _, last := range strings.Fields(c.there) {
			r.Answer = append(r.Answer, rrs(t, "h.example.com. 60 A 192.0.2."+last)...)
		}
		kind, why := whyOf(t, &v, "h.example.com", r)
		lines := strings.Split(why, "\n")
		if kind != DiffersAddresses || !slices.EqualFunc(lines, c.want, strings.HasPrefix) {
			t.Errorf("%s: %s\n%s", c.there, kind, why)
		}
	}
}

// TestCompareParts: where the other server answers with a part of our addresses at a time, that is said of each part.
func TestCompareParts(t *testing.T) {
	t.Parallel()
	v := View{Snapshot: compiled(someMember{
		cluster: "a", name: "n/one", host: "h.example.com", simple: true,
		addresses: []string{"192.0.2.1", "192.0.2.2", "192.0.2.3"},
	})}
	const said = "these are the same addresses: here all at once, there a part of them in each answer"
	for _, c := range []struct {
		there []string
		parts int
	}{
		{[]string{"1", "2", "3"}, 3},
		{[]string{"1 2", "2 3"}, 2},
		{[]string{"1", "2 3", "1 2 3", "4"}, 2},
		{[]string{"1", "2"}, 0},
		{[]string{"1", "2", "3 4"}, 0},
	} {
		found := NewComparison("192.0.2.53:53")
		for i, set := range c.there {
			r := &Reply{Rcode: "NOERROR"}
			for _, last := range strings.Fields(set) {
				r.Answer = append(r.Answer, rrs(t, "h.example.com. 60 A 192.0.2."+last)...)
			}
			of := &Place{Network: netip.PrefixFrom(netip.AddrFrom4([4]byte{203, 0, byte(i), 0}), 24)}
			addTo(t, found, &v, Question{Name: "h.example.com"}, of, r)
		}
		found.Finish()
		parts := 0
		for _, d := range found.Differences {
			if slices.Contains(d.Why, said) {
				parts++
			}
		}
		if parts != c.parts {
			t.Errorf("%q: it is said of %d: %+v", c.there, parts, found.Differences)
		}
	}
}

// TestCompareOtherMembers: an address there that is another member's is said to be that, and why it is not taken here.
func TestCompareOtherMembers(t *testing.T) {
	t.Parallel()
	v := View{Locator: europe{}, Snapshot: compiled(
		someMember{cluster: "a", name: "n/on", host: "h.example.com", geo: "GEO-EU", weight: 1, addresses: []string{"lb.example.net"}},
		someMember{cluster: "a", name: "n/far", host: "h.example.com", geo: "GEO-NA", weight: 1, addresses: []string{"192.0.2.1"}},
		someMember{cluster: "a", name: "n/drained", host: "h.example.com", geo: "GEO-EU", weight: 0, addresses: []string{"192.0.2.2"}},
	)}
	const own = "here it is an alias of lb.example.net, which the client's resolver looks up; the other server answers with " +
		"addresses of its own finding"
	const alias = "here it is an alias of lb.example.net, which the client's resolver looks up"
	for _, c := range []struct {
		there string
		want  []string
	}{
		{"1", []string{alias, "192.0.2.1 there: of |(GEO-NA, DNSPolicy n/far of cluster a), which is not taken here: "}},
		{"2", []string{alias, "192.0.2.2 there: of |(GEO-EU, DNSPolicy n/drained of cluster a), which is not taken here: it is drained"}},
		{"9", []string{own}},
		{"1 9", []string{own, "192.0.2.1 there: of |DNSPolicy n/far"}},
	} {
		r := &Reply{Rcode: "NOERROR"}
		for _, last := range strings.Fields(c.there) {
			r.Answer = append(r.Answer, rrs(t, "h.example.com. 60 A 192.0.2."+last)...)
		}
		kind, why := whyOf(t, &v, "h.example.com", r)
		lines := strings.Split(why, "\n")
		if kind != DiffersData || lines[0] != c.want[0] || !slices.EqualFunc(lines, c.want, func(line, want string) bool {
			first, rest, _ := strings.Cut(want, "|")
			return strings.HasPrefix(line, first) && strings.Contains(line, rest)
		}) {
			t.Errorf("%s: %s\n%s", c.there, kind, why)
		}
	}
}

// TestCompareWhoseData: of data that differ it is said which objects they are of here.
func TestCompareWhoseData(t *testing.T) {
	t.Parallel()
	a, b := records.Object{Kind: "Record", Name: "n/a", Cluster: "c"}, records.Object{Kind: "DNSEndpoint", Name: "n/b", Cluster: "c"}
	for _, c := range []struct {
		owner   *records.Object
		sources []records.Object
		want    []string
	}{
		{nil, []records.Object{a}, []string{"here it is of Record n/a of cluster c"}},
		{nil, []records.Object{a, b}, []string{"here it is of Record n/a of cluster c and DNSEndpoint n/b of cluster c"}},
		{&b, nil, []string{"here it is of DNSEndpoint n/b of cluster c"}},
		{&b, []records.Object{a}, []string{"here it is of Record n/a of cluster c"}}, // beside addresses of b
		{nil, nil, []string{}},
	} {
		x := explanation("x.example.com", "TXT", "NOERROR", `x.example.com. 60 TXT "a"`)
		x.Steps[0].Owner, x.Steps[0].Sources = c.owner, c.sources
		got := CompareReply(x, nowhere, &Reply{Rcode: "NOERROR", Answer: rrs(t, `x.example.com. 60 TXT "b"`)}, false)
		if got.Kind != DiffersData || !slices.Equal(got.Why, c.want) {
			t.Errorf("%s: %q, want %q", got.Kind, got.Why, c.want)
		}
	}
}
