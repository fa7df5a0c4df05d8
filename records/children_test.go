package records

import (
	"fmt"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
)

// tell writes a child down.
func tell(c *api.Child) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", c.Kind, c.Name)
	if c.Replace {
		b.WriteString(" replace")
	}
	b.WriteString("\n")
	if r := c.Record; r != nil {
		fmt.Fprintf(&b, "  %s provider %q %q zone %q\n", r.RootHost, r.Provider.Kind, r.Provider.Name, r.ZoneID)
		for _, e := range r.Endpoints {
			fmt.Fprintf(&b, "  %s %d %s %s %q %v\n", e.DNSName, e.TTL, e.Type, strings.Join(e.Targets, ","), e.SetID, e.Properties)
		}
	}
	if p := c.Probe; p != nil {
		fmt.Fprintf(&b, "  %s host %s %s:%d%s\n", p.Address, p.Host, p.Check.Protocol, p.Check.Port, p.Check.Path)
	}
	return b.String()
}

func tellAll(all []api.Child) string {
	var b strings.Builder
	for i := range all {
		b.WriteString(tell(&all[i]))
	}
	return b.String()
}

var childOptions = &Options{Zones: []ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300}, {Origin: "k.example.com.", TTL: 60, LoadBalancedTTL: 300}}}

// gatewayOf makes a Gateway with listeners l0, l1 and so on.
func gatewayOf(hosts []string, addresses ...string) *api.Gateway {
	g := new(api.Gateway)
	for i, host := range hosts {
		g.Listeners = append(g.Listeners, api.Listener{Name: fmt.Sprint("l", i), Hostname: host, AttachedRoutes: 1})
	}
	for _, a := range addresses {
		kind := api.IPAddress
		if strings.Trim(a, "0123456789abcdef.:") != "" {
			kind = api.HostnameAddress
		}
		g.Addresses = append(g.Addresses, api.Address{Type: kind, Value: a})
	}
	return g
}

// parentOf makes a policy of the UID u.
func parentOf(gateway, uid string, strategy api.Strategy) *api.DNSPolicy {
	return &api.DNSPolicy{Meta: api.Meta{UID: uid}, Target: api.Target{Name: gateway}, Strategy: strategy, DefaultWeight: 120}
}

// ofPolicy names a policy.
func ofPolicy(name string) api.Ref { return api.Ref{Kind: api.KindDNSPolicy, Name: name} }

// ofRecord names a DNSRecord.
func ofRecord(name string) api.Ref { return api.Ref{Kind: api.KindDNSRecord, Name: name} }

