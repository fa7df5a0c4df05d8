package inspect

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/geo"
)

// TestCompare: what differs is found and explained, and what any draw gives is the same.
func TestCompare(t *testing.T) {
	v := world(t, hosts("eu geo.example.com 192.0.2.1,192.0.2.2 geo=GEO-EU weight=3 default", "eu2 geo.example.com 192.0.2.3 geo=GEO-EU weight=1 default",
		"na geo.example.com 198.51.100.1,2001:db8::1 geo=GEO-NA weight=1", "one one.example.com 192.0.2.10,192.0.2.11"))
	v.Locator = europe{}
	of := &Place{Network: netip.MustParsePrefix("203.0.113.0/24"), Codes: []string{"IE", "GEO-EU"}}
	for what, c := range map[string]struct {
		name, rtype, rcode, answer string // the last with the client's network where it begins with a +
		want                       string
	}{
		"same":         {"geo", "A", "", "+geo A 192.0.2.2; geo A 192.0.2.1", ""},
		"same by draw": {"geo", "A", "", "+GEO CNAME lb.example.net.; lb.example.net. A 192.0.2.3", ""},
		"another place": {"geo", "A", "", "+geo A 198.51.100.1", "addresses|198.51.100.1 there: of |GEO-NA|not taken here: another member is " +
			"closer: same continent|192.0.2.3 here: of |gets 25 % of these clients"},
		"blind":                   {"geo", "A", "", "geo A 198.51.100.1", "addresses|returns no client subnet"},
		"unknown":                 {"geo", "A", "", "+geo A 192.0.2.1; geo A 192.0.2.99", "addresses|192.0.2.99 there: no object here has it"},
		"a part":                  {"one", "A", "", "one A 192.0.2.10", "addresses|192.0.2.11 here: of DNSPolicy n/one in cluster a"},
		"alias there":             {"one", "A", "", "one CNAME lb.example.net.", "data|there it is an alias of lb.example.net"},
		"not there":               {"one", "A", "NXDOMAIN", "", "not-there|here it belongs to DNSPolicy n/one in cluster a"},
		"not here":                {"none", "A", "", "none A 192.0.2.1", "not-here|no object here has the name"},
		"neither":                 {"none", "A", "NXDOMAIN", "", ""},
		"no data":                 {"one", "A", "", "", "no-data|the other server has no data of this type"},
		"no data behind an alias": {"one", "AAAA", "", "one CNAME lb.example.com.", ""},
		"more data":               {"one", "AAAA", "", "one AAAA 2001:db8::1", "no-data|here the name has no data of this type"},
		"refused":                 {"one", "A", "REFUSED", "", "unserved|answers REFUSED"},
		"loop":                    {"one", "A", "", "one CNAME one", "data|alias of one.example.com"},
		"other name":              {"one", "A", "", "other A 192.0.2.10", "no-data"},
		"nothing":                 {"one", "A", "none", "", "unserved"},
		"farther":                 {"geo", "AAAA", "", "+geo AAAA 2001:DB8:0::1", "no-data|here the name has no data of this type"},
		"upper case":              {"GEO", "A", "", "+geo A 192.0.2.3", ""},
	} {
		answer, subnet := strings.CutPrefix(c.answer, "+")
		r := reply(t, answer)
		r.Subnet = subnet
		if c.rcode != "" {
			r.Rcode = strings.TrimPrefix(c.rcode, "none")
		}
		expectDifference(t, what, compared(t, v, Question{Name: c.name + ".Example.com", Type: c.rtype, From: of.Network.String()}, of, r), c.want)
	}
}

// TestCompareGroups: what is the same for many clients is said once, and TTLs are no differences.
func TestCompareGroups(t *testing.T) {
	v, q := world(t, hosts("one one.example.com 192.0.2.10")), Question{Name: "one.example.com"}
	found := NewComparison("192.0.2.53:53")
	for i := range 5 {
		addTo(t, found, v, q, client(9-i), reply(t, "one A 192.0.2.9"))
		addTo(t, found, v, q, client(9-i), reply(t, "one 3600 A 192.0.2.10"))
		addTo(t, found, v, q, client(9-i), reply(t, "one 17 A 192.0.2.10"))
	}
	found.Fail(errors.New("it is away"))
	found.Finish()
	if found.Asked != 15 || found.Same != 10 || found.Unanswered != 1 || len(found.Differences) != 1 || !found.Blind {
		t.Fatalf("found %+v", found)
	}
	expectText(t, found, "one.example.com A: other addresses, for 203.0.5.0/24, 203.0.6.0/24, 203.0.7.0/24 and 2 more\n  here   192.0.2.10 (TTL "+
		"60)\n  there  192.0.2.9 (TTL 60)\n",
		"15 answers of 192.0.2.53:53 compared: 10 the same, 5 different in 1 way; 1 question without an answer",
		"last query without an answer: it is away")
	found.Ended = "it is away: gave up after 5 questions in a row"
	if text := found.Text(); strings.Count(text, "it is away") != 1 {
		t.Errorf("what ended it is told more than once:\n%s", text)
	}
}

