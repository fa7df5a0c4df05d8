package inspect

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// published is a Gateway with its policy; a test changes either before they are compiled.
type published struct {
	gateway *api.Gateway
	policy  *api.DNSPolicy
}

// publish returns a policy of namespace n that publishes a host, with members where it has a geo code.
func publish(name, host, code string, addresses ...string) published {
	meta := api.Meta{Name: "n/" + name, Cluster: "a", UID: name}
	g := &api.Gateway{Meta: meta, Listeners: []api.Listener{{Name: "l", Hostname: host, AttachedRoutes: 1}}}
	for _, a := range addresses {
		kind := api.IPAddress
		if _, err := netip.ParseAddr(a); err != nil {
			kind = api.HostnameAddress
		}
		g.Addresses = append(g.Addresses, api.Address{Type: kind, Value: a})
	}
	p := &api.DNSPolicy{
		Meta: meta, Target: api.Target{Group: "gateway.networking.k8s.io", Kind: "Gateway", Name: name},
		DefaultWeight: 1, Geo: code,
	}
	if code != "" {
		p.Strategy = api.WeightedGeo
	}
	return published{gateway: g, policy: p}
}

// but returns it with a change.
func (p published) but(change func(*api.Gateway, *api.DNSPolicy)) published {
	change(p.gateway, p.policy)
	return p
}

// deflt makes its geo code the default.
func (p published) deflt() published {
	p.policy.DefaultGeo = p.policy.Geo
	return p
}

// in puts it into another cluster.
func (p published) in(cluster string) published {
	p.gateway.Cluster, p.policy.Cluster = cluster, cluster
	return p
}

// annotated annotates the policy.
func (p published) annotated(key, value string) published {
	p.policy.Annotations = map[string]string{key: value}
	return p
}

// checked has it checked, by the name of a host; "" for its own.
func (p published) checked(host string) published {
	p.policy.HealthCheck = &api.HealthCheck{
		Port: 80, Path: "/", Host: host, Interval: time.Minute, Timeout: time.Second,
		FailureThreshold: 1, SuccessThreshold: 1,
	}
	return p
}

// checkedView compiles what is published, in the clusters a and b, with Records of a Zone of example.com.
func checkedView(all []published, of ...*api.Record) *View {
	var in api.Objects
	for _, name := range []string{"a", "b"} {
		c := &api.Cluster{Name: name, UID: name}
		for k := range c.Listings {
			c.Listings[k] = api.Listed
		}
		gateways, policies := c.Gateways.Edit(), c.Policies.Edit()
		for _, p := range all {
			if p.policy.Cluster == name {
				gateways.Set(p.gateway.Name, p.gateway)
				policies.Set(p.policy.Name, p.policy)
			}
		}
		c.Gateways, c.Policies = gateways.Map(), policies.Map()
		in.Clusters = append(in.Clusters, c)
	}
	if len(of) > 0 {
		a := in.Clusters[0]
		zones, recs := a.Zones.Edit(), a.Records.Edit()
		zones.Set("dns/z", &api.Zone{
			Meta: api.Meta{Name: "dns/z", Cluster: "a", UID: "z"}, DomainName: "example.com.",
			Delegations: []api.Delegation{{Records: []api.RecordDelegation{{Pattern: "*"}, {Pattern: "@"}}}},
		})
		for i, r := range of {
			r.Meta = api.Meta{Name: fmt.Sprintf("dns/r%d", i), Cluster: "a", UID: fmt.Sprint(i)}
			r.Class, r.TTL = "IN", api.NoTTL
			recs.Set(r.Name, r)
		}
		a.Zones, a.Records = zones.Map(), recs.Map()
	}
	opt := &records.Options{Zones: []records.ZoneOptions{{
		Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300,
		Nameservers: []records.Nameserver{{Name: "ns.example.net."}},
	}}}
	return &View{Snapshot: records.Compile(nil, in, opt, time.Unix(1e9, 0))}
}

// record returns a Record of a name below example.com; "" for that itself.
func record(name, rtype, data string) *api.Record {
	return &api.Record{DomainName: strings.TrimPrefix(name+".example.com.", "."), Type: rtype, RData: data}
}

