package records

import (
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestChainBelowOwnKlbIsKept: an object's chain whose host lies below klb.<host> of another of its own hosts is part of that host's (rule 5.7): it comes to be
// on record with it, and is not taken by an older object that moves onto one of its names (rule 5.4). Where another has the host, nothing of it is served.
func TestChainBelowOwnKlbIsKept(t *testing.T) {
	w := sharedWorld()
	w.endpoints("victim/s", 5, append([]api.Endpoint{apiEndpoint("h.example.org.", "CNAME", "lb.victim.net.")}, chainOf("x.klb.h.example.org.", "192.0.2.1")...)...)
	s := Compile(nil, w.objects(), dnsHasZones, testTime)
	const name = "klb.x.klb.h.example.org."
	w.acquireKeys(s, "h.example.org.", "x.klb.h.example.org.", name, "one."+name)
	s = Compile(s, w.objects(), dnsHasZones, testTime)
	was := ask(s, name, dns.TypeA)
	w.endpoints("eve/s", 3, apiEndpoint(name, "CNAME", "lb.eve.net."))
	s = Compile(s, w.objects(), dnsHasZones, testTime)
	if is := ask(s, name, dns.TypeA); is != was || !strings.Contains(is, "192.0.2.1") {
		t.Errorf("the name was %s and is %s: %s", was, is, verdictText(s, api.KindDNSEndpoint, "victim/s"))
	}
	w = sharedWorld()
	w.gateway("first/q", "h.example.org", api.Simple, 1, api.IPAddress, "192.0.2.7")
	w.endpoints("victim/s", 5, append([]api.Endpoint{apiEndpoint("h.example.org.", "CNAME", "lb.victim.net.")}, chainOf("x.klb.h.example.org.", "192.0.2.1")...)...)
	s = Compile(nil, w.objects(), dnsHasZones, testTime)
	if got := verdictText(s, api.KindDNSEndpoint, "victim/s"); strings.Contains(got, "Ready=True") || !strings.Contains(ask(s, name, dns.TypeA), "NXDOMAIN") {
		t.Errorf("the host is another's, the chain below it gives %s, and its owner is told %s", ask(s, name, dns.TypeA), got)
	}
}
