package records

import (
	"fmt"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/endpoint"
)

var reviewOptions = Options{Zones: []ZoneOptions{{Origin: "example.org.", TTL: 60, LoadBalancedTTL: 300}}, Publish: grantAll}

// grantAll are lines `publish` that grant everything to everybody.
var grantAll = []Publish{{Domain: ".", Namespaces: []string{"*"}}, {Domain: ".", Namespaces: []string{"*"}, Types: []string{"NS", "DNAME"}}}

// ask returns the answer of a snapshot as text.
func ask(s *Snapshot, name string, qtype uint16) string {
	a := answerOf(s, name, qtype)
	text := dns.RcodeToString[a.Rcode]
	for _, rr := range a.Answer {
		text += "\n" + rr.String()
	}
	if a.Referral {
		text += "\nreferral"
	}
	return text
}

func answerOf(s *Snapshot, name string, qtype uint16) (a Answer) {
	s.Lookup(s.Zone(name), &Query{Name: name, Owner: name, Type: qtype, Random: 1}, &a)
	return a
}

func apiEndpoint(name, rtype string, targets ...string) api.Endpoint {
	return api.Endpoint{DNSName: name, Type: rtype, Targets: targets, Weight: api.NoWeight}
}

func (w *world) record(name, domain, rtype, data string, created int64) {
	w.setRecord(0, name, &api.Record{Meta: api.Meta{Created: created}, DomainName: domain, Type: rtype, Class: "IN", TTL: api.NoTTL, RData: data})
}

func (w *world) endpoints(name string, created int64, all ...api.Endpoint) {
	w.setDNSEndpoint(0, name, &api.DNSEndpoint{Meta: api.Meta{Created: created}, Endpoints: all})
}

func (w *world) gateway(name, host string, strategy api.Strategy, created int64, t api.AddressType, value string) {
	w.setGateway(0, name, &api.Gateway{
		Listeners: []api.Listener{{Name: "l", Hostname: host, AttachedRoutes: 1}}, Addresses: []api.Address{{Type: t, Value: value}},
	})
	_, bare, _ := strings.Cut(name, "/")
	w.setPolicy(0, name, &api.DNSPolicy{Meta: api.Meta{Created: created}, Target: api.Target{Name: bare}, Strategy: strategy})
}

func (w *world) zone(name, domain string, created int64, d ...api.Delegation) {
	w.setZone(0, name, &api.Zone{Meta: api.Meta{Created: created}, DomainName: domain, TTL: 360, Minimum: 60, Delegations: d})
}

func verdictText(s *Snapshot, kind api.Kind, name string) string {
	v := s.Verdict("c", api.Ref{Kind: kind, Name: name})
	if v == nil {
		return "none"
	}
	text := ""
	for _, c := range v.Conditions {
		text += fmt.Sprintf("%s=%s %s: %s\n", c.Type, c.Status, c.Reason, c.Message)
	}
	return text
}

// TestReviewEndpointAliasOfItsOwn: an object publishes no CNAME where it may not, to
// whichever name (rule 5.1).
func TestReviewEndpointAliasOfItsOwn(t *testing.T) {
	w := newWorld("c")
	w.zone("dns/z", "example.org.", 0, api.Delegation{Namespaces: []string{"b"}, Records: []api.RecordDelegation{{Pattern: "mine"}}})
	w.endpoints("b/e", 1, apiEndpoint("victim.example.org.", "CNAME", "mine.example.org"), apiEndpoint("mine.example.org.", "A", "192.0.2.66"))
	s := Compile(nil, w.objects(), &reviewOptions, testTime)
	if got := ask(s, "victim.example.org.", dns.TypeA); got != "NXDOMAIN" {
		t.Errorf("victim: %s\n%s", got, verdictText(s, api.KindDNSEndpoint, "b/e"))
	}
}