// expectFindings compares findings with lines: each begins with the severity, reason, object and name of one, and ends with a
// part of its text after " ... ". They are all, in order.
func expectFindings(t *testing.T, found []Finding, want ...string) {
	t.Helper()
	var got strings.Builder
	ok := len(found) == len(want)
	for i, f := range found {
		line := strings.Join([]string{string(f.Severity), f.Reason, objectOf(&f), f.Name}, " ")
		fmt.Fprintln(&got, line, "...", f.Text)
		if i < len(want) {
			head, part, _ := strings.Cut(want[i], " ... ")
			ok = ok && head == line && strings.Contains(f.Text, part)
		}
	}
	if !ok {
		t.Errorf("found\n%swant\n%s", &got, strings.Join(want, "\n"))
	}
}

// inIreland is an address space that is all in Ireland.
var inIreland = &geo.Space{V4: 1, Places: []geo.Place{{Codes: geo.Codes{"", "", "IE", "GEO-EU"}, V4: 1}}}

// TestCheckObjects: an object of which nothing is served is an error, with one finding; what is another's to serve is none.
func TestCheckObjects(t *testing.T) {
	const host, ip = "bad.example.com", "192.0.2.1"
	good := func() published { return publish("good", "good.example.com", "GEO-EU", ip).deflt() }
	for name, c := range map[string]struct {
		bad  published
		want []string
	}{
		"right":     {publish("bad", host, "", ip), nil},
		"elsewhere": {publish("bad", "bad.example.org", "", ip), []string{"error Unknown DNSPolicy n/bad of cluster a  ... outside the zones"}},
		"conflict": {
			publish("zbad", "good.example.com", "", ip),
			[]string{"error Unknown DNSPolicy n/zbad of cluster a  ... belongs to DNSPolicy n/good"},
		},
		"no host": {publish("bad", "", "", ip), []string{"error NothingServed DNSPolicy n/bad of cluster a  ... no listener with a hostname"}},
		"no routes": {
			publish("bad", host, "", ip).but(func(g *api.Gateway, _ *api.DNSPolicy) { g.Listeners[0].AttachedRoutes = 0 }),
			[]string{"error NothingServed DNSPolicy n/bad of cluster a  ... no routes"},
		},
		"no address": {
			publish("bad", host, ""),
			[]string{"error NoAddresses DNSPolicy n/bad of cluster a bad.example.com ... its Gateway has none in status.addresses"},
		},
		"excluded": {
			publish("bad", host, "", ip).but(func(_ *api.Gateway, p *api.DNSPolicy) {
				p.Exclude = []api.Exclusion{{Prefix: netip.MustParsePrefix("192.0.2.0/24")}}
			}),
			[]string{"error NoAddresses DNSPolicy n/bad of cluster a bad.example.com ... spec.excludeAddresses takes away all"},
		},
		"no address that can be served": {
			publish("bad", host, "", "0.0.0.0"),
			[]string{`error NothingServed DNSPolicy n/bad of cluster a  ... no valid status addresses to use on gateway; address "0.0.0.0" cannot`},
		},
		"another controller's": {publish("bad", host, "",
			ip).but(func(_ *api.Gateway, p *api.DNSPolicy) { p.Provider = api.Provider{Kind: "Other", Name: "x"} }), nil},
		"unknown code": {publish("bad", host, "UK", ip), []string{"warning UnknownGeoCode DNSPolicy n/bad of cluster a  ... GB"}},
	} {
		t.Run(name, func(t *testing.T) {
			expectFindings(t, checkedView([]published{good(), c.bad}).Check(Setup{Space: inIreland}), c.want...)
		})
	}
}

