package records

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestReviewWildcardNS: NS records that a wildcard makes bring no addresses of the zone's
// own servers (RFC 1034 §3.6).
func TestReviewWildcardNS(t *testing.T) {
	w := newWorld("c")
	w.zone("dns/z", "example.org.", 0, everything[0])
	w.record("dns/ns", "example.org.", "NS", "ns.example.org.", 1)
	w.record("dns/a", "ns.example.org.", "A", "192.0.2.1", 1)
	w.record("dns/w", "*.w.example.org.", "NS", "ns.elsewhere.example.", 1)
	s := Compile(nil, w.objects(), &reviewOptions, testTime)
	for _, qtype := range []uint16{dns.TypeNS, dns.TypeANY} {
		if a := answerOf(s, "x.w.example.org.", qtype); len(a.Extra) > 0 {
			t.Errorf("%v has %v", a.Answer, a.Extra)
		}
	}
}

// TestReviewAdditionalAfterDNAME: an answer at the end of a DNAME has the addresses that
// one at the end of a CNAME has.
func TestReviewAdditionalAfterDNAME(t *testing.T) {
	w := newWorld("c")
	w.record("dns/c", "c.example.org.", "CNAME", "x.to.example.org.", 1)
	w.record("dns/d", "d.example.org.", "DNAME", "to.example.org.", 1)
	w.record("dns/m", "x.to.example.org.", "MX", "10 mail.example.org.", 1)
	w.record("dns/a", "mail.example.org.", "A", "192.0.2.1", 1)
	s := Compile(nil, w.objects(), &reviewOptions, testTime)
	for _, name := range []string{"c.example.org.", "x.d.example.org."} {
		if a := answerOf(s, name, dns.TypeMX); len(a.Extra) != 1 {
			t.Errorf("%s: %v has %v", name, a.Answer, a.Extra)
		}
	}
}

// TestReviewServiceNotAvailable: an alias to the root leads to no host (RFC 9460 §2.5.1).
func TestReviewServiceNotAvailable(t *testing.T) {
	w := newWorld("c")
	w.record("dns/h", "x.example.org.", "HTTPS", "0 .", 1)
	w.record("dns/a", "x.example.org.", "A", "192.0.2.1", 1)
	s := Compile(nil, w.objects(), &reviewOptions, testTime)
	if a := answerOf(s, "x.example.org.", dns.TypeHTTPS); len(a.Extra) != 0 {
		t.Errorf("%v has %v", a.Answer, a.Extra)
	}
}

// TestReviewNSWithoutAddress: NS records whose servers lie at or below their own name are
// told of while these have no address, and no longer.
func TestReviewNSWithoutAddress(t *testing.T) {
	w := newWorld("c")
	w.record("dns/ns", "sub.example.org.", "NS", "ns.sub.example.org.", 1)
	s := Compile(nil, w.objects(), &reviewOptions, testTime)
	const nothing = "Ready=True Served: served\n"
	if got := verdictText(s, api.KindRecord, "dns/ns"); !strings.Contains(got, "NoAddress") {
		t.Errorf("without an address: %s", got)
	}
	ref := api.Ref{Kind: api.KindRecord, Name: "dns/ns"}
	changed := func() bool { return slices.ContainsFunc(s.Changed(), func(r Reported) bool { return r.Ref == ref }) }
	w.record("dns/a", "ns.sub.example.org.", "A", "192.0.2.1", 1)
	s = Compile(s, w.objects(), &reviewOptions, testTime)
	if got := verdictText(s, api.KindRecord, "dns/ns"); got != nothing || !changed() {
		t.Errorf("with an address: %s, reported %v", got, changed())
	}
	w.setRecord(0, "dns/a", nil)
	s = Compile(s, w.objects(), &reviewOptions, testTime)
	if got := verdictText(s, api.KindRecord, "dns/ns"); got == nothing || !changed() {
		t.Errorf("without one again: %s, reported %v", got, changed())
	}
}

// TestReviewChangedTTL: where the last other record of a type goes, what is said of the
// one that stays is reported.
func TestReviewChangedTTL(t *testing.T) {
	w := newWorld("c")
	put := func(name, data string, ttl int64) {
		w.setRecord(0, name, &api.Record{DomainName: "x.example.org.", Type: "A", Class: "IN", TTL: ttl, RData: data})
	}
	put("a/r", "192.0.2.1", 300)
	put("a/s", "192.0.2.2", 60)
	s := Compile(nil, w.objects(), &reviewOptions, testTime)
	before := verdictText(s, api.KindRecord, "a/r")
	w.setRecord(0, "a/s", nil)
	s = Compile(s, w.objects(), &reviewOptions, testTime)
	after := verdictText(s, api.KindRecord, "a/r")
	if before != after && !slices.ContainsFunc(s.Changed(), func(r Reported) bool { return r.Ref.Name == "a/r" }) {
		t.Errorf("%v is reported, and not that %s now is %s", s.Changed(), before, after)
	}
}

