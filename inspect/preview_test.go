package inspect

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// someMember is one Gateway with its policy.
type someMember struct {
	cluster, name, host, geo string
	simple                   bool
	weight                   int64
	addresses                []string
	created                  int64
}

// compiled returns the snapshot of members.
func compiled(members ...someMember) *records.Snapshot {
	byName := make(map[string]*api.Cluster)
	var names []string
	for _, m := range members {
		c := byName[m.cluster]
		if c == nil {
			c = &api.Cluster{Name: m.cluster, UID: m.cluster}
			for k := range c.Listings {
				c.Listings[k] = api.Listed
			}
			byName[m.cluster], names = c, append(names, m.cluster)
		}
		meta := api.Meta{Name: m.name, Cluster: m.cluster, UID: m.name, Created: m.created}
		g := &api.Gateway{Meta: meta, Listeners: []api.Listener{{Name: "l", Hostname: m.host, AttachedRoutes: 1}}}
		for _, a := range m.addresses {
			kind := api.IPAddress
			if _, err := netip.ParseAddr(a); err != nil {
				kind = api.HostnameAddress
			}
			g.Addresses = append(g.Addresses, api.Address{Type: kind, Value: a})
		}
		_, bare, _ := strings.Cut(m.name, "/")
		p := &api.DNSPolicy{
			Meta: meta, Target: api.Target{Group: "gateway.networking.k8s.io", Kind: "Gateway", Name: bare},
			Strategy: api.WeightedGeo, DefaultWeight: m.weight, Geo: m.geo, DefaultGeo: "GEO-EU",
		}
		if m.simple {
			p.Strategy = api.Simple
		}
		gateways, policies := c.Gateways.Edit(), c.Policies.Edit()
		gateways.Set(m.name, g)
		policies.Set(m.name, p)
		c.Gateways, c.Policies = gateways.Map(), policies.Map()
	}
	slices.Sort(names)
	var in api.Objects
	for _, name := range names {
		in.Clusters = append(in.Clusters, byName[name])
	}
	opt := &records.Options{Zones: []records.ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300}}}
	return records.Compile(nil, in, opt, time.Unix(1e9, 0))
}

