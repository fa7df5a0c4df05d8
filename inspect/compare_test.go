package inspect

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// europe locates everybody in Ireland.
type europe struct{}

func (europe) Locate(netip.Addr, geo.Need) (*geo.Codes, int) {
	return &geo.Codes{"", "", "IE", "GEO-EU"}, 8
}

// addTo asks a view, and compares a reply.
func addTo(t *testing.T, c *Comparison, v *View, q Question, of *Place, r *Reply) {
	t.Helper()
	x, err := v.Explain(q)
	if err != nil {
		t.Fatal(err)
	}
	c.Add(of, CompareReply(x, hereOf(v, q), r, of != nil))
}

// hereOf is our side of a comparison, which asks a view, about each name once.
func hereOf(v *View, q Question) *Here {
	trees := make(map[string]*records.Tree)
	return &Here{
		Tree: func(name string) *records.Tree {
			if _, known := trees[name]; !known {
				trees[name], _ = v.Tree(name)
			}
			return trees[name]
		},
		Explain: func(name string) *records.Explanation {
			x, _ := v.Explain(Question{Name: name, Type: q.Type, From: q.From})
			return x
		},
	}
}

func rrs(t testing.TB, lines ...string) (all []dns.RR) {
	t.Helper()
	for _, line := range lines {
		rr, err := dns.NewRR(line)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, rr)
	}
	return all
}

// TestCompare: what differs is found and explained, and what any draw gives is the same.
func TestCompare(t *testing.T) {
	v := View{Locator: europe{}, Snapshot: compiled(
		someMember{cluster: "a", name: "n/eu", host: "geo.example.com", geo: "GEO-EU", weight: 3, addresses: []string{"192.0.2.1", "192.0.2.2"}},
		someMember{cluster: "a", name: "n/eu2", host: "geo.example.com", geo: "GEO-EU", weight: 1, addresses: []string{"192.0.2.3"}},
		someMember{
			cluster: "a", name: "n/na", host: "geo.example.com", geo: "GEO-NA", weight: 1,
			addresses: []string{"198.51.100.1", "2001:db8::1"},
		},
		someMember{cluster: "a", name: "n/one", host: "one.example.com", simple: true, addresses: []string{"192.0.2.10", "192.0.2.11"}},
	)}
	client := &Place{Network: netip.MustParsePrefix("203.0.113.0/24"), Codes: []string{"IE", "GEO-EU"}}
	for name, c := range map[string]struct {
		name, rtype string
		reply       Reply
		want        string // kind, and parts of why
	}{
		"same": {
			"geo.example.com", "A",
			Reply{Rcode: "NOERROR", Answer: rrs(t, "geo.example.com. 300 A 192.0.2.2", "geo.example.com. 300 A 192.0.2.1"), Subnet: true},
			"",
		},
		"same by draw": {
			"geo.example.com", "A",
			Reply{
				Rcode: "NOERROR", Answer: rrs(t, "GEO.example.com. 300 CNAME lb.example.net.", "lb.example.net. 60 A 192.0.2.3"),
				Subnet: true,
			},
			"",
		},
		"another place": {"geo.example.com", "A", Reply{
			Rcode: "NOERROR", Answer: rrs(t, "geo.example.com. 300 A 198.51.100.1"),
			Subnet: true,
		}, "addresses|198.51.100.1 there: of |GEO-NA|not taken here: as good, and another is nearer: its continent is " +
			"the client's|192.0.2.3 here: of |gets 25 % of these clients"},
		"blind": {
			"geo.example.com", "A",
			Reply{Rcode: "NOERROR", Answer: rrs(t, "geo.example.com. 300 A 198.51.100.1")},
			"addresses|does not look at the client's network",
		},
		"unknown": {
			"geo.example.com", "A",
			Reply{
				Rcode: "NOERROR", Answer: rrs(t, "geo.example.com. 300 A 192.0.2.1", "geo.example.com. 300 A 192.0.2.99"),
				Subnet: true,
			},
			"addresses|192.0.2.99 there: no object that is read here has it",
		},
		"a part": {
			"one.example.com", "A",
			Reply{Rcode: "NOERROR", Answer: rrs(t, "one.example.com. 60 A 192.0.2.10")},
			"addresses|192.0.2.11 here: of DNSPolicy n/one of cluster a",
		},
		"alias there": {
			"one.example.com", "A",
			Reply{Rcode: "NOERROR", Answer: rrs(t, "one.example.com. 60 CNAME lb.example.net.")},
			"data|there it is an alias of lb.example.net",
		},
		"not there": {"one.example.com", "A", Reply{Rcode: "NXDOMAIN"}, "not-there|here it is of DNSPolicy n/one of cluster a"},
		"not here": {
			"none.example.com", "A",
			Reply{Rcode: "NOERROR", Answer: rrs(t, "none.example.com. 60 A 192.0.2.1")},
			"not-here|no object that is read here has the name",
		},
		"neither": {"none.example.com", "A", Reply{Rcode: "NXDOMAIN"}, ""},
		"no data": {"one.example.com", "A", Reply{Rcode: "NOERROR"}, "no-data|the other server has nothing of this type"},
		"more data": {
			"one.example.com", "AAAA",
			Reply{Rcode: "NOERROR", Answer: rrs(t, "one.example.com. 60 AAAA 2001:db8::1")},
			"no-data|here the name has nothing of this type",
		},
		"refused": {"one.example.com", "A", Reply{Rcode: "REFUSED"}, "unserved|answers REFUSED"},
		"loop of CNAMEs": {
			"one.example.com", "A",
			Reply{Rcode: "NOERROR", Answer: rrs(t, "one.example.com. 60 CNAME one.example.com.")},
			"data|alias of one.example.com",
		},
		"something else": {"one.example.com", "A", Reply{Rcode: "NOERROR", Answer: rrs(t, "other.example.com. 60 A 192.0.2.10")}, "no-data"},
		"nothing at all": {"one.example.com", "A", Reply{}, "unserved"},
		"IPv6 of farther": {
			"geo.example.com", "AAAA",
			Reply{Rcode: "NOERROR", Answer: rrs(t, "geo.example.com. 300 AAAA 2001:DB8:0::1"), Subnet: true},
			"no-data|here the name has nothing of this type",
		},
		"upper-case names": {"GEO.Example.com.", "A", Reply{
			Rcode: "NOERROR", Answer: rrs(t, "geo.example.com. 300 A 192.0.2.3"),
			Subnet: true,
		}, ""},
	} {
		seen := ""
		for draw := range uint64(16) {
			v.Random = func() uint64 { return draw << 60 }
			found := NewComparison("192.0.2.53:53")
			addTo(t, found, &v, Question{Name: c.name, Type: c.rtype, From: client.Network.String()}, client, &c.reply)
			found.Finish()
			text := found.Text()
			if draw > 0 && text != seen {
				t.Errorf("%s: another draw says\n%s\nand the first\n%s", name, text, seen)
			}
			seen = text
			if c.want == "" {
				if len(found.Differences) > 0 || found.Same != 1 {
					t.Errorf("%s: differs:\n%s", name, seen)
				}
				continue
			}
			if len(found.Differences) != 1 || found.Same != 0 {
				t.Fatalf("%s: no difference:\n%s", name, seen)
			}
			d := found.Differences[0]
			all := string(d.Kind) + " " + strings.Join(d.Why, "\n")
			for _, part := range strings.Split(c.want, "|") {
				if !strings.Contains(all, part) {
					t.Errorf("%s: lacks %q: %s", name, part, all)
				}
			}
		}
	}
}

