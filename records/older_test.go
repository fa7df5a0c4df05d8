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

// chainOf are the endpoints of a chain with one member.
func chainOf(host, address string) []api.Endpoint {
	return []api.Endpoint{
		apiEndpoint(host, "CNAME", "klb."+host),
		apiEndpoint("klb."+host, "CNAME", "one.klb."+host),
		apiEndpoint("one.klb."+host, "A", address),
	}
}

// TestTextEmptiesNoPool: a younger TXT Record of another namespace does not take the hostnames from a host, whichever
// of the objects that share the host has them (rule 5.4).
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

// TestYoungerAddressTakesNoMail: an address that comes later does not take the older MX records of another namespace's
// DNSEndpoint away (rule 5.4).
func TestYoungerAddressTakesNoMail(t *testing.T) {
	w := sharedWorld()
	w.endpoints("victim/e", 1, apiEndpoint("mail.example.org.", "MX", "10 mx.example.net"))
	w.endpoints("evil/e", 9, apiEndpoint("mail.example.org.", "A", "192.0.2.66"))
	s := Compile(nil, w.objects(), dnsHasZones, testTime)
	if got := ask(s, "mail.example.org.", dns.TypeMX); !strings.Contains(got, "mx.example.net.") {
		t.Errorf("with a younger address at it, the name's MX is %q: %s", got, verdictText(s, api.KindDNSEndpoint, "victim/e"))
	}
}

// TestHostnameBesideNamesake: a younger DNAME empties no host that leads to a hostname, where an object of another kind that has the same name, and loses,
// has addresses there (rule 5.3).
func TestHostnameBesideNamesake(t *testing.T) {
	w := sharedWorld()
	w.gateway("victim/s", "h.example.org", api.Simple, 5, api.HostnameAddress, "lb.victim.net")
	w.endpoints("victim/s", 5, apiEndpoint("h.example.org.", "A", "192.0.2.1"))
	was := ask(Compile(nil, w.objects(), dnsHasZones, testTime), "h.example.org.", dns.TypeA)
	w.record("dns/r", "h.example.org.", "DNAME", "example.net.", 6)
	if is := ask(Compile(nil, w.objects(), dnsHasZones, testTime), "h.example.org.", dns.TypeA); was != is {
		t.Errorf("the host was %s and is %s", was, is)
	}
}