// TestReviewChangedOnReload: a Record that has come with a reload is reported, and one
// that lies in another Zone.
func TestReviewChangedOnReload(t *testing.T) {
	w := newWorld("c")
	w.setZone(0, "a/z", &api.Zone{Meta: api.Meta{Created: 1}, DomainName: "example.org.", Delegations: everything})
	w.setZone(0, "b/z", &api.Zone{Meta: api.Meta{Created: 2}, DomainName: "example.org.", Delegations: everything})
	w.record("a/r", "x.example.org.", "A", "192.0.2.1", 1)
	s := Compile(nil, w.objects(), &reviewOptions, testTime)
	opt := reviewOptions
	opt.ZoneNamespaces = []string{"b"}
	w.record("a/s", "y.example.org.", "A", "192.0.2.1", 1)
	before := s
	s = Compile(s, w.objects(), &opt, testTime)
	for _, name := range []string{"a/r", "a/s"} {
		ref := api.Ref{Kind: api.KindRecord, Name: name}
		was, is := before.Verdict("c", ref), s.Verdict("c", ref)
		if (was == nil || !was.Equal(is)) && !slices.ContainsFunc(s.Changed(), func(r Reported) bool { return r.Ref == ref }) {
			t.Errorf("%s was %+v and is %+v, which is not reported", name, was, is)
		}
	}
}

// TestReviewPublishLineBelowKlb: a line publish for names below klb counts for each of
// them (rule 5.1).
func TestReviewPublishLineBelowKlb(t *testing.T) {
	opt := reviewOptions
	opt.Publish = []Publish{{Domain: "example.org.", Namespaces: []string{"b"}}, {Domain: "klb.app.example.org.", Namespaces: []string{"a"}}}
	w := newWorld("c")
	w.endpoints("b/e", 1, apiEndpoint("app.example.org.", "CNAME", "x.klb.app.example.org"), apiEndpoint("x.klb.app.example.org.", "A", "192.0.2.66"))
	s := Compile(nil, w.objects(), &opt, testTime)
	if got := ask(s, "x.klb.app.example.org.", dns.TypeA); strings.Contains(got, "192.0.2.66") {
		t.Errorf("%s\n%s", got, verdictText(s, api.KindDNSEndpoint, "b/e"))
	}
}

// TestReviewEndpointTypes: a DNSEndpoint may publish a CNAME only where it is allowed
// that type, and an A record at each of its names.
func TestReviewEndpointTypes(t *testing.T) {
	w := newWorld("c")
	w.zone("dns/z", "example.org.", 0, api.Delegation{Namespaces: []string{"b"}, Records: []api.RecordDelegation{{Pattern: "app", Types: []string{"A"}}}})
	w.endpoints("b/e", 1,
		apiEndpoint("app.example.org.", "CNAME", "x.klb.app.example.org"),
		apiEndpoint("x.klb.app.example.org.", "CNAME", "y.klb.app.example.org"),
		apiEndpoint("y.klb.app.example.org.", "A", "192.0.2.1"), apiEndpoint("z.klb.app.example.org.", "CNAME", "evil.example.net"))
	s := Compile(nil, w.objects(), &reviewOptions, testTime)
	if got := ask(s, "z.klb.app.example.org.", dns.TypeA); strings.Contains(got, "evil") {
		t.Errorf("%s\n%s", got, verdictText(s, api.KindDNSEndpoint, "b/e"))
	}
}

// TestReviewDeniedIsShort: what a reload hands on of the zones below one that it hands on
// is handed on once. A second reload compares each with each (BenchmarkReviewDenied).
func TestReviewDeniedIsShort(t *testing.T) {
	w := newWorld("c")
	w.zone("dns/z", "example.org.", 0, everything[0])
	for i := range 100 {
		w.zone(fmt.Sprintf("a/z%d", i), fmt.Sprintf("z%d.example.org.", i), 1)
	}
	s := Compile(nil, w.objects(), &reviewOptions, testTime)
	if n := len(s.Denied()); n > 1 {
		t.Errorf("all lie at or below example.org, and %d names are handed on", n)
	}
}