// expectText looks for parts of the text of a comparison.
func expectText(t *testing.T, c *Comparison, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if text := c.Text(); !strings.Contains(text, part) {
			t.Errorf("lacks\n%s\nin\n%s", part, text)
		}
	}
}

// TestCompareItself: whatever the world, the draw and the client, a server that has the same differs in nothing.
func TestCompareItself(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	one := func(of ...string) string { return of[r.IntN(len(of))] }
	for range 300 {
		var lines []string
		for i := range 1 + r.IntN(6) {
			host, words, addresses := one("h0", "h1"), fmt.Sprintf("geo=%s weight=%d", one("GEO-EU default", "IE", "GEO-NA", "US"), r.IntN(3)), []string(nil)
			for range r.IntN(4) {
				addresses = append(addresses, one(fmt.Sprintf("192.0.2.%d", r.IntN(9)), fmt.Sprintf("2001:db8::%d", r.IntN(9))))
			}
			switch {
			case r.IntN(3) > 0:
			case host == "h1": // not in a circle
				addresses = []string{"lb.example.net"}
			default: // it leads on, maybe to what is drawn again
				addresses = []string{one("h1.example.com", "lb.example.net")}
			}
			if addresses == nil {
				addresses = []string{"-"}
			}
			if r.IntN(8) == 0 {
				words = ""
			}
			lines = append(lines, "cluster "+one("a", "b"), hosts(fmt.Sprintf("p%d %s.example.com %s %s", i, host, strings.Join(addresses, ","), words)))
		}
		v := world(t, lines...)
		if v.Random = r.Uint64; r.IntN(2) == 0 {
			v.Locator = europe{}
		}
		for range 20 {
			q := Question{
				Name: one("h0", "h1", "h2", "klb.h0", "geo-eu.klb.h1") + ".example.com", Type: one("A", "AAAA", "TXT", "CNAME"),
				From: "203.0.113.0/24",
			}
			x, err := v.Explain(q)
			if err != nil {
				t.Fatal(err)
			}
			theirs := &Reply{Rcode: x.Rcode, Answer: AnswerOf(x), Authority: recordsOf(x.Authority), Subnet: true}
			found := NewComparison("here")
			addTo(t, found, v, q, nil, theirs)
			if found.Finish(); found.Same != 1 {
				t.Fatalf("%+v of %q: %v\ndiffers:\n%s", q, lines, x.Answer, found.Text())
			}
		}
	}
}

// TestClients: one network of every country, and one of each code that members have besides.
func TestClients(t *testing.T) {
	space := new(geo.Space)
	for _, c := range []struct {
		codes   geo.Codes
		network string
	}{
		{geo.Codes{"", "", "IE", "GEO-EU"}, "2001:db8::/32"},
		{geo.Codes{"", "", "US", "GEO-NA"}, "198.51.100.0/24"},
		{geo.Codes{"", "US-CA", "US", "GEO-NA"}, "198.51.101.0/25"},
		{geo.Codes{"", "US-NY", "US", "GEO-NA"}, "198.51.102.0/25"},
		{geo.Codes{"AS64500", "", "US", "GEO-NA"}, "192.0.2.0/26"},
		{geo.Codes{"AS64501", "", "", ""}, "192.0.3.0/24"},
		{geo.Codes{"", "", "IE", "GEO-EU"}, "203.0.113.0/24"},
	} {
		space.Places = append(space.Places, geo.Place{Codes: c.codes, Network: netip.MustParsePrefix(c.network)})
	}
	v := world(t, hosts("ca geo.example.com 192.0.2.1 geo=US-CA weight=1", "as geo.example.com 192.0.2.2 geo=AS64500 weight=1"))
	all, err := v.Clients(space, "example.com")
	var got []string
	for _, p := range all {
		got = append(got, p.Network.String()+" "+strings.Join(p.Codes, ","))
	}
	want := []string{
		"192.0.2.0/26 AS64500,US,GEO-NA", "198.51.100.0/24 US,GEO-NA", "198.51.101.0/25 US-CA,US,GEO-NA",
		"203.0.113.0/24 IE,GEO-EU",
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("clients are %q, want %q: %v", got, want, err)
	}
	if _, err := v.Clients(space, "example.org"); err == nil {
		t.Error("a zone that is not served is taken")
	}
	if all, err := v.Clients(nil, ""); err != nil || all != nil {
		t.Errorf("without databases: %v, %v", all, err)
	}
}