// TestChildren are the objects of rules 2.2, 2.3 and 4.8.
func TestChildren(t *testing.T) {
	w := newWorld("c")
	w.setGateway(0, "n/gw", gatewayOf([]string{"app.example.com", "*.k.example.com", "none.other.org"}, "192.0.2.1", "2001:db8::", "192.0.2.2"))
	p := parentOf("gw", "u", api.Simple)
	p.HealthCheck = &api.HealthCheck{Protocol: api.HTTP, Port: 80, Path: "/"}
	w.setPolicy(0, "n/p", p)
	s := Compile(nil, w.objects(), childOptions, testTime)
	want := `DNSRecord n/gw-l0
  app.example.com provider "" "" zone "example.com"
  app.example.com 60 A 192.0.2.1,192.0.2.2 "" []
  app.example.com 60 AAAA 2001:db8:: "" []
DNSRecord n/gw-l1
  *.k.example.com provider "" "" zone "k.example.com"
  *.k.example.com 60 A 192.0.2.1,192.0.2.2 "" []
  *.k.example.com 60 AAAA 2001:db8:: "" []
DNSHealthCheckProbe n/gw-l0-192-0-2-1
  192.0.2.1 host app.example.com HTTP:80/
DNSHealthCheckProbe n/gw-l0-192-0-2-2
  192.0.2.2 host app.example.com HTTP:80/
DNSHealthCheckProbe n/gw-l0-2001-db8--0
  2001:db8:: host app.example.com HTTP:80/
`
	if got := tellAll(s.Children("c", ofPolicy("n/p"))); got != want {
		t.Errorf("simple:\n%s\nwant\n%s", got, want)
	}
	for _, c := range s.Children("c", ofPolicy("n/p")) {
		if c.Owner != (api.ChildOwner{Kind: api.KindDNSPolicy, Name: "n/p", UID: "u"}) || c.Labels[api.LabelManagedBy] != "kuadrant-coredns" {
			t.Errorf("%s has the owner %+v and the labels %v", c.Name, c.Owner, c.Labels)
		}
	}

	geo := parentOf("gw", "u", api.WeightedGeo)
	geo.Geo, geo.DefaultGeo = "GEO-EU", "GEO-EU"
	w.setPolicy(0, "n/p", geo)
	w.setGateway(0, "n/gw", gatewayOf([]string{"*.app.example.com"}, "192.0.2.1", "lb.example.net"))
	s = Compile(s, w.objects(), childOptions, testTime)
	leaf := endpoint.Hash("uid-c") + "-" + endpoint.Hash("gw-n") + ".klb.app.example.com"
	want = `DNSRecord n/gw-l0
  *.app.example.com provider "" "" zone "example.com"
  *.app.example.com 300 CNAME klb.app.example.com "" []
  klb.app.example.com 300 CNAME geo-eu.klb.app.example.com "GEO-EU" [{geo-code GEO-EU}]
  klb.app.example.com 300 CNAME geo-eu.klb.app.example.com "default" [{geo-code *}]
  geo-eu.klb.app.example.com 60 CNAME LEAF "LEAF" [{weight 120}]
  geo-eu.klb.app.example.com 60 CNAME lb.example.net "lb.example.net" [{weight 120}]
  LEAF 60 A 192.0.2.1 "" []
`
	if got := tellAll(s.Children("c", ofPolicy("n/p"))); got != strings.ReplaceAll(want, "LEAF", leaf) {
		t.Errorf("weightedGeo:\n%s\nwant\n%s", got, want)
	}

	w.setPolicy(0, "n/p", parentOf("gw", "u", api.WeightedGeo)) // without any geo code
	s = Compile(s, w.objects(), childOptions, testTime)
	if got := tellAll(s.Children("c", ofPolicy("n/p"))); !strings.Contains(got, "  klb.app.example.com 300 CNAME default.klb.app.example.com \"default\" [{geo-code *}]\n  default.klb.") {
		t.Errorf("without a code:\n%s", got)
	}
	if got := s.ChildrenChanged(); len(got) == 0 || got[0] != (ParentRef{"c", ofPolicy("n/p")}) {
		t.Errorf("the policies whose children changed are %v", got)
	}
}

// TestNoChildren: what is not published has no children: hosts that another object has, those
// without addresses, policies that are not accepted.
func TestNoChildren(t *testing.T) {
	w := newWorld("c")
	w.setGateway(0, "n/gw", gatewayOf([]string{"app.example.com"}, "192.0.2.1"))
	w.setGateway(0, "m/gw", gatewayOf([]string{"app.example.com", "own.example.com"}, "192.0.2.2"))
	w.setGateway(0, "n/empty", gatewayOf([]string{"empty.example.com"}))
	old, young := parentOf("gw", "u1", api.Simple), parentOf("gw", "u2", api.Simple)
	old.Created, young.Created = 1, 2
	w.setPolicy(0, "n/p", old)
	w.setPolicy(0, "m/p", young)
	w.setPolicy(0, "n/e", parentOf("empty", "u3", api.Simple))
	refused := parentOf("gw", "u4", api.Simple)
	refused.Invalid = "not acceptable"
	w.setPolicy(0, "n/r", refused)
	s := Compile(nil, w.objects(), childOptions, testTime)
	for policy, want := range map[string]int{"n/p": 1, "m/p": 1, "n/e": 0, "n/r": 0, "n/unknown": 0} {
		if got := s.Children("c", ofPolicy(policy)); len(got) != want {
			t.Errorf("%s has %d children, want %d:\n%s", policy, len(got), want, tellAll(got))
		}
	}
	w.setPolicy(0, "n/p", nil)
	s = Compile(s, w.objects(), childOptions, testTime)
	if got := s.Children("c", ofPolicy("m/p")); len(got) != 2 {
		t.Errorf("the loser that took over has %d children, want 2", len(got))
	}
	told := false
	for _, of := range s.ChildrenChanged() {
		told = told || of.Of == ofPolicy("m/p")
	}
	if !told {
		t.Errorf("ChildrenChanged names %v, not the policy that took over", s.ChildrenChanged())
	}
}

