package records

import (
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestOldestOfNamespaceIsNamed: who loses to a namespace is told of the oldest that it has at the name.
func TestOldestOfNamespaceIsNamed(t *testing.T) {
	w := sharedWorld()
	w.record("a/old", "x.example.org.", "TXT", `"1"`, 1)
	w.record("a/young", "x.example.org.", "TXT", `"2"`, 2)
	w.endpoints("b/e", 3, apiEndpoint("x.example.org.", "MX", "10 mx.example.net"))
	s := Compile(nil, w.objects(), dnsHasZones, testTime)
	if text := verdictText(s, api.KindDNSEndpoint, "b/e"); !strings.Contains(text, "belongs to Record a/old") {
		t.Error(text)
	}
}

// TestNothingBesideHostname: where one of the members of a host is a hostname, other types are refused below the apex,
// whatever their age (rule 5.3).
func TestNothingBesideHostname(t *testing.T) {
	for _, c := range []struct {
		host    string
		second  api.AddressType
		value   string
		created int64
		served  bool
	}{
		{"app.example.org.", api.HostnameAddress, "lb.example.net", 0, false},
		{"app.example.org.", api.HostnameAddress, "lb.example.net", 4, false},
		{"app.example.org.", api.IPAddress, "192.0.2.2", 4, true},
	} {
		w := sharedWorld()
		w.gateway("victim/a", trimDot(c.host), api.WeightedGeo, 1, api.IPAddress, "192.0.2.1")
		w.gateway("victim/b", trimDot(c.host), api.WeightedGeo, 3, c.second, c.value)
		s := Compile(nil, w.objects(), dnsHasZones, testTime)
		w.record("dns/txt", c.host, "TXT", `"text"`, c.created)
		in := w.objects()
		s = Compile(s, in, dnsHasZones, testTime)
		if got, want := dump(s), dump(Compile(nil, in, dnsHasZones, testTime)); got != want {
			t.Errorf("%+v: step by step it is not what it is from nothing: %s", c, differing(got, want))
		}
		if got := strings.Contains(ask(s, c.host, dns.TypeTXT), `"text"`); got != c.served {
			t.Errorf("%+v: the text is served: %t; %s", c, got, verdictText(s, api.KindRecord, "dns/txt"))
		}
	}
}

// TestJoinedRecordTakesNoRecord: a Record that joins others does not become the owner on record in place of the one that is:
// else the name would be free when it goes (rule 5.4).
func TestJoinedRecordTakesNoRecord(t *testing.T) {
	const host = "app.example.org."
	w := newWorld("c")
	w.record("victim/r", host, "A", "192.0.2.1", 5)
	w.record("evil/r", host, "A", "192.0.2.67", 2)
	w.gateway("evil/g", trimDot(host), api.Simple, 1, api.IPAddress, "192.0.2.66")
	w.acquire1(host, api.KindRecord, "victim/r")
	s := Compile(nil, w.objects(), dnsHasZones, testTime)
	if owner, ok := s.Owner(host); !ok || owner.Name != "victim/r" {
		t.Errorf("the owner is %+v, %t", owner, ok)
	}
	w.setRecord(0, "victim/r", nil)
	s = Compile(s, w.objects(), dnsHasZones, testTime)
	if owner, ok := s.Owner(host); !ok || owner.Name != "evil/g" {
		t.Errorf("without it, the owner is %+v, %t", owner, ok)
	}
}
