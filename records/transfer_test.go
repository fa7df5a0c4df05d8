package records

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// transferred returns what a transfer of example.com has at a host and below it, in a form
// to read.
func transferred(t *testing.T, s *Snapshot, host string) string {
	t.Helper()
	var lines []string
	for line := range contentOf(t, s.Zone("example.com.")) {
		f := strings.Fields(line)
		if rdata.IsSubdomain(host, f[0]) {
			lines = append(lines, strings.Join(append([]string{strings.TrimSuffix(f[0], host), f[1]}, f[3:]...), " "))
		}
	}
	slices.Sort(lines)
	return strings.TrimSpace(strings.Join(lines, ", "))
}

// aMember is a Gateway of one host with its policy.
type aMember struct {
	addresses string // with spaces between
	weight    int64
	geo, word string // the operator's
	simple    bool
	checked   bool
	cluster   int
}

// TestTransferOfSteeredNames is rule 7.5 case by case.
func TestTransferOfSteeredNames(t *testing.T) {
	txt := func(w *world, host string) {
		w.setRecord(0, "dns/txt", &api.Record{DomainName: host, Type: "TXT", Class: "IN", RData: "x", TTL: 5})
	}
	for _, c := range []struct {
		name, host string
		members    []aMember
		more       func(w *world, host string)
		overrides  string
		flatten    bool
		want       string
	}{
		{
			name: "weights and geographies", members: []aMember{
				{addresses: "192.0.2.2 2001:db8::1", weight: 1, geo: "IE"}, {addresses: "192.0.2.1", weight: 100, geo: "US"},
			},
			want: " 60 A 192.0.2.1,  60 A 192.0.2.2,  60 AAAA 2001:db8::1",
		},
		{
			name: "one address twice", members: []aMember{{addresses: "192.0.2.1", weight: 1, geo: "IE"}, {addresses: "192.0.2.1", weight: 1, geo: "US"}},
			want: " 60 A 192.0.2.1",
		},
		{
			name: "flatten", members: []aMember{{addresses: "192.0.2.1", weight: 1}, {addresses: "192.0.2.2", weight: 1}}, flatten: true,
			want: " 60 A 192.0.2.1,  60 A 192.0.2.2",
		},
		{
			name: "no weight", members: []aMember{{addresses: "192.0.2.1", weight: 0}, {addresses: "192.0.2.2", weight: 1}},
			want: " 60 A 192.0.2.2",
		},
		{
			name: "no weight anywhere", members: []aMember{{addresses: "192.0.2.1", weight: 0}, {addresses: "192.0.2.2", weight: 0}},
			want: " 60 A 192.0.2.1,  60 A 192.0.2.2",
		},
		{
			name: "a family that only a drained member has", members: []aMember{{addresses: "2001:db8::1", weight: 0}, {addresses: "192.0.2.2", weight: 1}},
			want: " 60 A 192.0.2.2,  60 AAAA 2001:db8::1",
		},
		{
			name: "drained by a word", members: []aMember{{addresses: "192.0.2.1", weight: 1, word: "drain"}, {addresses: "192.0.2.2", weight: 1}},
			want: " 60 A 192.0.2.2",
		},
		{
			name: "forced down", members: []aMember{{addresses: "192.0.2.1", weight: 1, word: "down"}, {addresses: "192.0.2.2", weight: 1}},
			want: " 60 A 192.0.2.2",
		},
		{
			name: "forced down, and drained", members: []aMember{{addresses: "192.0.2.1", weight: 1, word: "down"}, {addresses: "192.0.2.2", weight: 0}},
			want: " 60 A 192.0.2.2",
		},
		{
			name: "all forced down", members: []aMember{{addresses: "192.0.2.1", weight: 1, word: "down"}, {addresses: "192.0.2.2", weight: 1, word: "down"}},
			want: " 60 A 192.0.2.1,  60 A 192.0.2.2",
		},
		{
			name: "a target forced down", members: []aMember{{addresses: "192.0.2.1 192.0.2.3", weight: 1}, {addresses: "192.0.2.2", weight: 1, checked: true}},
			overrides: "target 192.0.2.1 down", want: " 60 A 192.0.2.2,  60 A 192.0.2.3",
		},
		{
			name: "a cluster drained", members: []aMember{{addresses: "192.0.2.1", weight: 1}, {addresses: "192.0.2.2", weight: 1, cluster: 1}},
			overrides: "cluster c2 drain", want: " 60 A 192.0.2.1",
		},
		{
			name: "checked", members: []aMember{{addresses: "192.0.2.1", weight: 1, checked: true}, {addresses: "192.0.2.2", weight: 1, checked: true}},
			want: " 60 A 192.0.2.1,  60 A 192.0.2.2",
		},
		{
			name: "hostnames only", members: []aMember{{addresses: "b.example.net", weight: 1}, {addresses: "a.example.net", weight: 1}},
			want: " 60 CNAME b.example.net.",
		},
		{
			name: "hostnames, the first drained", members: []aMember{{addresses: "b.example.net", weight: 0}, {addresses: "a.example.net", weight: 1}},
			want: " 60 CNAME a.example.net.",
		},
		{
			name: "hostnames, the first forced down", members: []aMember{{addresses: "b.example.net", weight: 1, word: "down"}, {addresses: "a.example.net", weight: 1}},
			want: " 60 CNAME a.example.net.",
		},
		{
			name: "hostname and address", members: []aMember{{addresses: "b.example.net", weight: 1}, {addresses: "192.0.2.1", weight: 1}},
			want: " 60 A 192.0.2.1",
		},
		{
			name: "hostname and drained address", members: []aMember{{addresses: "b.example.net", weight: 1}, {addresses: "192.0.2.1", weight: 0}},
			want: " 60 CNAME b.example.net.",
		},
		{
			name: "hostname beside other data", members: []aMember{{addresses: "b.example.com", weight: 1}}, more: txt,
			want: " 60 CNAME b.example.com.",
		},
		{
			name: "hostname and drained address beside other data", members: []aMember{{addresses: "b.example.com", weight: 1}, {addresses: "192.0.2.1", weight: 0}}, more: txt,
			want: " 60 CNAME b.example.com.",
		},
		{
			name: "addresses beside other data", members: []aMember{{addresses: "192.0.2.1", weight: 1}}, more: txt,
			want: " 5 TXT \"x\",  60 A 192.0.2.1",
		},
		{name: "wildcard", host: "*.h.example.com.", members: []aMember{{addresses: "192.0.2.1", weight: 1}}, want: " 60 A 192.0.2.1"},
		{name: "apex", host: "example.com.", members: []aMember{{addresses: "192.0.2.1", weight: 1}}, want: " 3600 NS ns.example.net.,  60 A 192.0.2.1"},
		{name: "hostname at an apex", host: "example.com.", members: []aMember{{addresses: "b.example.com", weight: 1}}, want: " 3600 NS ns.example.net."},
		{name: "no address", members: []aMember{{weight: 1}}, want: ""},
		{
			name: "simple", members: []aMember{{addresses: "192.0.2.2 192.0.2.1 2001:db8::1", simple: true}},
			want: " 60 A 192.0.2.1,  60 A 192.0.2.2,  60 AAAA 2001:db8::1",
		},
		{
			name: "simple, of two clusters, one forced down", members: []aMember{{addresses: "192.0.2.1", simple: true}, {addresses: "192.0.2.2", simple: true, cluster: 1}},
			overrides: "cluster c1 down", want: " 60 A 192.0.2.2",
		},
		{
			name: "simple, checked", members: []aMember{{addresses: "192.0.2.2 2001:db8::2 2001:db8::1", simple: true, checked: true}},
			want: " 60 A 192.0.2.2,  60 AAAA 2001:db8::1,  60 AAAA 2001:db8::2",
		},
		{name: "simple, all forced down", members: []aMember{{addresses: "192.0.2.2", simple: true, word: "down"}}, want: " 60 A 192.0.2.2"},
		{name: "simple, hostnames", members: []aMember{{addresses: "b.example.net a.example.net", simple: true}}, want: " 60 CNAME b.example.net."},
		{name: "simple, a checked hostname", members: []aMember{{addresses: "b.example.net", simple: true, checked: true}}, want: " 60 CNAME b.example.net."},
		{name: "simple hostname beside other data", members: []aMember{{addresses: "b.example.com", simple: true}}, more: txt, want: " 60 CNAME b.example.com."},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld("c1", "c2")
			host := c.host
			if host == "" {
				host = "h.example.com."
			}
			for i, m := range c.members {
				w.putMember(fmt.Sprintf("n/g%d", i), host, i, m)
			}
			if c.more != nil {
				c.more(w, host)
			}
			w.overrides = overridesOf(t, c.overrides)
			opt := &Options{
				Zones:      []ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300, Flatten: c.flatten, Nameservers: []Nameserver{{Name: "ns.example.net."}}}},
				ProbeAllow: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")},
			}
			s := Compile(nil, w.objects(), opt, testTime)
			if got := transferred(t, s, host); got != strings.TrimSpace(c.want) {
				t.Errorf("transferred: %s\nwant:        %s", got, strings.TrimSpace(c.want))
			}
			// Whatever checks find, it stays.
			before := contentOf(t, s.zones[0])
			for _, target := range s.checks.all.All() {
				target.target.Cell.Set(health.Down)
			}
			if after := contentOf(t, s.zones[0]); !maps.Equal(before, after) {
				t.Errorf("while all is down: %v\nwant: %v", after, before)
			}
		})
	}
}

