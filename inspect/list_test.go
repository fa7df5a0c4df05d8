package inspect

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/health"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// manyHosts returns a view of hosts h0.example.com and on, each with one address that is checked; change may change each
// Gateway and policy. overrides is the text of a file of overrides.
func manyHosts(t *testing.T, n int, overrides string, change func(i int, g *api.Gateway, p *api.DNSPolicy)) *View {
	t.Helper()
	c := &api.Cluster{Name: "c", UID: "c"}
	for k := range c.Listings {
		c.Listings[k] = api.Listed
	}
	gateways, policies := c.Gateways.Edit(), c.Policies.Edit()
	for i := range n {
		meta := api.Meta{Name: fmt.Sprintf("n/g%d", i), Cluster: "c", UID: fmt.Sprint(i), Created: int64(i + 1)}
		g := &api.Gateway{
			Meta: meta, Listeners: []api.Listener{{Name: "l", Hostname: fmt.Sprintf("h%d.example.com", i), AttachedRoutes: 1}},
			Addresses: []api.Address{{Type: api.IPAddress, Value: fmt.Sprintf("192.0.2.%d", i+1)}},
		}
		p := &api.DNSPolicy{
			Meta: meta, Target: api.Target{Group: "gateway.networking.k8s.io", Kind: "Gateway", Name: fmt.Sprintf("g%d", i)},
			HealthCheck: &api.HealthCheck{Path: "/Up", Port: 80, Interval: time.Minute, FailureThreshold: 1, SuccessThreshold: 1},
		}
		if change != nil {
			change(i, g, p)
		}
		gateways.Set(g.Name, g)
		policies.Set(p.Name, p)
	}
	c.Gateways, c.Policies = gateways.Map(), policies.Map()
	said, err := api.ParseOverrides("overrides", []byte(overrides))
	if err != nil {
		t.Fatal(err)
	}
	opt := &records.Options{Zones: []records.ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300}}}
	return &View{Snapshot: records.Compile(nil, api.Objects{Clusters: []*api.Cluster{c}, Overrides: said}, opt, time.Unix(1e9, 0))}
}

// TestTargets: each target is found by its state, one that was never checked too, and is counted once.
func TestTargets(t *testing.T) {
	v := manyHosts(t, 5, "target 192.0.2.5 down", nil)
	for _, target := range v.Snapshot.Checks().All() {
		switch target.Address {
		case "192.0.2.1":
			target.Cell.Set(health.Up)
		case "192.0.2.2":
			target.Cell.Set(health.Down)
		case "192.0.2.3":
			target.Cell.Set(health.Unknown)
		case "192.0.2.5":
			target.Cell.Set(health.Up)
		}
	}
	for state, want := range map[string]string{
		"": "192.0.2.2 192.0.2.3 192.0.2.4 192.0.2.1 192.0.2.5", "up": "192.0.2.1 192.0.2.5", "down": "192.0.2.2",
		"unknown": "192.0.2.3", "pending": "192.0.2.4",
	} {
		page, err := v.Targets(state, "/up", 0)
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, one := range page.Targets {
			found = append(found, one.Address)
			if (one.Word == "down") != (one.Address == "192.0.2.5") {
				t.Errorf("%s has the word %q", one.Address, one.Word)
			}
		}
		if got := strings.Join(found, " "); got != want {
			t.Errorf("state %q finds %s, want %s", state, got, want)
		}
		if got := fmt.Sprint(page.Counts); got != "map[down:1 pending:1 unknown:1 up:2]" {
			t.Errorf("the counts are %s", got)
		}
	}
	page, err := v.Targets("", "", 4) // the worst of all, and the first of those that are up
	if err != nil || len(page.Targets) != 4 || page.More != 1 || page.Targets[0].Address != "192.0.2.2" ||
		page.Targets[3].Address != "192.0.2.1" {
		t.Errorf("of a page of four: %+v, %v", page, err)
	}
	if n := v.TargetCounts(); !maps.Equal(n, page.Counts) {
		t.Errorf("counted are %+v", n)
	}
}