// TestReviewRecordKeepsItsNameFromEndpoints: NS records of a younger DNSEndpoint take no
// name away from Records (rules 5.3 and 5.4).
func TestReviewRecordKeepsItsNameFromEndpoints(t *testing.T) {
	for _, cut := range []string{"www.example.org.", "a.example.org."} {
		w := newWorld("c")
		w.zone("dns/z", "example.org.", 0, everything[0])
		w.record("a/r", "www.example.org.", "A", "192.0.2.1", 1)
		w.record("a/s", "x.a.example.org.", "A", "192.0.2.1", 1)
		w.endpoints("b/e", 2, apiEndpoint(cut, "NS", "ns.evil.example."))
		s := Compile(nil, w.objects(), &reviewOptions, testTime)
		for _, name := range []string{"www.example.org.", "x.a.example.org."} {
			if got := ask(s, name, dns.TypeA); !strings.Contains(got, "192.0.2.1") {
				t.Errorf("cut at %s: %s is answered %s; the endpoint: %s", cut, name, got, verdictText(s, api.KindDNSEndpoint, "b/e"))
			}
		}
	}
}

// TestReviewLostDataDoesNotFlatten: data that is not served, because the name is
// another's, changes nothing about the name (rules 5.3 and 5.5).
func TestReviewLostDataDoesNotFlatten(t *testing.T) {
	for _, younger := range []func(w *world){
		func(w *world) { w.endpoints("b/e", 2, apiEndpoint("app.example.org.", "TXT", `"x"`)) },
		func(w *world) { w.record("b/r", "app.example.org.", "NS", "ns.evil.example.", 2) },
	} {
		w := newWorld("c")
		w.gateway("a/g", "app.example.org", api.Simple, 1, api.HostnameAddress, "lb.example.net")
		s := Compile(nil, w.objects(), &reviewOptions, testTime)
		before := ask(s, "app.example.org.", dns.TypeA)
		younger(w)
		s = Compile(s, w.objects(), &reviewOptions, testTime)
		if got := ask(s, "app.example.org.", dns.TypeA); got != before {
			t.Errorf("was %s\nnow %s\n%s%s", before, got, verdictText(s, api.KindDNSPolicy, "a/g"), verdictText(s, api.KindDNSEndpoint, "b/e"))
		}
	}
}

// TestReviewLostDataBelowKlb: the same for the names of the chain (rule 5.7).
func TestReviewLostDataBelowKlb(t *testing.T) {
	w := newWorld("c")
	w.gateway("a/g", "app.example.org", api.WeightedGeo, 1, api.IPAddress, "192.0.2.1")
	s := Compile(nil, w.objects(), &reviewOptions, testTime)
	before := ask(s, "klb.app.example.org.", dns.TypeA)
	w.endpoints("b/e", 2, apiEndpoint("klb.app.example.org.", "TXT", `"x"`))
	s = Compile(s, w.objects(), &reviewOptions, testTime)
	if got := ask(s, "klb.app.example.org.", dns.TypeA); got != before {
		t.Errorf("was %s\nnow %s\n%s%s", before, got, verdictText(s, api.KindDNSPolicy, "a/g"), verdictText(s, api.KindDNSEndpoint, "b/e"))
	}
}

// TestReviewEndpointAliasForAllTypes: a CNAME answers every type (RFC 1034 §3.6.2).
func TestReviewEndpointAliasForAllTypes(t *testing.T) {
	w := newWorld("c")
	w.endpoints("a/e", 1, apiEndpoint("_acme-challenge.www.example.org.", "CNAME", "www.acme.example.net"))
	s := Compile(nil, w.objects(), &reviewOptions, testTime)
	for _, qtype := range []uint16{dns.TypeA, dns.TypeTXT, dns.TypeMX} {
		if got := ask(s, "_acme-challenge.www.example.org.", qtype); !strings.Contains(got, "www.acme.example.net.") {
			t.Errorf("%s: %s", dns.TypeToString[qtype], got)
		}
	}
}

