package records

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestGrants: who may publish NS records, DNAMEs and other types where (rules 5.1 and 6.3).
func TestGrants(t *testing.T) {
	zone := func(ds ...api.Delegation) *site {
		return &site{origin: "example.org.", object: &api.Zone{Meta: api.Meta{Name: "dns/z", Cluster: "c"}, Delegations: ds}, corefile: new(ZoneOptions)}
	}
	all := api.Delegation{Records: []api.RecordDelegation{{Pattern: "*"}, {Pattern: "@"}}}
	ns := api.Delegation{Namespaces: []string{"team"}, Records: []api.RecordDelegation{{Pattern: "*", Types: []string{"NS", "DNAME"}}, {Pattern: "@", Types: []string{"NS"}}}}
	bare := &site{origin: "example.org.", corefile: new(ZoneOptions)}
	to := func(domain string, types ...string) Publish {
		return Publish{Domain: domain, Namespaces: []string{"team"}, Types: types}
	}
	everybody := Publish{Domain: "example.org.", Namespaces: []string{"*"}}
	for _, c := range []struct {
		what            string
		at              *site
		opt             Options
		by, name, rtype string
		may             bool
	}{
		{"empty types", zone(all), Options{}, "team", "a.example.org.", "TXT", true},
		{"empty types", zone(all), Options{}, "team", "a.example.org.", "NS", false},
		{"empty types", zone(all), Options{}, "team", "a.example.org.", "DNAME", false},
		{"a delegation of NS and DNAME", zone(ns), Options{}, "team", "a.example.org.", "NS", true},
		{"a delegation of NS and DNAME", zone(ns), Options{}, "team", "a.example.org.", "DNAME", true},
		{"a delegation of NS and DNAME", zone(ns), Options{}, "team", "a.example.org.", "A", false},
		{"a delegation of NS and DNAME", zone(ns), Options{}, "other", "a.example.org.", "NS", false},
		{"a delegation of NS at the apex", zone(ns), Options{}, "team", "example.org.", "NS", false},
		{"the Zone's namespace", zone(), Options{}, "dns", "example.org.", "NS", true},
		{"the Zone's namespace", zone(), Options{}, "dns", "a.example.org.", "NS", true},
		{"the Zone's namespace", zone(), Options{}, "dns", "a.example.org.", "DNAME", true},
		{"the Zone's namespace", zone(), Options{}, "dns", "a.example.org.", "CAA", true},
		{"the Zone's namespace", zone(), Options{}, "dns", "a.example.org.", "A", false},
		{"the Zone's namespace", zone(), Options{}, "dns", "a.example.org.", "CNAME", false},
		{"zone-namespaces, where there is a Zone", zone(), Options{ZoneNamespaces: []string{"team"}}, "team", "a.example.org.", "NS", false},
		{"an open zone", bare, Options{}, "team", "a.example.org.", "A", true},
		{"an open zone", bare, Options{}, "team", "a.example.org.", "NS", false},
		{"an open zone", bare, Options{}, "team", "a.example.org.", "DNAME", false},
		{"an open zone", bare, Options{}, "team", "example.org.", "NS", false},
		{"zone-namespaces", bare, Options{ZoneNamespaces: []string{"team"}}, "team", "example.org.", "NS", true},
		{"zone-namespaces", bare, Options{ZoneNamespaces: []string{"team"}}, "team", "a.example.org.", "DNAME", true},
		{"zone-namespaces, and another line", bare, Options{ZoneNamespaces: []string{"dns"}, Publish: []Publish{to("example.org.")}}, "dns", "a.example.org.", "TXT", true},
		{"zone-namespaces, and another line", bare, Options{ZoneNamespaces: []string{"dns"}, Publish: []Publish{to("example.org.")}}, "dns", "a.example.org.", "A", false},
		{"a line", bare, Options{Publish: []Publish{to("example.org.")}}, "team", "a.example.org.", "NS", false},
		{"a line with types", bare, Options{Publish: []Publish{to("example.org.", "A", "NS")}}, "team", "a.example.org.", "NS", true},
		{"a line with types", bare, Options{Publish: []Publish{to("example.org.", "A", "NS")}}, "team", "a.example.org.", "TXT", false},
		{"a line with types", bare, Options{Publish: []Publish{to("example.org.", "NS")}}, "team", "example.org.", "NS", false},
		{"two lines of one domain", bare, Options{Publish: []Publish{everybody, to("example.org.", "NS")}}, "team", "a.example.org.", "A", true},
		{"two lines of one domain", bare, Options{Publish: []Publish{everybody, to("example.org.", "NS")}}, "team", "a.example.org.", "NS", true},
		{"two lines of one domain", bare, Options{Publish: []Publish{everybody, to("example.org.", "NS")}}, "other", "a.example.org.", "NS", false},
		{"a longer line", bare, Options{Publish: []Publish{everybody, to("a.example.org.")}}, "other", "a.example.org.", "A", false},
	} {
		p := c.opt.mayPublish(c.at, &api.Meta{Name: c.by + "/x", Cluster: "c"}, c.name, c.rtype)
		if (p == nil) != c.may {
			t.Errorf("%s: %s at %s by %s: %+v", c.what, c.rtype, c.name, c.by, p)
		}
		if p != nil && c.rtype == "NS" && c.name != c.at.origin && !strings.Contains(p.message, "NS") {
			t.Errorf("%s: the message does not say what is missing: %s", c.what, p.message)
		}
	}
}

