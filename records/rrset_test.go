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
	w.endpoints("b/e", 3, endpoint("x.example.org.", "MX", "10 mx.example.net"))
	s := Compile(nil, w.objects(), dnsHasZones, testTime)
	if text := verdictText(s, api.KindDNSEndpoint, "b/e"); !strings.Contains(text, "belongs to Record a/old") {
		t.Error(text)
	}
}

// TestSeveralDecideWhatStandsBeside: where objects share a host, texts are held against the oldest that leads to a
// hostname, and below klb against the oldest of all (decision 23).
func TestSeveralDecideWhatStandsBeside(t *testing.T) {
	const host, leaf = "app.example.org.", "IN\tA\t192.0.2.2"
	for _, c := range []struct {
		what     string
		second   api.AddressType
		value    string
		below    bool // the text stands at the second object's own name below klb
		created  int64
		acquired string
		served   bool
	}{
		{"older than the hostname", api.HostnameAddress, "lb.example.net", false, 2, "", true},
		{"younger than the hostname", api.HostnameAddress, "lb.example.net", false, 4, "", false},
		{"beside addresses", api.IPAddress, "192.0.2.2", false, 4, "", true},
		{"with the first on record", api.HostnameAddress, "lb.example.net", false, 2, "victim/a", false},
		{"with the second on record", api.HostnameAddress, "lb.example.net", false, 0, "victim/b", false},
		{"younger than the first, below klb", api.IPAddress, "192.0.2.2", true, 2, "", false},
		{"older than both, below klb", api.IPAddress, "192.0.2.2", true, 0, "", false},
	} {
		w := sharedWorld()
		w.gateway("victim/a", trimDot(host), api.WeightedGeo, 1, api.IPAddress, "192.0.2.1")
		w.gateway("victim/b", trimDot(host), api.WeightedGeo, 3, c.second, c.value)
		s := Compile(nil, w.objects(), dnsHasZones, testTime)
		name := host
		for of, n := range s.Zone(host).names.All() {
			if c.below && strings.HasSuffix(of, ".klb."+host) && n.steered.set != nil && strings.Contains(n.steered.set.rrs[0].String(), leaf) {
				name = of
			}
		}
		if c.below == (name == host) {
			t.Fatalf("%s: no name below klb", c.what)
		}
		if c.acquired != "" {
			w.acquireAs(host, api.Owner{Cluster: "c", Kind: api.KindDNSPolicy, Name: c.acquired, Alone: true, Chain: true})
		}
		w.record("evil/txt", name, "TXT", `"text"`, c.created)
		in := w.objects()
		s = Compile(s, in, dnsHasZones, testTime)
		if got, want := dump(s), dump(Compile(nil, in, dnsHasZones, testTime)); got != want {
			t.Errorf("%s: step by step it is not what it is from nothing: %s", c.what, differing(got, want))
		}
		if got := strings.Contains(ask(s, name, dns.TypeTXT), `"text"`); got != c.served {
			t.Errorf("a text that is %s: served %t; %s", c.what, got, verdictText(s, api.KindRecord, "evil/txt"))
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