// TestReviewOwnerTXTBesideCNAME: no TXT record stands beside a CNAME (RFC 1034 §3.6.2): others have no CNAME where
// the server tells who owns a host (rule 5.8).
func TestReviewOwnerTXTBesideCNAME(t *testing.T) {
	opt := Options{Zones: []ZoneOptions{{Origin: "example.org.", TTL: 60, LoadBalancedTTL: 300, OwnerTXT: "_o-"}}}
	w := newWorld("c")
	w.record("a/r", "_o-a-app.example.org.", "CNAME", "elsewhere.example.net.", 1)
	w.gateway("b/g", "app.example.org", api.Simple, 2, api.IPAddress, "192.0.2.1")
	w.endpoints("a/e", 1, apiEndpoint("_o-a-web.example.org.", "CNAME", "elsewhere.example.net"))
	w.gateway("b/h", "web.example.org", api.Simple, 2, api.IPAddress, "192.0.2.1")
	s := Compile(nil, w.objects(), &opt, testTime)
	for name, want := range map[string]string{"_o-a-app.example.org.": "dnspolicy/b/g", "_o-a-web.example.org.": "dnspolicy/b/h"} {
		if got := ask(s, name, dns.TypeTXT); !strings.Contains(got, want) {
			t.Errorf("%s TXT: %s", name, got)
		}
		if got := ask(s, name, dns.TypeA); got != "NOERROR" {
			t.Errorf("%s A: %s", name, got)
		}
	}
}

// TestReviewOwnerTXTBelowNewZone: a Zone that begins above where an owner's TXT record stands
// takes it out of the zone above, whenever it comes (rules 5.8 and 6.7).
func TestReviewOwnerTXTBelowNewZone(t *testing.T) {
	opt := Options{Zones: []ZoneOptions{{Origin: "example.org.", TTL: 60, LoadBalancedTTL: 300, OwnerTXT: "_o."}}}
	w := newWorld("c")
	w.zone("dns/z", "example.org.", 0, everything[0])
	w.gateway("b/g", "app.example.org", api.Simple, 2, api.IPAddress, "192.0.2.1")
	s := Compile(nil, w.objects(), &opt, testTime)
	for _, domain := range []string{"a-app.example.org.", "other.example.org."} {
		w.zone("dns/sub", domain, 0, everything[0])
		in := w.objects()
		s = Compile(s, in, &opt, testTime)
		if got, want := dump(s), dump(Compile(nil, in, &opt, testTime)); got != want {
			t.Error(differing(got, want))
		}
	}
}

// TestReviewStandInName: where a Zone has name servers, ns.<zone> is a name as any other
// (rules 2.7 and 6.8).
func TestReviewStandInName(t *testing.T) {
	w := newWorld("c")
	w.zone("dns/z", "example.org.", 0, everything[0])
	w.record("dns/ns", "example.org.", "NS", "ns.example.net.", 1)
	w.gateway("b/g", "ns.example.org", api.Simple, 2, api.HostnameAddress, "lb.example.com")
	s := Compile(nil, w.objects(), &reviewOptions, testTime)
	if got := ask(s, "ns.example.org.", dns.TypeA); !strings.Contains(got, "lb.example.com.") {
		t.Errorf("%s\n%s", got, verdictText(s, api.KindDNSPolicy, "b/g"))
	}
}

// TestReviewEmptyAddress: an A record has four octets (RFC 1035 §3.4.1).
func TestReviewEmptyAddress(t *testing.T) {
	w := newWorld("c")
	for _, rtype := range []string{"A", "AAAA"} {
		w.record("a/"+strings.ToLower(rtype), "x.example.org.", rtype, `\# 0`, 1)
	}
	s := Compile(nil, w.objects(), &reviewOptions, testTime)
	for _, qtype := range []uint16{dns.TypeA, dns.TypeAAAA} {
		if a := answerOf(s, "x.example.org.", qtype); len(a.Answer) > 0 {
			t.Errorf("%v\n%s", a.Answer, verdictText(s, api.KindRecord, "a/"+strings.ToLower(dns.TypeToString[qtype])))
		}
	}
}