// TestCheckLeads: aliases are followed, and those that end without an address in a zone served here are found.
func TestCheckLeads(t *testing.T) {
	const ip = "192.0.2.1"
	zone := []*api.Record{
		record("", "NS", "ns.example.net."), record("text", "TXT", "x"), record("a.b", "A", ip), record("sub", "NS", "ns.example.net."),
	}
	for name, c := range map[string]struct {
		all     []published
		records []*api.Record
		want    []string
	}{
		"an address":   {all: []published{publish("x", "x.example.com", "", "a.b.example.com")}},
		"elsewhere":    {all: []published{publish("x", "x.example.com", "", "lb.example.net")}},
		"a delegation": {all: []published{publish("x", "x.example.com", "", "lb.sub.example.com")}},
		"no name": {
			all:  []published{publish("x", "x.example.com", "", "gone.example.com")},
			want: []string{"error LeadsNowhere DNSPolicy n/x of cluster a x.example.com ... gone.example.com does not exist"},
		},
		"no data": {
			all:  []published{publish("x", "x.example.com", "", "b.example.com")},
			want: []string{"error LeadsNowhere DNSPolicy n/x of cluster a x.example.com ... b.example.com has no address"},
		},
		"text alone": {
			all:  []published{publish("x", "x.example.com", "", "text.example.com")},
			want: []string{"error LeadsNowhere DNSPolicy n/x of cluster a x.example.com ... text.example.com has no address"},
		},
		"at the apex": {
			all:  []published{publish("x", "example.com", "", "gone.example.com")},
			want: []string{"error LeadsNowhere DNSPolicy n/x of cluster a example.com ... gone.example.com does not exist"},
		},
		"of a Record": {
			records: []*api.Record{record("x", "CNAME", "gone")},
			want:    []string{"error LeadsNowhere Record dns/r4 of cluster a x.example.com ... gone.example.com does not exist"},
		},
		"of two Records": {
			records: []*api.Record{record("x", "CNAME", "y"), record("y", "CNAME", "b")},
			want: []string{
				"error LeadsNowhere Record dns/r4 of cluster a x.example.com ... b.example.com has no",
				"error LeadsNowhere Record dns/r5 of cluster a y.example.com ... b.example.com has no",
			},
		},
		"to text":  {records: []*api.Record{record("x", "CNAME", "text")}},
		"for text": {records: []*api.Record{record("_acme-challenge.x", "CNAME", "x.acme"), record("key._domainkey", "CNAME", "x.acme")}},
		"a circle": {
			all: []published{
				publish("x", "x.example.com", "", "y.example.com"),
				publish("y", "y.example.com", "", "x.example.com"),
			},
			want: []string{
				"error LeadsNowhere DNSPolicy n/x of cluster a x.example.com ... in a circle",
				"error LeadsNowhere DNSPolicy n/y of cluster a y.example.com ... in a circle",
			},
		},
		"a member": {
			all: []published{
				publish("x", "x.example.com", "GEO-EU", ip).deflt(),
				publish("y", "x.example.com", "GEO-EU", "gone.example.com").deflt(),
			},
			want: []string{"warning LeadsNowhere DNSPolicy n/x of cluster a x.example.com ... gone.example.com does not exist"},
		},
		"all members": {
			all: []published{
				publish("x", "x.example.com", "GEO-EU", "b.example.com").deflt(),
				publish("y", "x.example.com", "GEO-EU", "gone.example.com").deflt(),
			},
			want: []string{"error LeadsNowhere DNSPolicy n/x of cluster a x.example.com ... b.example.com has no address, " +
				"gone.example.com does not"},
		},
		"to some members": {
			all: []published{
				publish("x", "x.example.com", "GEO-EU", ip).deflt(),
				publish("y", "x.example.com", "GEO-EU", "gone.example.com").deflt(), publish("z", "z.example.com", "", "x.example.com"),
			},
			want: []string{"warning LeadsNowhere DNSPolicy n/x of cluster a x.example.com ... gone"},
		},
		"back to its own host, of members": {
			all: []published{publish("x", "x.example.com", "GEO-EU", "y.example.com").deflt(), publish("y", "y.example.com", "", "x.example.com")},
			want: []string{
				"error LeadsNowhere DNSPolicy n/x of cluster a x.example.com ... in a circle",
				"error LeadsNowhere DNSPolicy n/y of cluster a y.example.com ... in a circle",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			of := append(append([]*api.Record(nil), zone...), c.records...)
			expectFindings(t, checkedView(c.all, of...).Check(Setup{}), c.want...)
		})
	}
}