// written returns a DNSRecord as it is read back once a child has been written.
func written(c *api.Child) *api.DNSRecord {
	r := &api.DNSRecord{
		Meta:       api.Meta{Labels: c.Labels, Controlled: true},
		Controller: &api.Controller{Kind: c.Owner.Kind.String(), Name: bareOf(c.Owner.Name), UID: c.Owner.UID},
		RootHost:   c.Record.RootHost + ".", ZoneID: c.Record.ZoneID, HealthCheck: c.Record.HealthCheck,
		Provider: api.Provider{Kind: c.Record.Provider.Kind, Name: c.Record.Provider.Name},
	}
	for i, e := range c.Record.Endpoints {
		ep := api.Endpoint{DNSName: e.DNSName + ".", Type: e.Type, TTL: e.TTL, Targets: e.Targets, SetID: e.SetID, Weight: api.NoWeight, Index: i}
		for _, p := range e.Properties {
			if p.Name == api.PropertyGeo {
				ep.Geo = p.Value
			}
		}
		r.Endpoints = append(r.Endpoints, ep)
	}
	return r
}

// writtenProbe is the same of a probe.
func writtenProbe(c *api.Child) *api.HealthCheckProbe {
	return &api.HealthCheckProbe{
		Meta:       api.Meta{Labels: c.Labels, Controlled: true},
		Controller: &api.Controller{Kind: c.Owner.Kind.String(), Name: bareOf(c.Owner.Name), UID: c.Owner.UID},
		Address:    c.Probe.Address, Host: c.Probe.Host, Check: c.Probe.Check,
	}
}

func bareOf(name string) string { return name[strings.IndexByte(name, '/')+1:] }

// writeChildren does what a writer does for an object.
func (w *world) writeChildren(s *Snapshot, cluster int, of api.Ref) {
	wanted := make(map[api.Ref]bool)
	for _, c := range s.Children(w.clusters[cluster].Name, of) {
		wanted[api.Ref{Kind: c.Kind, Name: c.Name}] = true
		if c.Record != nil {
			w.setDNSRecord(cluster, c.Name, written(&c))
		} else {
			w.setProbe(cluster, c.Name, writtenProbe(&c))
		}
	}
	for _, ref := range s.Existing(w.clusters[cluster].Name, of) {
		switch {
		case wanted[ref]:
		case ref.Kind == api.KindDNSRecord:
			w.setDNSRecord(cluster, ref.Name, nil)
		default:
			w.setProbe(cluster, ref.Name, nil)
		}
	}
}