// TestGrantHidesHosts: NS records and DNAMEs of whoever was granted them hide older hosts, whose objects say by what while that is so; the addresses of the
// servers are given with the referral, whichever object has them (rule 5.1).
func TestGrantHidesHosts(t *testing.T) {
	w := newWorld("c")
	w.zone("dns/z", "example.org.", 0, api.Delegation{Records: []api.RecordDelegation{{Pattern: "*"}}},
		api.Delegation{Namespaces: []string{"team"}, Records: []api.RecordDelegation{{Pattern: "*", Types: []string{"NS", "DNAME"}}}})
	w.gateway("shop/app", "app.sub.example.org", api.Simple, 1, api.IPAddress, "192.0.2.1")
	w.gateway("shop/steered", "www.sub.example.org", api.WeightedGeo, 1, api.IPAddress, "192.0.2.2")
	w.endpoints("shop/e", 1, apiEndpoint("e.sub.example.org.", "A", "192.0.2.3"))
	w.endpoints("team/glue", 1, apiEndpoint("ns.sub.example.org.", "A", "192.0.2.53"))
	hosts := []api.Ref{
		{Kind: api.KindDNSPolicy, Name: "shop/app"}, {Kind: api.KindDNSPolicy, Name: "shop/steered"}, {Kind: api.KindDNSEndpoint, Name: "shop/e"},
	}
	var s *Snapshot
	step := func(what, by string) {
		t.Helper()
		s = w.step(t, s, dnsHasZones)
		for _, ref := range hosts {
			v := s.Verdict("c", ref)
			if _, why := v.Problem(); strings.Contains(why, by+" record") != (by != "") || by == "" && why != "" {
				t.Errorf("%s: %s is told %q", what, ref.Name, why)
			}
			if !slices.ContainsFunc(s.Changed(), func(r Reported) bool { return r.Ref == ref && r.Verdict.Equal(v) }) {
				t.Errorf("%s: %s is not reported", what, ref.Name)
			}
		}
	}
	step("at first", "")
	w.endpoints("team/cut", 9, apiEndpoint("sub.example.org.", "NS", "ns.sub.example.org"))
	step("a cut", "NS")
	a := answerOf(s, "app.sub.example.org.", dns.TypeA)
	if !a.Referral || len(a.Extra) != 1 || !strings.Contains(a.Extra[0].String(), "192.0.2.53") {
		t.Errorf("below the cut: referral %v with %v", a.Referral, a.Extra)
	}
	if said := verdictText(s, api.KindDNSEndpoint, "team/glue"); !strings.Contains(said, "Ready=True Served") {
		t.Errorf("the glue is told %s", said)
	}
	w.setDNSEndpoint(0, "team/cut", nil)
	step("no cut any more", "")
	w.record("team/away", "sub.example.org.", "DNAME", "example.net.", 9)
	step("a DNAME", "DNAME")
}

// TestZoneOfTakenNames: a Zone below another is refused while the registry has names in it for other namespaces than its own and that of the Zone above, and is
// told which; it is served, step by step as from nothing, when they go, and once it has a line of its own they do not matter (rule 6.5).
func TestZoneOfTakenNames(t *testing.T) {
	w := sharedWorld()
	w.zone("team/z", "sub.example.org.", 9, everything...)
	of := api.Ref{Kind: api.KindZone, Name: "team/z"}
	var s *Snapshot
	served := func(what string, want bool) {
		t.Helper()
		s = w.step(t, s, dnsHasZones)
		if got := s.Zone("sub.example.org.").origin == "sub.example.org."; got != want {
			t.Errorf("%s: served %v: %s", what, got, verdictText(s, of.Kind, of.Name))
		}
	}
	line := func(key, by string) {
		if by == "" {
			e := w.acquired.Edit()
			e.Delete(key)
			w.acquired, w.acquiredChanged = e.Map(), append(w.acquiredChanged, key)
			return
		}
		w.acquireAs(key, api.Owner{Cluster: "c", Kind: api.KindDNSPolicy, Name: by, UID: "u"})
	}
	served("nobody has a name", true)
	line("beside.example.org.", "shop/g")
	line("a.sub.example.org.", "team/g")
	line("b.sub.example.org.", "dns/g")
	served("its own namespace and that of the Zone above have", true)
	for i := range 5 {
		line(fmt.Sprintf("h%d.sub.example.org.", i), "shop/g")
	}
	served("another has", false)
	if said := verdictText(s, of.Kind, of.Name); !strings.Contains(said, "Ready=False NamesTaken") || !strings.Contains(said, "h0.sub.example.org of DNSPolicy shop/g") || !strings.Contains(said, "and 2 more") {
		t.Errorf("it is told %s", said)
	}
	for i := range 4 {
		line(fmt.Sprintf("h%d.sub.example.org.", i), "")
	}
	served("one is left", false)
	line("h4.sub.example.org.", "")
	served("none is left", true)
	line("*.sub.example.org.", "shop/g")
	served("a wildcard", false)
	line("*.sub.example.org.", "")
	line(api.ZoneKey("x.sub.example.org."), "shop/z")
	served("a Zone in it", false)
	w.acquireAs(api.ZoneKey("sub.example.org."), api.Owner{Cluster: "c", Kind: api.KindZone, Name: "team/z", UID: "before"})
	served("it has a line, of the Zone of that name before", true)
	w.zone("rival/z", "sub.example.org.", 1, everything...)
	served("an older Zone of the name", true)
	if said := verdictText(s, api.KindZone, "rival/z"); !strings.Contains(said, "NamesTaken") {
		t.Errorf("an older Zone without a line is told %s", said)
	}
	w.zone("dns/top", "example.org.", 0, everything...)
	line("x.example.org.", "shop/g")
	served("the Zone above is none that another delegates", true)
}