// putMember puts a member's Gateway and policy; age is in the order of its host's members.
func (w *world) putMember(name, host string, age int, m aMember) {
	g := &api.Gateway{Listeners: []api.Listener{{Name: "l", Hostname: strings.TrimSuffix(host, "."), AttachedRoutes: 1}}}
	for _, a := range strings.Fields(m.addresses) {
		kind := api.HostnameAddress
		if _, err := netip.ParseAddr(a); err == nil {
			kind = api.IPAddress
		}
		g.Addresses = append(g.Addresses, api.Address{Type: kind, Value: a})
	}
	p := &api.DNSPolicy{Target: api.Target{Name: strings.TrimPrefix(name, "n/")}, Strategy: api.WeightedGeo, DefaultWeight: m.weight, Geo: m.geo, DefaultGeo: m.geo}
	if m.simple {
		// simple is shared by the same object of several clusters alone.
		name, p.Strategy, p.Target.Name = "n/g0", api.Simple, "g0"
	}
	if m.word != "" {
		p.Annotations = map[string]string{annotationOverride: m.word}
	}
	if m.checked {
		p.HealthCheck = someChecks[0]
	}
	p.Created = int64(age)
	w.setGateway(m.cluster, name, g)
	w.setPolicy(m.cluster, name, p)
}

