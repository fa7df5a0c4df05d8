package records

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// tellingOptions are those of one zone that tells owners, at names with the prefix.
func tellingOptions(prefix string) *Options {
	return &Options{Zones: []ZoneOptions{{Origin: "example.org.", TTL: 60, LoadBalancedTTL: 300, OwnerTXT: prefix}}, ZoneNamespaces: []string{"dns"}}
}

// TestForgedOwner: nobody but the server says who owns a host, however old what others have at the name is, and whether or
// not the host has an owner yet (rule 5.8). Who tries is told.
func TestForgedOwner(t *testing.T) {
	const heritage = "heritage=kuadrant,kuadrant/resource=dnspolicy/evil/x"
	forge := map[string]struct {
		kind api.Kind
		make func(w *world, name string)
	}{
		"a TXT Record":           {api.KindRecord, func(w *world, name string) { w.record("evil/x", name, "TXT", `"`+heritage+`"`, 1) }},
		"one of a numbered type": {api.KindRecord, func(w *world, name string) { w.record("evil/x", name, "TYPE16", `"`+heritage+`"`, 1) }},
		"a CNAME Record":         {api.KindRecord, func(w *world, name string) { w.record("evil/x", name, "CNAME", "forged.example.net.", 1) }},
		"TXT of a DNSEndpoint":   {api.KindDNSEndpoint, func(w *world, name string) { w.endpoints("evil/x", 1, apiEndpoint(name, "TXT", `"`+heritage+`"`)) }},
		"a CNAME of a DNSEndpoint": {api.KindDNSEndpoint, func(w *world, name string) {
			w.endpoints("evil/x", 1, apiEndpoint(name, "CNAME", "forged.example.net"))
		}},
		"a Zone": {api.KindZone, func(w *world, name string) {
			w.zone("evil/x", name, 1)
			w.record("evil/txt", name, "TXT", `"`+heritage+`"`, 1)
		}},
	}
	const told = "_owner-a-app.example.org."
	for what, f := range forge {
		w := sharedWorld()
		f.make(w, told)
		s := Compile(nil, w.objects(), tellingOptions("_owner-"), testTime)
		if got := ask(s, told, dns.TypeTXT); got != "NXDOMAIN" {
			t.Errorf("%s, where the host has no owner: %s", what, got)
		}
		w.gateway("victim/app", "app.example.org", api.Simple, 5, api.IPAddress, "192.0.2.1")
		s = Compile(s, w.objects(), tellingOptions("_owner-"), testTime)
		if got := ask(s, told, dns.TypeTXT); !strings.Contains(got, "dnspolicy/victim/app") || strings.Contains(got, "evil") || strings.Contains(got, "forged") {
			t.Errorf("%s: %s", what, got)
		}
		if text := verdictText(s, f.kind, "evil/x"); !strings.Contains(text, "owner-txt") {
			t.Errorf("%s is told %s", what, text)
		}
	}
}

// TestHostThatCouldTellOwners: a host whose name could tell of another one has addresses, and never a CNAME.
func TestHostThatCouldTellOwners(t *testing.T) {
	w := sharedWorld()
	w.gateway("victim/app", "app.example.org", api.Simple, 5, api.IPAddress, "192.0.2.1")
	w.gateway("evil/flat", "owner-a-app.example.org", api.WeightedGeo, 1, api.IPAddress, "192.0.2.66")
	w.gateway("evil/alias", "owner-aaaa-app.example.org", api.Simple, 1, api.HostnameAddress, "forged.example.net")
	s := Compile(nil, w.objects(), tellingOptions("owner-"), testTime)
	if got := ask(s, "owner-a-app.example.org.", dns.TypeTXT); !strings.Contains(got, "dnspolicy/victim/app") {
		t.Errorf("TXT: %s", got)
	}
	if got, want := ask(s, "owner-a-app.example.org.", dns.TypeA), "NOERROR\nowner-a-app.example.org.\t60\tIN\tA\t192.0.2.66"; got != want {
		t.Errorf("A: %s", got)
	}
	if text := verdictText(s, api.KindDNSPolicy, "evil/alias"); !strings.Contains(text, "owner-txt") {
		t.Error(text)
	}
}

