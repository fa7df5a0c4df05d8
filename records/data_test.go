package records

import (
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestEndpointFaults: what is wrong in an endpoint is said where its owner has written it, and
// once (rule 8.1).
func TestEndpointFaults(t *testing.T) {
	e := &api.DNSEndpoint{Endpoints: []api.Endpoint{
		{DNSName: "ok.example.com.", Type: "TXT", Targets: []string{"ok"}, Weight: api.NoWeight, Index: 0},
		{DNSName: "a.example.com.", Type: "AAA", Targets: []string{"x", "y", "z"}, Weight: api.NoWeight, Index: 2},
		{DNSName: "b.example.com.", Type: "MX", Targets: []string{"mail"}, Weight: api.NoWeight, Index: 4},
		{DNSName: "c.example.com.", Type: "SOA", Targets: []string{"mail"}, Weight: api.NoWeight, Index: 5},
	}}
	w := newWorld("c1")
	w.setDNSEndpoint(0, "ns1/x", e)
	got := Compile(nil, w.objects(), openZone(), testTime).Verdict("c1", api.Ref{Kind: api.KindDNSEndpoint, Name: "ns1/x"}).Conditions[0].Message
	for _, want := range []string{
		`a.example.com: spec.endpoints[2].recordType "AAA" is no record type`,
		`b.example.com: spec.endpoints[4].targets: "mail" of type MX: it cannot be read at "mail"`,
		`c.example.com: spec.endpoints[5].recordType SOA: `,
	} {
		if strings.Count(got, want) != 1 {
			t.Errorf("%s\nwant once %s", got, want)
		}
	}
}

// TestEndpointData: what a tenant's DNSEndpoint says is looked at like a Record,
// and the rest of it is served (rule 8.1).
func TestEndpointData(t *testing.T) {
	w := newWorld("c")
	w.setZone(0, "dns/z", &api.Zone{DomainName: "example.org.", TTL: 60, Delegations: []api.Delegation{{Records: []api.RecordDelegation{{Pattern: "*"}}}}})
	w.setDNSEndpoint(0, "dns/e", &api.DNSEndpoint{Endpoints: []api.Endpoint{
		{DNSName: "v.example.org.", Type: "HTTPS", Targets: []string{"1 . no-default-alpn", "1 . alpn=h2"}, Weight: -1},
		{DNSName: "*.w.example.org.", Type: "NS", Targets: []string{"ns.example.net."}, Weight: -1},
	}})
	s := Compile(nil, w.objects(), &reviewOptions, testTime)
	text := verdictText(s, api.KindDNSEndpoint, "dns/e")
	if !strings.Contains(text, "RFC 9460 §7.1.1") || !strings.Contains(text, "RFC 4592 §4.2") {
		t.Errorf("the DNSEndpoint is told: %s", text)
	}
	if a := answerOf(s, "v.example.org.", dns.TypeHTTPS); len(a.Answer) != 1 {
		t.Errorf("its other target is not served: %v", a.Answer)
	}
}

// TestMisplaced: a wildcard is not delegated, since BIND copies no zone that has it (RFC 4592 §4.2); a label * that is not the first is
// like any other.
func TestMisplaced(t *testing.T) {
	at := &site{origin: "example.org.", corefile: &ZoneOptions{Origin: "example.org."}, object: &api.Zone{TTL: 60}}
	for name, refused := range map[string]bool{"*.w.example.org.": true, "*.example.org.": true, "a.*.example.org.": false} {
		e := &entry{record: &api.Record{Type: "NS", Class: "IN", TTL: 60, RData: "ns.example.net."}, name: name}
		p := e.parse(at, writing{origin: at.origin, typeAt: "spec.type", dataAt: "spec.rdata"})
		if refused != (p != nil && p.reason == reasonForbiddenType && strings.Contains(p.message, "RFC 4592 §4.2")) {
			t.Errorf("%s NS: %+v", name, p)
		}
	}
}

// TestTypeNumberOfEndpoint: a type is the same however it is written, also for those who
// delegate it (RFC 3597 §5, rule 5.1).
func TestTypeNumberOfEndpoint(t *testing.T) {
	w := newWorld("c1")
	w.zone("dns/z", "example.com.", 0, api.Delegation{Records: []api.RecordDelegation{{Pattern: "*", Types: []string{"MX"}}}})
	w.setDNSEndpoint(0, "ns1/x", &api.DNSEndpoint{Endpoints: []api.Endpoint{
		{DNSName: "a.example.com.", Type: "TYPE15", Targets: []string{"10 mail.example.net"}, Weight: api.NoWeight},
	}})
	got := Compile(nil, w.objects(), openZone(), testTime).Verdict("c1", api.Ref{Kind: api.KindDNSEndpoint, Name: "ns1/x"}).Conditions[0]
	if got.Message != api.MessageServed {
		t.Errorf("%+v", got)
	}
}

// TestSerialWraps: a Zone says when its serial is the last there is, and when it has begun
// again (RFC 1982, rule 6.7).
func TestSerialWraps(t *testing.T) {
	w := newWorld("c")
	z := &api.Zone{DomainName: "example.com.", TTL: 360, Kept: api.Kept{Hash: "other", Serial: 1<<32 - 1}, Delegations: []api.Delegation{{Records: []api.RecordDelegation{{Pattern: "*"}, {Pattern: "@"}}}}}
	zone := func() { w.setZone(0, "dns/z", z); w.record("dns/ns", "example.com.", "NS", "ns.example.net.", 0) }
	zone()
	opt := &Options{Zones: []ZoneOptions{{Origin: "example.com.", TTL: 60}}}
	say := func(want string) *Snapshot {
		t.Helper()
		s := Compile(nil, w.objects(), opt, testTime)
		if got := verdictText(s, api.KindZone, "dns/z"); !strings.Contains(got, want) {
			t.Errorf("%s\nwant %s", got, want)
		}
		return s
	}
	s := say("SerialWraps: served; the serial has gone past 4294967295, the last there is, since the status was written with 4294967295")
	again := *z
	again.Kept = api.Kept{Hash: s.zones[0].Hash(), Serial: 1<<32 - 1}
	z = &again
	zone()
	say("SerialWraps: served; the serial 4294967295 is the last there is")
	next := *z
	next.Kept.Serial = 7
	z = &next
	zone()
	say("Ready=True Served: served\n")
}

// TestUnquotedText: a text of a Record has the form of a zone file, and without quotes it may not
// be what its owner has meant: that is said (rule 8.1).
func TestUnquotedText(t *testing.T) {
	for data, want := range map[string]string{
		"v=DMARC1; p=none":   "SeveralStrings: served; the text has no quotes, so what stands behind the semicolon is a comment",
		"v=DMARC1;":          "behind the semicolon",
		"a b":                "SeveralStrings: served; the text has no quotes, so each of its 2 words",
		`v=DMARC1\;p=none`:   "Served: served\n",
		`"v=DMARC1; p=none"`: "Served: served\n",
		`v=DMARC1\;x y ; z`:  "behind the semicolon",
	} {
		w := walkWorld()
		w.record("dns/r", "www.example.org.", "TXT", data, 0)
		if got := verdictText(Compile(nil, w.objects(), &reviewOptions, testTime), api.KindRecord, "dns/r"); !strings.Contains(got, want) {
			t.Errorf("%s: %s\nwant %s", data, got, want)
		}
	}
}