// TestCompareGroups: what is the same for many clients is said once, and TTLs are no differences.
func TestCompareGroups(t *testing.T) {
	v := View{Snapshot: compiled(someMember{
		cluster: "a", name: "n/one", host: "one.example.com", simple: true,
		addresses: []string{"192.0.2.10"},
	})}
	found := NewComparison("192.0.2.53:53")
	for i := range 5 {
		of := &Place{Network: netip.PrefixFrom(netip.AddrFrom4([4]byte{203, 0, byte(9 - i), 0}), 24)}
		addTo(t, found, &v, Question{Name: "one.example.com"}, of, &Reply{Rcode: "NOERROR", Answer: rrs(t, "one.example.com. 60 A 192.0.2.9")})
		addTo(t, found, &v, Question{Name: "one.example.com"}, of,
			&Reply{Rcode: "NOERROR", Answer: rrs(t, "one.example.com. 3600 A 192.0.2.10"), Authoritative: true})
		addTo(t, found, &v, Question{Name: "one.example.com"}, of, &Reply{Rcode: "NOERROR", Answer: rrs(t, "one.example.com. 17 A 192.0.2.10")})
	}
	found.Fail(errors.New("it is away"))
	found.Finish()
	if found.Asked != 15 || found.Same != 10 || found.Unanswered != 1 || len(found.Differences) != 1 || len(found.TTLs) != 1 || !found.Blind {
		t.Fatalf("found %+v", found)
	}
	d := found.Differences[0]
	if len(d.Clients) != 5 || !slices.IsSortedFunc(d.Clients, func(a, b Place) int { return a.Network.Addr().Compare(b.Network.Addr()) }) {
		t.Errorf("the clients are %v", d.Clients)
	}
	text := found.Text()
	for _, want := range []string{
		"one.example.com A: other addresses, for 203.0.5.0/24, 203.0.6.0/24, 203.0.7.0/24 and 2 more\n  here   192.0.2.10 (TTL 60)\n  " +
			"there  192.0.2.9 (TTL 60)\n",
		"one.example.com A: a longer TTL there, for ",
		"15 answers of 192.0.2.53:53 compared: 10 the same, 5 different in 1 way; 1 answer with another TTL; 1 question without an " +
			"answer", "the last question without an answer: it is away",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q:\n%s", want, text)
		}
	}
	found.Ended = "it is away: 5 questions in a row, so it is not asked any more"
	if text = found.Text(); strings.Count(text, "it is away") != 1 {
		t.Errorf("what ended it is told more than once:\n%s", text)
	}
}