// TestParts: what cannot be a part of a name is refused with what to write.
func TestParts(t *testing.T) {
	v := manyHosts(t, 1, "", nil)
	for q, want := range map[string]string{
		"": "", " H0.Exam ": "", strings.Repeat("a", 253): "", "a\x00b": "cannot be printed", "a\nb": "cannot be printed",
		"\xff": "xn--", "mün": "xn--", "\u212A": "xn--",
		strings.Repeat("a", 254): "more than 253",
	} {
		_, err := v.Names(Filter{Contains: q})
		_, other := v.Targets("", q, 0)
		for _, err := range []error{err, other} {
			if of, ok := IsRequest(err); (want == "") != (err == nil) || want != "" && (!ok || of.Field != "q" || !strings.Contains(of.Text, want)) {
				t.Errorf("%.20q: %v, want %q", q, err, want)
			}
		}
	}
}

// TestTroublePages: page after page has every conflict and every object once.
func TestTroublePages(t *testing.T) {
	v := manyHosts(t, 25, "", func(i int, g *api.Gateway, p *api.DNSPolicy) {
		switch {
		case i%2 == 1: // another namespace wants the same host
			g.Listeners[0].Hostname = "h0.example.com"
			g.Name = fmt.Sprintf("m/g%d", i)
			p.Name = g.Name
		case i > 0:
			p.Target.Name = "missing"
		}
	})
	all, err := v.Troubles(TroubleFilter{Limit: 1000})
	if err != nil || all.Next != "" || all.NextObjects != "" || len(all.Conflicts) < 10 || len(all.Objects) < 10 {
		t.Fatalf("%d conflicts and %d objects, %v", len(all.Conflicts), len(all.Objects), err)
	}
	var conflicts []records.Conflict
	var objects []records.Trouble
	for f, more := (TroubleFilter{Limit: 4}), true; more; {
		page, err := v.Troubles(f)
		if err != nil {
			t.Fatal(err)
		}
		conflicts, objects = append(conflicts, page.Conflicts...), append(objects, page.Objects...)
		if page.MoreConflicts != max(0, len(all.Conflicts)-len(conflicts)) || page.MoreObjects != max(0, len(all.Objects)-len(objects)) {
			t.Errorf("after %d conflicts and %d objects, there are %d and %d more", len(conflicts), len(objects), page.MoreConflicts,
				page.MoreObjects)
		}
		more = page.Next+page.NextObjects != ""
		f.After, f.ObjectsAfter = page.Next, page.NextObjects
		if page.Next == "" {
			f.After = "1000"
		}
		if page.NextObjects == "" {
			f.ObjectsAfter = "1000"
		}
	}
	if !reflect.DeepEqual(conflicts, all.Conflicts) {
		t.Errorf("the pages have the conflicts\n%v, want\n%v", conflicts, all.Conflicts)
	}
	if !slices.Equal(objects, all.Objects) {
		t.Errorf("the pages have the objects\n%v, want\n%v", objects, all.Objects)
	}
	for _, f := range []TroubleFilter{{After: "x"}, {ObjectsAfter: "-1"}, {After: "99999999999999999999"}} {
		if _, err := v.Troubles(f); err == nil {
			t.Errorf("%+v is taken", f)
		}
	}
}

// TestElsewhereIsNoTrouble: nothing is wrong with what another server is to serve.
func TestElsewhereIsNoTrouble(t *testing.T) {
	c := &api.Cluster{Name: "c", UID: "c"}
	for k := range c.Listings {
		c.Listings[k] = api.Listed
	}
	dnsRecords := c.DNSRecords.Edit()
	dnsRecords.Set("n/aws", &api.DNSRecord{Meta: api.Meta{Name: "n/aws", Cluster: "c", UID: "aws", Created: 1}, RootHost: "shop.example.com"})
	c.DNSRecords = dnsRecords.Map()
	opt := &records.Options{Zones: []records.ZoneOptions{{Origin: "example.com.", TTL: 60, LoadBalancedTTL: 300}}}
	v := &View{Snapshot: records.Compile(nil, api.Objects{Clusters: []*api.Cluster{c}}, opt, time.Unix(1e9, 0))}
	told := slices.Collect(v.Snapshot.Troubles())
	if len(told) != 1 || !told[0].Elsewhere {
		t.Fatalf("its status says %+v", told)
	}
	if all, err := v.Troubles(TroubleFilter{}); err != nil || all.AllObjects != 0 || len(all.Objects) != 0 {
		t.Errorf("listed are %+v, %v", all, err)
	}
}