func overridesOf(t *testing.T, text string) *api.Overrides {
	t.Helper()
	o, err := api.ParseOverrides("overrides", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestTransferSerials: what is transferred changes with the serial alone, whatever makes
// the difference.
func TestTransferSerials(t *testing.T) {
	w := newWorld("c1")
	opt := worldOptions(0)
	members := []aMember{{addresses: "192.0.2.1", weight: 5}, {addresses: "192.0.2.2", weight: 5}, {addresses: "b.example.net", weight: 5}}
	put := func() { // a host below a name that is not steered
		for i, m := range members {
			w.putMember(fmt.Sprintf("n/g%d", i), "h.example.com.", i, m)
		}
	}
	put()
	snap := Compile(nil, w.objects(), opt, testTime)
	for _, c := range []struct {
		name    string
		change  func()
		differs bool
	}{
		{"a weight", func() { members[0].weight = 6 }, false},
		{"a weight goes", func() { members[0].weight = 0 }, true},
		{"another word", func() { members[0].word = "down" }, false},
		{"the other one is forced down", func() { members[1].word = "down" }, true},
		{"its target is forced up", func() { w.overrides = overridesOf(t, "target 192.0.2.2 up") }, true},
		{"it is not any more", func() { w.overrides = overridesOf(t, "") }, true},
		{"other data, which are refused beside a hostname", func() {
			w.setRecord(0, "dns/txt", &api.Record{DomainName: "h.example.com.", Type: "TXT", Class: "IN", RData: "x", TTL: 5})
		}, false},
		{"an order of hostnames that matters", func() { members = append(members, aMember{addresses: "a.example.net", weight: 5}) }, false},
	} {
		before := snap
		c.change()
		put()
		snap = Compile(snap, w.objects(), opt, testTime)
		was, is := contentOf(t, before.zones[0]), contentOf(t, snap.zones[0])
		if differs := !maps.Equal(was, is); differs != c.differs {
			t.Errorf("%s: the content differs: %v\n%v\n%v", c.name, differs, was, is)
		} else if differs && before.zones[0].serial == snap.zones[0].serial {
			t.Errorf("%s: the content differs under one serial", c.name)
		}
	}
}

// TestTransferOfZones: a zone's own name comes first; copies from a zone below, names hidden
// by a cut and wildcards are in it, and nothing else of the zone below, nor anything below a
// DNAME (cases E4 and F1).
func TestTransferOfZones(t *testing.T) {
	w, opt := oneZone(t)
	all := []api.Delegation{{Zones: []string{"*"}, Records: []api.RecordDelegation{{Pattern: "*"}, {Pattern: "@"}}}}
	w.setZone(0, "dns/z", &api.Zone{DomainName: "example.com.", TTL: 300, Refresh: 1, Retry: 2, Expire: 3, Minimum: 4, Delegations: all})
	w.setZone(0, "dns/sub", &api.Zone{DomainName: "sub", Parent: "dns/z", TTL: 120, Refresh: 1, Retry: 2, Expire: 3, Minimum: 4, Delegations: all})
	for i, r := range []struct{ zone, name, rtype, data string }{
		{"z", "@", "NS", "ns"},
		{"z", "ns", "A", "192.0.2.53"},
		{"z", "*.w", "A", "192.0.2.9"},
		{"z", "@", "MX", "1 ns"},
		{"z", "cut", "NS", "ns.example.net."},
		{"z", "x.cut", "A", "192.0.2.8"},
		{"z", "d", "DNAME", "example.net."},
		{"z", "a.d", "A", "192.0.2.7"},
		{"sub", "@", "NS", "ns1"},
		{"sub", "ns1", "A", "192.0.2.10"},
		{"sub", "www", "A", "192.0.2.11"},
	} {
		w.setRecord(0, fmt.Sprintf("dns/r%d", i), &api.Record{DomainName: r.name, Parent: "dns/" + r.zone, Type: r.rtype, Class: "IN", RData: r.data, TTL: api.NoTTL})
	}
	s := Compile(nil, w.objects(), opt, testTime)
	want := []string{
		"*.w.example.com.\t300\tIN\tA\t192.0.2.9", "cut.example.com.\t300\tIN\tNS\tns.example.net.",
		"d.example.com.\t300\tIN\tDNAME\texample.net.", "example.com.\t300\tIN\tMX\t1 ns.example.com.", "example.com.\t300\tIN\tNS\tns.example.com.",
		"ns.example.com.\t300\tIN\tA\t192.0.2.53", "ns1.sub.example.com.\t120\tIN\tA\t192.0.2.10", "sub.example.com.\t120\tIN\tNS\tns1.sub.example.com.",
		"x.cut.example.com.\t300\tIN\tA\t192.0.2.8",
	}
	if got := slices.Sorted(maps.Keys(contentOf(t, s.Zone("example.com.")))); !slices.Equal(got, want) {
		t.Errorf("example.com:\n%s", strings.Join(got, "\n"))
	}
	first := true
	for set := range s.Zone("example.com.").Transfer() {
		if name := set[0].Header().Name; first && name != "example.com." {
			t.Errorf("%s is the first name", name)
		}
		first = false
	}
	for range s.Zone("example.com.").Transfer() {
		break // the reader may stop
	}
	if n := len(contentOf(t, s.Zone("sub.example.com."))); n != 3 {
		t.Errorf("sub.example.com has %d records", n)
	}
}