// TestReviewTypeNumbers: TYPE43 is DS, and TYPE2 is NS (RFC 3597 §5, rule 7.1).
func TestReviewTypeNumbers(t *testing.T) {
	w := newWorld("c")
	w.zone("dns/z", "example.org.", 0, everything[0])
	w.zone("dns/sub", "sub.example.org.", 0, everything[0])
	w.record("dns/ds", "sub.example.org.", "TYPE43", "1 13 2 "+strings.Repeat("AB", 32), 1)
	w.setRecord(0, "dns/ns", &api.Record{DomainName: "sub", Parent: "dns/z", Type: "TYPE2", Class: "IN", TTL: api.NoTTL, RData: "ns.example.net."})
	s := Compile(nil, w.objects(), &reviewOptions, testTime)
	var a Answer
	s.Lookup(s.Zone("example.org."), &Query{Name: "sub.example.org.", Owner: "sub.example.org.", Type: dns.TypeDS}, &a)
	if len(a.Answer) != 1 {
		t.Errorf("DS: %s", verdictText(s, api.KindRecord, "dns/ds"))
	}
	if got := verdictText(s, api.KindRecord, "dns/ns"); !strings.Contains(got, "Ready=True") {
		t.Errorf("NS: %s", got)
	}
}

// TestReviewEscapedDot: a\.klb.app is one label a.klb below app, and not below klb.app.
func TestReviewEscapedDot(t *testing.T) {
	w := newWorld("c")
	const name = `a\.klb.app.example.org.`
	w.endpoints("a/e", 1, apiEndpoint(name, "A", "192.0.2.1"))
	w.endpoints("b/e", 2, apiEndpoint("app.example.org.", "A", "192.0.2.2"), apiEndpoint(name, "A", "192.0.2.66"))
	s := Compile(nil, w.objects(), &reviewOptions, testTime)
	if got := ask(s, name, dns.TypeA); !strings.Contains(got, "192.0.2.1") || strings.Contains(got, "192.0.2.66") {
		t.Error(got)
	}
	if got := verdictText(s, api.KindDNSEndpoint, "b/e"); !strings.Contains(got, "belongs to") {
		t.Error(got)
	}
}

// TestReviewSerialOfZoneThatComesBack: a Zone that comes back with content that it had
// once does not fall behind what was published since (rule 6.7).
func TestReviewSerialOfZoneThatComesBack(t *testing.T) {
	w := newWorld("c")
	zone := &api.Zone{DomainName: "sub.example.org.", TTL: 360, Delegations: everything}
	put := func(z api.Zone) { w.setZone(0, "dns/sub", &z) }
	put(*zone)
	w.record("dns/r", "a.sub.example.org.", "A", "192.0.2.1", 1)
	s := Compile(nil, w.objects(), &reviewOptions, testTime)
	kept := *zone
	kept.Kept = s.Verdict("c", api.Ref{Kind: api.KindZone, Name: "dns/sub"}).Kept
	put(kept)
	w.record("dns/r", "a.sub.example.org.", "A", "192.0.2.2", 1)
	s = Compile(s, w.objects(), &reviewOptions, testTime)
	last := s.Zone("sub.example.org.").Serial()
	w.setZone(0, "dns/sub", nil)
	s = Compile(s, w.objects(), &reviewOptions, testTime)
	put(kept)
	w.record("dns/r", "a.sub.example.org.", "A", "192.0.2.1", 1)
	s = Compile(s, w.objects(), &reviewOptions, testTime)
	if got := s.Zone("sub.example.org.").Serial(); int32(got-last) <= 0 {
		t.Errorf("other content than that of serial %d has serial %d", last, got)
	}
}

// TestReviewRetiredSerials: what is remembered of zones that were served once has a bound
// (rule 8.4).
func TestReviewRetiredSerials(t *testing.T) {
	oneGoroutine(t)
	w := newWorld("c")
	w.zone("dns/z", "example.org.", 0, everything[0])
	s := Compile(nil, w.objects(), &reviewOptions, testTime)
	const n = 3000
	for i := range n {
		w.zone("b/z", fmt.Sprintf("z%d.example.org.", i), 1)
		s = Compile(s, w.objects(), &reviewOptions, testTime)
	}
	if len(s.retired) >= n-1 {
		t.Errorf("one Zone that was renamed %d times has left %d serials behind", n, len(s.retired))
	}
}