// TestChildNames: children keep the names that they have, and never take those of objects
// that are another's.
func TestChildNames(t *testing.T) {
	long := strings.Repeat("x", 245)
	for _, c := range []struct {
		name string
		make func(w *world)
		want []string // of n/p
	}{
		{"free", func(*world) {}, []string{"n/a-b-l0"}},
		{"a user's object", func(w *world) { w.setDNSRecord(0, "n/a-b-l0", &api.DNSRecord{RootHost: "x.example.com."}) }, []string{"n/a-b-l0-" + endpoint.Hash("a-b/l0/")}},
		{"another controller's", func(w *world) {
			w.setDNSRecord(0, "n/a-b-l0", &api.DNSRecord{RootHost: "app.example.com.", Controller: &api.Controller{Kind: "DNSPolicy", Name: "p", UID: "u"}})
		}, []string{"n/a-b-l0-" + endpoint.Hash("a-b/l0/")}},
		{"its own", func(w *world) {
			w.setDNSRecord(0, "n/a-b-l0", ownRecord("p", "u", "app.example.com.", "example.com"))
		}, []string{"n/a-b-l0"}},
		{"its own for another host", func(w *world) {
			w.setDNSRecord(0, "n/a-b-l0", ownRecord("p", "u", "was.example.com.", "example.com"))
		}, []string{"n/a-b-l0 replace"}},
		{"that of a policy of its name before", func(w *world) {
			w.setDNSRecord(0, "n/a-b-l0", ownRecord("p", "u-before", "app.example.com.", "example.com"))
		}, []string{"n/a-b-l0 replace"}},
		{"that of a policy which wants it no more", func(w *world) {
			w.setPolicy(0, "n/q", parentOf("other", "u-q", api.Simple))
			w.setDNSRecord(0, "n/a-b-l0", ownRecord("q", "u-q", "app.example.com.", "example.com"))
		}, []string{"n/a-b-l0 replace"}},
		{"that of a policy which wants it", func(w *world) {
			g := gatewayOf([]string{"more.example.com"}, "192.0.2.9")
			g.Listeners[0].Name = "b-l0"
			w.setGateway(0, "n/a", g)
			w.setPolicy(0, "n/q", parentOf("a", "u-q", api.Simple))
			w.setDNSRecord(0, "n/a-b-l0", ownRecord("q", "u-q", "more.example.com.", "example.com"))
		}, []string{"n/a-b-l0-" + endpoint.Hash("a-b/l0/")}},
		{"once another's, and free since", func(w *world) {
			w.setDNSRecord(0, "n/a-b-l0-"+endpoint.Hash("a-b/l0/"), ownRecord("p", "u", "app.example.com.", "example.com"))
		}, []string{"n/a-b-l0-" + endpoint.Hash("a-b/l0/")}},
		{"too long", func(w *world) {
			g := gatewayOf([]string{"app.example.com"}, "192.0.2.1")
			g.Listeners[0].Name = "a." + strings.Repeat("y", 20)
			w.setGateway(0, "n/"+long, g)
			w.setPolicy(0, "n/p", parentOf(long, "u", api.Simple))
		}, []string{"n/" + long[:240] + "-" + endpoint.Hash(long+"/a."+strings.Repeat("y", 20)+"/")}},
	} {
		w := newWorld("c")
		w.setGateway(0, "n/a-b", gatewayOf([]string{"app.example.com"}, "192.0.2.1"))
		w.setPolicy(0, "n/p", parentOf("a-b", "u", api.Simple))
		c.make(w)
		s := Compile(nil, w.objects(), childOptions, testTime)
		var got []string
		for _, child := range s.Children("c", ofPolicy("n/p")) {
			text := child.Name
			if child.Replace {
				text += " replace"
			}
			if want := map[bool]string{true: "u-record"}[child.Replace]; child.Replaced != want {
				t.Errorf("%s: %s takes the place of the object %q, want %q", c.name, child.Name, child.Replaced, want)
			}
			got = append(got, text)
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: the children are %v, want %v", c.name, got, c.want)
		}
	}
}

// ownRecord is a DNSRecord that this server has written for a policy.
func ownRecord(policy, uid, host, zone string) *api.DNSRecord {
	return &api.DNSRecord{
		Meta:       api.Meta{UID: "u-record", Labels: map[string]string{api.LabelManagedBy: api.ManagedBy}, Controlled: true},
		Controller: &api.Controller{Kind: "DNSPolicy", Name: policy, UID: uid}, RootHost: host, ZoneID: zone,
	}
}

// TestCollidingNames: of two policies that come at once and want one name, one gets it, the other
// another name, and both keep them.
func TestCollidingNames(t *testing.T) {
	w := newWorld("c")
	for gateway, listener := range map[string]string{"a": "b-l0", "a-b": "l0"} {
		g := gatewayOf([]string{gateway + ".example.com"}, "192.0.2.1")
		g.Listeners[0].Name = listener
		w.setGateway(0, "n/"+gateway, g)
		w.setPolicy(0, "n/"+gateway, parentOf(gateway, "u-"+gateway, api.Simple))
	}
	s := Compile(nil, w.objects(), childOptions, testTime)
	seen := ""
	for round := range 4 {
		for _, of := range []string{"n/a", "n/a-b"} {
			w.writeChildren(s, 0, ofPolicy(of))
			s = Compile(s, w.objects(), childOptions, testTime)
		}
		now := tellAll(s.Children("c", ofPolicy("n/a"))) + tellAll(s.Children("c", ofPolicy("n/a-b")))
		if round == 3 && now != seen {
			t.Errorf("the names are still changing:\n%s\nafter\n%s", now, seen)
		}
		seen = now
	}
	a, b := s.Children("c", ofPolicy("n/a")), s.Children("c", ofPolicy("n/a-b"))
	if len(a) != 1 || len(b) != 1 || a[0].Name == b[0].Name || a[0].Replace || b[0].Replace {
		t.Errorf("the children are\n%s", seen)
	}
	if n := w.clusters[0].DNSRecords.Len(); n != 2 {
		t.Errorf("there are %d DNSRecords, want 2", n)
	}
}