// TestCompareItself: whatever the world, the draw and the client, a server that has the same differs in nothing.
func TestCompareItself(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		var members []someMember
		for i := range 1 + r.IntN(6) {
			m := someMember{
				cluster: string(rune('a' + r.IntN(2))), name: fmt.Sprintf("n/p%d", i), host: fmt.Sprintf("h%d.example.com", r.IntN(2)),
				geo: []string{"GEO-EU", "IE", "GEO-NA", "US"}[r.IntN(4)], weight: int64(r.IntN(3)), simple: r.IntN(8) == 0, created: int64(i),
			}
			for range r.IntN(4) {
				m.addresses = append(m.addresses, []string{fmt.Sprintf("192.0.2.%d", r.IntN(9)), fmt.Sprintf("2001:db8::%d", r.IntN(9))}[r.IntN(2)])
			}
			if r.IntN(3) == 0 { // it leads on, maybe to what is drawn again
				m.addresses = []string{[]string{"h1.example.com", "lb.example.net"}[r.IntN(2)]}
				if m.host == "h1.example.com" { // not in a circle
					m.addresses = []string{"lb.example.net"}
				}
			}
			members = append(members, m)
		}
		v := View{Snapshot: compiled(members...), Random: r.Uint64}
		if r.IntN(2) == 0 {
			v.Locator = europe{}
		}
		for range 20 {
			q := Question{Name: []string{
				"h0.example.com", "h1.example.com", "h2.example.com", "klb.h0.example.com",
				"geo-eu.klb.h1.example.com",
			}[r.IntN(5)], Type: []string{"A", "AAAA", "TXT", "CNAME"}[r.IntN(4)], From: "203.0.113.0/24"}
			theirs, err := v.Explain(q)
			if err != nil {
				t.Fatal(err)
			}
			reply := &Reply{
				Rcode: theirs.Rcode, Answer: rrs(t, theirs.Answer...), Authority: rrs(t, theirs.Authority...),
				Authoritative: true, Subnet: true,
			}
			found := NewComparison("here")
			addTo(t, found, &v, q, nil, reply)
			if found.Finish(); found.Same != 1 || len(found.TTLs) > 0 {
				t.Fatalf("%+v of %+v: %v\ndiffers:\n%s", q, members, theirs.Answer, found.Text())
			}
		}
	}
}

// TestClients: one network of every country, and one of each code that members have besides.
func TestClients(t *testing.T) {
	network := netip.MustParsePrefix
	space := &geo.Space{Places: []geo.Place{
		{Codes: geo.Codes{"", "", "IE", "GEO-EU"}, Network: network("2001:db8::/32")},
		{Codes: geo.Codes{"", "", "US", "GEO-NA"}, Network: network("198.51.100.0/24")},
		{Codes: geo.Codes{"", "US-CA", "US", "GEO-NA"}, Network: network("198.51.101.0/25")},
		{Codes: geo.Codes{"", "US-NY", "US", "GEO-NA"}, Network: network("198.51.102.0/25")},
		{Codes: geo.Codes{"AS64500", "", "US", "GEO-NA"}, Network: network("192.0.2.0/26")},
		{Codes: geo.Codes{"AS64501", "", "", ""}, Network: network("192.0.3.0/24")},
		{Codes: geo.Codes{"", "", "IE", "GEO-EU"}, Network: network("203.0.113.0/24")},
	}}
	v := View{Snapshot: compiled(
		someMember{cluster: "a", name: "n/ca", host: "geo.example.com", geo: "US-CA", weight: 1, addresses: []string{"192.0.2.1"}},
		someMember{cluster: "a", name: "n/as", host: "geo.example.com", geo: "AS64500", weight: 1, addresses: []string{"192.0.2.2"}},
	)}
	all, err := v.Clients(space, "example.com")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range all {
		got = append(got, p.Network.String()+" "+strings.Join(p.Codes, ","))
	}
	want := []string{
		"192.0.2.0/26 AS64500,US,GEO-NA", "198.51.100.0/24 US,GEO-NA", "198.51.101.0/25 US-CA,US,GEO-NA",
		"203.0.113.0/24 IE,GEO-EU",
	}
	if !slices.Equal(got, want) {
		t.Errorf("clients are %q, want %q", got, want)
	}
	if _, err := v.Clients(space, "example.org"); err == nil {
		t.Error("a zone that is not served is taken")
	}
	if all, err := v.Clients(nil, ""); err != nil || all != nil {
		t.Errorf("without databases: %v, %v", all, err)
	}
}