// TestToldNames: each name that tells of a host is known to, and so is each between it and the host's zone.
func TestToldNames(t *testing.T) {
	for _, prefix := range []string{"_owner-", "_o.x-", "_o.", "a.b.c-"} {
		for _, host := range []string{"app.example.org.", "*.wild.example.org.", "b.klb.a.example.org."} {
			at := site{origin: "example.org.", corefile: &ZoneOptions{Origin: "example.org.", OwnerTXT: prefix}}
			data := steered{owner: &claim{by: &api.Meta{Name: "a/b"}, host: host}, set: &addressSet{rrs: []dns.RR{new(dns.A), new(dns.AAAA)}, v4: 1}}
			all := (&Zone{site: at}).ownerTXTs(host, &data)
			if len(all) != 2 {
				t.Fatalf("prefix %s: %d names of %s", prefix, len(all), host)
			}
			for _, txt := range all {
				if !at.tellsOwner(txt.name) {
					t.Errorf("prefix %s: %s tells of nobody", prefix, txt.name)
				}
				above, _ := rdata.Parent(host)
				for name, _ := rdata.Parent(txt.name); name != above; name, _ = rdata.Parent(name) {
					if !at.tellsBelow(name) {
						t.Errorf("prefix %s: nothing below %s is known to tell of %s", prefix, name, host)
					}
				}
				if at.tellsBelow(host) || at.tellsBelow(txt.name) {
					t.Errorf("prefix %s: %s or %s is kept for names below it", prefix, host, txt.name)
				}
			}
		}
	}
	none := site{origin: "example.org.", corefile: &ZoneOptions{Origin: "example.org."}}
	if none.tellsOwner("a-app.example.org.") || none.tellsBelow("a-app.example.org.") {
		t.Error("without a prefix a name is kept")
	}
}

// TestZonesBesideToldOwners: a Zone that comes and goes has no group looked at for what tells of its owner (rule 8.4), and takes
// none of that (rule 5.8).
func TestZonesBesideToldOwners(t *testing.T) {
	opt := tellingOptions("_owner.")
	w := sharedWorld()
	for i := range 50 {
		w.gateway(fmt.Sprintf("shop/g%d", i), fmt.Sprintf("h%d.example.org", i), api.Simple, 5, api.IPAddress, "192.0.2.1")
	}
	s := Compile(nil, w.objects(), opt, testTime)
	step := func(what string, renewed ...string) {
		t.Helper()
		in := w.objects()
		s = Compile(s, in, opt, testTime)
		if got, want := dump(s), dump(Compile(nil, in, opt, testTime)); got != want {
			t.Errorf("%s: step by step it is not what it is from nothing: %s", what, differing(got, want))
		}
		if got := s.Renewed(); !slices.Equal(got, renewed) {
			t.Errorf("%s: the groups %q are made anew, want %q", what, got, renewed)
		}
	}
	w.zone("dns/other", "other.example.org.", 6)
	step("a Zone elsewhere")
	w.zone("dns/a-h7", "a-h7.example.org.", 6)
	step("a Zone that would take a name")
	if got := ask(s, "_owner.a-h7.example.org.", dns.TypeTXT); !strings.Contains(got, "dnspolicy/shop/g7") {
		t.Errorf("below the Zone: %s", got)
	}
	w.setZone(0, "dns/a-h7", nil)
	step("and is gone")
	if got := ask(s, "_owner.a-h7.example.org.", dns.TypeTXT); !strings.Contains(got, "dnspolicy/shop/g7") {
		t.Errorf("without it: %s", got)
	}
}