// TestReviewPanics: odd names and data in the root zone.
func TestReviewPanics(t *testing.T) {
	opt := Options{Zones: []ZoneOptions{{Origin: ".", TTL: 60, LoadBalancedTTL: 300, OwnerTXT: "o-"}}}
	w := newWorld("c")
	for i, name := range []string{"*.", ".", "klb.", "klb.klb.", "*.klb.", "com.", `\..`, `*.\..`, "klb.com.", "*.klb.com."} {
		w.endpoints(fmt.Sprintf("a/e%d", i), 1, apiEndpoint(name, "A", "192.0.2.1"), apiEndpoint(name, "TXT", "x"), apiEndpoint(name, "CNAME", "klb.com."), apiEndpoint(name, "DNAME", "com."))
		for _, data := range [][2]string{{"NS", "."}, {"DNAME", "."}, {"A", "192.0.2.1"}, {"NS", `\# 1 00`}, {"MX", `\# 3 000100`}, {"CNAME", `\# 1 00`}, {"SRV", "0 0 0 ."}} {
			w.record(fmt.Sprintf("a/r%d%s%d", i, data[0], len(data[1])), name, data[0], data[1], int64(i))
		}
	}
	s := Compile(nil, w.objects(), &opt, testTime)
	for _, z := range s.zones {
		for name := range z.names.All() {
			for _, qtype := range []uint16{dns.TypeA, dns.TypeANY, dns.TypeNS, dns.TypeDS, dns.TypeMX, dns.TypeSRV, dns.TypeSOA, dns.TypeCNAME, dns.TypeDNAME} {
				answerOf(s, name, qtype)
				answerOf(s, "x."+strings.TrimPrefix(name, "."), qtype)
			}
		}
	}
	for i := range 10 {
		w.zone("a/z", []string{"com.", `\..`, "klb.", "klb.com."}[i%4], 1, everything[0])
		s = Compile(s, w.objects(), &opt, testTime)
	}
}

// TestReviewCrowdedName: what is not served takes no place from what is (rule 5.5).
func TestReviewCrowdedName(t *testing.T) {
	w := newWorld("c")
	w.gateway("a/g", "app.example.org", api.Simple, 1, api.IPAddress, "192.0.2.1")
	var texts []string
	for i := range maxAtName {
		texts = append(texts, fmt.Sprint(i))
	}
	w.endpoints("b/e", 2, apiEndpoint("app.example.org.", "TXT", texts...))
	w.record("a/r", "app.example.org.", "TXT", `"mine"`, 3)
	s := Compile(nil, w.objects(), &reviewOptions, testTime)
	if got := ask(s, "app.example.org.", dns.TypeTXT); !strings.Contains(got, "mine") {
		t.Errorf("%s\n%s", got, verdictText(s, api.KindRecord, "a/r"))
	}
}

// TestReviewHugeSet: the steered addresses of a name have a bound, as Records have.
func TestReviewHugeSet(t *testing.T) {
	w := newWorld("c")
	var all []api.Endpoint
	for i := range 5 {
		var targets []string
		for j := range 1000 {
			targets = append(targets, fmt.Sprintf("10.%d.%d.%d", i, j>>8, j&255))
		}
		all = append(all, apiEndpoint("x.example.org.", "A", targets...))
	}
	w.endpoints("b/e", 1, all...)
	s := Compile(nil, w.objects(), &reviewOptions, testTime)
	if n := len(answerOf(s, "x.example.org.", dns.TypeA).Answer); n > maxAtName {
		t.Errorf("an answer of %d addresses, which no message holds\n%s", n, verdictText(s, api.KindDNSEndpoint, "b/e"))
	}
}

// TestReviewReferralIsClipped: the slices of answers are clipped.
func TestReviewReferralIsClipped(t *testing.T) {
	w := newWorld("c")
	for i := range 3 {
		w.record(fmt.Sprintf("a/n%d", i), "sub.example.org.", "NS", fmt.Sprintf("ns%d.sub.example.org.", i), 1)
		w.record(fmt.Sprintf("a/a%d", i), fmt.Sprintf("ns%d.sub.example.org.", i), "A", "192.0.2.1", 1)
	}
	w.record("a/ds", "sub.example.org.", "DS", "1 13 2 "+strings.Repeat("AB", 32), 1)
	s := Compile(nil, w.objects(), &reviewOptions, testTime)
	var a Answer
	s.Lookup(s.Zone("example.org."), &Query{Name: "sub.example.org.", Owner: "sub.example.org.", Type: dns.TypeA, Signed: true}, &a)
	if cap(a.Ns) > len(a.Ns) || cap(a.Extra) > len(a.Extra) {
		t.Errorf("%d authority records with room for %d, %d additional ones with room for %d", len(a.Ns), cap(a.Ns), len(a.Extra), cap(a.Extra))
	}
}
