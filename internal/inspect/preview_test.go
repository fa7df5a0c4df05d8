package inspect

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// TestMoved: which part of the clients gets other addresses, for changes of which that is known. Of the
// space, a quarter of IPv4 is in IE, a quarter in the US, and half in Japan; of IPv6 all is in the US.
func TestMoved(t *testing.T) {
	space := &geo.Space{V4: 100, V6: 10, Places: []geo.Place{
		{Codes: geo.Codes{"", "", "IE", "GEO-EU"}, V4: 25},
		{Codes: geo.Codes{"AS64500", "US-CA", "US", "GEO-NA"}, V4: 25, V6: 10},
		{Codes: geo.Codes{"", "", "JP", "GEO-AS"}, V4: 50},
	}}
	const us, twin = "us h.example.com 192.0.2.2 geo=US weight=100",
		"twin h.example.com 192.0.2.3 geo=GEO-EU weight="
	plain := func(addresses string) string { return "eu h.example.com " + addresses }
	member := func(addresses string) string {
		return "eu h.example.com " + addresses + " geo=GEO-EU weight=100 default"
	}
	first, dual := member("192.0.2.1"), member("192.0.2.1,2001:db8::1")
	us6 := strings.Replace(us, "192.0.2.2", "192.0.2.2,2001:db8::2", 1)
	for name, c := range map[string]struct {
		before, after []string
		v4, v6        float64
	}{
		"a member comes, for the US":             {[]string{first}, []string{first, us}, 0.25, 1},
		"the default goes, the US are left":      {[]string{first, us}, []string{us}, 0.75, 0},
		"a twin comes":                           {[]string{first, us}, []string{first, twin + "100", us}, 0.75 / 2, 0},
		"a twin gets heavier":                    {[]string{first, twin + "100"}, []string{first, twin + "300"}, 0.25, 0.25},
		"a weight without a rival":               {[]string{first, us}, []string{strings.Replace(first, "100", "7", 1), us}, 0, 0},
		"another address":                        {[]string{first}, []string{member("192.0.2.9")}, 1, 1},
		"one address more":                       {[]string{plain("192.0.2.1,192.0.2.2")}, []string{plain("192.0.2.1,192.0.2.2,192.0.2.3")}, 1.0 / 3, 1.0 / 3},
		"an IPv6 address besides":                {[]string{dual}, []string{member("192.0.2.1,2001:db8::1,2001:db8::2")}, 0.5, 0.5},
		"an IPv6 address of a member for the US": {[]string{dual, us}, []string{dual, us6}, 0, 0},
		"the first IPv6 address":                 {[]string{first}, []string{dual}, 0, 0},
		"the last IPv6 address":                  {[]string{dual}, []string{first}, 1, 1},
		"IPv6 alone":                             {[]string{member("2001:db8::1")}, []string{member("2001:db8::2")}, 1, 1},
		"the same addresses, laid out otherwise": {[]string{member("192.0.2.1,192.0.2.2")}, []string{plain("192.0.2.1,192.0.2.2")}, 0, 0},
	} {
		p := Compare(world(t, hosts(c.before...)).Snapshot, world(t, hosts(c.after...)).Snapshot, space, nil)
		if len(p.Names) != 1 || p.Names[0].Name != "h.example.com" || p.Names[0].Change != ChangeChanged || p.Changed != 1 {
			t.Errorf("%s: %+v", name, p)
			continue
		}
		got := p.Names[0].Moved
		if (got == nil) != (c.v4+c.v6 == 0) || got != nil &&
			(math.Abs(got.IPv4-c.v4) > 1e-9 || math.Abs(got.IPv6-c.v6) > 1e-9 || got.Of != "addresses") {
			t.Errorf("%s: moved %+v, want %v and %v", name, got, c.v4, c.v6)
		}
	}
	a, b := world(t, hosts(first)).Snapshot, world(t, hosts(first, us)).Snapshot
	if p := Compare(a, a, space, nil); !p.Same() || len(p.Names) != 0 {
		t.Errorf("nothing: %+v", p)
	}
	if m := Compare(a, b, nil, nil).Names[0].Moved; m == nil || m.Of != "countries" || m.IPv4 <= 0 || m.IPv4 > 0.01 {
		t.Errorf("without a database: %+v", m)
	}
}