// TestWords: where several have said something of an address, each is told, and what checks find beneath it.
func TestWords(t *testing.T) {
	for _, c := range []struct {
		what, overrides string
		change          func(*api.Gateway)
		want            string
	}{
		{"nothing", "", func(*api.Gateway) {}, ""},
		{"the address", "target 192.0.2.1 up", func(*api.Gateway) {}, "the operator says up"},
		{"the Gateway", "gateway n/g0 drain", func(*api.Gateway) {}, "the operator says drain"},
		{
			"both", "target 192.0.2.1 down\ngateway n/g0 drain", func(*api.Gateway) {},
			"the operator says down; of its Gateway the operator says drain",
		},
		{"its status", "", func(g *api.Gateway) { g.Programmed = api.ConditionFalse }, "its Gateway is not programmed"},
		{
			"all", "target 192.0.2.1 up\ngateway n/g0 drain", func(g *api.Gateway) { g.Programmed = api.ConditionFalse },
			"the operator says up; of its Gateway the operator says drain; its Gateway is not programmed",
		},
	} {
		v := manyHosts(t, 1, c.overrides, func(_ int, g *api.Gateway, _ *api.DNSPolicy) { c.change(g) })
		for _, target := range v.Snapshot.Checks().All() {
			target.Cell.Set(health.Down)
		}
		tree, err := v.Tree("h0.example.com")
		if err != nil {
			t.Fatal(err)
		}
		x, err := v.Explain(Question{Name: "h0.example.com"})
		if err != nil {
			t.Fatal(err)
		}
		for _, all := range [][]records.AddressState{tree.Addrs, x.Steps[0].Addresses} {
			if len(all) != 1 {
				t.Fatalf("%s: %d addresses", c.what, len(all))
			}
			if got := WordsText(&all[0]); got != c.want {
				t.Errorf("%s: %q, want %q", c.what, got, c.want)
			}
			if len(all[0].Checks) != 1 || all[0].Checks[0].State != "down" ||
				!strings.HasPrefix(CheckText(&all[0].Checks[0]), "http://192.0.2.1:80/Up: down") {
				t.Errorf("%s: the checks are %+v", c.what, all[0].Checks)
			}
		}
	}
}

// TestSources: of data that nobody steers it is said which objects they come from.
func TestSources(t *testing.T) {
	c := &api.Cluster{Name: "c", UID: "c"}
	for k := range c.Listings {
		c.Listings[k] = api.Listed
	}
	zones, all := c.Zones.Edit(), c.Records.Edit()
	zone := &api.Zone{
		Meta: api.Meta{Name: "n/z", Cluster: "c", UID: "z"}, DomainName: "z.example.com.",
		Delegations: []api.Delegation{{Records: []api.RecordDelegation{{Pattern: "*"}}}},
	}
	zones.Set("n/z", zone)
	add := func(name, at, rtype, data string) {
		meta := api.Meta{Name: name, Cluster: "c", UID: name}
		all.Set(name, &api.Record{Meta: meta, DomainName: at, Type: rtype, Class: "IN", TTL: api.NoTTL, RData: data})
	}
	add("n/one", "a.z.example.com.", "TXT", "one")
	add("n/two", "a.z.example.com.", "MX", "10 mx.example.net.")
	for i := range 30 {
		add(fmt.Sprintf("n/many%02d", i), "many.z.example.com.", "TXT", fmt.Sprint(i))
	}
	c.Zones, c.Records = zones.Map(), all.Map()
	opt := &records.Options{Zones: []records.ZoneOptions{{
		Origin: "example.com.", TTL: 60,
		Nameservers: []records.Nameserver{{Name: "ns1.example.com."}},
	}}}
	v := &View{Snapshot: records.Compile(nil, api.Objects{Clusters: []*api.Cluster{c}}, opt, time.Unix(1e9, 0))}
	page, err := v.Names(Filter{})
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]string)
	for i := range page.Names {
		n := &page.Names[i]
		found[n.Name] = SourcesText(n)
		tree, err := v.Tree(n.Name)
		if err != nil || SourcesText(&tree.NameState) != found[n.Name] {
			t.Errorf("%s: the tree says %q, %v", n.Name, SourcesText(&tree.NameState), err)
		}
	}
	for name, want := range map[string]string{
		"example.com": "the Corefile", "z.example.com": "Zone n/z of cluster c, the Corefile",
		"a.z.example.com":    "Record n/two of cluster c, Record n/one of cluster c",
		"many.z.example.com": " and 27 more",
	} {
		if got, ok := found[name]; !ok || got != want && !strings.HasSuffix(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
