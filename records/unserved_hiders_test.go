package records

import (
	"fmt"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestUncontestedHider: NS and DNAME records which stand only because what is before them at the name is not served there contend with what they hide,
// as all others do (rules 5.3 and 5.4, decision 13).
func TestUncontestedHider(t *testing.T) {
	for what, before := range map[string]func(w *world){
		"a CNAME Record, where the addresses are the owner's": func(w *world) {
			w.gateway("evil/g", "h.example.org", api.Simple, 3, api.IPAddress, "192.0.2.66")
			w.record("evil/c", "h.example.org.", "CNAME", "lb.example.net.", 4)
		},
		"as many Records as there may be, where the addresses are the owner's": func(w *world) {
			w.gateway("evil/g", "h.example.org", api.Simple, 3, api.IPAddress, "192.0.2.66")
			for i := range maxAtName {
				w.record(fmt.Sprintf("evil/a%d", i), "h.example.org.", "A", fmt.Sprintf("192.0.%d.%d", i/250, i%250+1), 4)
			}
		},
	} {
		for _, rtype := range []string{"NS", "DNAME"} {
			w := sharedWorld()
			w.gateway("victim/g", "x.h.example.org", api.Simple, 1, api.IPAddress, "192.0.2.1")
			was := ask(Compile(nil, w.objects(), dnsHasZones, testTime), "x.h.example.org.", dns.TypeA)
			before(w)
			w.record("evil/d", "h.example.org.", rtype, "ns.example.net.", 5)
			s := Compile(nil, w.objects(), dnsHasZones, testTime)
			if is := ask(s, "x.h.example.org.", dns.TypeA); was != is {
				t.Errorf("a younger %s behind %s: the host was %s and is %s; the verdict on the record: %s", rtype, what, was, is, verdictText(s, api.KindRecord, "evil/d"))
			}
		}
	}
}

// TestCutBehindAliasAtHost: nor do two younger Records at another's host, a CNAME and NS, take the host (rules 5.3 and 5.4).
func TestCutBehindAliasAtHost(t *testing.T) {
	w := sharedWorld()
	w.gateway("victim/g", "h.example.org", api.Simple, 1, api.IPAddress, "192.0.2.1")
	s := Compile(nil, w.objects(), dnsHasZones, testTime)
	was := ask(s, "h.example.org.", dns.TypeA)
	w.record("evil/a", "h.example.org.", "CNAME", "lb.example.net.", 8)
	w.record("evil/b", "h.example.org.", "NS", "ns.example.net.", 9)
	s = Compile(s, w.objects(), dnsHasZones, testTime)
	if is := ask(s, "h.example.org.", dns.TypeA); was != is {
		t.Errorf("the host was %s and is %s: %s%s", was, is, verdictText(s, api.KindDNSPolicy, "victim/g"), verdictText(s, api.KindRecord, "evil/b"))
	}
}

// TestHiderBehindOutdone: the same where records of another namespace are before them that lead elsewhere too, and are not served for what they would
// hide (decision 13).
func TestHiderBehindOutdone(t *testing.T) {
	for _, c := range [][2]string{{"NS", "DNAME"}, {"DNAME", "NS"}} {
		w := sharedWorld()
		w.gateway("victim/g", "x.h.example.org", api.Simple, 1, api.IPAddress, "192.0.2.1")
		w.record("ops/r", "h.example.org.", c[0], "ns.example.com.", 2)
		was := ask(Compile(nil, w.objects(), dnsHasZones, testTime), "x.h.example.org.", dns.TypeA)
		w.endpoints("evil/e", 9, endpoint("h.example.org.", c[1], "ns.example.net."))
		s := Compile(nil, w.objects(), dnsHasZones, testTime)
		if is := ask(s, "x.h.example.org.", dns.TypeA); was != is {
			t.Errorf("a younger %s behind a %s that is not served: the host was %s and is %s; the verdict: %s", c[1], c[0], was, is, verdictText(s, api.KindDNSEndpoint, "evil/e"))
		}
	}
}

// TestUnservedDNAMEHidesNothing: a DNAME that is not served, as the name belongs to an older host, takes no names below it away (decision 13: what is not
// served for other data at the name hides nothing).
func TestUnservedDNAMEHidesNothing(t *testing.T) {
	for what, dname := range map[string]func(w *world){
		"of a DNSEndpoint": func(w *world) { w.endpoints("evil/e", 3, endpoint("h.example.org.", "DNAME", "example.net.")) },
		"Record":           func(w *world) { w.record("evil/e", "h.example.org.", "DNAME", "example.net.", 3) },
	} {
		w := sharedWorld()
		w.gateway("first/g", "h.example.org", api.Simple, 1, api.HostnameAddress, "lb.example.com")
		w.gateway("victim/g", "x.h.example.org", api.Simple, 5, api.IPAddress, "192.0.2.1")
		was := ask(Compile(nil, w.objects(), dnsHasZones, testTime), "x.h.example.org.", dns.TypeA)
		dname(w)
		s := Compile(nil, w.objects(), dnsHasZones, testTime)
		if got := ask(s, "y.h.example.org.", dns.TypeA); got != "NXDOMAIN" {
			t.Errorf("the DNAME %s is served: %s", what, got)
		}
		if is := ask(s, "x.h.example.org.", dns.TypeA); was != is {
			t.Errorf("with a DNAME %s that is not served the host was %s and is %s: %s", what, was, is, verdictText(s, api.KindDNSPolicy, "victim/g"))
		}
	}
}

// TestHostnameBesideNamesake: a younger DNAME empties no host that leads to a hostname, where an object of another kind that has the same name, and loses,
// has addresses there (rule 5.3, decision 23).
func TestHostnameBesideNamesake(t *testing.T) {
	w := sharedWorld()
	w.gateway("victim/s", "h.example.org", api.Simple, 5, api.HostnameAddress, "lb.victim.net")
	w.endpoints("victim/s", 5, endpoint("h.example.org.", "A", "192.0.2.1"))
	was := ask(Compile(nil, w.objects(), dnsHasZones, testTime), "h.example.org.", dns.TypeA)
	w.record("evil/r", "h.example.org.", "DNAME", "example.net.", 6)
	if is := ask(Compile(nil, w.objects(), dnsHasZones, testTime), "h.example.org.", dns.TypeA); was != is {
		t.Errorf("the host was %s and is %s", was, is)
	}
}
