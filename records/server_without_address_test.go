package records

import (
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestServerAtSteeredNameWithoutAddresses: an NS Record whose server is a host without addresses, or one that is a CNAME, is told so
// (reason NoAddress; a CNAME is none, RFC 2181 §10.3).
func TestServerAtSteeredNameWithoutAddresses(t *testing.T) {
	for what, host := range map[string]func(w *world){
		"a Gateway with a hostname": func(w *world) {
			w.gateway("a/g", "ns.example.org", api.Simple, 1, api.HostnameAddress, "lb.example.net")
		},
		"a Gateway without address": func(w *world) { w.gateway("a/g", "ns.example.org", api.Simple, 1, api.IPAddress, "nonsense") },
		"an endpoint with a CNAME":  func(w *world) { w.endpoints("a/e", 1, apiEndpoint("ns.example.org", "CNAME", "lb.example.net")) },
		"a Record with a CNAME":     func(w *world) { w.record("a/c", "ns.example.org.", "CNAME", "lb.example.net.", 1) },
	} {
		w := sharedWorld()
		host(w)
		w.record("dns/ns", "sub.example.org.", "NS", "ns.example.org.", 2)
		s := Compile(nil, w.objects(), dnsHasZones, testTime)
		if text := verdictText(s, api.KindRecord, "dns/ns"); !strings.Contains(text, reasonNoAddress) {
			t.Errorf("%s: %s", what, text)
		}
	}
}

// TestServersWithAddressesOfTheirOwn: addresses of any object at the server's name are some, a chain that leads to them is none.
func TestServersWithAddressesOfTheirOwn(t *testing.T) {
	for what, c := range map[string]struct {
		host  func(w *world)
		lacks bool
	}{
		"a Gateway":   {func(w *world) { w.gateway("a/g", "server.example.org", api.Simple, 1, api.IPAddress, "192.0.2.1") }, false},
		"an endpoint": {func(w *world) { w.endpoints("a/e", 1, apiEndpoint("server.example.org", "AAAA", "2001:db8::1")) }, false},
		"endpoints with weights": {func(w *world) {
			w.endpoints("a/e", 1, rowOf("server.example.org", "A", "192.0.2.1", "a", "", 1), rowOf("server.example.org", "A", "192.0.2.2", "b", "", 1))
		}, false},
		"a leaf of a chain": {func(w *world) {
			w.endpoints("a/e", 1, apiEndpoint("x.example.org", "CNAME", "server.example.org"), apiEndpoint("server.example.org", "A", "192.0.2.1"))
		}, false},
		"a Gateway with a chain": {func(w *world) { w.gateway("a/g", "server.example.org", api.WeightedGeo, 1, api.IPAddress, "192.0.2.1") }, true},
		"one with other data, too": {func(w *world) {
			w.gateway("a/g", "server.example.org", api.WeightedGeo, 1, api.IPAddress, "192.0.2.1")
			w.record("a/t", "server.example.org.", "TXT", `"flat"`, 1)
		}, false},
	} {
		w := sharedWorld()
		c.host(w)
		w.record("dns/ns", "sub.example.org.", "NS", "server.example.org.", 2)
		s := Compile(nil, w.objects(), dnsHasZones, testTime)
		if text := verdictText(s, api.KindRecord, "dns/ns"); strings.Contains(text, reasonNoAddress) != c.lacks {
			t.Errorf("%s: %s", what, text)
		}
	}
}

// TestServerOfEndpointWithoutAddresses: NS data of a DNSEndpoint or DNSRecord whose server has no address here are told of as those
// of a Record are (issue, Bad input: NS without addresses; rule 8.1).
func TestServerOfEndpointWithoutAddresses(t *testing.T) {
	w := sharedWorld()
	w.endpoints("dns/e", 2, apiEndpoint("sub.example.org", "NS", "ns.example.org."))
	w.record("dns/ns", "two.example.org.", "NS", "ns.example.org.", 2)
	s := Compile(nil, w.objects(), dnsHasZones, testTime)
	if text := verdictText(s, api.KindRecord, "dns/ns"); !strings.Contains(text, reasonNoAddress) {
		t.Errorf("Record: %s", text)
	}
	if text := verdictText(s, api.KindDNSEndpoint, "dns/e"); !strings.Contains(text, reasonNoAddress) {
		t.Errorf("DNSEndpoint: %s", text)
	}
}