// TestPreviewIsComplete: for random changes, a name that is not among those that change is answered with
// as before, for every client.
func TestPreviewIsComplete(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	kept, changed := 0, 0
	member := func() string {
		addresses := fmt.Sprintf("192.0.2.%d", r.IntN(4))
		if r.IntN(2) == 0 {
			addresses += fmt.Sprintf(",192.0.2.%d", r.IntN(4))
		}
		words := fmt.Sprintf("strategy=weightedGeo weight=%d", r.IntN(3)*60)
		if i := r.IntN(4); i > 0 {
			words = fmt.Sprintf("weight=%d geo=%s", r.IntN(3)*60, []string{"GEO-EU default", "US", "JP"}[i-1])
		}
		if r.IntN(3) == 0 {
			words = ""
		}
		return fmt.Sprintf("cluster c%d\n", r.IntN(2)) +
			hosts(fmt.Sprintf("n%d/g%d h%d.example.com %s at=%ds %s", r.IntN(2), r.IntN(6), r.IntN(5), addresses, r.IntN(4), words))
	}
	for range 400 {
		var before []string
		for range 8 {
			before = append(before, member())
		}
		after := slices.Clone(before)
		for range 1 + r.IntN(2) {
			after[r.IntN(len(after))] = member()
		}
		a, b := world(t, before...).Snapshot, world(t, after...).Snapshot
		p := Compare(a, b, nil, nil)
		listed := make(map[string]bool)
		for _, n := range p.Names {
			listed[n.Name] = true
			changed++
		}
		for i := range 5 {
			host := fmt.Sprintf("h%d.example.com", i)
			if listed[host] {
				continue
			}
			kept++
			for _, codes := range []geo.Codes{{}, {"", "", "IE", "GEO-EU"}, {"", "", "US", "GEO-NA"}, {"", "", "JP", "GEO-AS"}} {
				at := place(codes)
				q := records.Query{Name: host + ".", Owner: host + ".", Type: dns.TypeA, Client: netip.IPv4Unspecified(), Locator: &at}
				if x, y := possible(a, q), possible(b, q); x != y {
					t.Fatalf("%s is not said to change, and is answered with\n%s\nand then\n%s\n%s\n%s", host, x, y, before, after)
				}
			}
		}
	}
	if kept < 200 || changed < 200 {
		t.Errorf("%d names kept and %d changed are too few to tell", kept, changed)
	}
}

// possible returns all answers to a query, whatever is drawn.
func possible(s *records.Snapshot, q records.Query) string {
	var all []string
	for i := range uint64(40) {
		q.Random = i * 0x9e3779b97f4a7c15
		var a records.Answer
		x := s.Explain(s.Zone(q.Name), &q, &a)
		all = append(all, x.Rcode+strings.Join(slices.Sorted(slices.Values(x.Answer)), "\n"))
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), "\n--\n")
}

// TestPreviewTellsEveryTTL: where the TTL of one RRset changes, or the name of a group, the name that is answered with it is among
// those that change, and the others are not.
func TestPreviewTellsEveryTTL(t *testing.T) {
	const before = `dnsendpoint n/one one.example.com A 192.0.2.1 ttl=30
    one.example.com AAAA 2001:db8::1 ttl=30
dnsendpoint n/flat flat.example.com A 192.0.2.2 ttl=30 set=a weight=60
    flat.example.com A 192.0.2.3 ttl=30 set=b weight=60
dnsrecord n/chain root=chain.example.com zone=example.com
    chain.example.com CNAME klb.chain.example.com ttl=30
    klb.chain.example.com CNAME eu.klb.chain.example.com ttl=30 set=any geo=*
    eu.klb.chain.example.com CNAME m1.klb.chain.example.com ttl=30 set=m1 weight=60
    eu.klb.chain.example.com CNAME m2.klb.chain.example.com ttl=30 set=m2 weight=60
    m1.klb.chain.example.com A 192.0.2.4 ttl=30
    m2.klb.chain.example.com A 192.0.2.5 ttl=30
    m2.klb.chain.example.com AAAA 2001:db8::5 ttl=30
`
	told, a := make(map[string]int), world(t, before).Snapshot
	changes := []string{strings.ReplaceAll(before, "eu.klb", "xx.klb")}
	for rest, done := before, ""; ; {
		head, tail, found := strings.Cut(rest, "ttl=30")
		if !found {
			break
		}
		changes = append(changes, done+head+"ttl=7"+tail)
		rest, done = tail, done+head+"ttl=30"
	}
	for _, after := range changes {
		b := world(t, after).Snapshot
		listed := make(map[string]bool)
		for _, n := range Compare(a, b, nil, nil).Names {
			if listed[n.Name] = true; len(n.Plus)+len(n.Minus)+len(n.Members) == 0 {
				t.Errorf("%s: nothing is said of the change", n.Name)
			}
		}
		for _, host := range []string{"one", "flat", "chain"} {
			name, same := host+".example.com", true
			for _, qtype := range []uint16{dns.TypeA, dns.TypeAAAA} {
				q := records.Query{Name: name + ".", Owner: name + ".", Type: qtype, Client: netip.IPv4Unspecified()}
				same = same && possible(a, q) == possible(b, q)
			}
			if same == listed[name] {
				t.Errorf("%s: the answers are the same: %v, and it is told: %v, of\n%s", name, same, listed[name], after)
			}
			if !same {
				told[host]++
			}
		}
	}
	if got := fmt.Sprint(told); got != "map[chain:8 flat:2 one:2]" {
		t.Errorf("told are %s of %d changes", got, len(changes))
	}
}

// TestSetsText: each TTL is told that is another.
func TestSetsText(t *testing.T) {
	name := records.TreeSet{Name: "klb.h.example.com", Type: "CNAME", TTL: 300}
	v4, v6, short := records.TreeSet{Type: "A", TTL: 60}, records.TreeSet{Type: "AAAA", TTL: 60}, records.TreeSet{Type: "AAAA", TTL: 30}
	for want, sets := range map[string][]records.TreeSet{
		"CNAME at klb.h.example.com with TTL 300":                                  {name},
		"addresses with TTL 60":                                                    {v4, v6},
		"A with TTL 60; AAAA with TTL 30":                                          {v4, short},
		"CNAME at klb.h.example.com with TTL 300; A with TTL 60; AAAA with TTL 30": {name, v4, short},
	} {
		if got := setsText(sets); got != want {
			t.Errorf("%v: %q, want %q", sets, got, want)
		}
	}
}