// TestCheckPools: what the policies of a host say in vain is found, and what no client depends on is not.
func TestCheckPools(t *testing.T) {
	const host, fallback = "x.example.com", "kuadrant.io/geo-fallback"
	one := func() published { return publish("x", host, "GEO-EU", "192.0.2.1") }
	two := func(code string) published { return publish("y", host, code, "192.0.2.2") }
	for name, c := range map[string]struct {
		all  []published
		with Setup
		want []string
	}{
		"one member": {all: []published{one()}, with: Setup{Unlocated: true}},
		"one group":  {all: []published{one(), two("GEO-EU")}, with: Setup{Unlocated: true}},
		"no default": {
			all:  []published{one(), two("IE")},
			want: []string{"warning NoDefaultGeo DNSPolicy n/x of cluster a x.example.com ... none of GEO-EU, IE get any"},
		},
		"a default": {all: []published{one().deflt(), two("IE")}},
		"an empty place": {
			all:  []published{one().deflt(), two("US-CA")},
			want: []string{"warning UnreachableGeo DNSPolicy n/x of cluster a x.example.com ... is in US-CA: nobody comes there"},
		},
		"the default is empty":  {all: []published{publish("x", host, "US", "192.0.2.1").deflt(), two("IE")}},
		"the only one is empty": {all: []published{publish("x", host, "US", "192.0.2.1")}},
		"empty, and no default": {
			all: []published{one(), two("US")},
			want: []string{
				"warning NoDefaultGeo DNSPolicy n/x of cluster a x.example.com ... ",
				"warning UnreachableGeo DNSPolicy n/x of cluster a x.example.com ... US: those alone come there who match no other",
			},
		},
		"two defaults": {
			all: []published{one().deflt(), two("IE").deflt()},
			want: []string{
				`warning Conflicted DNSPolicy n/y of cluster a  ... the set identifier "default" belongs to DNSPolicy n/x`,
				"warning SecondDefault DNSPolicy n/y of cluster a x.example.com ... IE, counts for nothing: that of DNSPolicy " +
					"n/x of cluster a does, GEO-EU",
			},
		},
		"of two clusters": {
			all: []published{one().deflt(), publish("x", host, "IE", "192.0.2.2").deflt().in("b")},
			want: []string{
				`warning Conflicted DNSPolicy n/x of cluster b  ... the set identifier "default" belongs to DNSPolicy n/x of cluster a`,
				"warning SecondDefault DNSPolicy n/x of cluster b x.example.com ... IE, counts for nothing",
			},
		},
		"one default of two": {all: []published{one().deflt(), two("GEO-EU").deflt()}},
		"another fallback": {
			all: []published{one().deflt(), two("IE").annotated(fallback, "none")},
			want: []string{"warning SecondFallback DNSPolicy n/y of cluster a x.example.com ... none, counts for nothing: that of " +
				"DNSPolicy n/x of cluster a does, which has the host: any"},
		},
		"the owner's fallback": {all: []published{one().deflt().annotated(fallback, "none"), two("IE")}},
		"one fallback":         {all: []published{one().deflt().annotated(fallback, "none"), two("IE").annotated(fallback, "none")}},
		"no databases": {
			all:  []published{one().deflt(), two("IE"), publish("z", "z.example.com", "IE", "192.0.2.3")},
			with: Setup{Unlocated: true}, want: []string{"warning NoGeoDatabase   ... geo codes at x.example.com. Write geoip FILE"},
		},
		"a wildcard beside": {
			all: []published{
				one().deflt(),
				two("IE").but(func(g *api.Gateway, _ *api.DNSPolicy) { g.Listeners[0].Hostname = "*.x.example.com" }),
			},
			want: []string{"warning ChainTaken DNSPolicy n/y of cluster a  ... which has other members"},
		},
		"a policy without a code": {
			all: []published{
				one().deflt(),
				two("").but(func(_ *api.Gateway, p *api.DNSPolicy) { p.Strategy = api.WeightedGeo }),
			},
			want: []string{"warning SecondDefault DNSPolicy n/y of cluster a x.example.com ... *, counts for nothing"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if !c.with.Unlocated {
				c.with.Space = inIreland
			}
			expectFindings(t, checkedView(c.all).Check(c.with), c.want...)
		})
	}
}

