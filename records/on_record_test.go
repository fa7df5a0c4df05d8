package records

import (
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestOldZoneMovesOntoRecordedHost: an older Zone that changes its domainName takes no host that is on record as another's (rule 5.4).
func TestOldZoneMovesOntoRecordedHost(t *testing.T) {
	for _, zone := range []string{"app.shop.example.org.", "shop.example.org."} {
		w := sharedWorld()
		w.zone("evil/z", "junk.example.org.", 1)
		w.gateway("victim/app", "app.shop.example.org", api.WeightedGeo, 5, api.IPAddress, "192.0.2.1")
		s := Compile(nil, w.objects(), dnsHasZones, testTime)
		w.acquire1("app.shop.example.org.", api.KindDNSPolicy, "victim/app")
		w.acquire1(api.ZoneKey("junk.example.org."), api.KindZone, "evil/z")
		s = Compile(s, w.objects(), dnsHasZones, testTime)
		was := ask(s, "app.shop.example.org.", dns.TypeA)
		w.zone("evil/z", zone, 1)
		s = Compile(s, w.objects(), dnsHasZones, testTime)
		if is := ask(s, "app.shop.example.org.", dns.TypeA); was != is {
			t.Errorf("an older Zone has moved to %s: the host was %s and is %s: %s", zone, was, is, verdictText(s, api.KindDNSPolicy, "victim/app"))
		}
	}
}

// TestRecordedAddressTakesNoMail: a younger address takes no older MX of another namespace away, and does not when its own name has come to be on record
// either (rule 5.4, decision 20).
func TestRecordedAddressTakesNoMail(t *testing.T) {
	w := sharedWorld()
	w.endpoints("victim/e", 1, apiEndpoint("mail.example.org.", "MX", "10 mx.example.net"))
	w.endpoints("evil/e", 9, apiEndpoint("mail.example.org.", "A", "192.0.2.66"))
	s := Compile(nil, w.objects(), dnsHasZones, testTime)
	owner, ok := s.Owner("mail.example.org.")
	if !ok {
		t.Fatal("nobody has the name")
	}
	w.acquire1("mail.example.org.", owner.Kind, owner.Name)
	s = Compile(s, w.objects(), dnsHasZones, testTime)
	if got := ask(s, "mail.example.org.", dns.TypeMX); !strings.Contains(got, "mx.example.net.") {
		t.Errorf("with a younger address on record, the name's MX is %q: %s", got, verdictText(s, api.KindDNSEndpoint, "victim/e"))
	}
}

// TestRecordedHostnameTakesNoText: a younger host does not take older Records at and below it once it is on record (rule 5.4: what is
// older stands).
func TestRecordedHostnameTakesNoText(t *testing.T) {
	for _, name := range []string{"app.example.org.", "klb.app.example.org."} {
		w := sharedWorld()
		w.record("victim/t", name, "TXT", `"mine"`, 1)
		w.gateway("evil/g", "app.example.org", api.WeightedGeo, 9, api.HostnameAddress, "lb.example.net")
		s := Compile(nil, w.objects(), dnsHasZones, testTime)
		was := ask(s, name, dns.TypeTXT)
		owner, ok := s.Owner("app.example.org.")
		if !ok {
			t.Logf("nobody has the host, which is %s", ask(s, "app.example.org.", dns.TypeA))
			continue
		}
		w.acquire1("app.example.org.", owner.Kind, owner.Name)
		s = Compile(s, w.objects(), dnsHasZones, testTime)
		if is := ask(s, name, dns.TypeTXT); was != is {
			t.Errorf("a younger host has come to be on record: the text at %s was %s and is %s", name, was, is)
		}
	}
}

var dnsHasZonesAndTells = &Options{Zones: []ZoneOptions{{Origin: "example.org.", TTL: 60, LoadBalancedTTL: 300, OwnerTXT: "_o-"}}, ZoneNamespaces: []string{"dns"}}

// TestWildcardTellsNoOwner: a wildcard does not answer for names at which the server tells owners (rule 5.8).
func TestWildcardTellsNoOwner(t *testing.T) {
	w := sharedWorld()
	w.gateway("victim/app", "app.example.org", api.Simple, 1, api.IPAddress, "192.0.2.1")
	w.record("evil/t", "*.example.org.", "TXT", `"heritage=kuadrant,kuadrant/resource=dnspolicy/evil/app"`, 9)
	s := Compile(nil, w.objects(), dnsHasZonesAndTells, testTime)
	for _, name := range []string{"_o-a-app.example.org.", "_o-aaaa-app.example.org.", "_o-cname-app.example.org."} {
		if got := ask(s, name, dns.TypeTXT); strings.Contains(got, "evil") {
			t.Errorf("%s says %s", name, got)
		}
	}
}

// TestTwoHostsTellOneName: two hosts whose owners would be told at one name do not tell each other's, and one that goes does not take
// what is said of the other with it (rules 5.8 and 8.1).
func TestTwoHostsTellOneName(t *testing.T) {
	for _, other := range []string{"c*.example.org.", "x.*.example.org."} {
		host := strings.Replace(other, "*.", "_wildcard.", 1)
		w := sharedWorld()
		w.endpoints("victim/e", 1, apiEndpoint(host, "A", "192.0.2.1"))
		s := Compile(nil, w.objects(), dnsHasZonesAndTells, testTime)
		name := "_o-a-" + host
		was := ask(s, name, dns.TypeTXT)
		w.endpoints("evil/e", 9, apiEndpoint(other, "A", "192.0.2.66"))
		s = Compile(s, w.objects(), dnsHasZonesAndTells, testTime)
		if is := ask(s, name, dns.TypeTXT); was != is {
			t.Errorf("with the host %s, %s was %s and is %s", other, name, was, is)
		}
		w.setDNSEndpoint(0, "evil/e", nil)
		in := w.objects()
		s = Compile(s, in, dnsHasZonesAndTells, testTime)
		if got, want := dump(s), dump(Compile(nil, in, dnsHasZonesAndTells, testTime)); got != want {
			t.Errorf("step by step it is not what it is from nothing: %s", differing(got, want))
		}
	}
}

// TestZoneTellsNoOwnerOfOthers: a Zone, NS records or a DNAME above a name at which the server tells who owns a host do not say it instead, where the
// prefix has several labels (rule 5.8).
func TestZoneTellsNoOwnerOfOthers(t *testing.T) {
	opt := &Options{Zones: []ZoneOptions{{Origin: "example.org.", TTL: 60, LoadBalancedTTL: 300, OwnerTXT: "owner.t-"}}, ZoneNamespaces: []string{"dns"}}
	for _, by := range []string{"Zone", "NS", "DNAME"} {
		w := sharedWorld()
		w.gateway("victim/app", "app.example.org", api.Simple, 1, api.IPAddress, "192.0.2.1")
		s := Compile(nil, w.objects(), opt, testTime)
		was := ask(s, "owner.t-a-app.example.org.", dns.TypeTXT)
		if by == "Zone" {
			w.zone("evil/z", "t-a-app.example.org.", 9, api.Delegation{Records: []api.RecordDelegation{{Pattern: "*"}}})
			w.record("evil/t", "owner.t-a-app.example.org.", "TXT", `"heritage=kuadrant,kuadrant/resource=dnspolicy/evil/app"`, 9)
		} else {
			w.record("dns/t", "t-a-app.example.org.", by, "ns.example.net.", 9)
		}
		s = Compile(s, w.objects(), opt, testTime)
		if is := ask(s, "owner.t-a-app.example.org.", dns.TypeTXT); was != is {
			t.Errorf("%s: who owns the host was %s and is %s", by, was, is)
		}
	}
}