// TestMoved: which part of the clients gets other addresses, for changes of which that is known. Of the
// space, a quarter of IPv4 is in IE, a quarter in the US, and half in Japan; of IPv6 all is in the US.
func TestMoved(t *testing.T) {
	space := &geo.Space{V4: 100, V6: 10, Places: []geo.Place{
		{Codes: geo.Codes{"", "", "IE", "GEO-EU"}, V4: 25},
		{Codes: geo.Codes{"AS64500", "US-CA", "US", "GEO-NA"}, V4: 25, V6: 10},
		{Codes: geo.Codes{"", "", "JP", "GEO-AS"}, V4: 50},
	}}
	eu := someMember{cluster: "a", name: "n/eu", host: "h.example.com", geo: "GEO-EU", weight: 100, addresses: []string{"192.0.2.1"}}
	us := someMember{cluster: "a", name: "n/us", host: "h.example.com", geo: "US", weight: 100, addresses: []string{"192.0.2.2"}}
	with := func(m someMember, change func(*someMember)) someMember {
		m.addresses = slices.Clone(m.addresses)
		change(&m)
		return m
	}
	twin := with(eu, func(m *someMember) { m.name, m.addresses = "n/twin", []string{"192.0.2.3"} })
	both := with(eu, func(m *someMember) { m.addresses = []string{"192.0.2.1", "2001:db8::1"} })
	plain := with(eu, func(m *someMember) { m.simple, m.addresses = true, []string{"192.0.2.1", "192.0.2.2"} })
	for _, c := range []struct {
		name          string
		before, after []someMember
		moved         *Moved
	}{
		{"nothing", []someMember{eu, us}, []someMember{eu, us}, nil},
		{"a member comes, for the US", []someMember{eu}, []someMember{eu, us}, &Moved{IPv4: 0.25, IPv6: 1}},
		{"the default goes, and only the US are left", []someMember{eu, us}, []someMember{us}, &Moved{IPv4: 0.75}},
		{"a twin comes", []someMember{eu, us}, []someMember{eu, twin, us}, &Moved{IPv4: 0.75 / 2}},
		{
			"a twin gets heavier",
			[]someMember{eu, twin},
			[]someMember{eu, with(twin, func(m *someMember) { m.weight = 300 })},
			&Moved{IPv4: 0.25, IPv6: 0.25},
		},
		{"a weight without a rival", []someMember{eu, us}, []someMember{with(eu, func(m *someMember) { m.weight = 7 }), us}, nil},
		{
			"another address",
			[]someMember{eu},
			[]someMember{with(eu, func(m *someMember) { m.addresses[0] = "192.0.2.9" })},
			&Moved{IPv4: 1, IPv6: 1},
		},
		{
			"one address more",
			[]someMember{plain},
			[]someMember{with(plain, func(m *someMember) { m.addresses = append(m.addresses, "192.0.2.3") })},
			&Moved{IPv4: 1.0 / 3, IPv6: 1.0 / 3},
		},
		{
			"an IPv6 address besides",
			[]someMember{both},
			[]someMember{with(both, func(m *someMember) { m.addresses = append(m.addresses, "2001:db8::2") })},
			&Moved{IPv4: 0.5, IPv6: 0.5},
		},
		{
			"an IPv6 address of a member for the US",
			[]someMember{both, us},
			[]someMember{both, with(us, func(m *someMember) { m.addresses = append(m.addresses, "2001:db8::2") })},
			nil,
		},
		{"the first IPv6 address", []someMember{eu}, []someMember{both}, nil},
		{"the last IPv6 address", []someMember{both}, []someMember{eu}, &Moved{IPv4: 1, IPv6: 1}},
		{
			"IPv6 alone",
			[]someMember{with(eu, func(m *someMember) { m.addresses = []string{"2001:db8::1"} })},
			[]someMember{with(eu, func(m *someMember) { m.addresses = []string{"2001:db8::2"} })},
			&Moved{IPv4: 1, IPv6: 1},
		},
		{"the same addresses, laid out otherwise", []someMember{with(plain, func(m *someMember) { m.simple = false })}, []someMember{plain}, nil},
	} {
		p := Compare(compiled(c.before...), compiled(c.after...), space, nil)
		if c.name == "nothing" {
			if !p.Same() || len(p.Names) != 0 {
				t.Errorf("%s: %+v", c.name, p)
			}
			continue
		}
		if len(p.Names) != 1 || p.Names[0].Name != "h.example.com" || p.Names[0].Change != ChangeChanged || p.Changed != 1 {
			t.Errorf("%s: %+v", c.name, p)
			continue
		}
		got := p.Names[0].Moved
		if (got == nil) != (c.moved == nil) || got != nil &&
			(math.Abs(got.IPv4-c.moved.IPv4) > 1e-9 || math.Abs(got.IPv6-c.moved.IPv6) > 1e-9 || got.Of != "addresses") {
			t.Errorf("%s: moved %+v, want %+v", c.name, got, c.moved)
		}
	}
	p := Compare(compiled(eu), compiled(eu, us), nil, nil)
	if m := p.Names[0].Moved; m == nil || m.Of != "countries" || m.IPv4 <= 0 || m.IPv4 > 0.01 {
		t.Errorf("without a database: %+v", m)
	}
}

// TestPreviewIsComplete: for random changes, a name that is not among those that change is answered with
// as before, for every client.
func TestPreviewIsComplete(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	kept, changed := 0, 0
	member := func() someMember {
		m := someMember{
			cluster: fmt.Sprint("c", r.IntN(2)), name: fmt.Sprint("n", r.IntN(2), "/g", r.IntN(6)), host: fmt.Sprintf("h%d.example.com", r.IntN(5)),
			geo: []string{"", "GEO-EU", "US", "JP"}[r.IntN(4)], weight: int64(r.IntN(3) * 60), created: int64(r.IntN(4)), simple: r.IntN(3) == 0,
		}
		for range 1 + r.IntN(2) {
			m.addresses = append(m.addresses, fmt.Sprintf("192.0.2.%d", r.IntN(4)))
		}
		return m
	}
	for range 400 {
		var before []someMember
		for range 8 {
			before = append(before, member())
		}
		after := slices.Clone(before)
		for range 1 + r.IntN(2) {
			after[r.IntN(len(after))] = member()
		}
		a, b := compiled(before...), compiled(after...)
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
					t.Fatalf("%s is not said to change, and is answered with\n%s\nand then\n%s\n%+v\n%+v", host, x, y, before, after)
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
	all := make(map[string]bool)
	for i := range uint64(40) {
		q.Random = i * 0x9e3779b97f4a7c15
		var a records.Answer
		x := s.Explain(s.Zone(q.Name), &q, &a)
		lines := slices.Clone(x.Answer)
		slices.Sort(lines)
		all[x.Rcode+strings.Join(lines, "\n")] = true
	}
	var list []string
	for one := range all {
		list = append(list, one)
	}
	slices.Sort(list)
	return strings.Join(list, "\n--\n")
}
