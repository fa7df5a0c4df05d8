package records

import (
	"fmt"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// dnsHasZones lets only the namespace dns have Zones that nobody delegates.
var dnsHasZones = &Options{Zones: []ZoneOptions{{Origin: "example.org.", TTL: 60, LoadBalancedTTL: 300}}, ZoneNamespaces: []string{"dns"}}

// sharedWorld has one Zone that lets everybody have all names and zones in it.
func sharedWorld() *world {
	w := newWorld("c")
	w.zone("dns/z", "example.org.", 0, api.Delegation{Zones: []string{"*"}, Records: []api.RecordDelegation{{Pattern: "*"}}})
	return w
}

// acquire1 puts it on record that an object has a name.
func (w *world) acquire1(name string, kind api.Kind, by string) {
	w.acquireAs(name, api.Owner{Cluster: "c", Kind: kind, Name: by})
}

// acquireAs puts it on record who has a name.
func (w *world) acquireAs(name string, owner api.Owner) {
	e := w.acquired.Edit()
	e.Set(name, owner)
	w.acquired, w.acquiredChanged = e.Map(), append(w.acquiredChanged, name)
}

// TestManyWantsHideNone: a namespace that wants many names in its own Zone does not make the Zone take those
// of another's older object (rule 5.4).
func TestManyWantsHideNone(t *testing.T) {
	w := sharedWorld()
	w.gateway("victim/app", "app.shop.example.org", api.Simple, 1, api.IPAddress, "192.0.2.1")
	w.endpoints("victim/e", 1, endpoint("mine.shop.example.org.", "A", "192.0.2.2"))
	for i := range 64 { // as many as are kept of one name
		w.gateway(fmt.Sprintf("evil/g%d", i), fmt.Sprintf("g%d.shop.example.org", i), api.Simple, 2, api.IPAddress, "192.0.2.66")
	}
	w.zone("evil/z", "shop.example.org.", 3, api.Delegation{Namespaces: []string{"evil"}, Records: []api.RecordDelegation{{Pattern: "*"}}})
	s := Compile(nil, w.objects(), dnsHasZones, testTime)
	for name, want := range map[string]string{"app.shop.example.org.": "192.0.2.1", "mine.shop.example.org.": "192.0.2.2"} {
		if got := ask(s, name, dns.TypeA); !strings.Contains(got, want) {
			t.Errorf("%s is %s, and was %s before 64 older names of the Zone's own namespace", name, got, want)
		}
	}
}

// TestForeignDNSRecordKeepsNoZone: a DNSRecord that this server does not serve, such as one of another provider,
// has no name here, and keeps no Zone from being served (rules 5.4 and 6.10).
func TestForeignDNSRecordKeepsNoZone(t *testing.T) {
	for what, rec := range map[string]*api.DNSRecord{
		"another server's":             {RootHost: "www.shop.example.org."},
		"another provider's":           {RootHost: "www.shop.example.org.", ZoneID: "example.org", Provider: api.Provider{Kind: "ExternalDNS", Name: "x"}},
		"of a zone that is not served": {Meta: api.Meta{Labels: map[string]string{api.LabelZoneName: "example.net"}}, RootHost: "www.shop.example.org."},
		"refused":                      {Meta: api.Meta{Labels: map[string]string{api.LabelZoneName: "example.org"}}, RootHost: "www.shop.example.org.", Invalid: "not acceptable"},
		"outside its rootHost":         {Meta: api.Meta{Labels: map[string]string{api.LabelZoneName: "example.org"}}, RootHost: "other.example.org."},
	} {
		w := sharedWorld()
		rec.Created = 1
		rec.Endpoints = []api.Endpoint{endpoint("www.shop.example.org.", "A", "192.0.2.66")}
		w.setDNSRecord(0, "evil/r", rec)
		w.zone("victim/z", "shop.example.org.", 2)
		s := Compile(nil, w.objects(), dnsHasZones, testTime)
		if text := verdictText(s, api.KindZone, "victim/z"); strings.Contains(text, reasonConflicted) {
			t.Errorf("a DNSRecord that is %s: %s", what, text)
		}
	}
}

// chainOf are the endpoints of a chain with one member.
func chainOf(host, address string) []api.Endpoint {
	return []api.Endpoint{
		endpoint(host, "CNAME", "klb."+host),
		endpoint("klb."+host, "CNAME", "one.klb."+host),
		endpoint("one.klb."+host, "A", address),
	}
}

// TestTextEmptiesNoPool: a younger TXT Record of another namespace does not take the hostnames from a host, whichever
// of the objects that share the host has them (rule 5.4, decision 23).
func TestTextEmptiesNoPool(t *testing.T) {
	w := sharedWorld()
	w.gateway("victim/a", "app.example.org", api.WeightedGeo, 1, api.IPAddress, "192.0.2.1")
	w.gateway("victim/b", "app.example.org", api.WeightedGeo, 2, api.HostnameAddress, "lb.example.net")
	targets := func(s *Snapshot) (n int) {
		for random := range uint64(64) {
			var a Answer
			s.Lookup(s.Zone("app.example.org."), &Query{Name: "app.example.org.", Owner: "app.example.org.", Type: dns.TypeA, Random: random << 58}, &a)
			if strings.Contains(fmt.Sprint(a.Answer), "lb.example.net.") {
				n++
			}
		}
		return n
	}
	s := Compile(nil, w.objects(), dnsHasZones, testTime)
	if targets(s) == 0 {
		t.Fatal("the hostname is never answered")
	}
	w.record("evil/txt", "app.example.org.", "TXT", `"evil"`, 9)
	s = Compile(s, w.objects(), dnsHasZones, testTime)
	if targets(s) == 0 {
		t.Errorf("a younger TXT Record has taken the hostname from the host: %s", verdictText(s, api.KindRecord, "evil/txt"))
	}
}

// TestYoungerCutHidesNoEndpointData: NS and DNAME Records lose to an older object of another namespace whose names they
// would hide, whatever types it has (rule 5.4, decision 13).
func TestYoungerCutHidesNoEndpointData(t *testing.T) {
	for _, hider := range [][3]string{
		{"mail.example.org.", "NS", "ns.example.net."},
		{"x.mail.example.org.", "NS", "ns.example.net."},
		{"mail.example.org.", "DNAME", "example.net."},
	} {
		w := sharedWorld()
		w.endpoints("victim/e", 1, endpoint("a.x.mail.example.org.", "MX", "10 mx.example.net"), endpoint("mail.example.org.", "MX", "10 mx.example.net"))
		w.record("evil/r", hider[0], hider[1], hider[2], 9)
		s := Compile(nil, w.objects(), dnsHasZones, testTime)
		if got := ask(s, "a.x.mail.example.org.", dns.TypeMX); !strings.Contains(got, "10 mx.example.net.") {
			t.Errorf("a younger %s at %s: the DNSEndpoint's MX is %q", hider[1], hider[0], got)
		}
	}
}

// TestYoungerAddressTakesNoMail: an address that comes later does not take the older MX records of another namespace's
// DNSEndpoint away (rule 5.4).
func TestYoungerAddressTakesNoMail(t *testing.T) {
	w := sharedWorld()
	w.endpoints("victim/e", 1, endpoint("mail.example.org.", "MX", "10 mx.example.net"))
	w.endpoints("evil/e", 9, endpoint("mail.example.org.", "A", "192.0.2.66"))
	s := Compile(nil, w.objects(), dnsHasZones, testTime)
	if got := ask(s, "mail.example.org.", dns.TypeMX); !strings.Contains(got, "mx.example.net.") {
		t.Errorf("with a younger address at it, the name's MX is %q: %s", got, verdictText(s, api.KindDNSEndpoint, "victim/e"))
	}
}

// TestYoungerCutAboveZone: NS and DNAME records of a namespace do not stand above the older Zone of another one: resolvers that
// come from above would follow them, and a transfer would lack the Zone's own NS (rules 5.4 and 6.6).
func TestYoungerCutAboveZone(t *testing.T) {
	for _, kind := range []string{"NS", "DNAME"} {
		w := sharedWorld()
		w.zone("victim/z", "app.shop.example.org.", 1, api.Delegation{Namespaces: []string{"victim"}, Records: []api.RecordDelegation{{Pattern: "*"}, {Pattern: "@"}}})
		w.record("victim/ns", "app.shop.example.org.", "NS", "ns.victim.example.net.", 1)
		w.record("evil/r", "shop.example.org.", kind, "ns.evil.example.net.", 9)
		s := Compile(nil, w.objects(), dnsHasZones, testTime)
		if got := ask(s, "shop.example.org.", dns.TypeA); strings.Contains(got, "referral") {
			t.Errorf("%s: shop.example.org, above the victim's Zone, is %s", kind, got)
		}
		found := false
		for rrs := range s.Zone("example.org.").Transfer() {
			found = found || strings.Contains(fmt.Sprint(rrs), "ns.victim.example.net.")
		}
		if !found {
			t.Errorf("%s: the transfer of the zone above lacks the NS of the victim's Zone", kind)
		}
	}
}

// TestKeptZonesTakeNoOtherTypes: once acquisitions are on record, a Zone takes no more from older objects than without:
// data that nobody acquires, and names below klb, are taken neither (rule 5.4, decision 22).
func TestKeptZonesTakeNoOtherTypes(t *testing.T) {
	for what, c := range map[string]struct {
		victim func(w *world)
		zone   string
		name   string
		qtype  uint16
	}{
		"MX Record":          {func(w *world) { w.record("victim/mx", "mail.example.org.", "MX", "10 mx.example.net.", 1) }, "mail.example.org.", "mail.example.org.", dns.TypeMX},
		"TXT Record":         {func(w *world) { w.record("victim/t", "_acme-challenge.app.example.org.", "TXT", `"x"`, 1) }, "app.example.org.", "_acme-challenge.app.example.org.", dns.TypeTXT},
		"TXT of DNSEndpoint": {func(w *world) { w.endpoints("victim/e", 1, endpoint("t.app.example.org.", "TXT", `"x"`)) }, "app.example.org.", "t.app.example.org.", dns.TypeTXT},
		"chain of DNSEndpoint": {func(w *world) {
			w.endpoints("victim/e", 1, chainOf("app.example.org.", "192.0.2.1")...)
			w.acquire1("app.example.org.", api.KindDNSEndpoint, "victim/e")
		}, "klb.app.example.org.", "app.example.org.", dns.TypeA},
	} {
		w := sharedWorld()
		c.victim(w)
		w.gateway("other/app", "other.example.org", api.Simple, 1, api.IPAddress, "192.0.2.9")
		w.acquire1("other.example.org.", api.KindDNSPolicy, "other/app")
		before := Compile(nil, w.objects(), dnsHasZones, testTime)
		w.zone("evil/z", c.zone, 9)
		after := Compile(nil, w.objects(), dnsHasZones, testTime)
		if was, is := ask(before, c.name, c.qtype), ask(after, c.name, c.qtype); was != is {
			t.Errorf("%s: a younger Zone %s has made %s out of %s", what, c.zone, is, was)
		}
	}
}

// TestKeptRecordsAreJoined: a Record that joins others at a name, which are the owner on record, does not lose
// the name for them (rules 5.3 and 5.4).
func TestKeptRecordsAreJoined(t *testing.T) {
	w := newWorld("c")
	w.record("victim/r", "app.example.org.", "A", "192.0.2.1", 5)
	first := Compile(nil, w.objects(), dnsHasZones, testTime)
	owner, _ := first.Owner("app.example.org.")
	w.acquire1("app.example.org.", owner.Kind, owner.Name)
	w.gateway("evil/g", "app.example.org", api.Simple, 1, api.IPAddress, "192.0.2.66")
	s := Compile(first, w.objects(), dnsHasZones, testTime)
	if got := ask(s, "app.example.org.", dns.TypeA); !strings.Contains(got, "192.0.2.1") || strings.Contains(got, "192.0.2.66") {
		t.Fatalf("the name on record is %s", got)
	}
	w.record("evil/r", "app.example.org.", "A", "192.0.2.67", 2)
	s = Compile(s, w.objects(), dnsHasZones, testTime)
	if got := ask(s, "app.example.org.", dns.TypeA); !strings.Contains(got, "192.0.2.1\n") && !strings.HasSuffix(got, "192.0.2.1") {
		t.Errorf("with one more Record the name is %s", got)
	}
}

// TestKeptCutStays: an object that is older, and moves its host below NS records after them, does not take them
// away once it is on record who has had what (rule 5.4). Where that is not, age alone decides.
func TestKeptCutStays(t *testing.T) {
	for _, kept := range []bool{true, false} {
		w := sharedWorld()
		w.record("victim/ns", "shop.example.org.", "NS", "ns.example.net.", 5)
		w.gateway("evil/g", "elsewhere.example.org", api.Simple, 1, api.IPAddress, "192.0.2.66")
		s := Compile(nil, w.objects(), dnsHasZones, testTime)
		if got := ask(s, "a.shop.example.org.", dns.TypeA); !strings.Contains(got, "referral") {
			t.Fatalf("below the cut it is %s", got)
		}
		owner, ok := s.Owner(api.CutKey("shop.example.org."))
		if !ok || owner.Kind != api.KindZone || owner.Name != "dns/z" {
			t.Fatalf("the cut is that of %+v", owner)
		}
		if kept {
			w.acquire1(api.CutKey("shop.example.org."), owner.Kind, owner.Name)
		}
		w.acquire1("elsewhere.example.org.", api.KindDNSPolicy, "evil/g")
		w.gateway("evil/g", "x.shop.example.org", api.Simple, 1, api.IPAddress, "192.0.2.66")
		s = Compile(s, w.objects(), dnsHasZones, testTime)
		if got := ask(s, "a.shop.example.org.", dns.TypeA); strings.Contains(got, "referral") != kept {
			t.Errorf("on record %v: an older object has moved below the cut: %s", kept, got)
		}
		if _, is := s.Owner(api.CutKey("shop.example.org.")); is != kept {
			t.Errorf("on record %v: the cut has an owner: %v", kept, is)
		}
	}
}