// TestCheckHealth: what is drained, or down, and answered all the same is found, and checks that never begin.
func TestCheckHealth(t *testing.T) {
	const override, wild = "kuadrant.io/health-override", "*.x.example.com"
	pool := func() published { return publish("x", "x.example.com", "GEO-EU", "192.0.2.1").deflt() }
	simple := func() published { return publish("x", "x.example.com", "", "192.0.2.1") }
	weightless := func(_ *api.Gateway, p *api.DNSPolicy) { p.DefaultWeight = 0 }
	stopped := func(g *api.Gateway, _ *api.DNSPolicy) { g.Programmed = api.ConditionFalse }
	denied := func() published { return publish("x", "x.example.com", "", "127.0.0.9", "192.0.2.1").checked("") }
	const drained, failing, unchecked = "warning AllDrained DNSPolicy n/x of cluster a x.example.com ... all of it is drained",
		"warning FailsOpen DNSPolicy n/x of cluster a x.example.com ... all clients get what is down",
		"warning NotChecked DNSPolicy n/x of cluster a "
	for name, c := range map[string]struct {
		all   []published
		guard *health.Guard
		want  []string
	}{
		"weight 0":          {all: []published{pool().but(weightless)}, want: []string{drained}},
		"drained by a word": {all: []published{pool().annotated(override, "drain")}, want: []string{drained}},
		"drained one and the other": {all: []published{
			pool().annotated(override, "drain"),
			publish("y", "x.example.com", "GEO-EU", "192.0.2.2").but(weightless),
		}, want: []string{drained}},
		"one is drained": {all: []published{
			pool().annotated(override, "drain"),
			publish("y", "x.example.com", "GEO-EU", "192.0.2.2"),
		}},
		"drained, without members": {all: []published{simple().annotated(override, "drain")}, want: []string{drained}},
		"forced down": {
			all:  []published{pool().annotated(override, "down")},
			want: []string{failing + ", as nothing else is there for them: 192.0.2.1 (overridden)"},
		},
		"not programmed": {
			all:  []published{simple().but(stopped)},
			want: []string{failing + ", as nothing else is there for them: 192.0.2.1 (its Gateway is not programmed)"},
		},
		"one is not programmed": {all: []published{pool().but(stopped), publish("y", "x.example.com", "GEO-EU", "192.0.2.2")}},
		"a wildcard": {
			all:  []published{publish("x", wild, "", "192.0.2.1").checked("")},
			want: []string{unchecked + wild + " ... never begins"},
		},
		"a wildcard of members": {
			all:  []published{publish("x", wild, "GEO-EU", "192.0.2.1").deflt().checked("")},
			want: []string{unchecked + wild + " ... never begins"},
		},
		"a wildcard, and what to ask": {all: []published{publish("x", wild, "", "192.0.2.1").checked("y.x.example.com")}},
		"a wildcard that shares what is found": {all: []published{pool().checked("").but(func(g *api.Gateway, _ *api.DNSPolicy) {
			g.Listeners = append(g.Listeners, api.Listener{Name: "w", Hostname: wild, AttachedRoutes: 1})
		})}},
		"denied": {
			all: []published{denied()}, guard: &health.Guard{},
			want: []string{unchecked + "x.example.com ... the server never checks 127.0.0.9, and"},
		},
		"denied by a line": {
			all:   []published{simple().checked("")},
			guard: &health.Guard{Deny: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}},
			want:  []string{unchecked + "x.example.com ... never checks 192.0.2.1,"},
		},
		"allowed":           {all: []published{denied()}, guard: &health.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}},
		"nobody knows":      {all: []published{denied()}},
		"denied, unchecked": {all: []published{publish("x", "x.example.com", "", "127.0.0.9")}, guard: &health.Guard{}},
	} {
		t.Run(name, func(t *testing.T) {
			expectFindings(t, checkedView(c.all).Check(Setup{Space: inIreland, Guard: c.guard}), c.want...)
		})
	}
}

// TestParseName: a name is read however it is spelled, and what is none is refused.
func TestParseName(t *testing.T) {
	for text, want := range map[string]string{
		"App.Example.com": "app.example.com.", "app.example.com.": "app.example.com.", " a.example ": "a.example.", ".": ".",
		"0/25.2.0.192.in-addr.arpa": "0/25.2.0.192.in-addr.arpa.", `a\ b.example`: `a\ b.example.`, `a\032b.example`: `a\ b.example.`,
		`\097.example`:     "a.example.",
		`dot\.ted.example`: `dot\.ted.example.`, "*.example": "*.example.", "_sip._tcp.example": "_sip._tcp.example.",
		"": "", "a..b": "", "https://a.example": "", "a b.example": "", "münchen.example": "", strings.Repeat("a", 64) +
			".example": "", strings.Repeat("a.", 128): "", `a\`: "",
	} {
		got, err := ParseName(text)
		if _, is := IsRequest(err); got != want || (want == "") != is {
			t.Errorf("%q is %q, %v, want %q", text, got, err, want)
		}
	}
}