// TestReviewChangedMismatch: where what is said of an NS Record changes because the zone
// below has other servers, that is reported.
func TestReviewChangedMismatch(t *testing.T) {
	w := newWorld("c")
	w.zone("dns/z", "example.org.", 0, everything[0])
	w.zone("dns/sub", "sub.example.org.", 0, everything[0])
	w.setRecord(0, "dns/cut", &api.Record{DomainName: "sub", Parent: "dns/z", Type: "NS", Class: "IN", TTL: api.NoTTL, RData: "ns1.example.net."})
	w.record("dns/own", "sub.example.org.", "NS", "ns1.example.net.", 1)
	s := Compile(nil, w.objects(), &reviewOptions, testTime)
	before := verdictText(s, api.KindRecord, "dns/cut")
	w.record("dns/own", "sub.example.org.", "NS", "ns2.example.net.", 1)
	s = Compile(s, w.objects(), &reviewOptions, testTime)
	after := verdictText(s, api.KindRecord, "dns/cut")
	if before == after {
		t.Fatalf("nothing changed: %s", after)
	}
	for _, r := range s.Changed() {
		if r.Ref.Name == "dns/cut" {
			return
		}
	}
	t.Errorf("%v is reported, and not that %s now is %s", s.Changed(), before, after)
}

// TestReviewToldOnce: each thing is said once.
func TestReviewToldOnce(t *testing.T) {
	w := newWorld("c")
	const h = "app.example.org."
	coded := apiEndpoint("ie.klb."+h, "CNAME", "leaf.klb."+h)
	coded.Geo = "XX"
	w.endpoints("a/e", 1,
		apiEndpoint(h, "CNAME", "klb."+h), apiEndpoint("klb."+h, "CNAME", "ie.klb."+h), coded,
		apiEndpoint("leaf.klb."+h, "A", "192.0.2.1"), apiEndpoint("leaf.klb."+h, "CNAME", "lb.example.net"))
	s := Compile(nil, w.objects(), &reviewOptions, testTime)
	text := verdictText(s, api.KindDNSEndpoint, "a/e")
	for _, what := range []string{"lb.example.net dropped", `"XX"`} {
		if n := strings.Count(text, what); n > 1 {
			t.Errorf("%s is told %d times: %s", what, n, text)
		}
	}
}

// TestReviewPathsHaveABound: how far and how wide the endpoints of one object are
// followed has a bound.
func TestReviewPathsHaveABound(t *testing.T) {
	const wide = 4
	names := []string{"app.example.org.", "klb.app.example.org."}
	for i := range maxExpand - 2 {
		names = append(names, fmt.Sprintf("n%d.klb.app.example.org.", i))
	}
	c := &claim{policy: new(api.DNSPolicy), gateway: new(api.Gateway)}
	for _, end := range []string{"elsewhere.example.net.", names[0]} {
		c.endpoints = nil
		for i, name := range names {
			next := end
			if i+1 < len(names) {
				next = names[i+1]
			}
			for set := range wide {
				c.endpoints = append(c.endpoints, &endpoint.Endpoint{Name: name, Type: dns.TypeCNAME, SetID: fmt.Sprint(set), Weight: -1, Target: next})
			}
		}
		paths := 0
		allocs := testing.AllocsPerRun(1, func() {
			x := &expansion{b: &builder{probes: func(string) probeIndex { return probeIndex{} }}}
			x.gather([]*claim{c})
			x.budget, paths = maxExpand*wide*len(names), 0
			x.explore(x.names[0])
			for _, c := range x.names {
				paths += len(c.ways)
			}
		})
		if paths > maxExpand*wide*len(names) {
			t.Errorf("%d endpoints lead to %d paths, %d are the most", wide*len(names), paths, maxExpand*wide*len(names))
		}
		if allocs > float64(100*maxExpand*wide*len(names)) {
			t.Errorf("%d endpoints, which end at %s, take %.0f allocations", wide*len(names), end, allocs)
		}
	}
}
